"""Parser of a language server's `WorkspaceEdit`; applies text edits to one text at exact positions."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from tideate_core.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Sequence

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
"""Units in which a server counts the characters of a line."""

MOST_EDITS: Final = 20_000
_CODECS: Final = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2)}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class Position(_Part):
    """A position between two characters; both numbers from 0."""

    line: int = Field(ge=0)
    character: int = Field(ge=0)


class Range(_Part):
    """The text between two positions."""

    start: Position
    end: Position


class TextEdit(_Part):
    """A range of the original text, and its replacement."""

    range: Range
    new_text: str


class _Document(_Part):
    uri: str
    version: int | None = None


class DocumentEdit(_Part):
    """Edits of one file, all relative to the same text."""

    text_document: _Document
    edits: list[TextEdit]


class _Options(_Part):
    overwrite: bool = False
    ignore_if_exists: bool = False
    ignore_if_not_exists: bool = False


class CreateFile(_Part):
    """Creation of an empty file."""

    kind: Literal["create"]
    uri: str
    options: _Options = _Options()


class RenameFile(_Part):
    """Rename of a file."""

    kind: Literal["rename"]
    old_uri: str
    new_uri: str
    options: _Options = _Options()


class DeleteFile(_Part):
    """Deletion of a file."""

    kind: Literal["delete"]
    uri: str
    options: _Options = _Options()


Operation: TypeAlias = DocumentEdit | CreateFile | RenameFile | DeleteFile


class _WorkspaceEdit(_Part):
    changes: dict[str, list[TextEdit]] | None = None
    document_changes: list[Operation] | None = None


def parse_workspace_edit(text: str) -> list[Operation]:
    """Parse a server's edit; return its operations in order.

    :param text: JSON of a `WorkspaceEdit` of the language server protocol.
    :raises ToolError: it is invalid, too large, or has edits that only an editor can make (snippets).
    """
    try:
        edit = _WorkspaceEdit.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))[:100]
        raise ToolError(f"the language server's edit cannot be used: {place}: {first['msg']}") from error
    operations = edit.document_changes
    if operations is None:  # `changes` is a fallback
        operations = [_document_edit(uri, edits) for uri, edits in (edit.changes or {}).items()]
    total = sum(len(one.edits) for one in operations if isinstance(one, DocumentEdit))
    if total > MOST_EDITS:
        raise ToolError(f"the language server wants {total:,} edits; more than {MOST_EDITS:,} are not staged")
    return operations


def _document_edit(uri: str, edits: list[TextEdit]) -> DocumentEdit:
    return DocumentEdit(text_document=_Document(uri=uri), edits=edits)


def apply_edits(text: str, edits: Sequence[TextEdit], encoding: Encoding) -> str:
    r"""Apply edits to a text; all positions refer to the original text.

    :param text: lines joined by ``\n``, without the final line end, which servers count.
    :raises ToolError: two edits overlap, or a position is not in this text.
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
    """A text with an index of its positions."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self._encoding = encoding
        self._lines = text.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]

    def index(self, position: Position) -> int:
        """Return the offset of a position; one beyond a line's end means its end, as the protocol defines.

        :raises ToolError: the position is in the middle of a character.
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
