"""Read a project's changes from git, running nothing that the repository configures."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tideate_core.errors import WorkspaceError
from tideate_core.git import EXCLUDE_PRIVATE
from tideate_core.mentions.git_program import (
    LARGEST_LIST,
    ask_git,
    check_place,
    empty_tree,
    find_commit,
    saved_files,
)
from tideate_core.mentions.secrets import HardLinks, secret_in, secret_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from tideate_core.mentions.git_program import SavedFiles

__all__ = [
    "ALL_LINES",
    "LARGEST_LOOKED",
    "Changes",
    "commit_changes",
    "compare",
    "hidden_changes",
    "read_changes",
    "without_many",
    "without_secrets",
]

_DIFF: Final = (
    *("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--relative", "--submodule=short"),
    *("--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/"),
)
ALL_LINES: Final = 1_000_000_000
LARGEST_LOOKED: Final = 8 * 1024 * 1024
"""Bytes of changed files, as they were and are, that are looked through for secrets."""
MOST_HIDDEN: Final = 100
"""New files that only the repository's own exclude rules hide; more are told as a number."""
_OTHERS: Final = ("ls-files", "--others", "--exclude-standard", *EXCLUDE_PRIVATE, "-z")


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
    notes: tuple[str, ...] = ()
    """What else is not shown, in words."""


async def read_changes(root: Path, path: str = "") -> Changes:
    """Read the changes below a root, or only of one file or folder there.

    :param path: relative to the root.
    :raises WorkspaceError: there is no git, no repository, or it does not answer.
    """
    before = await _last_commit(root)
    async with saved_files(root, before) as empty:
        files = await empty.index(before)
        found = await _compare(files, (before,), path)
        others, notes = await _others(files, path)
    return replace(found, untracked=tuple(others), notes=(*found.notes, *notes))


async def hidden_changes(root: Path, shown: Collection[str]) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Return what differs from the last commit beside what git shows: kinds and names, and notes.

    :param shown: names that git shows, relative to the root.
    """
    before = await _last_commit(root)
    async with saved_files(root, before) as empty:
        files = await empty.index(before)
        named = (*_DIFF, "--name-status", "--no-renames", "-z", before, "--", ".")
        fields = iter((await files.ask(*named, largest=LARGEST_LIST))[0].split(b"\0"))
        changed = [(kind.decode(), os.fsdecode(next(fields))) for kind in fields if kind]
        others, notes = await _others(files, "")
    changed += [("??", name) for name in others]
    return [one for one in changed if one[1] not in shown], (*files.notes, *notes)


async def _last_commit(root: Path) -> str:
    await check_place(root)
    try:
        return await find_commit(root, "HEAD")
    except WorkspaceError:
        return await empty_tree(root)  # before the first commit all is new


async def _others(files: SavedFiles, path: str) -> tuple[list[str], tuple[str, ...]]:
    """Return new files and notes; of many that only the repository itself hides, their number."""
    told = (*_OTHERS, "--", path or ".")
    names = _names((await files.ask(*told, largest=LARGEST_LIST))[0])
    return without_many(names, _names((await ask_git(files.root, *told, largest=LARGEST_LIST))[0]))


def without_many(names: list[str], believed: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return new files without those that only the repository itself hides, if these are many, and a note.

    :param believed: new files that the repository's git lists.
    """
    shown = set(believed)
    hidden = sum(name not in shown for name in names)
    if hidden <= MOST_HIDDEN:
        return names, ()
    note = f"{hidden:,} new files that only .git/info/exclude or core.excludesFile hides are not listed"
    return [name for name in names if name in shown], (note,)


async def commit_changes(root: Path, commit: str, path: str = "") -> Changes:
    """Read what a commit changed; of a merge, what it brought to its first parent.

    :param commit: its id.
    """
    try:
        before = await find_commit(root, f"{commit}^1")
    except WorkspaceError:
        before = await empty_tree(root)
    return await compare(root, (before, commit), path)


async def compare(root: Path, sides: tuple[str, ...], path: str = "") -> Changes:
    """Compare a commit with the saved files, or two commits; untracked files are not looked at.

    :param sides: ids of one or two commits or trees.
    :param path: only of this file or folder, relative to the root.
    :raises WorkspaceError: there is no git, no repository, or it does not answer.
    """
    async with saved_files(root, sides[0]) as files:
        return await _compare(await files.index(sides[0]) if len(sides) == 1 else files, sides, path)


