"""Moments at which a process is killed, and the means."""

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

How = Literal["time", "commit", "statement", "call"]
HOWS: Final[tuple[How, ...]] = ("time", "commit", "statement", "call")

CALLS: Final = (
    *("open", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "link", "symlink", "mknod"),
    *("chmod", "sendfile"),
)
"""System calls that write files and the journal; a process can be killed after each."""

LONGEST_DELAY: Final = 0.004
"""Seconds; duration of a commit on a slow disk."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of each kind of event in a run without a kill."""

    time: float
    """Seconds since it was ready."""
    commit: int
    statement: int
    call: int


@dataclass(frozen=True, slots=True)
class Kill:
    """One moment.

    With `time` the parent kills after that many seconds; with `commit` the process dies `delay` seconds into
    the commit of that number, inside SQLite; with `statement` before an SQL statement, mostly within a
    transaction; with `call` after a system call that changes files.
    """

    how: How
    at: float
    delay: float = 0.0


def draw(chance: random.Random, totals: Totals) -> Kill:
    """Choose a moment, each kind with equal probability."""
    how = chance.choice(HOWS)
    if how == "time":
        return Kill(how, chance.uniform(0, totals.time))
    # many short delays and some long ones
    delay = LONGEST_DELAY * 10 ** -chance.uniform(0, 3) if how == "commit" else 0.0
    return Kill(how, chance.randint(1, getattr(totals, how)), delay)


class Killer:
    """Counts events in the process and kills it at the chosen one."""

    def __init__(self, kill: Kill | None) -> None:
        self.counts = dict.fromkeys(("commit", "statement", "call"), 0)
        self._kill = kill

    def install(self) -> None:
        """Watch all new connections and calls."""
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
        """Count an event of this kind, before or after it happens."""
        self.counts[what] += 1
        kill = self._kill
        if kill is None or kill.how != what or self.counts[what] != kill.at:
            return
        if what != "commit":
            os.kill(os.getpid(), signal.SIGKILL)
        # from another thread, because the committing one is inside SQLite
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
