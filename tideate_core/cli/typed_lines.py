"""Messages typed at the terminal during a run, without echo by the terminal."""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import select
import signal
import sys
import termios
import threading
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractContextManager
    from types import FrameType

QUIET: Final = 0.7
"""Seconds without a key before a question opens, so that it does not catch unrelated input."""
LOOK_EVERY: Final = 0.5
"""Seconds between checks whether the process is in the foreground again."""
LOCAL_FLAGS: Final = 3
"""Index of the local flags in the list of `termios`."""


SEQUENCE: Final = re.compile(r"\x1b(?:[\[O][0-?]*[ -/]*[@-~]|[^\[O])")
"""Escape sequence of a key such as an arrow, a function key, or Alt with a letter."""
BEGUN: Final = re.compile(r"\x1b(?:[\[O][0-?]*[ -/]*)?$")
"""Incomplete escape sequence at the end of the input."""
LAST_WORD: Final = re.compile(r"\S*\s*$")


class LineEditor:
    """Splits terminal input into lines; `text` is the unfinished line."""

    def __init__(self) -> None:
        self.text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="ignore")
        self._rest = ""

    def feed(self, data: bytes) -> list[str]:
        """Process input bytes; return the completed lines."""
        typed = SEQUENCE.sub("", self._rest + self._decoder.decode(data))
        begun = BEGUN.search(typed)
        typed, self._rest = (typed[: begun.start()], begun[0]) if begun else (typed, "")
        lines = []
        for character in typed:
            if character in "\r\n\x04":  # Ctrl-D ends the line, as in the terminal's line mode
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
        """Delete the last character with its combining characters."""
        while self.text and not cell_len(self.text[-1]):
            self.text = self.text[:-1]
        self.text = self.text[:-1]


class TypedLines:
    """Reader of the terminal on stdin while the process is in the foreground; elsewhere it would be stopped.

    Signals of the terminal keep working: Ctrl-C interrupts and Ctrl-Z stops, with the settings restored.

    :param take: called with each completed line.
    :param show: called with the unfinished line after each change; with None when reading stops.
    :param clear: clears the live view while the process is stopped.
    :param draws: `show` displays the line; otherwise the terminal displays and edits it.
    """

    def __init__(
        self,
        take: Callable[[str], object],
        show: Callable[[str | None], object],
        clear: Callable[[], AbstractContextManager[None]],
        *,
        draws: bool,
    ) -> None:
        self._take = take
        self._show = show
        self._clear = clear
        self._draws = draws
        self._terminal = sys.stdin.fileno()
        self._editor = LineEditor()
        self._loop = asyncio.get_running_loop()
        self._before: list[Any] | None = None
        """Original terminal settings while they are changed."""
        self._reads = False
        self._paused = False
        self._ended = False
        self._last_key = float("-inf")
        self._next_look: asyncio.TimerHandle | None = None
        self._caught: list[int] = []
        self._on_quit: Any = None

    @property
    def unfinished(self) -> str:
        """The unfinished line."""
        return self._editor.text

    def begin(self) -> None:
        """Start reading."""
        stops = {signal.SIGTSTP: self._stop, signal.SIGCONT: self._look}
        for number, handler in stops.items():
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._loop.add_signal_handler(number, handler)
                self._caught.append(number)
        if signal.getsignal(signal.SIGQUIT) is signal.SIG_DFL:
            # not the loop's handler: it must end a blocked process, too
            self._on_quit = signal.signal(signal.SIGQUIT, self._quit)
        self._look()

    def close(self) -> None:
        """Stop reading, and restore the terminal settings."""
        self._ended = True
        self._leave()
        for number in self._caught:
            self._loop.remove_signal_handler(number)
        if self._on_quit is not None:
            signal.signal(signal.SIGQUIT, self._on_quit)

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Stop reading for a question, after a pause in typing; earlier input belongs to the line."""
        while self._reads and (left := self._last_key + QUIET - self._loop.time()) > 0:  # noqa: ASYNC110 a key
            await asyncio.sleep(left)
        self._paused = True
        if self._reads:
            self._read_rest()
        self._leave()
        try:
            yield
        finally:
            self._paused = False
            self._look()

    def restore(self) -> None:
        """Restore the original terminal settings; safe in signal handlers."""
        before, self._before = self._before, None
        if before is not None and self._is_in_foreground():  # else the shell owns the terminal
            with suppress(termios.error, OSError):  # the terminal may be gone
                self._set(before)

    def _look(self) -> None:
        """Start reading if the process is in the foreground, else check again later."""
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
        if self._ended or self._paused:
            return
        if not self._is_in_foreground():
            self._leave()
            self._next_look = self._loop.call_later(LOOK_EVERY, self._look)
            return
        try:
            if self._draws:
                self._edit_here()
        except (termios.error, OSError):
            self._end()  # the terminal is gone
            return
        self._reads = True
        self._loop.add_reader(self._terminal, self._on_readable)
        self._show(self._editor.text)

    def _leave(self) -> None:
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
        if self._reads:
            self._reads = False
            self._loop.remove_reader(self._terminal)
        self.restore()
        self._show(None)

    def _end(self) -> None:
        self._ended = True
        self._leave()

    def _is_in_foreground(self) -> bool:
        try:
            return os.tcgetpgrp(self._terminal) == os.getpgrp()
        except OSError:
            return True  # another session's terminal does not stop this process

    def _edit_here(self) -> None:
        """Switch the terminal to single keys without echo."""
        found = termios.tcgetattr(self._terminal)
        if found[LOCAL_FLAGS] & termios.ICANON:  # else the settings are still changed, as after SIGSTOP
            self._before = found
        changed = [*found]
        changed[LOCAL_FLAGS] &= ~(termios.ICANON | termios.ECHO)
        self._set(changed)

    def _set(self, settings: list[Any]) -> None:
        with _not_stopped():
            termios.tcsetattr(self._terminal, termios.TCSANOW, settings)

    def _on_readable(self) -> None:
        if not self._is_in_foreground():
            self._look()
            return
        self._read()

    def _read(self) -> None:
        try:
            with _not_stopped():
                data = os.read(self._terminal, 4096)
        except OSError:
            data = b""
        if not data:
            if self._is_in_foreground():
                self._end()
            return
        self._last_key = self._loop.time()
        for line in self._editor.feed(data):
            self._take(line)
        self._show(self._editor.text)

    def _read_rest(self) -> None:
        """Read all pending input, including an unfinished line."""
        with suppress(termios.error, OSError):
            self._edit_here()
        while self._reads and select.select([self._terminal], [], [], 0)[0]:
            self._read()

    def _stop(self) -> None:
        """Stop the process on Ctrl-Z until it is continued."""
        with self._clear():
            self._leave()
            self._loop.remove_signal_handler(signal.SIGTSTP)
            _raise_here(signal.SIGTSTP)
            self._loop.add_signal_handler(signal.SIGTSTP, self._stop)
        self._look()

    def _quit(self, number: int, _frame: FrameType | None) -> None:
        """Restore the terminal settings, then end by the signal."""
        self.restore()
        with suppress(OSError):
            os.write(sys.stderr.fileno(), b"\x1b[?25h\n")
        signal.signal(number, signal.SIG_DFL)
        _raise_here(number)


@contextmanager
def _not_stopped() -> Iterator[None]:
    """Make terminal access of a background process fail instead of stopping the process."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTIN, signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _raise_here(number: int) -> None:
    """Send a signal to the current thread, for delivery before the next line."""
    signal.pthread_kill(threading.get_ident(), number)
