"""A worker: a process with a unique name that executes the legs of runs through DBOS, until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.errors import ConfigError, FleetError, InvalidInput, TideateError
from tideate_core.fleet.authority import Authority
from tideate_core.fleet.database import APPLICATION, ROLES, NameLock, open_client, open_engine, plain_errors
from tideate_core.fleet.legs import VERSION
from tideate_core.fleet.logs import log_plainly
from tideate_core.fleet.names import WATCH, LegsLost, NameLost, WorkerName
from tideate_core.fleet.objects import Objects
from tideate_core.fleet.seals import Seals
from tideate_core.fleet.serializing import json_serializer
from tideate_core.fleet.submission import QUEUE, allowed_fingerprints
from tideate_core.project import state_dir
from tideate_core.util.escaping import label
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Callable

    from dbos import DBOSClient, DBOSConfig
    from sqlalchemy import Engine

    from tideate_core.config import Config
    from tideate_core.fleet.workplace import Workplace

log = logging.getLogger(__name__)

TICK: Final = 2.0
"""Seconds between two lists of the waiting runs."""
TURN: Final = 30.0
"""Seconds until a worker that cannot read an inbox lets another worker of the queue look for answers."""
SWEEP: Final = 60.0
"""Seconds between two removals of work trees that no leg uses."""
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
"""Also the name of a directory, so neither `.` nor `..`."""
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
            if not re.fullmatch(QUEUE if option == "--queue" else _NAME, name):
                first = "a letter" if option == "--queue" else "a letter or digit"
                raise InvalidInput(
                    f"{option} {label(name)}: give letters, digits, '.', '_' and '-', {first} first"
                )


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

    :param secret: the secret of the fleet's workers.
    :param tell: called with messages for the person.
    """

    def __init__(
        self,
        config: Config,
        url: str,
        secret: str,
        options: WorkerOptions,
        tell: Callable[[str], object],
    ) -> None:
        self._config = config
        self._authority = Authority(config.fleet.allow, options.queue, Seals.of(secret))
        self._url = url
        self._options = options
        self._tell = tell
        self._engine: Engine = open_engine(url)
        self._name = WorkerName(NameLock(self._engine, options.name))
        self._polls = NameLock(self._engine, f"answers {options.queue}", ROLES)

    async def serve(self, stop: asyncio.Event) -> None:
        """Execute legs until `stop` is set; then wait for active legs, and interrupt them after `drain`.

        :raises ConfigError: `[fleet] allow` has no key, or an invalid one.
        :raises NameLost: another process has the worker's name.
        :raises FleetError: the name is in use, or the database cannot be used at the start.
        """
        if not allowed_fingerprints(self._config.fleet.allow):
            raise ConfigError(
                "this worker would run nothing: set `[fleet] allow` in its configuration to the keys of your "
                "submitters; `ssh-keygen -lf KEY.pub` prints the fingerprint of a key"
            )
        await asyncio.to_thread(self._name.take)
        try:
            place = await asyncio.to_thread(self._place)
            client = await asyncio.to_thread(open_client, self._url)
            try:
                await self._serve(place, client, stop)
            finally:
                await asyncio.to_thread(client.destroy)
        finally:
            await asyncio.to_thread(self._close)

    async def _serve(self, place: Workplace, client: DBOSClient, stop: asyncio.Event) -> None:
        from tideate_core.fleet.workflow import register_workflows

        register_workflows(place)
        while not stop.is_set():
            await asyncio.to_thread(self._launch, client)
            self._tell(
                f"worker {self._options.name} is ready; it takes runs from the queue {self._options.queue}"
            )
            drain = 0
            try:
                await self._watch(place, client, stop)
                drain = self._options.drain
                self._tell(f"stopping; active runs have {drain} s to end or to ask a question")
            except LegsLost as error:
                self._tell(str(error))
            finally:
                await asyncio.to_thread(_stop, drain)

    def _place(self) -> Workplace:
        from tideate_core.fleet.workplace import Workplace

        folder = state_dir() / "fleet"
        make_private_directory(folder)
        objects = Objects(self._engine, self._authority)
        with plain_errors():
            objects.create()
        return Workplace(
            self._options.name, self._config, folder, objects, self._authority, self._options.concurrency
        )

    def _launch(self, client: DBOSClient) -> None:
        from dbos import DBOS

        from tideate_core.fleet.concurrency import register_work
        from tideate_core.fleet.rates import rate_queues, register_rates

        queue, rates = self._options.queue, self._config.fleet.rates
        with plain_errors():
            DBOS(config=dbos_config(self._url, self._options))
            log_plainly()
            # also the queues of rates that were configured before: a resumed leg may wait in one
            DBOS.migrate(self._url)
            known = _rate_queues(client)
            DBOS.listen_queues([queue, *{*known, *rate_queues(rates)}])
            DBOS.launch()
            register_work(queue, self._options.concurrency, self._engine)
            register_rates(rates)

    async def _watch(self, place: Workplace, client: DBOSClient, stop: asyncio.Event) -> None:
        """Do the worker's duties side by side until `stop` is set or one fails; then cancel all."""
        duties = [
            asyncio.ensure_future(one)
            for one in (
                stop.wait(),
                self._keep_name(),
                self._look_for_answers(place, client),
                _sweep_often(place, client),
            )
        ]
        try:
            ended, _ = await asyncio.wait(duties, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for duty in duties:
                duty.cancel()
            await asyncio.gather(*duties, return_exceptions=True)
        for duty in ended:
            duty.result()

    async def _keep_name(self) -> None:
        """Check the name's lock each second; report once that the database is away or back."""
        away = False
        while True:
            await asyncio.sleep(WATCH)
            try:
                await asyncio.to_thread(self._name.keep)
            except (NameLost, LegsLost):
                raise
            except FleetError as error:
                if not away:
                    self._tell(f"{error}; waiting until it is back")
                away = True
                continue
            if away:
                self._tell("the fleet's database is back")
            away = False

    async def _look_for_answers(self, place: Workplace, client: DBOSClient) -> None:
        """Look for answers while this worker has the role; pass it on if it cannot read an inbox."""
        from tideate_core.fleet.answers import AnswerPoller

        poller, since = AnswerPoller(place, client, self._options.queue), time.monotonic()
        try:
            while True:
                pause = TICK
                try:
                    if not await asyncio.to_thread(self._polls.is_held):
                        await poller.close()
                        since = time.monotonic()
                    if await asyncio.to_thread(_taken, self._polls):
                        await poller.poll()
                    if poller.fails() and time.monotonic() - since > TURN:
                        await asyncio.to_thread(self._polls.release)
                        pause = 2 * TICK
                except FleetError as error:  # `_keep_name` tells the person
                    log.warning("answers cannot be looked for: %s", error)
                await asyncio.sleep(pause)
        finally:
            await poller.close()

    def _close(self) -> None:
        for lock in (self._polls, self._name.lock):
            lock.release()
        self._engine.dispose()


def _taken(lock: NameLock) -> bool:
    with plain_errors():
        return lock.is_held() or lock.take()


def _stop(drain: int) -> None:
    from dbos import DBOS

    DBOS.destroy(workflow_completion_timeout_sec=drain)


async def _sweep_often(place: Workplace, client: DBOSClient) -> None:
    while True:
        try:
            await asyncio.to_thread(_sweep, place, client)
        except (TideateError, OSError) as error:
            log.warning("old work trees and mirrors cannot be tidied: %s", error)
        await asyncio.sleep(SWEEP)


def _rate_queues(client: DBOSClient) -> list[str]:
    """Return the queues of rates that a worker stored."""
    from tideate_core.fleet.rates import is_rate_queue

    return [queue.name for queue in client.list_queues() if is_rate_queue(queue.name)]


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
