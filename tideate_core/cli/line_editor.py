"""A line that is typed at a terminal that edits none itself: characters, keys that delete, pasted text."""

from __future__ import annotations

import codecs
import re
from typing import Final

from rich.cells import cell_len

__all__ = ["LineEditor"]

SEQUENCE: Final = re.compile(r"\x1b(?:[\[O][0-?]*[ -/]*[@-~]|[^\[O])")
"""What a key sends that is no character: of arrows, function keys, Alt with a letter."""
BEGUN: Final = re.compile(r"\x1b(?:[\[O][0-?]*[ -/]*)?$")
"""The beginning of such a sequence, whose rest is still to come."""
LAST_WORD: Final = re.compile(r"\S*\s*$")


class LineEditor:
    """Makes lines of what a terminal sends; `text` is the one that is not ended."""

    def __init__(self) -> None:
        self.text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")
        self._rest = ""

    def feed(self, data: bytes) -> list[str]:
        """Take what was typed; return the lines that it ended."""
        typed = SEQUENCE.sub("", self._rest + self._decoder.decode(data))
        begun = BEGUN.search(typed)
        typed, self._rest = (typed[: begun.start()], begun[0]) if begun else (typed, "")
        lines = []
        for character in typed:
            if character in "\r\n\x04":  # Ctrl-D hands over what there is, as it does where terminals edit
                lines.append(self.text)
                self.text = ""
            else:
                self._edit(character)
        return lines

    def _edit(self, character: str) -> None:
        if character in "\x7f\x08":
            self._delete_character()
        elif character == "\x15":  # Ctrl-U
            self.text = ""
        elif character == "\x17":  # Ctrl-W
            self.text = LAST_WORD.sub("", self.text)
        elif character == "\t":
            self.text += " "
        elif character.isprintable():
            self.text += character

    def _delete_character(self) -> None:
        """Delete the last one with all that stands in its cell."""
        while self.text and not cell_len(self.text[-1]):
            self.text = self.text[:-1]
        self.text = self.text[:-1]
