"""What the git server answers. Names of document 4 stay as they are there, in camelCase."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

__all__ = [
    "BranchShape",
    "BranchesShape",
    "CommitResult",
    "CommitShape",
    "DiffShape",
    "FileShape",
    "LogShape",
    "MovedShape",
    "ShowShape",
    "StagedShape",
    "StatusShape",
    "now",
    "result",
]

NEXT = Field(default=None, description="Pass it as `cursor` for what follows; null if this was all.")


class Shape(BaseModel):
    """Written in camelCase, read in either."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class FileShape(Shape):
    """A file that is not as in the last commit."""

    path: str = Field(description="Relative to the repository's top.")
    staged: str = Field(description="What is staged: M, A, D, R, C, T as in `git status`; U in a conflict.")
    unstaged: str = Field(description="What is changed in the file and not staged; ? for one unknown to git.")
    original: str | None = Field(default=None, description="Its path before it was renamed or copied.")


class StatusShape(Shape):
    """How the worktree stands."""

    branch: str | None = Field(description="null where HEAD is on no branch.")
    commit: str | None = Field(description="The last commit; null before the first.")
    upstream: str | None = None
    ahead: int | None = None
    behind: int | None = None
    has_changes: bool = Field(description="Anything is staged, changed, or unknown to git.")
    files: list[FileShape]
    total: int = Field(description="How many files there are on all pages.")
    under_way: str | None = Field(default=None, description="A merge or the like that has not ended.")
    next_cursor: str | None = NEXT
    timestamp: str


class DiffShape(Shape):
    """Changes."""

    diff: str = Field(description="Unified; paths are relative to the repository's top.")
    has_changes: bool
    whole: bool = Field(default=True, description="False: too long, git was stopped before its end.")
    next_cursor: str | None = NEXT
    timestamp: str


class CommitShape(Shape):
    """A commit without its changes."""

    commit_hash: str
    parents: list[str]
    author: str
    email: str
    date: str = Field(description="ISO 8601, with the author's zone.")
    message: str


class LogShape(Shape):
    """Commits, the newest first."""

    commits: list[CommitShape]
    next_cursor: str | None = NEXT


class ShowShape(CommitShape):
    """A commit with its changes."""

    diff: str = Field(description="What it changed; of a merge, against its first parent.")
    whole: bool = Field(default=True, description="False: too long, git was stopped before its end.")
    next_cursor: str | None = NEXT


class BranchShape(Shape):
    """A branch."""

    name: str
    remote: bool
    current: bool
    commit: str
    upstream: str | None = None
    subject: str


class BranchesShape(Shape):
    """Branches."""

    branches: list[BranchShape]
    total: int
    next_cursor: str | None = NEXT


class StagedShape(Shape):
    """What is staged now."""

    staged: list[FileShape]
    total: int = Field(description="How many files are staged; no more than 1,000 are listed.")
    index_before: str | None = Field(
        default=None,
        description="The tree of what was staged before, where this replaced any of it: "
        "`git read-tree` with it brings that back.",
    )


class MovedShape(Shape):
    """Where a branch stands."""

    branch: str
    commit: str
    previous: str | None = Field(default=None, description="The branch that HEAD was on.")
    hooks: str = "none"


class CommitResult(Shape):
    """A commit that was made: document 4's MCPCommitResult, and what was not run for it."""

    commit_hash: str
    branch: str = Field(description="HEAD where it is on no branch.")
    files: list[str] = Field(description="What the commit changed.")
    message: str
    timestamp: str = Field(description="When it was committed, ISO 8601.")
    hooks: str = Field(default="none", description="none, `run: …` or `not run: …`, with the reason.")
    signing: Literal["none", "signed"] | str = Field(
        default="none", description="none, signed, or `not signed: …`, with the reason."
    )


def now() -> str:
    """Return the time in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def result(shape: Shape, text: str) -> CallToolResult:
    """Return an answer with a text beside it."""
    return CallToolResult(
        content=[TextContent(text=text)], structured_content=shape.model_dump(by_alias=True, mode="json")
    )
