"""Where a process is killed, and what kills it there."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

__all__ = ["CALLS", "HOWS", "Kill", "Killer", "Totals", "draw"]

How = Literal["time", "commit", "statement", "call"]
HOWS: Final[tuple[How, ...]] = ("time", "commit", "statement", "call")

CALLS: Final = ("open", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "link")
"""Calls of the system that files are written and journalled with; each is a place to be killed after."""

LONGEST_DELAY: Final = 0.004
"""Seconds: what a commit takes on a slow disk."""


@dataclass(frozen=True, slots=True)
class Totals:
    """How much there is of everything in a run that nobody kills."""

    time: float
    """Seconds from the moment that it could begin."""
    commit: int
    statement: int
    call: int


@dataclass(frozen=True, slots=True)
class Kill:
    """One moment.

    With `time` the parent kills after so many seconds; with `commit` the process dies `delay` seconds into
    the commit of that number, while SQLite is at it; with `statement` before a statement of SQL, most of
    them within a transaction; with `call` after a call of the system that changes files.
    """

    how: How
    at: float
    delay: float = 0.0


def draw(chance: random.Random, totals: Totals) -> Kill:
    """Choose a moment, each kind as often as the others."""
    how = chance.choice(HOWS)
    if how == "time":
        return Kill(how, chance.uniform(0, totals.time))
    # many short delays and some long ones
    delay = LONGEST_DELAY * 10 ** -chance.uniform(0, 3) if how == "commit" else 0.0
    return Kill(how, chance.randint(1, getattr(totals, how)), delay)


class Killer:
    """Counts what the process does, and kills it where that was wanted."""

    def __init__(self, kill: Kill | None) -> None:
        self.counts = dict.fromkeys(("commit", "statement", "call"), 0)
        self._kill = kill

    def install(self) -> None:
        """Watch the connections and the calls that are made from now on."""
        real = sqlite3.connect
        killer = self

        class Watched(sqlite3.Connection):
            def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
                killer.reach("commit" if sql == "COMMIT" else "statement")
                return super().execute(sql, *values)

            def executemany(self, sql: str, *values: Any) -> sqlite3.Cursor:
                killer.reach("statement")
                return super().executemany(sql, *values)

        def connect(*values: Any, **named: Any) -> sqlite3.Connection:
            return real(*values, factory=Watched, **named)

        sqlite3.connect = connect  # type: ignore[assignment]
        for name in CALLS:
            setattr(os, name, self._counted(getattr(os, name)))

    def reach(self, what: How) -> None:
        """Something of that kind is about to happen, or has just happened."""
        self.counts[what] += 1
        kill = self._kill
        if kill is None or kill.how != what or self.counts[what] != kill.at:
            return
        if what != "commit":
            os.kill(os.getpid(), signal.SIGKILL)
        # from another thread: the commit's own is in SQLite by then, without the lock of the interpreter
        begun = threading.Event()
        threading.Thread(target=_kill_after, args=(kill.delay, begun)).start()
        begun.wait()

    def _counted(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any, **named: Any) -> Any:
            done = real(*values, **named)
            self.reach("call")
            return done

        return call


def _kill_after(delay: float, begun: threading.Event) -> None:
    end = time.perf_counter() + delay
    begun.set()
    while time.perf_counter() < end:
        pass
    os.kill(os.getpid(), signal.SIGKILL)
