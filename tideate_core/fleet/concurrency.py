"""Active legs of a worker: DBOS stores one number for all workers of a queue, so each limits itself."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from sqlalchemy import text

from tideate_core.fleet.database import WORKERS
from tideate_core.fleet.queues import POLLING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sqlalchemy import Connection, Engine

_LOCK: Final = 0x71DEA7E0C0C0
"""Advisory lock of a registration, so that two workers that start at once see each other's number."""
_NAMES: Final = """
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = :kind AND objsubid = 2 AND granted
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


@dataclass(frozen=True, slots=True)
class Slots:
    """Places for the active legs of a worker."""

    number: int
    _by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = field(
        default_factory=WeakKeyDictionary, init=False
    )
    """DBOS executes legs in its own event loop; after a relaunch, the places of the old one are free."""

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait for a place, and have it."""
        loop = asyncio.get_running_loop()
        async with self._by_loop.setdefault(loop, asyncio.Semaphore(self.number)):
            yield


def register_work(queue: str, concurrency: int, engine: Engine) -> None:
    """Register the queue of a worker that has locked its name; blocking.

    The stored number is the largest of the workers since one was alone. A worker with a smaller one takes
    as many legs, and lets the surplus wait (`Workplace.advance`).

    :raises sqlalchemy.exc.SQLAlchemyError: the database cannot be reached.
    """
    from dbos import DBOS

    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        known = None if _is_alone(connection) else DBOS.retrieve_queue(queue)
        others = (known.worker_concurrency if known else None) or 0
        DBOS.register_queue(
            queue,
            worker_concurrency=max(concurrency, others),
            polling_interval_sec=POLLING,
            on_conflict="always_update",
        )


def _is_alone(connection: Connection) -> bool:
    """Tell whether no other worker has locked its name in this database."""
    return (connection.execute(text(_NAMES), {"kind": WORKERS}).scalar() or 0) < 2
