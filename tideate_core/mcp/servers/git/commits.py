"""Commit named files, all changes or the index, on HEAD or on a new branch.

A commit of files is git's own `--only`: it is made of the last commit and these files, and what a person
staged beside them stays staged. Of a file that is staged with one content and has another none is made. On a
new branch a commit is made in an index of its own; HEAD, the index and what is checked out stay as they are.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import UnusableFile
from tideate_core.mcp.servers.git import porcelain
from tideate_core.mcp.servers.git.layout import check_links
from tideate_core.mcp.servers.git.program import GitFailed
from tideate_core.mcp.servers.git.schemas import CommitResult
from tideate_core.mcp.servers.git.staging import (
    read_changes,
    refuse_conflicts,
    refuse_filters,
    refuse_left_out,
    refuse_under_way,
    refuse_unknown,
)
from tideate_core.mcp.servers.git.trust import COMMIT_HOOKS, inspect_programs
from tideate_core.mcp.servers.git.writes import (
    COMMIT_INFO,
    git_write,
    pathspec_file,
    scratch_directory,
    temporary_index,
)
from tideate_core.mcp.servers.schemas import short_repr
from tideate_core.project import Documents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tideate_core.mcp.servers.git.porcelain import Entry, Status
    from tideate_core.mcp.servers.git.repository import Repository
    from tideate_core.mcp.servers.git.trust import RepositoryPrograms

__all__ = [
    "NOTHING",
    "CommitRequest",
    "commit",
    "commit_on_new_branch",
    "commit_result",
    "requested_changes",
    "write_commit_info",
]

NOTHING: Final = "nothing to commit: {why}. `git_status` shows what is changed; an empty commit is not made"
_OTHER_BRANCH: Final = "a commit on a branch that is not checked out"
_MADE: Final = re.compile(r"^\[[^\n]*? ([0-9a-f]{40}(?:[0-9a-f]{24})?)\] ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """The commit that is wanted."""

    agent: str
    scope: str
    description: str
    files: tuple[str, ...] = ()
    """Relative to the top; empty: what is staged, or all."""
    everything: bool = False

    @property
    def message(self) -> str:
        return f"{self.scope}: {self.description}\n\nAgent: {self.agent}\n"


async def commit(repository: Repository, request: CommitRequest) -> CommitResult:
    """Make a commit and write it down for those who come after.

    :raises ToolError: there is nothing to commit, or a reason not to.
    """
    refuse_under_way(repository)
    check_links(repository.layout, repository.root)
    scratch_directory(repository.root)
    _refuse_unwritable(repository.root)
    found = await requested_changes(repository, request)
    check_links(repository.layout, repository.root, found.branch or "")
    programs = inspect_programs(repository)
    if request.files or request.everything:
        made = await _commit_files(repository, request, found, programs)
    else:
        made = await _commit(repository, request, programs)
    result = await commit_result(repository, made, found.branch or "HEAD", programs)
    write_commit_info(repository, result)
    return result


def write_commit_info(repository: Repository, result: CommitResult) -> None:
    """Write a commit down for those who come after.

    :raises ToolError: it cannot be written; the commit is made all the same.
    """
    text = result.model_dump_json(by_alias=True, indent=2) + "\n"
    try:
        Documents(repository.root).write(COMMIT_INFO, text.encode())
    except UnusableFile as error:
        raise ToolError(
            f"the commit {result.commit_hash[:12]} is made, and .tideate/{COMMIT_INFO} cannot be written: "
            f"{error.reason}"
        ) from error


def _refuse_unwritable(root: Path) -> None:
    """:raises ToolError: the file that tells of the commit could not be written."""
    try:
        Documents(root).prepare(COMMIT_INFO)
    except UnusableFile as error:
        raise ToolError(
            f".tideate/{COMMIT_INFO} could not be written: {error.reason}; nothing was committed"
        ) from error


async def requested_changes(repository: Repository, request: CommitRequest) -> Status:
    """Return the changes that are to be committed.

    :raises ToolError: there are none, or some cannot be.
    """
    if request.files:
        return await _of_files(repository, request.files)
    found = await read_changes(repository)
    refuse_conflicts(found.entries)
    if request.everything:
        # a repository in the repository is none of its files
        found.entries = [entry for entry in found.entries if not entry.path.endswith("/")]
        if not found.entries:
            raise ToolError(NOTHING.format(why="no file is changed"))
        _refuse_two_contents(found.entries)
    elif not any(entry.staged for entry in found.entries):
        raise ToolError(NOTHING.format(why="nothing is staged; name `files`, or set `auto_stage` for all"))
    return found


async def _of_files(repository: Repository, files: Sequence[str]) -> Status:
    for name in files:
        path = repository.layout.top / name
        if path.is_dir() and not path.is_symlink():
            raise ToolError(
                f"{short_repr(name)} is a directory: name its files, so that nothing else is committed"
            )
    found = await read_changes(repository, files, ignored=True)
    refuse_conflicts(found.entries)
    refuse_left_out(found.entries, files)
    found.entries = [entry for entry in found.entries if entry.path in files]
    _refuse_two_contents(found.entries)
    refuse_unknown(repository, files, found.entries)
    if not found.entries:
        raise ToolError(NOTHING.format(why="none of these files is changed"))
    return found


def _refuse_two_contents(entries: Iterable[Entry]) -> None:
    """Refuse a file of which a person has staged what it does not hold: that would be in no commit.

    :raises ToolError: there is one.
    """
    seen: set[str] = set()
    for entry in entries:
        if entry.path in seen or (entry.staged and entry.worktree != "."):
            raise ToolError(
                f"{short_repr(entry.path)} is staged with another content than the file has now: stage it "
                "again with `git_add` if all of it is meant, or unstage it with `git_reset`"
            )
        seen.add(entry.path)


async def _commit_files(
    repository: Repository, request: CommitRequest, found: Status, programs: RepositoryPrograms
) -> str:
    """Commit the files as they are now; returns the id."""
    paths = [entry.path for entry in found.entries]
    await refuse_filters(repository, paths, programs)
    # git commits only what it knows of; their contents are not in the index yet
    new = [entry.path for entry in found.entries if entry.index == "?"]
    if new:
        with pathspec_file(repository, new) as options:
            await git_write(repository, "add", "--intent-to-add", *options)
    try:
        with pathspec_file(repository, paths) as options:
            made = await _commit(repository, request, programs, "--only", *options)
            if programs.trusted and programs.hooks_report(COMMIT_HOOKS) != "none":
                # a hook may have staged them as it made them, in an index of that commit's own
                await git_write(repository, "reset", "--quiet", *options)
    except BaseException:
        if new:
            await _remove_intent_to_add(repository, new)
        raise
    return made


async def _remove_intent_to_add(repository: Repository, paths: Sequence[str]) -> None:
    """Leave files unknown to git, as they were; they stay where they are."""
    with pathspec_file(repository, paths) as options:
        await git_write(repository, "rm", "--cached", "--quiet", "--force", "--ignore-unmatch", *options)


async def _commit(
    repository: Repository, request: CommitRequest, programs: RepositoryPrograms, *options: str
) -> str:
    said = await git_write(
        repository,
        *("commit", f"--message={request.message}", "--cleanup=whitespace", "--no-edit"),
        # where it finds nothing git would show a status, for which it runs what submodules configure
        *("--allow-empty", *options),
        programs=programs,
    )
    made = _MADE.search(said)
    if made is None:
        raise ToolError("git made a commit and did not say which; `git_log` shows it")
    await _refuse_empty(repository, made[1])
    return made[1]


async def _refuse_empty(repository: Repository, made: str) -> None:
    """Remove a commit that changes nothing.

    :raises ToolError: it was one.
    """
    answer = await repository.query("show", "--no-patch", "--format=%T%x00%P", "--end-of-options", made)
    tree, parent = porcelain.text_of(answer.out).rstrip("\n").split("\0")
    if tree != (await repository.tree_of(parent) if parent else await repository.empty_tree()):
        return
    # only while it is still the last one
    await git_write(repository, "update-ref", *(("HEAD", parent, made) if parent else ("-d", "HEAD", made)))
    raise ToolError(NOTHING.format(why="these files are as in the last commit"))


async def commit_result(
    repository: Repository, made: str, branch: str, programs: RepositoryPrograms
) -> CommitResult:
    answer = await repository.query(
        *("show", "--format=%H%x00%cI%x00%B%x00", "--name-only", "-z", "--no-renames", "--no-color"),
        *("--no-notes", "--no-show-signature", "--no-ext-diff", "--no-textconv"),
        *("--diff-merges=first-parent", "--end-of-options", made, "--"),
    )
    commit_hash, moment, message, *files = porcelain.text_of(answer.out).split("\0")
    return CommitResult(
        commit_hash=commit_hash,
        branch=branch,
        files=[path for name in files if (path := name.lstrip("\n"))],
        message=message.rstrip("\n"),
        timestamp=moment,
        hooks=programs.hooks_report(COMMIT_HOOKS),
        signing=programs.signing_report(),
    )


async def commit_on_new_branch(repository: Repository, request: CommitRequest, branch: str) -> CommitResult:
    """Commit files as they are now, on top of HEAD, on a new branch. No hook is run.

    :raises ToolError: there is such a branch, no file is named, or none is changed.
    """
    if not request.files:
        raise ToolError("with `branch`, name the `files`: what is staged belongs to the branch checked out")
    refuse_under_way(repository)
    check_links(repository.layout, repository.root, branch)
    if await repository.exists(f"refs/heads/{branch}"):
        raise ToolError(f"the branch {short_repr(branch)} exists; choose another name")
    found = await requested_changes(repository, request)
    base = await repository.commit_of("HEAD")
    programs = inspect_programs(repository)
    paths = [entry.path for entry in found.entries]
    await refuse_filters(repository, paths, programs)
    made = await _commit_tree(repository, request, base, paths)
    try:
        # an empty old value: nobody made the branch meanwhile
        await repository.query("update-ref", "--create-reflog", f"refs/heads/{branch}", made, "")
    except GitFailed as error:
        raise ToolError(f"the branch {short_repr(branch)} cannot be made: {error}") from error
    result = await commit_result(repository, made, branch, programs)
    if programs.hooks_report(COMMIT_HOOKS) != "none":
        result.hooks = f"not run: {_OTHER_BRANCH}"
    if programs.signing_report() != "none":
        result.signing = f"not signed: {_OTHER_BRANCH}"
    write_commit_info(repository, result)
    return result


async def _commit_tree(
    repository: Repository, request: CommitRequest, base: str, paths: Sequence[str]
) -> str:
    """Return the id of the commit, which no branch has yet."""
    async with temporary_index(repository, base) as index:
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        await repository.query(
            *("update-index", "--add", "--remove", "-z", "--stdin"), given=names, environment=index
        )
        tree = porcelain.text_of((await repository.query("write-tree", environment=index)).out).strip()
    if tree == await repository.tree_of(base):
        raise ToolError(NOTHING.format(why="these files are as in the last commit"))
    answer = await repository.query("commit-tree", tree, "-p", base, given=request.message.encode())
    return porcelain.text_of(answer.out).strip()
