"""The name of a worker: a lock in the database, which proves that its legs are still its own.

A living worker looks at its lock each second. `tideate fleet release` holds the lock for `HELD` seconds, and
only then gives the legs away. So they are still here if the worker takes a lost lock again in less time.
Nothing is released for `QUIET` seconds after a start of the database: then the time until that start counts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tideate_core.errors import FleetError
from tideate_core.fleet.database import plain_errors, seconds_since_start

if TYPE_CHECKING:
    from tideate_core.fleet.database import NameLock

WATCH: Final = 1.0
"""Seconds between two checks of the lock by its worker."""
HELD: Final = 10.0
"""Seconds that a release has the lock before it gives the legs away."""
QUIET: Final = 20.0
"""Seconds after a start of the database in which running workers lock their names again."""
_CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Counts while the machine is suspended, if the system has such a clock."""


class NameLost(FleetError):
    """Another process has the name of this worker."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"this worker lost its connection to the database, and then its name {name!r}: another worker "
            "uses the name, or its runs are being released; start this worker again, or give another --name"
        )


class LegsLost(FleetError):
    """This worker has its name again, but its legs may have been given away meanwhile."""

    def __init__(self, name: str) -> None:
        super().__init__(f"worker {name} was without its name too long, and begins its runs again")


@dataclass(slots=True)
class WorkerName:
    """The name of this worker; all methods block."""

    lock: NameLock
    _had: float = field(default=0.0, init=False)
    """Time at which the worker surely had the lock."""

    def take(self) -> None:
        """Take the name.

        :raises FleetError: a worker has it, or the database cannot be reached.
        """
        now = time.clock_gettime(_CLOCK)
        with plain_errors():
            if not self.lock.take():
                raise FleetError(
                    f"a worker named {self.lock.name!r} is running; give another --name, or stop it first"
                )
        self._had = now

    def keep(self) -> None:
        """Check the lock, and take it again if its connection was lost.

        :raises NameLost: another process has it.
        :raises LegsLost: it is held again, but others may execute this worker's legs.
        :raises FleetError: the database cannot be reached.
        """
        now, had = time.clock_gettime(_CLOCK), self._had
        with plain_errors():
            if self.lock.is_held():
                self._had = now
                return
            restarted = self._only_restarted(now - had)
            if not self.lock.take():
                raise NameLost(self.lock.name)
        self._had = time.clock_gettime(_CLOCK)
        if not restarted and self._had - had >= HELD:
            raise LegsLost(self.lock.name)

    def _only_restarted(self, seconds: float) -> bool:
        """Tell whether the database was restarted so soon after the last check that nothing was released.

        :param seconds: time since the last check.
        """
        running = seconds_since_start(self.lock.engine)
        return running < QUIET and seconds - running < HELD
