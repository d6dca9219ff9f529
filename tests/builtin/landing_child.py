"""Process that lands the session of a project: `python -m tests.builtin.landing_child ROOT CALL`.

It accepts everything, and is killed after a call; for 0 it prints the number of calls.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.crash.kills import Kill, Killer
from tests.harness.bench import Bench

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer

RUN = "1a" * 16


class NoModel:
    """A model server that nobody asks."""

    base_url = "http://127.0.0.1:9"


async def main(root: str, call: int) -> None:
    server: Any = NoModel()
    bench = Bench(Path(root), as_server(server))
    killer = Killer(Kill("call", call) if call else None)
    killer.install()
    result = await bench.run("land", execution_id=RUN)
    assert result.ok, result.error
    print(killer.counts["call"])
    await bench.aclose()


def as_server(server: Any) -> ModelServer:
    found: ModelServer = server
    return found


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
