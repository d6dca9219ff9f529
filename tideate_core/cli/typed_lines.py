"""Lines that a person types while a run is shown, without a key of them on the screen by itself."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
import termios
import threading
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from tideate_core.cli.line_editor import LineEditor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractContextManager
    from types import FrameType

__all__ = ["TypedLines"]

QUIET: Final = 0.7
"""Seconds without a key after which a question opens: what is being typed is no answer to it."""
LOOK_EVERY: Final = 0.5
"""Seconds between two looks, in the background, whether the process is back in the foreground."""
LOCAL_FLAGS: Final = 3
"""Where `termios` has them in its list."""


class TypedLines:
    """Reads the terminal on stdin while the process is in its foreground; elsewhere it would be stopped.

    Signals stay those of the terminal: Ctrl-C interrupts, Ctrl-Z stops, both with its settings as they were.

    :param take: called with each line that was ended.
    :param show: called with the unfinished line when it changes; None: nothing is read now.
    :param clear: gives the screen back while the process is stopped.
    :param draws: the line is shown by `show`; else the terminal shows and edits it.
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
        """The settings that the terminal had, while it has others."""
        self._reads = False
        self._paused = False
        self._ended = False
        self._last_key = float("-inf")
        self._next_look: asyncio.TimerHandle | None = None
        self._caught: list[int] = []
        self._on_quit: Any = None

    @property
    def unfinished(self) -> str:
        """The line that was begun and not ended."""
        return self._editor.text

    def begin(self) -> None:
        """Read from now on."""
        stops = {signal.SIGTSTP: self._stop, signal.SIGCONT: self._look}
        for number, handler in stops.items():
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._loop.add_signal_handler(number, handler)
                self._caught.append(number)
        if signal.getsignal(signal.SIGQUIT) is signal.SIG_DFL:
            # not the loop's: it must end a process that hangs, too
            self._on_quit = signal.signal(signal.SIGQUIT, self._quit)
        self._look()

    def close(self) -> None:
        """Read no more, and leave the terminal as it was."""
        self._ended = True
        self._leave()
        for number in self._caught:
            self._loop.remove_signal_handler(number)
        if self._on_quit is not None:
            signal.signal(signal.SIGQUIT, self._on_quit)

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Leave the keyboard to a question, once nobody types; what was typed before belongs to the line."""
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
        """Give the terminal the settings that it had, also from a signal handler."""
        before, self._before = self._before, None
        if before is not None and self._is_in_foreground():  # else it is the shell's, which has its own
            with suppress(termios.error, OSError):  # the terminal may be gone
                self._set(before)

    def _look(self) -> None:
        """Read where the process is in the foreground, else look again later."""
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
            return True  # not this session's terminal: nobody is stopped at it

    def _edit_here(self) -> None:
        """Have the terminal hand over each key, and show none."""
        found = termios.tcgetattr(self._terminal)
        if found[LOCAL_FLAGS] & termios.ICANON:  # else they are still these, as after SIGSTOP
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
        """Read what was typed so far, a line that is not ended, too."""
        with suppress(termios.error, OSError):
            self._edit_here()
        while self._reads and select.select([self._terminal], [], [], 0)[0]:
            self._read()

    def _stop(self) -> None:
        """Stop the process, as Ctrl-Z wants it, until it is continued."""
        with self._clear():
            self._leave()
            self._loop.remove_signal_handler(signal.SIGTSTP)
            _raise_here(signal.SIGTSTP)
            self._loop.add_signal_handler(signal.SIGTSTP, self._stop)
        self._look()

    def _quit(self, number: int, _frame: FrameType | None) -> None:
        """Die of the signal, after the terminal has what it had."""
        self.restore()
        with suppress(OSError):
            os.write(sys.stderr.fileno(), b"\x1b[?25h\n")
        signal.signal(number, signal.SIG_DFL)
        _raise_here(number)


@contextmanager
def _not_stopped() -> Iterator[None]:
    """Have what a process in the background may not do with its terminal fail, where it would be stopped."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTIN, signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _raise_here(number: int) -> None:
    """Send a signal to this very thread: it is obeyed before the next line."""
    signal.pthread_kill(threading.get_ident(), number)
