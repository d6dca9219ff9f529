"""Where the choices of a walk come from: a person who is asked, or lines of stdin."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Protocol

from rich.text import Text

from tideate_core.cli.keyboard import Keyboard

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Choices", "Lines", "Prompt"]


class Choices(Protocol):
    """Gives one choice after the other."""

    asks_again: bool
    """A choice that is not allowed may be corrected."""

    def next(self) -> str | None:
        """Return the next choice, not empty; None at the end of input.

        :raises KeyboardInterrupt: Ctrl-C.
        """
        ...


class Prompt:
    """Asks at the terminal."""

    asks_again = True

    def __init__(self, console: Console) -> None:
        self._console = console
        self._keyboard = Keyboard(console)

    def next(self) -> str | None:
        question = Text("where to? (? help)", style="bold")
        # a loop, unlike `input`, never misses a Ctrl-C that comes just before it waits
        while (answer := asyncio.run(self._keyboard.line(question))) == "":
            pass
        if answer is None:
            self._console.print()
        return answer


class Lines:
    """Reads one choice from each line of stdin."""

    asks_again = False

    def next(self) -> str | None:
        return next((line.strip() for line in sys.stdin if line.strip()), None)
