"""Text files decoded into lines and encoded again in the same style, with unchanged line ends."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, Self

from tideate_core.errors import NotText
from tideate_core.workspace.diff import matching_blocks
from tideate_core.workspace.file_images import FileImage, read_image

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workspace.changes import FileChange


@dataclass(frozen=True, slots=True)
class Document:
    """Decoded text file; `Document()` is an empty file."""

    text: str = ""
    """Lines joined by ``\\n``, without the last line end."""
    newline: Literal["\n", "\r\n"] = "\n"
    """``\\n`` for mixed line ends; each ``\\r`` then stays in its line."""
    final_newline: bool = False
    bom: bool = False

    @classmethod
    def decode(cls, data: bytes, name: str = "the file") -> Self:
        """Decode UTF-8.

        :param name: of the file, for error messages.
        :raises NotText: the data contains a NUL or is not valid UTF-8.
        """
        if b"\0" in data:
            raise NotText(f"{name} is binary (it holds a NUL byte); only UTF-8 text can be edited")
        bom = data.startswith(codecs.BOM_UTF8)
        try:
            text = data[len(codecs.BOM_UTF8) if bom else 0 :].decode("utf-8")
        except UnicodeDecodeError as error:
            raise NotText(
                f"{name} is not UTF-8 (byte {error.start}); convert it, as with `:set fileencoding=utf-8`"
            ) from error
        newline: Literal["\n", "\r\n"] = "\n"
        if "\n" in text and text.count("\n") == text.count("\r\n"):
            newline = "\r\n"
            text = text.replace("\r\n", "\n")
        final_newline = text.endswith("\n")
        return cls(text.removesuffix("\n"), newline, final_newline, bom)

    def encode(self, text: str | None = None) -> bytes:
        """Return the bytes of this document, or of another text in its style.

        An empty file has no style yet: a text written to it ends with a line end.

        :raises NotText: the text contains a NUL or a lone surrogate.
        """
        if text is None:
            text = self.text
        if "\0" in text:
            raise NotText("the new text holds a NUL character; nothing was written")
        ends = self.final_newline or (not self.text and bool(text))
        if not text and self.text:
            ends = False  # an emptied file has no lines
        whole = text + "\n" if ends else text
        if self.newline == "\r\n":
            whole = whole.replace("\n", "\r\n")
        try:
            return (codecs.BOM_UTF8 if self.bom else b"") + whole.encode("utf-8")
        except UnicodeEncodeError as error:
            raise NotText("the new text holds half a character (a surrogate); nothing was written") from error


def text_of(data: bytes) -> str | None:
    """Decode a file's bytes; None if they are not text."""
    try:
        return Document.decode(data).text
    except NotText:
        return None


_BARE_CR: Final = re.compile(r"\r(?!\n|\Z)")
_ENDS: Final = re.compile(r"(\r?\n)")
_ALL_ENDS: Final = re.compile(r"(\r\n|\r|\n)")


def with_kept_line_ends(change: FileChange) -> FileChange:
    """Keep the line ends of a text change; other changes are returned unchanged."""
    if change.exact or change.images is not None or change.before is None or change.after is None:
        return change
    after = keep_line_ends(change.before, change.after)
    return change if after == change.after else replace(change, after=after, parts=())


def keep_line_ends(before: str, after: str) -> str:
    r"""Return a new text with the line ends of the old one.

    Texts are those of `Document`: a ``\r`` occurs only with mixed line ends, and the last ``\n`` is missing.
    A lone ``\r`` ends a line if the old text has one and the new text has none.
    """
    if "\r" not in before:
        return after.replace("\r\n", "\n").removesuffix("\r") if "\r" in after else after
    pattern = _ALL_ENDS if _BARE_CR.search(before) and not _BARE_CR.search(after) else _ENDS
    # the text lacks the last "\n", but not the "\r" before it
    tail = "\r" if before.endswith("\r") else ""
    old, old_ends = _split(pattern, before.removesuffix("\r"))
    new, _ = _split(pattern, after.removesuffix("\r"))
    old_ends.append(f"{tail}\n" if "\n" in before or not tail else tail)
    ends = _placed_ends(old, old_ends, new)
    last = ends.pop()
    if last is None or old[-1:] == new[-1:]:  # the last line keeps its own end
        last = tail
    text = "".join(f"{line}{end}" for line, end in zip(new, [*map(str, ends), ""], strict=True))
    return text + ("\r" if last.startswith("\r") and after else "")


def _split(pattern: re.Pattern[str], text: str) -> tuple[list[str], list[str]]:
    parts = pattern.split(text)
    return parts[::2], parts[1::2]


def _placed_ends(old: list[str], old_ends: list[str], new: list[str]) -> list[str | None]:
    """Return the end of each new line; None for a last line that is not an old one."""
    ends: list[str | None] = []
    i = j = 0
    for at, to, size in [*matching_blocks(old, new), (len(old), len(new), 0)]:
        replaced = old_ends[i:at][: to - j]
        ends += replaced
        around = ends[-1] if ends else (old_ends[at] if at < len(old) else old_ends[0])
        ends += [around] * (to - j - len(replaced))
        if to == len(new) and to > j:
            ends[-1] = None
        ends += old_ends[at : at + size]
        i, j = at + size, to + size
    return ends


def image_with_text(path: Path, text: str) -> FileImage:
    """Return a file with another text: its line ends, final line end and mode stay; blocking.

    :raises OSError: it cannot be read.
    """
    found = read_image(path)
    try:
        document = Document.decode(found.data)
    except NotText:
        document = Document()
    return FileImage.of_file(document.encode(text), found.state.mode or 0o644)
