"""`tideate worker`: execute the runs of a fleet, until Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
import socket
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from tideate_core.cli.process import DONE, log_to_file, run_async
from tideate_core.cli.render.output import note, report_errors

if TYPE_CHECKING:
    from tideate_core.fleet import WorkerOptions

AtLeastOne = validators.Number(gte=1)


@report_errors
def worker(
    *,
    name: Annotated[
        str | None,
        Parameter(name="--name", metavar="NAME", help="Unique name of the worker. Default: the host's name."),
    ] = None,
    concurrency: Annotated[
        int,
        Parameter(
            name="--concurrency",
            metavar="C",
            help="Maximum number of active runs. Default: 2.",
            validator=AtLeastOne,
        ),
    ] = 2,
    queue: Annotated[
        str, Parameter(name="--queue", metavar="Q", help="Queue to take runs from. Default: tideate.")
    ] = "tideate",
    drain: Annotated[
        int,
        Parameter(
            name="--drain",
            metavar="SECONDS",
            help="Time for active runs to end after SIGTERM or Ctrl-C. Default: 30.",
            validator=validators.Number(gte=0),
        ),
    ] = 30,
    dev: Annotated[
        bool, Parameter(name="--dev", help="Start a local PostgreSQL server, to try a fleet.")
    ] = False,
) -> int:
    """Execute the runs of a fleet, until Ctrl-C; return the exit status."""
    from tideate_core.fleet import require_library

    require_library()
    from tideate_core.fleet import WorkerOptions  # here, because it imports the library

    log_to_file()
    options = WorkerOptions(name or socket.gethostname(), queue, concurrency, drain)
    options.check()
    return run_async(_work(options, dev=dev))


async def _work(options: WorkerOptions, *, dev: bool) -> int:
    from tideate_core import config
    from tideate_core.fleet import Worker, database_url, fleet_secret, start_server

    loaded = await asyncio.to_thread(config.load_config, None)
    secret = await fleet_secret(loaded.config.fleet, dev=dev)
    server = None
    if dev:
        url, server = await asyncio.to_thread(start_server)
        note(f"PostgreSQL is ready. In another terminal, run: export TIDEATE_FLEET_DATABASE='{url}'")
        note("and then: tideate submit ask 'What is this?' --repo URL")
    else:
        url = await database_url(loaded.config.fleet)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        await Worker(loaded.config, url, secret, options, note).serve(stop)
    finally:
        if server is not None:
            await asyncio.to_thread(server.cleanup)
    return DONE
