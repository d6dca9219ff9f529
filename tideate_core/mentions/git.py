"""Read diffs from git (saved files, a commit, two commits) without files that may hold secrets."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from tideate_core.errors import WorkspaceError
from tideate_core.git import (
    EXCLUDE_PRIVATE,
    LARGEST_LIST,
    ask_git,
    check_place,
    empty_tree,
    find_commit,
    parse_name_status,
    saved_files,
    split_names,
)
from tideate_core.mentions.secrets import HardLinks, secret_in, secret_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from tideate_core.git import SavedFiles

_DIFF: Final = (
    *("diff", "--no-ext-diff", "--no-textconv", "--no-color", "--relative", "--submodule=short"),
    *("--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/"),
)
LIST_CHANGES: Final = ("--name-status", "-z", "--find-renames=30%", "--find-copies=30%", "-l1000")
"""Options of a diff that names changed files, also under their old names."""
ALL_LINES: Final = 1_000_000_000
"""Context lines that make a diff contain whole files."""
LARGEST_LOOKED: Final = 8 * 1024 * 1024
"""Bytes of changed files, old and new, that are searched for secrets."""
MOST_HIDDEN: Final = 100
"""New files to list if only the repository's own exclude rules hide them; more are only counted."""
_OTHERS: Final = ("ls-files", "--others", "--exclude-standard", *EXCLUDE_PRIVATE, "-z")


@dataclass(frozen=True, slots=True)
class Changes:
    """A diff of saved files or commits, and the files that it omits."""

    diff: str
    """Unified diff without the files in `left_out`."""
    left_out: tuple[str, ...]
    """Files omitted as probable secrets, each with the reason."""
    untracked: tuple[str, ...]
    """New files, relative to the root."""
    whole: bool
    """False if the diff was cut at the limit."""
    notes: tuple[str, ...] = ()
    """Notes on other omissions."""


async def read_changes(root: Path, path: str = "") -> Changes:
    """Read the changes of saved files since the last commit.

    :param path: only this file or folder, relative to the root.
    :raises WorkspaceError: there is no git or no repository, or git times out.
    """
    before = await _last_commit(root)
    async with saved_files(root, before) as empty:
        files = await empty.index(before)
        found = await _compare(files, (before,), path)
        others, notes = await _others(files, path)
    return replace(found, untracked=tuple(others), notes=(*found.notes, *notes))


async def changed_files(root: Path) -> list[str]:
    """Return saved files that git lists as changed or new, relative to the root.

    :raises WorkspaceError: there is no git or no repository, or git times out.
    """
    asked = ("--name-only", "--no-renames", "-z", await _last_commit(root), "--", ".")
    changed, _ = await ask_git(root, *_DIFF, *asked, largest=LARGEST_LIST)
    new, _ = await ask_git(root, *_OTHERS, "--", ".", largest=LARGEST_LIST)
    return [*split_names(changed), *split_names(new)]


async def hidden_changes(root: Path, shown: Collection[str]) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Return kinds and names of changed files that `git status` does not show, and notes.

    :param shown: files that `git status` shows, relative to the root.
    """
    before = await _last_commit(root)
    async with saved_files(root, before) as empty:
        files = await empty.index(before)
        named = (*_DIFF, "--name-status", "--no-renames", "-z", before, "--", ".")
        changed = parse_name_status((await files.ask(*named, largest=LARGEST_LIST))[0])
        others, notes = await _others(files, "")
    found = [*((kind, name) for kind, (name,) in changed), *(("??", name) for name in others)]
    return [one for one in found if one[1] not in shown], (*files.notes, *notes)


async def _last_commit(root: Path) -> str:
    await check_place(root)
    try:
        return await find_commit(root, "HEAD")
    except WorkspaceError:
        return await empty_tree(root)  # before the first commit, every file is new


async def _others(files: SavedFiles, path: str) -> tuple[list[str], tuple[str, ...]]:
    """Return new files, and notes."""
    told = (*_OTHERS, "--", path or ".")
    names = split_names((await files.ask(*told, largest=LARGEST_LIST))[0])
    believed = split_names((await ask_git(files.root, *told, largest=LARGEST_LIST))[0])
    return without_many(sorted(set(names)), believed)


def without_many(names: list[str], believed: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return new files, and a note if many files that only the repository's own rules hide were dropped.

    :param believed: new files that git lists under the repository's own exclude rules.
    """
    shown = set(believed)
    hidden = sum(name not in shown for name in names)
    if hidden <= MOST_HIDDEN:
        return names, ()
    note = f"{hidden:,} new files that only .git/info/exclude or core.excludesFile hides are not listed"
    return [name for name in names if name in shown], (note,)


