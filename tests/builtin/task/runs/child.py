"""Child process that starts or continues a task by an `Order`, and writes its result to a file.

The user accepts everything; each question is logged on a line before its answer.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.crash.kills import Kill, Killer
from tests.harness.front import Front
from tests.harness.resumed import go_on
from tideate_core.app.wiring import build_catalog, open_project, open_runner
from tideate_core.engine import RunRequest
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.engine import ConfirmationRequest, Event

__all__ = ["Order", "Told", "perform"]

LIMIT = 60
"""Seconds after which the process prints its stacks and exits."""


@dataclass(frozen=True, slots=True)
class Told:
    """Event at which the process dies, at its `nth` occurrence, or when its question is asked."""

    event: str
    """Event name without the prefix, such as `STEP_STARTED`; `ASKED` for a question."""
    where: str = ""
    """Required `step`, `gate` or `to` of the event; empty for any."""
    nth: int = 1
    calls: int = 0
    """Number of file-changing system calls before the process dies."""
    cancels: bool = False
    """Cancel the task at the event; without `calls` nothing dies."""


@dataclass(frozen=True, slots=True)
class Order:
    """Instructions for the process."""

    root: str
    home: str
    """Directory of result, log and user configuration."""
    run: str
    prompt: str
    variables: dict[str, str]
    """Environment variables."""
    told: Told | None = None
    kill: Kill | None = None


class Fuse(Killer):
    """Killer that fires after a number of system calls."""

    def light(self, calls: int) -> None:
        self._kill = Kill("call", self.counts["call"] + calls)


class World(Front):
    """Front end of the child process, which can kill it."""

    def __init__(self, order: Order, fuse: Fuse) -> None:
        super().__init__()
        self.calls: dict[str, int] = {}
        """System calls made before the last event, by event and step."""
        self.cancel: Callable[[], object] = list
        """Cancels the run; nothing before a run exists."""
        self._order = order
        self._fuse = fuse
        self._seen = 0
        self._log = os.open(Path(order.home) / "asked.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        line = {"step": request.step, "kind": request.kind, "pid": os.getpid()}
        os.write(self._log, (json.dumps(line) + "\n").encode())
        self._reached("ASKED", {"step": request.step})
        return Decision(True)

    def emit(self, event: Event) -> None:
        self._reached(event.name.value.removeprefix("SD_EVENT_"), event.data)

    def _reached(self, name: str, data: dict[str, Any]) -> None:
        self.calls[f"{name} {data.get('step')}"] = self._fuse.counts["call"]
        told = self._order.told
        places = {data.get(key) for key in ("step", "gate", "to")}
        if told is None or told.event != name or (told.where and told.where not in places):
            return
        self._seen += 1
        if self._seen != told.nth:
            return
        if told.cancels:
            self.cancel()
        if told.calls:
            self._fuse.light(told.calls)
        elif not told.cancels:
            os.kill(os.getpid(), signal.SIGKILL)


async def _perform(order: Order) -> dict[str, Any]:
    fuse = Fuse(order.kill)
    world = World(order, fuse)
    request = RunRequest(name="task", prompt=order.prompt, execution_id=order.run)
    project, catalog = open_project(order.root), build_catalog(Path(order.root))
    fuse.install()
    begun = time.monotonic()
    if order.kill is not None and order.kill.how == "time":
        threading.Timer(order.kill.at, os.kill, (os.getpid(), signal.SIGKILL)).start()
    async with open_runner(project, catalog, world) as runner:
        world.cancel = runner.cancel
        result = await go_on(runner, request)
    return {"result": result.as_json(), "time": time.monotonic() - begun, **fuse.counts, "calls": world.calls}


def perform(order: Order) -> None:
    """Execute an order in a process of its own, with the order's home."""
    home = Path(order.home)
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    os.environ |= order.variables
    ended = asyncio.run(_perform(order))
    (home / "ended.json").write_text(json.dumps(ended))
