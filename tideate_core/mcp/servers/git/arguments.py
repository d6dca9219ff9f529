"""The parameters of the git server's tools: what no argument may be is refused before anything is asked."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from tideate_core.mcp.servers.parameters import Line, RelativePath

__all__ = [
    "Agent",
    "Branch",
    "Context",
    "Count",
    "Cursor",
    "Description",
    "Files",
    "Moment",
    "Paths",
    "RepoPath",
    "Revision",
    "Scope",
    "Skip",
    "Untracked",
    "Where",
]


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
