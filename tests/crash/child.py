"""Process that runs or resumes the workflow: `python -m tests.crash.child ORDER`, with ORDER as JSON.

It prints `ready` before it begins, and the result of the run at the end.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.crash.graph import register
from tests.crash.kills import Kill, Killer
from tests.harness.front import Front
from tests.harness.resumed import go_on
from tideate_core.adapters import AdapterPool
from tideate_core.config import Config
from tideate_core.engine import RunRequest, WorkflowRunner
from tideate_core.errors import StoreError
from tideate_core.store import Store
from tideate_core.workflows import Decision, PromptLibrary, StepContext, WorkflowRegistry
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from tideate_core.engine import ConfirmationRequest

ADAPTER = {"adapter": "nobody", "adapters": {"nobody": {"base_url": "http://127.0.0.1:9", "model": "none"}}}
"""Unused: no step of the workflow needs a model."""


@dataclass(frozen=True, slots=True)
class Order:
    """Work for the process."""

    root: str
    private: str
    log: str
    """Log of external effects, one per line."""
    run: str
    workflow: str
    kill: Kill | None = None
    file_limit: int | None = None
    """Largest file in bytes, to simulate a full disk."""


@dataclass(frozen=True, slots=True)
class Line:
    """External effect: a handler ran, or a question was asked."""

    what: str
    run: str
    step: str
    attempt: int
    pid: int


def read_log(path: Path) -> list[Line]:
    """Return the effects so far; a truncated line counts as none."""
    if not path.exists():
        return []
    return [
        Line(**json.loads(line)) for line in path.read_text().splitlines(keepends=True) if line[-1] == "\n"
    ]


class World(Front):
    """External effects: a synced log file; also the front end, which always answers yes.

    It uses the original system calls, not the counted ones.
    """

    def __init__(self, path: str) -> None:
        super().__init__()
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._sync = os.fsync

    def ran(self, step: StepContext) -> None:
        self._tell("ran", step.execution_id, step.step, step.attempt)

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        self._tell("asked", request.execution_id, request.step, 0)
        return Decision(True, value=request.payload)

    def _tell(self, what: str, run: str, step: str, attempt: int) -> None:
        line = {"what": what, "run": run, "step": step, "attempt": attempt, "pid": os.getpid()}
        os.write(self._file, (json.dumps(line) + "\n").encode())
        self._sync(self._file)


async def main(order: Order) -> None:
    if order.file_limit is not None:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (order.file_limit, hard))
    world, registry, config = World(order.log), WorkflowRegistry(), Config.model_validate(ADAPTER)
    register(registry, world.ran)
    private = Path(order.private)
    runner = WorkflowRunner(
        registry,
        AdapterPool(config),
        config,
        world,
        lambda _request: Workspace(Path(order.root), private=private),
        PromptLibrary(),
        lambda: Store.open(private),
    )
    request = RunRequest(name=order.workflow, prompt="go", execution_id=order.run)
    killer = Killer(order.kill)
    killer.install()
    say("ready")
    begun = time.monotonic()
    try:
        result = (await go_on(runner, request)).as_json()
        await runner.aclose()
    except StoreError as error:
        result = {"ok": False, "error": str(error), "error_code": error.code}
    ended: dict[str, Any] = {"result": result, "time": time.monotonic() - begun, **killer.counts}
    say(json.dumps(ended))


def say(text: str) -> None:
    print(text, flush=True)


def ordered(text: str) -> Order:
    order = json.loads(text)
    kill = order.pop("kill")
    return Order(**order, kill=Kill(**kill) if kill else None)


if __name__ == "__main__":
    asyncio.run(main(ordered(sys.argv[1])))
