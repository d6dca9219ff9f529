"""Stage and unstage files; refuse conflicts, foreign filters and unknown files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.servers.git import porcelain
from tideate_core.mcp.servers.git.layout import check_links
from tideate_core.mcp.servers.git.program import GitFailed
from tideate_core.mcp.servers.git.schemas import FileShape, StagedShape
from tideate_core.mcp.servers.git.trust import inspect_programs
from tideate_core.mcp.servers.git.writes import git_write, pathspec_file
from tideate_core.mcp.servers.schemas import short_repr
from tideate_core.workspace import is_temporary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tideate_core.mcp.servers.git.porcelain import Entry
    from tideate_core.mcp.servers.git.repository import Repository
    from tideate_core.mcp.servers.git.trust import RepositoryPrograms

__all__ = [
    "read_changes",
    "refuse_conflicts",
    "refuse_filters",
    "refuse_left_out",
    "refuse_under_way",
    "refuse_unknown",
    "stage_files",
    "unstage_files",
]

SHOWN: Final = 1_000
_CHANGES: Final = (
    *("--porcelain=v2", "-z", "--branch", "--no-renames", "--ignore-submodules=dirty"),
    "--untracked-files=all",
)
_NO_FILTER: Final = frozenset({"unspecified", "unset", "set", ""})


async def read_changes(
    repository: Repository, paths: Sequence[str] = (), *, ignored: bool = False
) -> porcelain.Status:
    """Return all changes below these paths, or all; a rename is a file that is gone and one that is new."""
    kind = "--ignored=matching" if ignored else "--ignored=no"
    answer = await repository.query("status", *_CHANGES, kind, "--", *paths)
    if not answer.whole:
        raise ToolError("there are too many changes to look at them all: name fewer files")
    status = porcelain.parse_status(answer.out)
    # a write that was killed left it
    status.entries = [one for one in status.entries if not is_temporary(one.path.rpartition("/")[2])]
    return status


async def stage_files(repository: Repository, files: Sequence[str]) -> StagedShape:
    """Stage files, or directories with all in them, as they are now; submodules in them are left out.

    :raises ToolError: one does not exist, is ignored, is a submodule, or has a filter that would not run.
    """
    refuse_under_way(repository, but="a merge")
    check_links(repository.layout, repository.root)
    found = await read_changes(repository, files, ignored=True)
    refuse_left_out(found.entries, files)
    refuse_unknown(repository, files, found.entries)
    touched = [entry for entry in found.entries if not entry.path.endswith("/") and entry.index != "!"]
    # to look at a submodule git runs what that configures
    _refuse_submodule(touched, files)
    paths = [entry.path for entry in touched if not entry.submodule and entry.worktree != "."]
    programs = inspect_programs(repository)
    await refuse_filters(repository, paths, programs)
    before = await _tree(repository) if any(entry.staged for entry in touched) else None
    if paths:
        with pathspec_file(repository, paths) as options:
            await git_write(repository, "add", *options, programs=_without_hooks(programs))
    return await staged_result(repository, before)


def _refuse_submodule(entries: Iterable[Entry], files: Sequence[str]) -> None:
    for entry in entries:
        if entry.submodule and entry.path in {name.rstrip("/") for name in files}:
            raise ToolError(
                f"{short_repr(entry.path)} is a submodule: a person has to say which commit of it is used; "
                "its own files are changed and committed with it as `repo_path`"
            )


def refuse_unknown(repository: Repository, files: Iterable[str], entries: Iterable[Entry]) -> None:
    """:raises ToolError: there is no such file, and none that was deleted."""
    known = [entry.path for entry in entries]
    for name in files:
        if os.path.lexists(repository.layout.top / name) or name in known:
            continue
        if not any(path.startswith(f"{name}/") for path in known):
            raise ToolError(f"there is no file {short_repr(name)}, and git knows of none that was deleted")


def _without_hooks(programs: RepositoryPrograms) -> RepositoryPrograms | None:
    """Filters of a trusted repository run; of an untrusted one nothing does."""
    return programs if programs.trusted else None


async def unstage_files(repository: Repository, files: Sequence[str]) -> StagedShape:
    """Unstage files, or all of them.

    :raises ToolError: a merge or the like is under way, of which this would take away what is needed.
    """
    refuse_under_way(repository)
    check_links(repository.layout, repository.root)
    found = await read_changes(repository, files)
    refuse_conflicts(found.entries)
    before = await _tree(repository) if any(entry.staged for entry in found.entries) else None
    if files:
        with pathspec_file(repository, files) as options:
            await git_write(repository, "reset", "--quiet", *options)
    else:
        await git_write(repository, "reset", "--quiet")
    return await staged_result(repository, before)


async def staged_result(repository: Repository, before: str | None = None) -> StagedShape:
    """Return what is staged."""
    answer = await repository.query(
        "diff", "--cached", "--name-status", "--no-renames", "-z", "--no-ext-diff"
    )
    fields = porcelain.text_of(answer.out).split("\0")
    files = [
        FileShape(path=path, staged=kind[:1], unstaged="")
        for kind, path in zip(fields[::2], fields[1::2], strict=False)
    ]
    return StagedShape(staged=files[:SHOWN], total=len(files), index_before=before)


async def refuse_filters(repository: Repository, paths: Iterable[str], programs: RepositoryPrograms) -> None:
    """Refuse files of which git would keep something else than their filter makes of them.

    :raises ToolError: a filter is the repository's own and not trusted, or not set up at all.
    """
    given = b"".join(os.fsencode(path) + b"\0" for path in paths)
    if not given:
        return
    answer = await repository.query("check-attr", "-z", "--stdin", "filter", given=given)
    fields = porcelain.text_of(answer.out).split("\0")
    by_filter = {name: path for path, name in zip(fields[::3], fields[2::3], strict=False)}
    foreign, known = repository.settings.foreign_filters(), repository.settings.persons_filters()
    for name in sorted(by_filter.keys() - _NO_FILTER):
        path = short_repr(by_filter[name])
        if name in foreign and not programs.trusted:
            raise ToolError(
                f"{path} has the filter {short_repr(name)}, a program that this repository brings; "
                f"{programs.why}, and without it the file would be kept as something else"
            )
        if name not in foreign and name not in known:
            raise ToolError(
                f"{path} has the filter {short_repr(name)}, which is not set up, so git would "
                "keep the file as something else than is meant; install it (for LFS `git lfs install`), or "
                "leave this file to a person"
            )


def refuse_under_way(repository: Repository, *, but: str = "") -> None:
    """:raises ToolError: a person has begun something that this would end or spoil."""
    words = repository.under_way()
    if words is not None and words != but:
        raise ToolError(f"{words} has not ended in this repository; a person has to end or abort it first")


def refuse_left_out(entries: Iterable[Entry], files: Sequence[str]) -> None:
    """Refuse what git would leave out, and then stage the rest.

    :raises ToolError: a named file is ignored.
    """
    for entry in entries:
        named = [name for name in files if name == entry.path.rstrip("/") or _is_in(name, entry.path)]
        if entry.index == "!" and named:
            raise ToolError(f"{short_repr(named[0])} is ignored by git; take it out of `files`")
        if entry.index == "?" and any(_is_in(name, entry.path) for name in named):
            raise ToolError(f"{short_repr(named[0])} is in a repository of its own: name that as `repo_path`")


def _is_in(name: str, directory: str) -> bool:
    return directory.endswith("/") and name.startswith(directory)


def refuse_conflicts(entries: Iterable[Entry]) -> None:
    """:raises ToolError: a file has a conflict."""
    for entry in entries:
        if entry.unmerged:
            raise ToolError(
                f"{short_repr(entry.path)} has a conflict of a merge; a person has to resolve it first"
            )


async def _tree(repository: Repository) -> str | None:
    try:
        return (await repository.query("write-tree")).out.decode().strip()
    except GitFailed:
        return None  # with a conflict there is none
