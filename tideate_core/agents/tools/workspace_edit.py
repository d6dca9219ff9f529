"""Edits that a language server proposes: read strictly, and made in a text at exactly their positions."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from tideate_core.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "CreateFile",
    "DeleteFile",
    "DocumentEdit",
    "Encoding",
    "Operation",
    "RenameFile",
    "TextEdit",
    "apply_edits",
    "parse_workspace_edit",
]

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
"""Units in which a server counts the characters of a line."""

MOST_EDITS: Final = 20_000
_CODECS: Final = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class Position(_Part):
    """A place between two characters; both numbers from 0."""

    line: int = Field(ge=0)
    character: int = Field(ge=0)


class Range(_Part):
    """The text between two positions."""

    start: Position
    end: Position


class TextEdit(_Part):
    """A range of the text as it was, and what stands there then."""

    range: Range
    new_text: str


class _Document(_Part):
    uri: str
    version: int | None = None


class DocumentEdit(_Part):
    """Edits of one file, all made for the same text."""

    text_document: _Document
    edits: list[TextEdit]


class _Options(_Part):
    overwrite: bool = False
    ignore_if_exists: bool = False
    ignore_if_not_exists: bool = False


class CreateFile(_Part):
    """A new file, empty."""

    kind: Literal["create"]
    uri: str
    options: _Options = _Options()


class RenameFile(_Part):
    """A file gets another name."""

    kind: Literal["rename"]
    old_uri: str
    new_uri: str
    options: _Options = _Options()


class DeleteFile(_Part):
    """A file goes."""

    kind: Literal["delete"]
    uri: str
    options: _Options = _Options()


Operation: TypeAlias = DocumentEdit | CreateFile | RenameFile | DeleteFile


class _WorkspaceEdit(_Part):
    changes: dict[str, list[TextEdit]] | None = None
    document_changes: list[Operation] | None = None


def parse_workspace_edit(text: str) -> list[Operation]:
    """Return what a server wants done, in its order.

    :param text: JSON of a `WorkspaceEdit` of the language server protocol.
    :raises ToolError: it is none, is too large, or has edits that only an editor could make (snippets).
    """
    try:
        edit = _WorkspaceEdit.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))[:100]
        raise ToolError(f"the language server's edit cannot be used: {place}: {first['msg']}") from error
    operations = edit.document_changes
    if operations is None:  # where both are there, these count less
        operations = [_document_edit(uri, edits) for uri, edits in (edit.changes or {}).items()]
    total = sum(len(one.edits) for one in operations if isinstance(one, DocumentEdit))
    if total > MOST_EDITS:
        raise ToolError(f"the language server wants {total:,} edits; more than {MOST_EDITS:,} are not staged")
    return operations


def _document_edit(uri: str, edits: list[TextEdit]) -> DocumentEdit:
    return DocumentEdit(text_document=_Document(uri=uri), edits=edits)


def apply_edits(text: str, edits: Sequence[TextEdit], encoding: Encoding) -> str:
    r"""Return a text with edits made, whose positions are all of the text as it was.

    :param text: lines joined by ``\n``, without the last line end, which servers see.
    :raises ToolError: two edits overlap, or a position cannot be one of this text.
    """
    if "\r" in text:
        raise ToolError("carriage returns stand inside of lines there, which servers count as ends of lines")
    lines = _Lines(f"{text}\n", encoding)
    spans = [(lines.index(edit.range.start), lines.index(edit.range.end), edit) for edit in edits]
    parts: list[str] = []
    at = 0
    for start, end, edit in sorted(spans, key=lambda span: span[:2]):
        if end < start or start < at:
            raise ToolError(f"the language server's edits overlap at line {edit.range.start.line + 1}")
        parts += [lines.text[at:start], edit.new_text.replace("\r\n", "\n").replace("\r", "\n")]
        at = end
    return "".join([*parts, lines.text[at:]]).removesuffix("\n")


class _Lines:
    """A text whose positions are looked up."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self._encoding = encoding
        self._lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]

    def index(self, position: Position) -> int:
        """Return where a position is in the text; one behind a line's end is its end, as the protocol says.

        :raises ToolError: it is in the middle of a character.
        """
        if position.line >= len(self._lines):
            return len(self.text)
        line = self._lines[position.line]
        return self._starts[position.line] + self._column(line, position)

    def _column(self, line: str, position: Position) -> int:
        if self._encoding == "utf-32" or line.isascii():
            return min(position.character, len(line))
        codec, width = _CODECS[self._encoding]
        before = line.encode(codec)[: position.character * width]
        try:
            return len(before.decode(codec))
        except UnicodeDecodeError as error:
            number = position.line + 1
            raise ToolError(f"the language server's edit cuts a character of line {number} in two") from error
