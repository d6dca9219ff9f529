"""Parameter types and result schemas of the git tools."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from tideate_core.mcp.servers.schemas import NEXT, Line, RelativePath, ResultModel


def _said(text: str) -> str:
    if not (said := text.strip()):
        raise ValueError("it is empty")
    return said


_SAID = AfterValidator(_said)

Agent: TypeAlias = Annotated[
    Line, _SAID, Field(max_length=100, description="Who makes the commit: becomes the trailer `Agent: NAME`.")
]
Scope: TypeAlias = Annotated[
    Line, _SAID, Field(max_length=100, description="What is changed, in a word: the subject begins with it.")
]
Description: TypeAlias = Annotated[
    Line, _SAID, Field(max_length=1_000, description="What the commit does, in one line.")
]
Files: TypeAlias = Annotated[
    list[RelativePath], Field(max_length=10_000, description="Relative to the repository's top.")
]
Paths: TypeAlias = Annotated[
    list[RelativePath],
    Field(max_length=1_000, description="Files or directories, relative to the top; none: all."),
]
RepoPath: TypeAlias = Annotated[
    str,
    Field(
        max_length=4_096,
        description="The repository, where it is not the one at the server's root; inside the root.",
    ),
]
Revision: TypeAlias = Annotated[
    str, Field(max_length=300, description="A branch, a tag, the id of a commit or HEAD, with ~N or ^N.")
]
Branch: TypeAlias = Annotated[str, Field(max_length=300, description="The name of a branch.")]
Moment: TypeAlias = Annotated[
    str, Field(max_length=60, description="ISO 8601 (without a zone: UTC), or `3 days ago`; empty: no limit.")
]
Context: TypeAlias = Annotated[
    int, Field(ge=0, le=1_000, strict=True, description="Unchanged lines around each change.")
]
Count: TypeAlias = Annotated[int, Field(ge=1, le=500, strict=True, description="How many commits at most.")]
Skip: TypeAlias = Annotated[
    int, Field(ge=0, le=10_000_000, strict=True, description="How many commits to leave out first.")
]
Cursor: TypeAlias = Annotated[
    str, Field(max_length=300, description="`nextCursor` of the answer before, for what follows it.")
]
Untracked: TypeAlias = Annotated[
    Literal["no", "normal", "all"],
    Field(description="Files unknown to git: none, whole directories where all in them is, or each."),
]
Where: TypeAlias = Annotated[Literal["local", "remote", "all"], Field(description="Which branches.")]


class FileShape(ResultModel):
    """A file that is not as in the last commit."""

    path: str = Field(description="Relative to the repository's top.")
    staged: str = Field(description="What is staged: M, A, D, R, C, T as in `git status`; U in a conflict.")
    unstaged: str = Field(description="What is changed in the file and not staged; ? for one unknown to git.")
    original: str | None = Field(default=None, description="Its path before it was renamed or copied.")


class StatusShape(ResultModel):
    """State of the worktree."""

    branch: str | None = Field(description="null where HEAD is on no branch.")
    commit: str | None = Field(description="The last commit; null before the first.")
    upstream: str | None = None
    ahead: int | None = None
    behind: int | None = None
    has_changes: bool = Field(description="Anything is staged, changed, or unknown to git.")
    files: list[FileShape]
    total: int = Field(description="How many files there are on all pages.")
    under_way: str | None = Field(default=None, description="A merge or the like that has not ended.")
    notes: list[str] = Field(default=[], description="Notes on files that are not listed or compared.")
    next_cursor: str | None = NEXT
    timestamp: str


class DiffShape(ResultModel):
    """Changes."""

    diff: str = Field(description="Unified; paths are relative to the repository's top.")
    has_changes: bool
    whole: bool = Field(default=True, description="False: too long, git was stopped before its end.")
    next_cursor: str | None = NEXT
    timestamp: str


class CommitShape(ResultModel):
    """A commit without its changes."""

    commit_hash: str
    parents: list[str]
    author: str
    email: str
    date: str = Field(description="ISO 8601, with the author's zone.")
    message: str


class LogShape(ResultModel):
    """Commits, the newest first."""

    commits: list[CommitShape]
    next_cursor: str | None = NEXT


class ShowShape(CommitShape):
    """A commit with its changes."""

    diff: str = Field(description="What it changed; of a merge, against its first parent.")
    whole: bool = Field(default=True, description="False: too long, git was stopped before its end.")
    next_cursor: str | None = NEXT


class BranchShape(ResultModel):
    """A branch."""

    name: str
    remote: bool
    current: bool
    commit: str
    upstream: str | None = None
    subject: str


class BranchesShape(ResultModel):
    """Branches."""

    branches: list[BranchShape]
    total: int
    next_cursor: str | None = NEXT


class StagedShape(ResultModel):
    """The staged files."""

    staged: list[FileShape]
    total: int = Field(description="How many files are staged; no more than 1,000 are listed.")
    index_before: str | None = Field(
        default=None,
        description="The tree of what was staged before, where this replaced any of it: "
        "`git read-tree` with it brings that back.",
    )


class MovedShape(ResultModel):
    """Position of a branch."""

    branch: str
    commit: str
    previous: str | None = Field(default=None, description="The branch that HEAD was on.")
    hooks: str = "none"


class CommitResult(ResultModel):
    """A new commit, and its hooks and signing."""

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
