"""Read a project's changes from git, running nothing that the repository configures."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tideate_core.errors import WorkspaceError
from tideate_core.mentions.secrets import HardLinks, secret_in, secret_name
from tideate_core.project import is_inside
from tideate_core.workspace import EXCLUDE_PRIVATE, SAFE_GIT, git_environment

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
_ALL_LINES: Final = 1_000_000_000
_LARGEST_LOOKED: Final = 8 * 1024 * 1024
"""Bytes of changed files, as they were and are, that are looked through for secrets."""
_OTHERS: Final = ("ls-files", "--others", "--exclude-standard", *EXCLUDE_PRIVATE, "-z")
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
    """False if the diff is so long that its end was not read."""


async def read_changes(root: Path, path: str = "") -> Changes:
    """Read the changes below a root, or only of one file or folder there.

    :param path: relative to the root.
    :raises WorkspaceError: there is no git, no repository, or it does not answer.
    """
    await _check_place(root)
    settings = await _without_filters(root)
    since = "HEAD" if await _has_commits(root) else _NOTHING
    names = [
        one
        for one in await _changed_names(root, settings, since)
        if any(_is_below(path, name) for name in one)
    ]
    why = await asyncio.to_thread(_reasons, root, names)
    places = [path or "."]
    if why:
        places = sorted({name for one in names for name in one if _is_below(path, name)} - why.keys())
    shown, whole, leaking = await _diff_texts(root, settings, since, places) if places else ("", True, [])
    left_out = (*(f"{name} ({reason})" for name, reason in sorted(why.items())), *leaking)
    others = await _names(root, *settings, *_OTHERS, "--", path or ".")
    return Changes(shown, left_out, tuple(others), whole)


def _is_below(path: str, name: str) -> bool:
    return not path or name == path or name.startswith(f"{path}/")


def _reasons(root: Path, names: list[tuple[str, ...]]) -> dict[str, str]:
    """Return reasons for taking files for secrets; one that was moved is as secret as under its old name."""
    links = HardLinks(root)
    why: dict[str, str] = {}
    for one in names:
        reason = "by its name" if any(map(secret_name, one)) else ""
        if not reason and any(links.reason(root / name) for name in one):
            reason = "a hard link to a file with a name outside of the project"
        if reason:
            why |= dict.fromkeys(one, reason)
    return why


async def _changed_names(root: Path, settings: list[str], since: str) -> list[tuple[str, ...]]:
    """Return the names of the files that differ; of one that was moved or copied both."""
    named = (*_DIFF, "--name-status", "--find-renames=30%", "--find-copies=30%", "-l1000", "-z", since)
    output, whole = await _git(root, *settings, *named, "--", ".", largest=_LARGEST_LOOKED)
    if not whole:
        raise WorkspaceError("more files have changed than can be looked through for secrets")
    fields = iter(os.fsdecode(field) for field in output.split(b"\0") if field)
    return [(next(fields), next(fields)) if kind[0] in "RC" else (next(fields),) for kind in fields]


async def _diff_texts(
    root: Path, settings: list[str], since: str, places: list[str]
) -> tuple[str, bool, list[str]]:
    """Return changes without those of files that seem to hold secrets, if that is all, and these files.

    The files are looked through as a whole: of a long secret only the middle may have changed.
    """
    shown, looked = (
        (*_DIFF, "--no-renames", f"--unified={lines}", since, "--", *places) for lines in (3, _ALL_LINES)
    )
    output, whole = await _git(root, *settings, *shown)
    full, all_of_it = await _git(root, *settings, *looked, largest=_LARGEST_LOOKED)
    kept, left_out = await asyncio.to_thread(_without_secrets, output, full, cut=not all_of_it)
    return kept, whole, left_out


def _without_secrets(shown: bytes, looked: bytes, *, cut: bool) -> tuple[str, list[str]]:
    """Remove files that seem to hold secrets from a diff, by another diff with all of their lines."""
    parts = _split_by_file(looked)
    full = {_header(part): part for part in (parts[:-1] if cut else parts)}
    kept, left_out = [], []
    for part in _split_by_file(shown):
        head = _header(part)
        if head not in full:
            reason = "too large to be looked through"
        else:
            reason = (
                "by what is in it"
                if any(secret_in(_without_signs(one)) for one in (full[head], part))
                else ""
            )
        if reason:
            left_out.append(f"{head.removeprefix('diff --git ').strip()} ({reason})")
        else:
            kept.append(part)
    return "".join(kept), left_out


def _split_by_file(diff: bytes) -> list[str]:
    # only a header can begin so, where nothing but \n ends a line: every line of a hunk has a sign before it
    return [part for part in re.split(r"(?m)^(?=diff --git )", diff.decode("utf-8", "replace")) if part]


def _header(part: str) -> str:
    return part.partition("\n")[0]


def _without_signs(part: str) -> str:
    return "\n".join(line[1:] for line in part.split("\n"))


async def _check_place(root: Path) -> None:
    output, _ = await _git(root, "rev-parse", "--show-toplevel")
    if not is_inside(root, Path(os.fsdecode(output.rstrip(b"\n")))):
        raise WorkspaceError("the repository's files are elsewhere (core.worktree), so it is not read")


async def _names(root: Path, *arguments: str) -> list[str]:
    output, _ = await _git(root, *arguments)
    return sorted({os.fsdecode(name) for name in output.split(b"\0") if name})


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


async def _git(root: Path, *arguments: str, largest: int | None = None) -> tuple[bytes, bool]:
    """Run git; return its output, and True if that is all of it."""
    try:
        process = await asyncio.create_subprocess_exec(
            *SAFE_GIT,
            *arguments,
            cwd=root,
            env=git_environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise WorkspaceError(f"git cannot be run ({error.strerror})") from error
    try:
        async with asyncio.timeout(TIMEOUT):
            output, whole = await _read(process, LARGEST if largest is None else largest)
            status = await process.wait() if whole else 0
    except TimeoutError:
        raise WorkspaceError(f"git did not answer within {TIMEOUT:.0f} seconds") from None
    finally:
        await _kill(process)
    if status:
        raise WorkspaceError("git finds no repository here that it can read; `git status` tells why")
    return output, whole


async def _read(process: asyncio.subprocess.Process, largest: int) -> tuple[bytes, bool]:
    assert process.stdout is not None  # noqa: S101 it is a pipe
    pieces, size = [], 0
    while size <= largest and (piece := await process.stdout.read(1 << 16)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces), size <= largest


async def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
