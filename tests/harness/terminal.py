"""Commands on pseudo-terminals, with typed input and their display."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Terminal"]

LIMIT = 60.0
"""Time limit in seconds for any wait."""
LOOK = 0.05
"""Seconds between checks whether the terminal is closed."""

ESCAPES = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b(?:\[[0-9;?]*|\][^\x07\x1b]*\x1b?)?\Z|\r"
)
"""Escape sequences, also an incomplete one at the end."""


class Terminal:
    """A command with the terminal as stdin, stdout and stderr; Ctrl-C reaches its process group."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        columns: int = 100,
        rows: int = 30,
        stdout: int | None = None,
    ) -> None:
        self._own, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            argv,
            env=dict(env),
            cwd=cwd,
            stdin=theirs,
            stdout=theirs if stdout is None else stdout,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self._raw = ""
        self._hung_up = threading.Event()
        self._seen = 0
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def raw(self) -> str:
        """All output, including escape sequences."""
        with self._changed:
            return self._raw

    @property
    def text(self) -> str:
        """All output as text; redrawn lines are repeated."""
        return ESCAPES.sub("", self.raw)

    @property
    def is_cooked(self) -> bool:
        """True if the terminal edits lines and echoes, as a shell leaves it to commands."""
        flags = termios.ICANON | termios.ECHO | termios.ISIG
        return bool(termios.tcgetattr(self._own)[3] & flags == flags)

    def wait_for(self, words: str, within: float = LIMIT) -> None:
        """Wait until the words appear after the previously awaited ones."""
        with self._changed:
            found = self._changed.wait_for(lambda: self._find(words) >= 0, within)
            text = ESCAPES.sub("", self._raw)
            assert found, f"not shown within {within} s: {words!r}; shown:\n{text[self._seen :]}"
            self._seen = text.index(words, self._seen) + len(words)

    def type(self, text: str) -> None:
        os.write(self._own, text.encode())

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._own, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def answer(self, *dialog: str | tuple[str, str]) -> None:
        """Wait for each text in turn; after the first of a pair, type the second as a line."""
        for part in dialog:
            shown, line = part if isinstance(part, tuple) else (part, None)
            self.wait_for(shown)
            if line is not None:
                self.type(f"{line}\n")

    def answer_each(self, question: str, answer: str, within: float) -> int:
        """Answer each question that has these words until the command ends; return its exit status."""
        end = time.monotonic() + within
        while self.process.poll() is None:
            if time.monotonic() > end:
                raise AssertionError(f"not ended within {within} s; shown:\n{self.text[self._seen :]}")
            with self._changed:
                asked = self._changed.wait_for(lambda: self._find(question) >= 0, 4 * LOOK)
            if asked:
                self.wait_for(question)
                self.type(answer)
        return self.wait_exit()

    def hang_up(self) -> None:
        """Close the terminal, as when its window is closed or its connection is lost."""
        self._hung_up.set()
        self._reader.join(LIMIT)
        os.close(self._own)

    def wait_exit(self, within: float = LIMIT) -> int:
        """Wait for the exit and the last output; return the exit status."""
        status = self.process.wait(within)
        self._reader.join(within)
        return status

    def close(self) -> None:
        """End the command if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(LIMIT)
        if not self._hung_up.is_set():
            os.close(self._own)

    def _find(self, words: str) -> int:
        return ESCAPES.sub("", self._raw).find(words, self._seen)

    def _read(self) -> None:
        pending = b""
        while True:
            while not select.select([self._own], [], [], LOOK)[0]:
                if self._hung_up.is_set():
                    return
            try:
                data = os.read(self._own, 1 << 16)
            except OSError:
                break  # how Linux says that the other side was closed
            if not data:
                break
            pending += data
            # a character may come in two parts
            text = pending.decode(errors="ignore")
            with self._changed:
                self._raw += text
                pending = pending[len(text.encode()) :]
                self._changed.notify_all()
