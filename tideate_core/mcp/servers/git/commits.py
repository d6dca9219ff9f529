"""Commit named files, all changes or the index, on HEAD or on a new branch.

A commit of files is git's own `--only`: the last commit plus these files; other staged changes stay staged. A
file whose staged content differs from its saved content is rejected. A commit on a new branch is built in a
temporary index, without touching HEAD, the index or the work tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import UnusableFile
from tideate_core.git import join_names, printable_text
from tideate_core.mcp.servers.git.repository import GitFailed
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

    from tideate_core.git import Status, StatusEntry
    from tideate_core.mcp.servers.git.repository import Repository
    from tideate_core.mcp.servers.git.trust import RepositoryPrograms

NOTHING: Final = "nothing to commit: {why}. `git_status` shows the changes; empty commits are not made"
_OTHER_BRANCH: Final = "a commit on a branch that is not checked out"
_MADE: Final = re.compile(r"^\[[^\n]*? ([0-9a-f]{40}(?:[0-9a-f]{24})?)\] ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """Message and scope of a requested commit."""

    agent: str
    scope: str
    description: str
    files: tuple[str, ...] = ()
    """Relative to the top; empty for the staged or all changes."""
    everything: bool = False

    @property
    def message(self) -> str:
        return f"{self.scope}: {self.description}\n\nAgent: {self.agent}\n"


async def commit(repository: Repository, request: CommitRequest) -> CommitResult:
    """Commit the requested changes on HEAD and write the commit info file.

    :raises ToolError: there is nothing to commit, or the commit is refused.
    """
    refuse_under_way(repository)
    repository.check_links()
    scratch_directory(repository.root)
    _refuse_unwritable(repository.root)
    found = await requested_changes(repository, request)
    repository.check_links(found.branch or "")
    programs = inspect_programs(repository)
    if request.files or request.everything:
        made = await _commit_files(repository, request, found, programs)
    else:
        made = await _commit(repository, request, programs)
    result = await commit_result(repository, made, found.branch or "HEAD", programs)
    write_commit_info(repository, result)
    return result


def write_commit_info(repository: Repository, result: CommitResult) -> None:
    """Write the commit info file for later tools.

    :raises ToolError: the file cannot be written; the commit remains.
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
    """:raises ToolError: the commit info file could not be written."""
    try:
        Documents(root).prepare(COMMIT_INFO)
    except UnusableFile as error:
        raise ToolError(
            f".tideate/{COMMIT_INFO} could not be written: {error.reason}; nothing was committed"
        ) from error


async def requested_changes(repository: Repository, request: CommitRequest) -> Status:
    """Return the changes to commit.

    :raises ToolError: there are none, or some cannot be committed.
    """
    if request.files:
        return await _of_files(repository, request.files)
    found = await read_changes(repository)
    refuse_conflicts(found.entries)
    if request.everything:
        # a nested repository is not part of this one
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


def _refuse_two_contents(entries: Iterable[StatusEntry]) -> None:
    """Reject a file with staged content that differs from its saved content, as no commit would hold it.

    :raises ToolError: there is such a file.
    """
    seen: set[str] = set()
    for entry in entries:
        if entry.path in seen or (entry.staged and entry.worktree != "."):
            raise ToolError(
                f"{short_repr(entry.path)} is staged with another content than it has now: stage it again "
                "with `git_add`, or unstage it with `git_reset`"
            )
        seen.add(entry.path)


async def _commit_files(
    repository: Repository, request: CommitRequest, found: Status, programs: RepositoryPrograms
) -> str:
    """Commit the saved content of the files; return the commit id."""
    paths = [entry.path for entry in found.entries]
    await refuse_filters(repository, paths, programs)
    # git commits only tracked files: this tracks new ones without staging their content
    new = [entry.path for entry in found.entries if entry.index == "?"]
    if new:
        with pathspec_file(repository, new) as options:
            await git_write(repository, "add", "--intent-to-add", *options)
    try:
        with pathspec_file(repository, paths) as options:
            made = await _commit(repository, request, programs, "--only", *options)
            if programs.trusted and programs.hooks_report(COMMIT_HOOKS) != "none":
                # a hook may have changed and staged them in the index of the commit
                await git_write(repository, "reset", "--quiet", *options)
    except BaseException:
        if new:
            # untracked again, and not deleted
            with pathspec_file(repository, new) as options:
                await git_write(
                    repository, "rm", "--cached", "--quiet", "--force", "--ignore-unmatch", *options
                )
        raise
    return made


async def _commit(
    repository: Repository, request: CommitRequest, programs: RepositoryPrograms, *options: str
) -> str:
    said = await git_write(
        repository,
        *("commit", f"--message={request.message}", "--cleanup=whitespace", "--no-edit"),
        # with no changes git would print a status, which runs programs that submodules configure
        *("--allow-empty", *options),
        programs=programs,
    )
    made = _MADE.search(said)
    if made is None:
        raise ToolError("git made a commit without printing its id; `git_log` shows it")
    await _refuse_empty(repository, made[1])
    return made[1]


async def _refuse_empty(repository: Repository, made: str) -> None:
    """Remove a new commit that has no changes.

    :raises ToolError: the commit had no changes.
    """
    answer = await repository.query("show", "--no-patch", "--format=%T%x00%P", "--end-of-options", made)
    tree, parent = printable_text(answer.out).rstrip("\n").split("\0")
    if tree != (await repository.tree_of(parent) if parent else await repository.empty_tree()):
        return
    # only if it is still the newest commit
    await git_write(repository, "update-ref", *(("HEAD", parent, made) if parent else ("-d", "HEAD", made)))
    raise ToolError(NOTHING.format(why="these files are as in the last commit"))


async def commit_result(
    repository: Repository, made: str, branch: str, programs: RepositoryPrograms
) -> CommitResult:
    """Describe a new commit."""
    answer = await repository.query(
        *("show", "--format=%H%x00%cI%x00%B%x00", "--name-only", "-z", "--no-renames", "--no-color"),
        *("--no-notes", "--no-show-signature", "--no-ext-diff", "--no-textconv"),
        *("--diff-merges=first-parent", "--end-of-options", made, "--"),
    )
    commit_hash, moment, message, *files = printable_text(answer.out).split("\0")
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
    """Commit the saved content of files on a new branch that starts at HEAD, without hooks.

    :raises ToolError: the branch exists, no file is named, or no file is changed.
    """
    if not request.files:
        raise ToolError("with `branch`, name the `files`: what is staged belongs to the branch checked out")
    refuse_under_way(repository)
    repository.check_links(branch)
    if await repository.exists(f"refs/heads/{branch}"):
        raise ToolError(f"the branch {short_repr(branch)} exists; choose another name")
    found = await requested_changes(repository, request)
    base = await repository.commit_of("HEAD")
    programs = inspect_programs(repository)
    paths = [entry.path for entry in found.entries]
    await refuse_filters(repository, paths, programs)
    made = await _commit_tree(repository, request, base, paths)
    try:
        # the empty old value fails if the branch was created meanwhile
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
    """Create a commit of files on top of another one; return its id."""
    async with temporary_index(repository, base) as index:
        await repository.query(
            *("update-index", "--add", "--remove", "-z", "--stdin"), given=join_names(paths), variables=index
        )
        tree = await repository.word("write-tree", variables=index)
    if tree == await repository.tree_of(base):
        raise ToolError(NOTHING.format(why="these files are as in the last commit"))
    return await repository.word("commit-tree", tree, "-p", base, given=request.message.encode())
