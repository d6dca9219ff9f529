"""Output of programs: kept within a bound, split into lines as it comes."""

from __future__ import annotations

import codecs
import re
from collections import deque
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["LineReader", "Output", "OutputCapture", "OutputLine", "Stream", "strip_control_sequences"]

Stream: TypeAlias = Literal["stdout", "stderr"]

_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]?|[\]P^_X][^\x07\x1b]*+(?:\x07|\x1b\\)?|[ -/]*+[0-Z\\-~]?)"
)
"""Sequences of a terminal: control, operating system command and its like, single. Linear on any text."""

_UNSEEN: Final = dict.fromkeys(
    [
        *(c for c in range(32) if c not in (9, 10)),
        *range(127, 160),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
    ]
)
"""Control characters, and those that turn the direction of a line: what is shown is what the text has."""


@dataclass(frozen=True, slots=True)
class OutputLine:
    """One line as it came."""

    stream: Stream
    text: str
    """Without its end, control characters and escape sequences."""
    ended: bool = True
    """False: a carriage return follows, and what comes next on this stream takes its place."""


@dataclass(frozen=True, slots=True)
class Output:
    """The kept part of one stream."""

    text: str = ""
    """Its beginning and its end; between them a line that says how much was left out."""
    size: int = 0
    """Bytes that were printed."""
    cut: int = 0
    """Bytes of these that were left out."""


def strip_control_sequences(text: str) -> str:
    """Return a text as a terminal would leave it standing: overwritten lines and escapes are gone."""
    text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(_overwritten(line) for line in text.split("\n"))
    return text.translate(_UNSEEN)


def _overwritten(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2]


class OutputCapture:
    """Buffer of the first and the last bytes of a stream.

    :param limit: bytes that are kept, half of them of the beginning.
    """

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._size = 0

    def feed(self, data: bytes) -> None:
        self._size += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not data:
            return
        self._tail.append(data[-self._half :])
        self._tail_size += len(self._tail[-1])
        while self._tail_size - len(self._tail[0]) >= self._half:
            self._tail_size -= len(self._tail.popleft())

    def output(self) -> Output:
        """Return what is kept, as text; bytes that are no UTF-8 are replaced."""
        head, tail = bytes(self._head), b"".join(self._tail)[-self._half :]
        if len(head) + len(tail) == self._size:
            return Output(strip_control_sequences((head + tail).decode(errors="replace")), self._size)
        # whole lines only, else whole words
        head = head[: head.rfind(b"\n") + 1] or head[: head.rfind(b" ") + 1] or head
        tail = tail[(tail.find(b"\n") + 1) or (tail.find(b" ") + 1) :] or tail
        cut = self._size - len(head) - len(tail)
        start, end = (
            strip_control_sequences(head.decode(errors="replace")),
            strip_control_sequences(tail.decode(errors="replace")),
        )
        between = "" if start.endswith("\n") else "\n"
        return Output(f"{start}{between}[… {cut:,} bytes left out …]\n{end}", self._size, cut)


class LineReader:
    """Decoder of a stream's pieces into lines.

    :param longest: characters; what a line has beyond them is left out and its number said.
    """

    def __init__(self, stream: Stream, longest: int) -> None:
        self._stream: Stream = stream
        self._longest = longest
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._dropped = 0

    def feed(self, data: bytes, *, last: bool = False) -> list[OutputLine]:
        """Return the lines that these bytes complete; with `last` also what has no end."""
        *whole, rest = self._decoder.decode(data, last).split("\n")
        lines = []
        for text in whole:
            self._add(text)
            lines.append(self._take(_overwritten(self._pending), ended=True))
        self._add(rest)
        if last:
            return [*lines, self._take(_overwritten(self._pending), ended=True)] if self._pending else lines
        # a return at the very end may be the first half of a line's end
        shown, mark, left = self._pending.rpartition("\r") if self._pending[-1:] != "\r" else ("", "", "")
        if mark:
            lines.append(self._take(_overwritten(shown), ended=False))
            self._pending = left
        return lines

    def _add(self, text: str) -> None:
        joined = self._pending + text
        if len(joined) > self._longest:
            joined = _overwritten(joined)
            self._dropped += max(len(joined) - self._longest, 0)
            joined = joined[: self._longest]
        self._pending = joined

    def _take(self, text: str, *, ended: bool) -> OutputLine:
        more = f" [… {self._dropped:,} characters left out]" if self._dropped else ""
        self._pending, self._dropped = "", 0
        return OutputLine(self._stream, strip_control_sequences(text) + more, ended)
