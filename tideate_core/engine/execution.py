"""One run: what was asked for, where it stands, how it ended."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from tideate_core.adapters import Usage
from tideate_core.machines import ExecutionEvent, ExecutionMachine
from tideate_core.workflows import RunContext

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from tideate_core.engine.work import Driver
    from tideate_core.workflows import MachineWorkflow, WorkflowDefinition

T = TypeVar("T")

__all__ = ["Execution", "RunRequest", "WorkflowResult"]


class RunRequest(BaseModel):
    """What a person asks for; crosses the border from the editor and the shell."""

    model_config = ConfigDict(extra="forbid")

    name: str
    prompt: str = ""
    context: RunContext = Field(default_factory=RunContext)
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    options: dict[str, JsonValue] = Field(default_factory=dict)
    adapter: str | None = None
    require_confirmation: bool | None = None
    """None: as the configuration or the workflow says."""
    obfuscate: bool = False
    """Nobody outside sees the names of a machine's states."""
    execution_id: str = Field(default_factory=lambda: uuid.uuid4().hex, pattern=r"^[0-9a-f]{32}$")


@dataclass(frozen=True, slots=True)
class WorkflowResult:
    """How a run ended: done, failed (`error`) or `cancelled`."""

    execution_id: str
    workflow: str
    ok: bool
    response: Any = None
    """Of a machine's run that broke off: the last text that a model gave, None where there is none."""
    results: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    error_code: str | None = None
    cancelled: bool = False
    reason: str | None = None
    """Of a cancelled run: `declined` or `cancelled`."""
    files: list[str] = field(default_factory=list)
    """What was changed."""
    path: list[dict[str, str]] | None = None
    """The moves of a machine, each `from`, `to`, `when` and `by`; None of a graph."""
    usage: Usage = field(default_factory=Usage)
    duration_ms: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the result as the Lua and JSON interfaces promise it: no key that says nothing."""
        shape: dict[str, Any] = {
            "ok": self.ok,
            "execution_id": self.execution_id,
            "workflow": self.workflow,
            "results": self.results,
            "files": self.files,
            "usage": usage_json(self.usage),
            "duration_ms": self.duration_ms,
        }
        if self.path is not None:
            shape["path"] = self.path
        if self.ok or self.response is not None:
            shape["response"] = self.response
        if self.cancelled:
            shape |= {"cancelled": True, "reason": self.reason}
        elif not self.ok:
            shape |= {"error": self.error, "error_code": self.error_code}
        return shape


def usage_json(usage: Usage) -> dict[str, Any]:
    """Return tokens and, where it is known, the cost in US dollars."""
    shape: dict[str, Any] = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    if usage.cost is not None:
        shape["cost"] = usage.cost
    return shape


class Execution:
    """A run while it lasts. Its lifecycle is the execution table's; nobody else keeps one."""

    def __init__(
        self, request: RunRequest, definition: WorkflowDefinition | MachineWorkflow, driver: Driver
    ) -> None:
        self.request = request
        self.id = request.execution_id
        self.definition = definition
        self.driver = driver
        self.results: dict[str, Any] = {}
        self.failed: set[str] = set()
        self.files: list[str] = []
        self.usage = Usage()
        self.warned: set[str] = set()
        """What was said already and is not said again at every step."""
        self.step: str | None = None
        self.task: asyncio.Task[Any] | None = None
        self._children: set[asyncio.Task[Any]] = set()
        self._started = time.monotonic()
        self._pause_wanted = False
        self._go_on = asyncio.Event()
        self.machine = ExecutionMachine(
            {
                "has_steps": lambda: driver.has_steps,
                "has_graph": lambda: driver.ready,
                "has_more_batches": lambda: driver.has_more,
                "has_fatal_failure": lambda: bool(self.failed),
                "all_settled": lambda: not driver.has_more,
            }
        )

    @property
    def elapsed_ms(self) -> int:
        return round((time.monotonic() - self._started) * 1000)

    @property
    def pause_wanted(self) -> bool:
        return self._pause_wanted

    def pause(self) -> None:
        """Stop before the next step; the step that runs is finished first."""
        self._pause_wanted = True
        self._go_on.clear()

    def resume(self) -> None:
        """Go on, now or, where the pause has not come yet, without it."""
        self._pause_wanted = False
        self._go_on.set()

    async def own(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work that ends with the run at the latest."""
        task = asyncio.ensure_future(work)
        self._children.add(task)
        task.add_done_callback(self._children.discard)
        return await task

    async def close(self) -> None:
        """End what a handler left behind."""
        for task in self._children:
            task.cancel()
        await asyncio.gather(*self._children, return_exceptions=True)

    async def paused(self) -> None:
        """Wait until the run is resumed."""
        self.machine.require(ExecutionEvent.PAUSE_WORKFLOW)
        await self._go_on.wait()
        self.machine.require(ExecutionEvent.RESUME_WORKFLOW)
