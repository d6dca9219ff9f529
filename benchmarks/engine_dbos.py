"""The task with DBOS: in its defaults, with the write-ahead log, and on PostgreSQL.

Its SQLite connections are SQLite's own in the defaults: a rollback journal, synced four times for a commit.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import re
from typing import TYPE_CHECKING, Any, Final

from benchmarks.engine_sqlite import FILE, RUN, synced_write_ahead

if TYPE_CHECKING:
    from benchmarks.engine_probe import Probe, Ready, Task

SERVER: Final = "TIDEATE_BENCH_POSTGRES"
"""The variable with the URL of a PostgreSQL server, kept out of the arguments, which everybody may read."""


def dbos(task: Task, probe: Probe) -> Ready:
    """DBOS with an SQLite file as it opens it."""
    return _on(f"sqlite:///{task.place / FILE}", task, probe)


def dbos_write_ahead(task: Task, probe: Probe) -> Ready:
    """DBOS with an SQLite file set as tideate's."""
    engine: Any = importlib.import_module("sqlalchemy.engine")
    event: Any = importlib.import_module("sqlalchemy.event")
    event.listen(engine.Engine, "connect", lambda connection, _record: synced_write_ahead(connection))
    return dbos(task, probe)


def dbos_postgres(task: Task, probe: Probe) -> Ready:
    """DBOS with a database of its own on a PostgreSQL server that syncs every commit; dropped at the end.

    :raises RuntimeError: the server does not.
    """
    psycopg: Any = importlib.import_module("psycopg")
    engine: Any = importlib.import_module("sqlalchemy.engine")
    server = os.environ[SERVER]
    with psycopg.connect(server, autocommit=True) as connection:
        for setting in ("fsync", "synchronous_commit"):
            (value,) = connection.execute(f"SHOW {setting}").fetchone()
            if value != "on":
                raise RuntimeError(
                    f"the PostgreSQL server has {setting} = {value}; all others sync every commit"
                )
    name = re.sub(r"\W", "_", task.place.name).lower()
    url = engine.make_url(server).set(database=name).render_as_string(hide_password=False)
    go, close = _on(url, task, probe)

    def drop() -> None:
        close()
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")

    return go, drop


def _on(url: str, task: Task, probe: Probe) -> Ready:
    """A workflow function and step functions, side by side with `asyncio.gather`."""
    library: Any = importlib.import_module("dbos")
    library.DBOS(
        config={
            "name": "bench",
            "system_database_url": url,
            "run_admin_server": False,
            "log_level": "ERROR",
        }
    )

    # DBOS knows a step by its function's name
    async def plain(number: int) -> str:
        return await probe.wait_and_step_async(number)

    work = library.DBOS.step()(plain)

    async def flow(steps: int) -> int:
        if task.shape == "chain":
            return sum([bool(await work(number)) for number in range(steps)])
        await work(0)
        count = len(await asyncio.gather(*(work(number) for number in range(1, steps + 1))))
        await work(steps + 1)
        return count + 2

    registered = library.DBOS.workflow()(flow)
    library.DBOS.launch()

    async def whole() -> int:
        if task.resume:  # launching recovers what was pending
            handle = await library.DBOS.retrieve_workflow_async(RUN)
        else:
            with library.SetWorkflowID(RUN):
                handle = await library.DBOS.start_workflow_async(registered, task.steps)
        return int(await handle.get_result())

    return lambda: asyncio.run(whole()), library.DBOS.destroy
