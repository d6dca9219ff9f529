"""Parameter types and result schemas of the filesystem tools."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field

from tideate_core.mcp.servers.schemas import MAX_TEXT, NEXT, Line, ResultModel
from tideate_core.workspace import PROTECTED

DEEPEST: Final = 200
"""Parts of a path; many programs fail in deeper directories, including those that remove them."""
_SEPARATORS: Final = re.compile(r"[/\\]")


def _path(path: str) -> str:
    if not path:
        raise ValueError("a path is missing; `.` is the root")
    if path.startswith("~"):
        raise ValueError("`~` is not expanded: give a path relative to the root")
    parts = _SEPARATORS.split(path)
    if len(parts) > DEEPEST:
        raise ValueError(f"it has {len(parts)} parts, and {DEEPEST} are the most")
    if ".." in parts:
        raise ValueError("`..` is not allowed: give a path below the root")
    if not path.isascii():
        _refuse_look_alikes(path)
    return path


def _refuse_look_alikes(path: str) -> None:
    """Reject characters that a program or file system could take for `/`, `..` or a private name."""
    plain = unicodedata.normalize("NFKC", path)
    parts, plain_parts = _SEPARATORS.split(path), _SEPARATORS.split(plain)
    odd = {".", "..", *PROTECTED}
    if len(parts) != len(plain_parts) or any(
        part.casefold() in odd and part != own for own, part in zip(parts, plain_parts, strict=True)
    ):
        raise ValueError("it holds characters that look like `/` or `.` and are others: write these")


def _content(text: str) -> str:
    if "\0" in text:
        raise ValueError("it holds a NUL character: only text can be written")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("it holds half a character (a surrogate)") from None
    return text


Path: TypeAlias = Annotated[
    Line, AfterValidator(_path), Field(description="Relative to the root, or absolute inside it.")
]
Content: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_content)]
Lines: TypeAlias = Annotated[int | None, Field(ge=1, le=1_000_000_000, strict=True)]
Cursor: TypeAlias = Annotated[
    str,
    Field(max_length=12_000, description="`nextCursor` of the answer before, for what follows it."),
]
Pattern: TypeAlias = Annotated[
    Line,
    Field(
        min_length=1,
        max_length=1_000,
        description="A glob that the whole path fits, relative to `path`: `*.py` here, `**/*.py` at any "
        "depth; `*`, `**`, `?`, `[a-z]`, `{a,b}`.",
    ),
]
Exclude: TypeAlias = Annotated[
    list[Annotated[Line, Field(min_length=1, max_length=1_000)]],
    Field(
        max_length=100,
        description="Globs of what is left out with all below it; one without a wildcard is a name, or a "
        "path, at any depth.",
    ),
]
Words: TypeAlias = Annotated[
    Line, Field(min_length=1, max_length=1_000, description="What a line has to hold, word for word.")
]
Order: TypeAlias = Annotated[Literal["name", "size"], Field(description="By name, or the largest first.")]


class Edit(BaseModel):
    """A replacement of one part of a file."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    old_text: Content = Field(
        min_length=1,
        validation_alias=AliasChoices("old_text", "oldText"),
        description="What stands there, word for word and so much of it that only one place fits.",
    )
    new_text: Content = Field(
        validation_alias=AliasChoices("new_text", "newText"), description="What is to stand there instead."
    )


UNREAD = Field(default=0, description="How many directories could not be read, or are too deep.")
Kind = Literal["file", "directory", "link", "other"]


class TextShape(ResultModel):
    """A text, or a page of it."""

    path: str = Field(description="Relative to the root, links followed.")
    content: str
    size: int = Field(description="Bytes of the whole file.")
    next_cursor: str | None = NEXT


class MediaShape(ResultModel):
    """A media file; its bytes are in the result's content, in base64."""

    path: str
    mime_type: str
    size: int


class FileShape(ResultModel):
    """One of several files that were read."""

    path: str = Field(description="As it was given.")
    content: str | None = None
    error: str | None = None
    next_cursor: str | None = Field(
        default=None, description="Pass it to `read_text_file` for what follows; null if this was all."
    )


class FilesShape(ResultModel):
    """Several files, in the order of the request."""

    files: list[FileShape]


class EntryShape(ResultModel):
    """Entry of a directory."""

    name: str
    type: Kind


class ListShape(ResultModel):
    """A page of a directory."""

    entries: list[EntryShape]
    total: int = Field(description="How many there are on all pages.")
    next_cursor: str | None = NEXT


class SizedShape(EntryShape):
    """Entry of a directory with its size."""

    size: int | None = Field(description="Bytes; null where it is no file, or usually holds secrets.")


class SizesShape(ResultModel):
    """A page of a directory, with sizes."""

    entries: list[SizedShape]
    files: int = Field(description="On all pages.")
    directories: int = Field(description="On all pages.")
    size: int = Field(description="Bytes of all files on all pages.")
    next_cursor: str | None = NEXT


class NodeShape(ResultModel):
    """A file, or a directory with its content on this page."""

    name: str
    type: Kind
    children: list[NodeShape] | None = Field(default=None, description="Only of directories.")


class TreeShape(ResultModel):
    """A page of a tree; directories continued from the previous page are repeated."""

    tree: list[NodeShape]
    unread: int = UNREAD
    next_cursor: str | None = NEXT


class MatchesShape(ResultModel):
    """A page of paths that match a glob."""

    matches: list[str] = Field(description="Relative to the root; directories end with `/`.")
    unread: int = UNREAD
    next_cursor: str | None = NEXT


class MatchShape(ResultModel):
    """A line that contains the text."""

    path: str
    line: int = Field(description="1-based.")
    text: str


class WordsShape(ResultModel):
    """A page of lines that contain a text."""

    matches: list[MatchShape]
    cut: list[str] = Field(description="Files with more such lines than are listed.")
    left_out: list[str] = Field(
        description="Files that usually hold secrets, or are too large: not searched."
    )
    unread: int = UNREAD
    next_cursor: str | None = NEXT


class InfoShape(ResultModel):
    """Type, size, times and permissions of a path."""

    path: str
    type: Kind
    size: int | None = Field(description="Without hidden lines; null of a file that usually holds secrets.")
    modified: str
    accessed: str
    changed: str = Field(description="When its content, name, owner or permissions last changed.")
    permissions: str = Field(description="In octal.")
    link: bool = Field(description="The path given is a link to this.")


class DirectoriesShape(ResultModel):
    """The served directories."""

    directories: list[str]


class ChangeShape(ResultModel):
    """A completed change, or a preview with `dry_run`."""

    path: str = Field(description="Relative to the root; of what was moved, the new one.")
    action: Literal["created", "replaced", "edited", "made", "moved", "unchanged"]
    rollback: str | None = Field(
        description="`tideate rollback` with this id rolls it back; null where nothing was written."
    )
    diff: str | None = Field(default=None, description="Of an edit: a unified diff, cut off where long.")
    notes: list[str] = Field(default_factory=list, description="How each place was found.")