async def _compare(files: SavedFiles, sides: tuple[str, ...], path: str) -> Changes:
    names = [one for one in await _changed_names(files, sides) if any(_is_below(path, name) for name in one)]
    why = await asyncio.to_thread(_reasons, files.root, names)
    places = [path or "."]
    if why:
        places = sorted({name for one in names for name in one if _is_below(path, name)} - why.keys())
    shown, whole, leaking = await _diff_texts(files, sides, places) if places else ("", True, [])
    left_out = (*(f"{name} ({reason})" for name, reason in sorted(why.items())), *leaking)
    return Changes(shown, left_out, (), whole, files.notes)


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


async def _changed_names(files: SavedFiles, sides: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the names of the files that differ; of one that was moved or copied both."""
    named = (*_DIFF, "--name-status", "--find-renames=30%", "--find-copies=30%", "-l1000", "-z", *sides)
    output, whole = await files.ask(*named, "--", ".", largest=LARGEST_LOOKED)
    if not whole:
        raise WorkspaceError("more files have changed than can be looked through for secrets")
    fields = iter(os.fsdecode(field) for field in output.split(b"\0") if field)
    return [(next(fields), next(fields)) if kind[0] in "RC" else (next(fields),) for kind in fields]


async def _diff_texts(
    files: SavedFiles, sides: tuple[str, ...], places: list[str]
) -> tuple[str, bool, list[str]]:
    """Return changes without those of files that seem to hold secrets, if that is all, and these files.

    The files are looked through as a whole: of a long secret only the middle may have changed.
    """
    shown, looked = (
        (*_DIFF, "--no-renames", f"--unified={lines}", *sides, "--", *places) for lines in (3, ALL_LINES)
    )
    output, whole = await files.ask(*shown)
    full, all_of_it = await files.ask(*looked, largest=LARGEST_LOOKED)
    texts = (one.decode("utf-8", "replace") for one in (output, full))
    kept, left_out = await asyncio.to_thread(without_secrets, *texts, cut=not all_of_it)
    return kept, whole, left_out


def without_secrets(
    shown: str, looked: str, *, cut: bool, named: Collection[str] = ()
) -> tuple[str, list[str]]:
    """Remove files that seem to hold secrets from a diff, by another diff with all of their lines.

    :param cut: the end of the other one is missing.
    :param named: files that are secrets, whatever their names are now.
    :returns: the diff, and in words the files that are not in it.
    """
    parts = _split_by_file(looked)
    full = {_header(part): part for part in (parts[:-1] if cut else parts)}
    kept, left_out = [], []
    for part in _split_by_file(shown):
        head = _header(part)
        if any(secret_name(name) or name in named for name in _names_in(part)):
            reason = "by its name"
        elif head not in full:
            reason = "too large to be looked through"
        else:
            reason = (
                "by what is in it"
                if any(secret_in(_without_signs(one)) for one in (full[head], part))
                else ""
            )
        if reason:
            left_out.append(f"{_names_in(part)[1]} ({reason})")
        else:
            kept.append(part)
    return "".join(kept), left_out


def _split_by_file(diff: str) -> list[str]:
    # only a header can begin so, where nothing but \n ends a line: every line of a hunk has a sign before it
    return [part for part in re.split(r"(?m)^(?=diff --git )", diff) if part]


def _header(part: str) -> str:
    return part.partition("\n")[0]


def _names_in(part: str) -> list[str]:
    """Return the names in the header of a file's part: the old one, the new one, both again."""
    header = re.split(r"(?m)^@@", part, maxsplit=1)[0]
    lines = re.findall(r"(?m)^(?:diff --git|---|\+\+\+) (.*)$", header)
    names = [one for line in lines for one in re.split(r'(?:^|[ "])[ab]/', line)]
    names += re.findall(r"(?m)^(?:rename|copy) (?:from|to) (.*)$", header)
    return [name.strip('"\t ') for name in names if name not in ("", "/dev/null")]


def _without_signs(part: str) -> str:
    return "\n".join(line[1:] for line in part.split("\n"))


def _names(output: bytes) -> list[str]:
    return sorted({os.fsdecode(name) for name in output.split(b"\0") if name})
