"""What git says of a project's changes; nothing that the repository configures is run."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tideate_core.errors import WorkspaceError
from tideate_core.project import inside
from tideate_core.workspace.contexts.secrets import secret_in, secret_name
from tideate_core.workspace.git import NOT_OURS, SAFE, environment

__all__ = ["Changes", "read_changes"]

TIMEOUT: Final = 10.0
"""Seconds that one call of git may take."""
LARGEST: Final = 4 * 1024 * 1024
"""Bytes of output that are read."""
_DIFF: Final = (
    # looking never writes: git would note in the index which files it found unchanged
    *("-c", "diff.autoRefreshIndex=false"),
    *("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--relative", "--submodule=short"),
    *("--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/"),
)
_OTHERS: Final = ("ls-files", "--others", "--exclude-standard", *NOT_OURS, "-z")
_NOTHING: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The empty tree's id, which every repository knows: before the first commit all is new."""
_FOREIGN_SCOPES: Final = frozenset({b"local", b"worktree"})


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of saved files since the last commit."""

    diff: str
    """Unified, without the files in `left_out`."""
    left_out: tuple[str, ...]
    """In words, which files' changes are not in it because they seem to be secrets."""
    untracked: tuple[str, ...]
    """New files that git does not know yet, relative to the root."""
    whole: bool
    """False where the diff is so long that its end was not read."""


async def read_changes(root: Path, path: str = "") -> Changes:
    """Read the changes below a root, or only of one file or folder there.

    :param path: relative to the root.
    :raises WorkspaceError: there is no git, no repository, or it does not answer.
    """
    await _check_place(root)
    settings = await _without_filters(root)
    since = "HEAD" if await _has_commits(root) else _NOTHING
    places = [path or "."]
    counted = (*_DIFF, "--numstat", "--no-renames", "-z", since, "--", *places)
    names = [_counted_name(one) for one in await _names(root, *settings, *counted)]
    secret = [name for name in names if secret_name(name)]
    if secret:
        places = [name for name in names if name not in secret]
    patch = (*_DIFF, "--unified=3", since, "--", *places)
    output, whole = await _git(root, *settings, *patch) if places else (b"", True)
    kept, leaking = _without_secrets(output.decode("utf-8", "replace"))
    left_out = (*(f"{name} (by its name)" for name in secret), *leaking)
    others = await _names(root, *settings, *_OTHERS, "--", path or ".")
    return Changes(kept, left_out, tuple(others), whole)


async def _check_place(root: Path) -> None:
    output, _ = await _git(root, "rev-parse", "--show-toplevel")
    if not inside(root, Path(os.fsdecode(output.rstrip(b"\n")))):
        raise WorkspaceError("the repository's files are elsewhere (core.worktree), so it is not read")


async def _names(root: Path, *arguments: str) -> list[str]:
    output, _ = await _git(root, *arguments)
    return sorted({os.fsdecode(name) for name in output.split(b"\0") if name})


def _counted_name(record: str) -> str:
    """Return the name behind the two counts of `--numstat`, which lists only what differs."""
    return record.split("\t", 2)[2]


def _without_secrets(diff: str) -> tuple[str, list[str]]:
    """Take out the files whose changes hold what looks like a secret."""
    files: list[list[str]] = []
    for line in diff.splitlines(keepends=True):
        # only a header can begin so: every line of a hunk has a sign before it
        if line.startswith("diff --git ") or not files:
            files.append([])
        files[-1].append(line)
    kept, left_out = [], []
    for lines in files:
        text = "".join(lines)
        if secret_in(text):
            left_out.append(f"{lines[0].removeprefix('diff --git ').strip()} (by what is in it)")
        else:
            kept.append(text)
    return "".join(kept), left_out


async def _has_commits(root: Path) -> bool:
    try:
        await _git(root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    except WorkspaceError:
        return False
    return True


async def _without_filters(root: Path) -> list[str]:
    """Return settings that empty every filter that the repository itself brings.

    :raises WorkspaceError: one has a name that no such setting can have.
    """
    listed, _ = await _git(root, "config", "--list", "--show-scope", "--name-only", "-z")
    fields = listed.split(b"\0")
    settings: list[str] = []
    for scope, key in zip(fields[::2], fields[1::2], strict=False):
        if scope in _FOREIGN_SCOPES and key.lower().startswith(b"filter."):
            name = os.fsdecode(key)
            if "=" in name:  # git takes what is before the first as the name
                raise WorkspaceError(f"the repository configures {name!a}, which nothing can turn off")
            settings += ["-c", f"{name}={'false' if name.lower().endswith('.required') else ''}"]
    return settings


async def _git(root: Path, *arguments: str) -> tuple[bytes, bool]:
    """Run git; returns what it printed, and whether that is all of it."""
    try:
        process = await asyncio.create_subprocess_exec(
            *SAFE,
            *arguments,
            cwd=root,
            env=environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise WorkspaceError(f"git cannot be run ({error.strerror})") from error
    try:
        async with asyncio.timeout(TIMEOUT):
            output, whole = await _read(process)
            status = await process.wait() if whole else 0
    except TimeoutError:
        raise WorkspaceError(f"git did not answer within {TIMEOUT:.0f} seconds") from None
    finally:
        await _end(process)
    if status:
        raise WorkspaceError("git finds no repository here that it can read; `git status` tells why")
    return output, whole


async def _read(process: asyncio.subprocess.Process) -> tuple[bytes, bool]:
    assert process.stdout is not None  # noqa: S101 it is a pipe
    pieces, size = [], 0
    while size <= LARGEST and (piece := await process.stdout.read(1 << 16)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces), size <= LARGEST


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
