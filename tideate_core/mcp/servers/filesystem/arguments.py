"""The parameters of the filesystem's tools: what no path may be is refused before anything is done."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field

from tideate_core.mcp.servers.parameters import MAX_TEXT, Line
from tideate_core.workspace import PROTECTED

__all__ = ["Content", "Cursor", "Edit", "Exclude", "Lines", "Order", "Path", "Pattern", "Words"]

DEEPEST: Final = 200
"""Parts of a path: in a directory that is much deeper many programs fail, those that remove it too."""
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
    """Refuse what another program, or a file system, could take for `/`, `..` or a private name."""
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
    """A place of the file, and what is to stand there."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    old_text: Content = Field(
        min_length=1,
        validation_alias=AliasChoices("old_text", "oldText"),
        description="What stands there, word for word and so much of it that only one place fits.",
    )
    new_text: Content = Field(
        validation_alias=AliasChoices("new_text", "newText"), description="What is to stand there instead."
    )
