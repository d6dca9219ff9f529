"""Text files decoded into lines and encoded again in the same style."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Literal, Self

from tideate_core.errors import NotText


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
