"""A process that begins a task, or goes on with one: given an `Order`, it leaves what came of it in a file.

The person says yes to everything; what they are asked is written down, a line each, before they answer.
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
from tests.support.resumed import go_on
from tideate_core.app.wiring import build_catalog, open_project, open_runner
from tideate_core.engine import RunRequest
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.engine import ConfirmationRequest, Event

__all__ = ["Order", "Told", "perform"]

LIMIT = 60
"""Seconds after which the process says where it hangs, and ends."""


@dataclass(frozen=True, slots=True)
class Told:
    """The process dies when it tells this for the `nth` time, or when its question is asked."""

    event: str
    """`STEP_STARTED`, without the prefix; `ASKED` is a question."""
    where: str = ""
    """What the event's `step`, `gate` or `to` is; empty: any."""
    nth: int = 1
    calls: int = 0
    """How many more calls of the system that change files it makes before it dies."""
    cancels: bool = False
    """The person cancels the task then; without `calls` nothing dies."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the process is to do."""

    root: str
    home: str
    """Its result, its log and the person's configuration are in there."""
    run: str
    prompt: str
    variables: dict[str, str]
    """Of its environment."""
    told: Told | None = None
    kill: Kill | None = None


class Fuse(Killer):
    """Kills so many calls of the system after it was lit."""

    def light(self, calls: int) -> None:
        self._kill = Kill("call", self.counts["call"] + calls)


class World:
    """The person, and whoever pulls the plug."""

    editor = None

    def __init__(self, order: Order, fuse: Fuse) -> None:
        self.calls: dict[str, int] = {}
        """How many calls of the system had been made when an event was told last, by its name and place."""
        self.cancel: Callable[[], object] = list
        """What the person does who cancels; nothing before there is a run."""
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

    async def present(self, text: str, filetype: str) -> None:
        raise AssertionError("nothing is presented here")

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
    """Do it; called in a process of its own, which has the person's home for this."""
    home = Path(order.home)
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    os.environ |= order.variables
    ended = asyncio.run(_perform(order))
    (home / "ended.json").write_text(json.dumps(ended))
