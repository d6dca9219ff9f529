"""Stage and unstage files; reject conflicts, foreign filters and unknown files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.git import join_names, parse_attribute, parse_name_status, parse_status, printable_path
from tideate_core.mcp.servers.git.repository import GitFailed
from tideate_core.mcp.servers.git.schemas import FileShape, StagedShape
from tideate_core.mcp.servers.git.trust import inspect_programs
from tideate_core.mcp.servers.git.writes import git_write, pathspec_file
from tideate_core.mcp.servers.schemas import short_repr
from tideate_core.workspace import is_temporary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tideate_core.git import Status, StatusEntry
    from tideate_core.mcp.servers.git.repository import Repository
    from tideate_core.mcp.servers.git.trust import RepositoryPrograms

SHOWN: Final = 1_000
_CHANGES: Final = (
    *("--porcelain=v2", "-z", "--branch", "--no-renames", "--ignore-submodules=dirty"),
    "--untracked-files=all",
)
NO_FILTER: Final = frozenset({"unspecified", "unset", "set", ""})


async def read_changes(repository: Repository, paths: Sequence[str] = (), *, ignored: bool = False) -> Status:
    """Return the changes below paths, or all changes; a rename is a deleted and a new file."""
    kind = "--ignored=matching" if ignored else "--ignored=no"
    answer = await repository.query("status", *_CHANGES, kind, "--", *paths)
    if not answer.whole:
        raise ToolError("there are too many changes to check all of them: name fewer files")
    status = parse_status(answer.out)
    # an interrupted write left it behind
    status.entries = [one for one in status.entries if not is_temporary(one.path.rpartition("/")[2])]
    return status


async def stage_files(repository: Repository, files: Sequence[str]) -> StagedShape:
    """Stage the current content of files and directories, except submodules inside directories.

    :raises ToolError: a file does not exist, is ignored, is a submodule, or has a filter that would not run.
    """
    refuse_under_way(repository, but="a merge")
    repository.check_links()
    found = await read_changes(repository, files, ignored=True)
    refuse_left_out(found.entries, files)
    refuse_unknown(repository, files, found.entries)
    touched = [entry for entry in found.entries if not entry.path.endswith("/") and entry.index != "!"]
    # inspecting a submodule would make git run programs that it configures
    for entry in touched:
        if entry.submodule and entry.path in {name.rstrip("/") for name in files}:
            raise ToolError(
                f"{short_repr(entry.path)} is a submodule: a person must say which commit of it is used; "
                "its own files are changed and committed with it as `repo_path`"
            )
    paths = [entry.path for entry in touched if not entry.submodule and entry.worktree != "."]
    programs = inspect_programs(repository)
    await refuse_filters(repository, paths, programs)
    before = await _index_tree(repository, touched)
    if paths:
        with pathspec_file(repository, paths) as options:
            await git_write(repository, "add", *options, programs=programs if programs.trusted else None)
    return await staged_result(repository, before)


def refuse_unknown(repository: Repository, files: Iterable[str], entries: Iterable[StatusEntry]) -> None:
    """:raises ToolError: a file neither exists nor was deleted."""
    known = [entry.path for entry in entries]
    for name in files:
        if os.path.lexists(repository.layout.top / name) or name in known:
            continue
        if not any(path.startswith(f"{name}/") for path in known):
            raise ToolError(f"there is no file {short_repr(name)}, and no deleted one")


async def unstage_files(repository: Repository, files: Sequence[str]) -> StagedShape:
    """Unstage files, or all files.

    :raises ToolError: an operation such as a merge is unfinished and needs the index.
    """
    refuse_under_way(repository)
    repository.check_links()
    found = await read_changes(repository, files)
    refuse_conflicts(found.entries)
    before = await _index_tree(repository, found.entries)
    if files:
        with pathspec_file(repository, files) as options:
            await git_write(repository, "reset", "--quiet", *options)
    else:
        await git_write(repository, "reset", "--quiet")
    return await staged_result(repository, before)


async def staged_result(repository: Repository, before: str | None) -> StagedShape:
    """Return the staged files.

    :param before: the tree of what was staged before.
    """
    answer = await repository.query(
        "diff", "--cached", "--name-status", "--no-renames", "-z", "--no-ext-diff"
    )
    files = [
        FileShape(path=printable_path(path), staged=kind, unstaged="")
        for kind, (path,) in parse_name_status(answer.out)
    ]
    return StagedShape(staged=files[:SHOWN], total=len(files), index_before=before)


async def refuse_filters(repository: Repository, paths: Iterable[str], programs: RepositoryPrograms) -> None:
    """Reject files that git would store unfiltered although attributes assign them a filter.

    :raises ToolError: a filter is the repository's own and not trusted, or not configured at all.
    """
    given = join_names(paths)
    if not given:
        return
    answer = await repository.query("check-attr", "-z", "--stdin", "filter", given=given)
    by_filter = {name: path for path, name in parse_attribute(answer.out)}
    foreign, known = repository.settings.foreign_filters(), repository.settings.persons_filters()
    for name in sorted(by_filter.keys() - NO_FILTER):
        path = short_repr(by_filter[name])
        if name in foreign and not programs.trusted:
            raise ToolError(
                f"{path} has the filter {short_repr(name)}, a program that this repository brings; "
                f"{programs.why}, and without it git would store the file unfiltered"
            )
        if name not in foreign and name not in known:
            raise ToolError(
                f"{path} has the filter {short_repr(name)}, which is not set up, so git would "
                "store the file unfiltered; install it (for LFS `git lfs install`), or leave this file to a "
                "person"
            )


def refuse_under_way(repository: Repository, *, but: str = "") -> None:
    """:raises ToolError: an operation such as a merge is unfinished, unless it is `but`."""
    words = repository.under_way()
    if words is not None and words != but:
        raise ToolError(f"{words} has not ended in this repository; a person must end or abort it first")


def refuse_left_out(entries: Iterable[StatusEntry], files: Sequence[str]) -> None:
    """Reject named files that git would skip silently.

    :raises ToolError: a named file is ignored, or in a nested repository.
    """
    for entry in entries:
        named = [name for name in files if name == entry.path.rstrip("/") or _is_in(name, entry.path)]
        if entry.index == "!" and named:
            raise ToolError(f"{short_repr(named[0])} is ignored by git; take it out of `files`")
        if entry.index == "?" and any(_is_in(name, entry.path) for name in named):
            raise ToolError(f"{short_repr(named[0])} is in a repository of its own: name that as `repo_path`")


def _is_in(name: str, directory: str) -> bool:
    return directory.endswith("/") and name.startswith(directory)


def refuse_conflicts(entries: Iterable[StatusEntry]) -> None:
    """:raises ToolError: a file has a conflict."""
    for entry in entries:
        if entry.unmerged:
            raise ToolError(
                f"{short_repr(entry.path)} has a conflict of a merge; a person must resolve it first"
            )


async def _index_tree(repository: Repository, entries: Iterable[StatusEntry]) -> str | None:
    """Return the id of the index as a tree if any of these entries is staged."""
    if not any(entry.staged for entry in entries):
        return None
    try:
        return await repository.word("write-tree")
    except GitFailed:
        return None  # an index with a conflict is not a tree
