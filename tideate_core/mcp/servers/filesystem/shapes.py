"""What the filesystem server answers."""

from __future__ import annotations

from typing import Any, Literal

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

__all__ = [
    "ChangeShape",
    "DirectoriesShape",
    "EntryShape",
    "FileShape",
    "FilesShape",
    "InfoShape",
    "ListShape",
    "MatchShape",
    "MatchesShape",
    "MediaShape",
    "NodeShape",
    "SizedShape",
    "SizesShape",
    "TextShape",
    "TreeShape",
    "WordsShape",
    "answer",
    "with_cursor",
]

NEXT = Field(default=None, description="Pass it as `cursor` for what follows; null if this was all.")
UNREAD = Field(default=0, description="How many directories could not be read, or are too deep.")
Kind = Literal["file", "directory", "link", "other"]


class Shape(BaseModel):
    """Written in camelCase, read in either."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class TextShape(Shape):
    """A text, or a page of it."""

    path: str = Field(description="Relative to the root, links followed.")
    content: str
    size: int = Field(description="Bytes of the whole file.")
    next_cursor: str | None = NEXT


class MediaShape(Shape):
    """A file whose bytes are in the content beside this, in base64."""

    path: str
    mime_type: str
    size: int


class FileShape(Shape):
    """One of several files."""

    path: str = Field(description="As it was given.")
    content: str | None = None
    error: str | None = None
    next_cursor: str | None = Field(
        default=None, description="Pass it to `read_text_file` for what follows; null if this was all."
    )


class FilesShape(Shape):
    """Several files, in the order in which they were given."""

    files: list[FileShape]


class EntryShape(Shape):
    """What stands in a directory."""

    name: str
    type: Kind


class ListShape(Shape):
    """A page of a directory."""

    entries: list[EntryShape]
    total: int = Field(description="How many there are on all pages.")
    next_cursor: str | None = NEXT


class SizedShape(EntryShape):
    """The same with its size."""

    size: int | None = Field(description="Bytes; null where it is no file.")


class SizesShape(Shape):
    """A page of a directory, with sizes."""

    entries: list[SizedShape]
    files: int = Field(description="On all pages.")
    directories: int = Field(description="On all pages.")
    size: int = Field(description="Bytes of all files on all pages.")
    next_cursor: str | None = NEXT


class NodeShape(Shape):
    """A file, or a directory with what is below it on this page."""

    name: str
    type: Kind
    children: list[NodeShape] | None = Field(default=None, description="Only of directories.")


class TreeShape(Shape):
    """A page of a tree. Directories that a page goes on in are in it again, above what follows."""

    tree: list[NodeShape]
    unread: int = UNREAD
    next_cursor: str | None = NEXT


class MatchesShape(Shape):
    """A page of what was found."""

    matches: list[str] = Field(description="Relative to the root; directories end with `/`.")
    unread: int = UNREAD
    next_cursor: str | None = NEXT


class MatchShape(Shape):
    """A line that was found."""

    path: str
    line: int = Field(description="1-based.")
    text: str


class WordsShape(Shape):
    """A page of the lines that were found."""

    matches: list[MatchShape]
    cut: list[str] = Field(description="Files with more such lines than are listed.")
    left_out: list[str] = Field(
        description="Files that usually hold secrets, or are too large: not searched."
    )
    unread: int = UNREAD
    next_cursor: str | None = NEXT


class InfoShape(Shape):
    """What is known of a file or a directory."""

    path: str
    type: Kind
    size: int
    modified: str
    accessed: str
    changed: str = Field(description="When its content, name, owner or permissions last changed.")
    permissions: str = Field(description="In octal.")
    link: bool = Field(description="The path given is a link to this.")


class DirectoriesShape(Shape):
    """The directories that are served."""

    directories: list[str]


class ChangeShape(Shape):
    """What was changed, or with `dry_run` would be."""

    path: str = Field(description="Relative to the root; of what was moved, the new one.")
    action: Literal["created", "replaced", "edited", "made", "moved", "unchanged"]
    rollback: str | None = Field(
        description="`tideate rollback` with this id takes it back; null where nothing was written."
    )
    diff: str | None = Field(default=None, description="Of an edit: a unified diff, cut off where long.")
    notes: list[str] = Field(default_factory=list, description="How each place was found.")


def answer(content: dict[str, Any], text: str) -> CallToolResult:
    """Return an answer with a text beside it. The SDK checks it against its shape."""
    return CallToolResult(content=[TextContent(text=text)], structured_content=content)


def with_cursor(text: str, cursor: str | None) -> str:
    return f"{text}\n[there is more: cursor {cursor}]" if cursor else text
