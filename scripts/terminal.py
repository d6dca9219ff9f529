"""A terminal that is read cell by cell."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING

import pyte

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pyte.screens import Char

LIMIT = 120.0
"""Seconds that anything is waited for at most."""
QUIET = 0.5
"""Seconds without a change after which a screen is taken to be drawn."""
MOST = 1 << 18
"""Bytes per read; checking the screen more often is slow."""
SPINNER = re.compile(r"[\u2801-\u28ff]")
STRINGS = re.compile(r"\x1b[P_^].*?\x1b\\", re.DOTALL)
"""Control strings that pyte would print: questions to the terminal."""
OPEN_STRING = re.compile(r"\x1b(?:[P_^].*)?\Z", re.DOTALL)
"""An incomplete control string."""


class _Screen(pyte.Screen):
    """A screen that answers programs, and ignores their private sequences for keyboards."""

    def __init__(self, columns: int, lines: int, answer: Callable[[str], None]) -> None:
        super().__init__(columns, lines)
        self._answer = answer

    def write_process_input(self, data: str) -> None:
        self._answer(data)

    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        if not private:
            super().select_graphic_rendition(*attributes)

    def report_device_status(self, mode: int, private: bool = False) -> None:
        if not private:
            super().report_device_status(mode)


class Terminal:
    """A command in its own terminal; its output is read while waiting."""

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, columns: int, rows: int
    ) -> None:
        self._own, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._process = subprocess.Popen(
            argv,
            env=dict(env),
            cwd=cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self._screen = _Screen(columns, rows, self.type)
        self._stream = pyte.Stream(self._screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""

    def type(self, keys: str) -> None:
        os.write(self._own, keys.encode())

    def rows(self) -> list[str]:
        return list(self._screen.display)

    def cells(self) -> list[list[Char]]:
        """Return the cells of each row, with their colours; that of the cursor is reversed."""
        columns, buffer = range(self._screen.columns), self._screen.buffer
        cells = [[buffer[row][column] for column in columns] for row in range(self._screen.lines)]
        cursor = self._screen.cursor
        if not cursor.hidden:
            column = min(cursor.x, self._screen.columns - 1)
            at = cells[cursor.y][column]
            cells[cursor.y][column] = at._replace(reverse=not at.reverse)
        return cells

    def wait_for(self, words: str) -> None:
        """Wait until the words stand on the screen, and nothing more is drawn.

        :raises TimeoutError: they do not within the limit.
        """
        self._wait(lambda: words in "\n".join(self.rows()), f"not on the screen: {words!r}")

    def wait_gone(self, words: str) -> None:
        """Wait until the words stand on the screen no more, and nothing more is drawn.

        :raises TimeoutError: they do after the limit.
        """
        self._wait(lambda: words not in "\n".join(self.rows()), f"still on the screen: {words!r}")

    def read_until(self, met: Callable[[], bool]) -> None:
        """Read what the command writes until a condition holds.

        :raises TimeoutError: it does not within the limit.
        """
        deadline = time.monotonic() + LIMIT
        while not met():
            if time.monotonic() > deadline:
                raise TimeoutError("\n".join(self.rows()))
            self._read(0.05)

    def kill(self) -> None:
        """Kill the command, and not what it started."""
        self._process.kill()
        self._process.wait(LIMIT)

    def close(self) -> None:
        """End the command and all that it started."""
        os.close(self._own)  # first: nobody reads what the command writes at its end
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait(LIMIT)

    def _wait(self, met: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + LIMIT
        while not met():
            if time.monotonic() > deadline or (not self._read(1.0) and self._process.poll() is not None):
                raise TimeoutError(otherwise + "\n" + "\n".join(self.rows()))
        shown, since = self._at_rest(), time.monotonic()
        while time.monotonic() < since + QUIET:
            self._read(0.1)
            if (now := self._at_rest()) != shown:
                shown, since = now, time.monotonic()
            if since > deadline:
                raise TimeoutError("the screen did not come to rest\n" + "\n".join(self.rows()))

    def _at_rest(self) -> str:
        return SPINNER.sub("", "\n".join(self.rows()))

    def _read(self, seconds: float) -> bool:
        readable, _, _ = select.select([self._own], [], [], seconds)
        if not readable:
            return False
        try:
            data = os.read(self._own, 1 << 16)
        except OSError:
            return False  # how Linux says that the other side was closed
        with contextlib.suppress(OSError):  # the same, after the last words
            while select.select([self._own], [], [], 0.01)[0] and len(data) < MOST:
                data += os.read(self._own, 1 << 16)
        text = STRINGS.sub("", self._waiting + self._decoder.decode(data))
        self._waiting = match[0] if (match := OPEN_STRING.search(text)) else ""
        self._stream.feed(text.removesuffix(self._waiting))
        return True