async def commit_changes(root: Path, commit: str, path: str = "") -> Changes:
    """Read the changes of a commit; of a merge, against its first parent.

    :param commit: a commit id.
    """
    try:
        before = await find_commit(root, f"{commit}^1")
    except WorkspaceError:
        before = await empty_tree(root)
    return await compare(root, (before, commit), path)


async def compare(root: Path, sides: tuple[str, ...], path: str = "") -> Changes:
    """Compare a commit with the saved files, or two commits; untracked files are ignored.

    :param sides: ids of one or two commits or trees.
    :param path: only this file or folder, relative to the root.
    :raises WorkspaceError: there is no git or no repository, or git times out.
    """
    async with saved_files(root, sides[0]) as files:
        return await _compare(await files.index(sides[0]) if len(sides) == 1 else files, sides, path)


async def _compare(files: SavedFiles, sides: tuple[str, ...], path: str) -> Changes:
    names = [one for one in await _changed_names(files, sides) if any(_is_below(path, name) for name in one)]
    why = await asyncio.to_thread(secret_reasons, HardLinks(files.root), files.root, names)
    places = [path or "."]
    if why:
        places = sorted({name for one in names for name in one if _is_below(path, name)} - why.keys())
    shown, whole, leaking = await _diff_texts(files, sides, places) if places else ("", True, [])
    left_out = (*(f"{name} ({reason})" for name, reason in sorted(why.items())), *leaking)
    return Changes(shown, left_out, (), whole, files.notes)


def _is_below(path: str, name: str) -> bool:
    return not path or name == path or name.startswith(f"{path}/")


def secret_reasons(links: HardLinks, top: Path, names: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Return the reason for each changed file that is a probable secret by name or hard link; blocking.

    :param top: the directory that the names are relative to.
    :param names: the names of each file; a moved file is as secret as under its old name.
    """
    why: dict[str, str] = {}
    for one in names:
        reason = "by its name" if any(map(secret_name, one)) else ""
        if not reason and any(links.reason(top / name) for name in one):
            reason = "a hard link to a file outside the project"
        if reason:
            why |= dict.fromkeys(one, reason)
    return why


async def _changed_names(files: SavedFiles, sides: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return the name of each changed file; the old and the new one of a moved or copied file."""
    named = (*_DIFF, *LIST_CHANGES, *sides)
    output, whole = await files.ask(*named, "--", ".", largest=LARGEST_LOOKED)
    if not whole:
        raise WorkspaceError("too many files have changed to search them for secrets")
    return [names for _, names in parse_name_status(output)]


async def _diff_texts(
    files: SavedFiles, sides: tuple[str, ...], places: list[str]
) -> tuple[str, bool, list[str]]:
    """Return a diff without files with probable secrets, whether it is complete, and the omitted files.

    Whole files are searched: a change may touch only the middle of a long secret.
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
    """Remove files with probable secrets from a diff.

    :param looked: the same diff with all lines of each file.
    :param cut: `looked` was cut at the limit.
    :param named: files known to be secret.
    :returns: the diff, and the omitted files, each with the reason.
    """
    parts = _split_by_file(looked)
    full = {_header(part): part for part in (parts[:-1] if cut else parts)}
    kept, left_out = [], []
    for part in _split_by_file(shown):
        head = _header(part)
        if any(secret_name(name) or name in named for name in _names_in(part)):
            reason = "by its name"
        elif head not in full:
            reason = "too large to be searched for secrets"
        else:
            holds = any(secret_in(_without_signs(one)) for one in (full[head], part))
            reason = "by its content" if holds else ""
        if reason:
            left_out.append(f"{_names_in(part)[1]} ({reason})")
        else:
            kept.append(part)
    return "".join(kept), left_out


def _split_by_file(diff: str) -> list[str]:
    # only a header can start a line like this: every line of a hunk starts with a sign
    return [part for part in re.split(r"(?m)^(?=diff --git )", diff) if part]


def _header(part: str) -> str:
    return part.partition("\n")[0]


def _names_in(part: str) -> list[str]:
    """Return the names in the header of one file's diff: old, new, and both again."""
    header = re.split(r"(?m)^@@", part, maxsplit=1)[0]
    lines = re.findall(r"(?m)^(?:diff --git|---|\+\+\+) (.*)$", header)
    names = [one for line in lines for one in re.split(r'(?:^|[ "])[ab]/', line)]
    names += re.findall(r"(?m)^(?:rename|copy) (?:from|to) (.*)$", header)
    return [name.strip('"\t ') for name in names if name not in ("", "/dev/null")]


def _without_signs(part: str) -> str:
    return "\n".join(line[1:] for line in part.split("\n"))
