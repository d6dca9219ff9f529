"""A worker: a process with a unique name that executes the legs of runs through DBOS, until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.errors import FleetError, InvalidInput
from tideate_core.fleet.database import APPLICATION, ROLES, NameLock, open_client, open_engine, plain_errors
from tideate_core.fleet.legs import VERSION
from tideate_core.fleet.objects import Objects
from tideate_core.fleet.serializing import json_serializer
from tideate_core.fleet.submission import QUEUE
from tideate_core.project import state_dir
from tideate_core.util.escaping import visible
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbos import DBOSClient, DBOSConfig
    from sqlalchemy import Engine

    from tideate_core.config import Config
    from tideate_core.fleet.answers import AnswerPoller
    from tideate_core.fleet.workplace import Workplace

log = logging.getLogger(__name__)

TICK: Final = 2.0
"""Seconds between two checks of the name's lock and of the inboxes."""
SWEEP: Final = 30
"""Ticks between two removals of work trees that no leg uses."""
_OVER: Final = frozenset({"SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"})


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Options of a worker."""

    name: str
    queue: str = "tideate"
    concurrency: int = 2
    """Legs that run at once."""
    drain: int = 30
    """Seconds that active legs have to end after a stop; then they are interrupted, and resumed later."""

    def check(self) -> None:
        """Check the names of the worker and the queue.

        :raises InvalidInput: a name is invalid.
        """
        for option, name in (("--name", self.name), ("--queue", self.queue)):
            if not re.fullmatch(QUEUE if option == "--queue" else r"[\w.-]{1,100}", name):
                raise InvalidInput(f"{option} {visible(name)}: give letters, digits, '.', '_' and '-'")


def dbos_config(url: str, options: WorkerOptions) -> DBOSConfig:
    """Return the configuration of DBOS for a worker."""
    return {
        "name": APPLICATION,
        "system_database_url": url,
        "executor_id": options.name,
        "application_version": VERSION,
        "serializer": json_serializer(),
        "log_level": "WARNING",
        "console_log_level": "WARNING",
        "scheduler_polling_interval_sec": 5.0,
        # small, because a server has few connections; legs mostly wait for models and git
        "sys_db_pool_size": 6,
    }


class Worker:
    """A running worker.

    :param tell: called with messages for the person.
    """

    def __init__(
        self, config: Config, url: str, options: WorkerOptions, tell: Callable[[str], object]
    ) -> None:
        self._config = config
        self._url = url
        self._options = options
        self._tell = tell
        self._engine: Engine = open_engine(url)
        self._lock = NameLock(self._engine, options.name)
        self._polls = NameLock(self._engine, "answers", ROLES)

    async def serve(self, stop: asyncio.Event) -> None:
        """Execute legs until `stop` is set; then wait for active legs, and interrupt them after `drain`.

        :raises FleetError: the name is in use, or the database cannot be used at the start.
        """
        with plain_errors():
            if not await asyncio.to_thread(self._lock.take):
                raise FleetError(
                    f"a worker named {self._options.name!r} is running; give another --name, or stop it first"
                )
            place = await asyncio.to_thread(self._place)
        await asyncio.to_thread(self._launch, place)
        self._tell(
            f"worker {self._options.name} is ready; it takes runs from the queue {self._options.queue}"
        )
        try:
            await self._watch(place, stop)
        finally:
            self._tell(f"stopping; active runs have {self._options.drain} s to end or to ask a question")
            await asyncio.to_thread(self._stop)

    def _place(self) -> Workplace:
        from tideate_core.fleet.workplace import Workplace

        folder = state_dir() / "fleet"
        make_private_directory(folder)
        objects = Objects(self._engine)
        objects.create()
        return Workplace(self._options.name, self._config, folder, objects, self._options.concurrency)

    def _launch(self, place: Workplace) -> None:
        from dbos import DBOS

        from tideate_core.fleet.concurrency import register_work
        from tideate_core.fleet.rates import rate_queues, register_rates
        from tideate_core.fleet.workflow import register_workflows

        queue, rates = self._options.queue, self._config.fleet.rates
        with plain_errors():
            register_workflows(place)
            DBOS(config=dbos_config(self._url, self._options))
            # also the queues of rates that were configured before: a resumed leg may wait in one
            DBOS.migrate(self._url)
            known = _rate_queues(self._url)
            DBOS.listen_queues([queue, *{*known, *rate_queues(rates)}])
            DBOS.launch()
            register_work(queue, self._options.concurrency, self._engine)
            register_rates(rates)

    async def _watch(self, place: Workplace, stop: asyncio.Event) -> None:
        from tideate_core.fleet.answers import AnswerPoller

        client = await asyncio.to_thread(open_client, self._url)
        poller, ticks = AnswerPoller(place, client), 0
        try:
            while not stop.is_set():
                try:
                    await self._tick(poller)
                    if ticks % SWEEP == 0:
                        await asyncio.to_thread(_sweep, place, client)
                    ticks += 1
                except NameLost:
                    raise
                except FleetError as error:  # the database is unreachable; DBOS retries, too
                    log.warning("%s", error)
                await _wait(stop, TICK)
        finally:
            await asyncio.to_thread(client.destroy)

    async def _tick(self, poller: AnswerPoller) -> None:
        with plain_errors():
            if not await asyncio.to_thread(self._has(self._lock)):
                raise NameLost(self._options.name)
            polls = await asyncio.to_thread(self._has(self._polls))
        if polls:
            await poller.poll()

    @staticmethod
    def _has(lock: NameLock) -> Callable[[], bool]:
        return lambda: lock.is_held() or lock.take()

    def _stop(self) -> None:
        from dbos import DBOS

        DBOS.destroy(workflow_completion_timeout_sec=self._options.drain)
        for lock in (self._polls, self._lock):
            lock.release()
        self._engine.dispose()


class NameLost(FleetError):
    """This worker lost its connection to the database, and then its name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"this worker lost its connection to the database, and then its name {name!r}: another worker "
            "uses the name, or its runs are being released; start this worker again, or give another --name"
        )


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return


def _rate_queues(url: str) -> list[str]:
    """Return the queues of rates that a worker stored."""
    from tideate_core.fleet.rates import is_rate_queue

    client = open_client(url)
    try:
        return [queue.name for queue in client.list_queues() if is_rate_queue(queue.name)]
    finally:
        client.destroy()


def _sweep(place: Workplace, client: DBOSClient) -> None:
    """Remove the work trees of legs that have ended, or that another worker has; tidy the mirrors."""
    place.repositories.mirrors.tidy()
    legs = place.leftover_trees()
    if not legs:
        return
    with plain_errors():
        found = client.list_workflows(workflow_ids=legs, load_input=False, load_output=False)
    states = {one.workflow_id: one for one in found}
    for leg in legs:
        one = states.get(leg)
        if one is None or one.status in _OVER or one.executor_id not in (None, place.name):
            place.forget(leg)
