"""Makes commits: of named files as they are, of all changes, or of what is staged; never of an accident.

A commit of files is git's own `--only`: it is made of the last commit and these files, and what a person
staged beside them stays staged. Of a file that is staged with one content and has another none is made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import UnusableFile
from tideate_core.mcp.careful import short
from tideate_core.mcp.servers.git import porcelain
from tideate_core.mcp.servers.git.handoff import COMMIT_INFO, scratch
from tideate_core.mcp.servers.git.place import check_links
from tideate_core.mcp.servers.git.shapes import CommitResult
from tideate_core.mcp.servers.git.staging import (
    changes,
    refuse_entries,
    refuse_filters,
    refuse_left_out,
    refuse_under_way,
    refuse_unknown,
)
from tideate_core.mcp.servers.git.trusting import COMMIT_HOOKS, look
from tideate_core.mcp.servers.git.writing import listed, write
from tideate_core.project import Documents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tideate_core.mcp.servers.git.porcelain import Entry, Status
    from tideate_core.mcp.servers.git.repository import Repository
    from tideate_core.mcp.servers.git.trusting import Brought

__all__ = ["NOTHING", "Wish", "commit", "describe", "leave", "wanted"]

NOTHING: Final = "nothing to commit: {why}. `git_status` shows what is changed; an empty commit is not made"
_MADE: Final = re.compile(r"^\[[^\n]*? ([0-9a-f]{40}(?:[0-9a-f]{24})?)\] ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Wish:
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


async def commit(repository: Repository, wish: Wish) -> CommitResult:
    """Make a commit and write it down for those who come after.

    :raises ToolError: there is nothing to commit, or a reason not to.
    """
    refuse_under_way(repository)
    check_links(repository.place, repository.root)
    scratch(repository.root)
    _refuse_unwritable(repository.root)
    found = await wanted(repository, wish)
    check_links(repository.place, repository.root, found.branch or "")
    brought = look(repository)
    if wish.files or wish.everything:
        made = await _only(repository, wish, found, brought)
    else:
        made = await _commit(repository, wish, brought)
    result = await describe(repository, made, found.branch or "HEAD", brought)
    leave(repository, result)
    return result


def leave(repository: Repository, result: CommitResult) -> None:
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


async def wanted(repository: Repository, wish: Wish) -> Status:
    """Return the changes that are to be committed.

    :raises ToolError: there are none, or some cannot be.
    """
    if wish.files:
        return await _of_files(repository, wish.files)
    found = await changes(repository)
    refuse_entries(found.entries)
    if wish.everything:
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
        path = repository.place.top / name
        if path.is_dir() and not path.is_symlink():
            raise ToolError(
                f"{short(name)} is a directory: name its files, so that nothing else is committed"
            )
    found = await changes(repository, files, ignored=True)
    refuse_entries(found.entries)
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
                f"{short(entry.path)} is staged with another content than the file has now: stage it again "
                "with `git_add` if all of it is meant, or unstage it with `git_reset`"
            )
        seen.add(entry.path)


async def _only(repository: Repository, wish: Wish, found: Status, brought: Brought) -> str:
    """Commit the files as they are now; returns the id."""
    paths = [entry.path for entry in found.entries]
    await refuse_filters(repository, paths, brought)
    # git commits only what it knows of; their contents are not in the index yet
    new = [entry.path for entry in found.entries if entry.index == "?"]
    if new:
        with listed(repository, new) as options:
            await write(repository, "add", "--intent-to-add", *options)
    try:
        with listed(repository, paths) as options:
            made = await _commit(repository, wish, brought, "--only", *options)
            if brought.trusted and brought.of_hooks(COMMIT_HOOKS) != "none":
                # a hook may have staged them as it made them, in an index of that commit's own
                await write(repository, "reset", "--quiet", *options)
    except BaseException:
        if new:
            await _forget(repository, new)
        raise
    return made


async def _forget(repository: Repository, paths: Sequence[str]) -> None:
    """Leave files unknown to git, as they were; they stay where they are."""
    with listed(repository, paths) as options:
        await write(repository, "rm", "--cached", "--quiet", "--force", "--ignore-unmatch", *options)


async def _commit(repository: Repository, wish: Wish, brought: Brought, *options: str) -> str:
    said = await write(
        repository,
        *("commit", f"--message={wish.message}", "--cleanup=whitespace", "--no-edit"),
        # where it finds nothing git would show a status, for which it runs what submodules configure
        *("--allow-empty", *options),
        brought=brought,
    )
    made = _MADE.search(said)
    if made is None:
        raise ToolError("git made a commit and did not say which; `git_log` shows it")
    await _refuse_empty(repository, made[1])
    return made[1]


async def _refuse_empty(repository: Repository, made: str) -> None:
    """Take a commit back that changes nothing.

    :raises ToolError: it was one.
    """
    answer = await repository.ask("show", "--no-patch", "--format=%T%x00%P", "--end-of-options", made)
    tree, parent = porcelain.text_of(answer.out).rstrip("\n").split("\0")
    if not parent:
        same = tree == await repository.empty_tree()
    else:
        same = (
            tree == porcelain.text_of((await repository.ask("rev-parse", f"{parent}^{{tree}}")).out).strip()
        )
    if not same:
        return
    # only while it is still the last one
    await write(repository, "update-ref", *(("HEAD", parent, made) if parent else ("-d", "HEAD", made)))
    raise ToolError(NOTHING.format(why="these files are as in the last commit"))


async def describe(repository: Repository, made: str, branch: str, brought: Brought) -> CommitResult:
    answer = await repository.ask(
        *("show", "--format=%H%x00%cI%x00%B%x00", "--name-only", "-z", "--no-renames", "--no-color"),
        *(
            "--no-notes",
            "--no-show-signature",
            "--no-ext-diff",
            "--no-textconv",
            "--diff-merges=first-parent",
        ),
        *("--end-of-options", made, "--"),
    )
    commit_hash, moment, message, *files = porcelain.text_of(answer.out).split("\0")
    return CommitResult(
        commit_hash=commit_hash,
        branch=branch,
        files=[path for name in files if (path := name.lstrip("\n"))],
        message=message.rstrip("\n"),
        timestamp=moment,
        hooks=brought.of_hooks(COMMIT_HOOKS),
        signing=brought.of_signing(),
    )
