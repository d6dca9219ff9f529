"""Output of programs: size-limited capture, and live splitting into lines."""

from __future__ import annotations

import codecs
import re
from collections import deque
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Stream: TypeAlias = Literal["stdout", "stderr"]

_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]?|[\]P^_X][^\x07\x1b]*+(?:\x07|\x1b\\)?|[ -/]*+[0-Z\\-~]?)"
)
"""Terminal escape sequences: control, operating system command and similar, single. Linear on any text."""

_UNSEEN: Final = dict.fromkeys(
    [
        *(c for c in range(32) if c not in (9, 10)),
        *range(127, 160),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
    ]
)
"""Invisible characters: control characters, and marks that change the direction of text."""


@dataclass(frozen=True, slots=True)
class OutputLine:
    """One line of live output."""

    stream: Stream
    text: str
    """Without line end, control characters and escape sequences."""
    ended: bool = True
    """False: a carriage return follows, and the next line of the stream replaces this one."""


@dataclass(frozen=True, slots=True)
class Output:
    """The captured part of one stream."""

    text: str = ""
    """The beginning and the end, with a line in between that counts the omitted bytes."""
    size: int = 0
    """Bytes printed."""
    cut: int = 0
    """Bytes omitted."""


def strip_control_sequences(text: str) -> str:
    """Return a text as a terminal would finally show it: without overwritten lines and escapes."""
    text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(_overwritten(line) for line in text.split("\n"))
    return text.translate(_UNSEEN)


def _overwritten(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2]


class OutputCapture:
    """Buffer of a stream's first and last bytes.

    :param limit: bytes to keep, half of them from the beginning.
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
        """Return the captured text; bytes that are not UTF-8 are replaced."""
        head, tail = bytes(self._head), b"".join(self._tail)[-self._half :]
        if len(head) + len(tail) == self._size:
            return Output(strip_control_sequences((head + tail).decode(errors="replace")), self._size)
        # whole lines if possible, else whole words
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
    """Decodes chunks of a stream to lines.

    :param longest: maximum characters of a line; the rest is omitted and counted.
    """

    def __init__(self, stream: Stream, longest: int) -> None:
        self._stream: Stream = stream
        self._longest = longest
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._dropped = 0

    def feed(self, data: bytes, *, last: bool = False) -> list[OutputLine]:
        """Return the lines completed by some bytes; with `last`, also an unterminated line."""
        *whole, rest = self._decoder.decode(data, last).split("\n")
        lines = []
        for text in whole:
            self._add(text)
            lines.append(self._take(_overwritten(self._pending), ended=True))
        self._add(rest)
        if last:
            return [*lines, self._take(_overwritten(self._pending), ended=True)] if self._pending else lines
        # a carriage return at the very end may be half of a line end
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
