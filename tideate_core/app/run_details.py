"""Details of one run, from its steps and events: loop items, child runs, gates, tool calls."""

from __future__ import annotations

import re
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from tideate_core.app.runs import run_json, short_id, tokens_json
from tideate_core.errors import CheckpointNotFound, InvalidInput, RunNotFound, did_you_mean
from tideate_core.store import Reader, last_result_value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tideate_core.machines import ExecutionMetrics
    from tideate_core.machines.diagrams import LaneRow
    from tideate_core.store import CheckpointRow, EventRow, Graph, RunRow, StepRow

TRANSITION: Final = "SD_EVENT_TRANSITION"
EXECUTED: Final = "SD_EVENT_STEP_EXECUTED"
ITEM: Final = re.compile(r"(.+)\[(\d+)\]")
TASK: Final = "task"
GATE_EVENTS: Final = {"SD_EVENT_GATE_PASSED": True, "SD_EVENT_GATE_FAILED": False}
CHECK_ENDED: Final = "SD_EVENT_CHECK_ENDED"
ROLLED_BACK: Final = "SD_EVENT_ROLLED_BACK"
CORRECTING: Final = "self_correcting"
COMPLETED: Final = "SD_EVENT_WORKFLOW_COMPLETED"
TOOL_COMPLETED: Final = "SD_EVENT_TOOL_COMPLETED"
ANSWERED: Final = "SD_EVENT_CONFIRMATION_ANSWERED"


@dataclass(frozen=True, slots=True)
class Item:
    """Latest end of one item of a `for_each` step."""

    index: int
    state: Literal["done", "failed", "declined", "stopped"]
    """`stopped`: cut off because another item failed or the run was cancelled."""
    tries: int
    ended_at: int
    """Milliseconds since the epoch."""
    duration_ms: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunDetails:
    """All stored data of a run."""

    run: RunRow
    steps: list[StepRow]
    events: list[EventRow]
    checkpoints: list[CheckpointRow]
    children: list[tuple[str, RunRow]]
    """Runs within it, each with the id of its step."""
    graph: Graph | None
    """None for a machine and for a refused run."""
    response: Any
    restored: str
    """Phrase for the checkpoint that it was restored from; empty if none."""

    @property
    def items(self) -> dict[str, list[Item]]:
        """The items that ended, by their step."""
        return items_of(self.events)

    @property
    def lanes(self) -> dict[str, LaneRow]:
        """Lanes of the step graph, if it is not a plain sequence; see `lane_rows`."""
        # here, because lists of runs do not need it
        from tideate_core.machines.diagrams import lane_rows

        return lane_rows(self.graph.execution_order, self.graph.edges) if self.graph else {}

    @property
    def ordered_steps(self) -> list[StepRow]:
        """Steps in execution order, then the steps outside of the graph."""
        batches = self.graph.execution_order if self.graph else ()
        place = {step: at for at, step in enumerate(step for batch in batches for step in batch)}
        return sorted(self.steps, key=lambda row: place.get(row.step, len(place)))

    @property
    def is_task(self) -> bool:
        """True for a gated task; a project's own workflow may have this name, too."""
        return self.run.name == TASK and any(_is_gate(row) for row in self.events)

    @property
    def failed_in(self) -> str | None:
        """State of the refusal, if the workflow file was invalid."""
        return next((row.data["failed_in"] for row in self.events if "failed_in" in row.data), None)

    @property
    def next_run(self) -> dict[str, Any] | None:
        """Proposed follow-up run, from the completion event."""
        return next((row.data.get("next") for row in self._events_named(COMPLETED)), None)

    @property
    def metrics(self) -> ExecutionMetrics:
        """Current metrics of the run."""
        from tideate_core.machines import ExecutionMetrics

        run, tokens = self.run, self.run.tokens
        until_now = time.time_ns() // 1_000_000 - run.started_at
        return ExecutionMetrics.of(
            {row.step: row.status for row in self.steps},
            self.graph.execution_order if self.graph else (),
            checkpoints=len(self.checkpoints),
            duration_ms=until_now if run.duration_ms is None else run.duration_ms,
            tokens=(tokens.input, tokens.output, tokens.cost),
        )

    @property
    def moves(self) -> list[EventRow]:
        """Transitions of a machine, in order."""
        return self._events_named(TRANSITION)

    @property
    def tool_calls(self) -> list[EventRow]:
        """Ended tool calls, in order."""
        return self._events_named(TOOL_COMPLETED)

    @property
    def decisions(self) -> list[EventRow]:
        """Decisions of a task's gates and ends of its checks, in order."""
        return [row for row in self.events if row.name == CHECK_ENDED or _is_gate(row)]

    @property
    def edited(self) -> dict[str, int]:
        """Number of hunks that the person edited in reviews, by file."""
        found: dict[str, int] = {}
        for row in self._events_named(ANSWERED):
            for path, count in (row.data.get("edited") or {}).items():
                found[path] = found.get(path, 0) + count
        return found

    @property
    def plan(self) -> dict[str, Any] | None:
        """Accepted plan of a task."""
        return last_result_value(self.steps, "plan")

    @property
    def audit(self) -> dict[str, Any] | None:
        """Audit of the accepted plan."""
        return last_result_value(self.steps, "audit")

    @property
    def corrections(self) -> list[StepRow]:
        """Correction steps of a task."""
        found = (row for row in self.steps if row.step.partition("#")[0] == CORRECTING)
        return [row for row in found if row.status != "pending"]

    @property
    def rollback(self) -> dict[str, Any] | None:
        """Data of a task's last rollback event; None if none."""
        found = self._events_named(ROLLED_BACK)
        return found[-1].data if found else None

    def _events_named(self, name: str) -> list[EventRow]:
        return [row for row in self.events if row.name == name]


def read_details(reader: Reader, wanted: str) -> RunDetails:
    """Read a run with its steps, events, checkpoints and child runs.

    :param wanted: a run id or a prefix of one.
    :raises RunNotFound: no run has this id.
    :raises StoreError: the store cannot be read.
    """
    run = reader.run(wanted)
    steps = reader.steps(run.id)
    return RunDetails(
        run,
        steps,
        reader.events(run.id),
        reader.checkpoints(run.id),
        child_runs(reader, run, steps),
        reader.graph(run.id),
        reader.response(run.id),
        restored_words(reader, run),
    )


def details_json(details: RunDetails, *, events: bool) -> dict[str, Any]:
    """Return the JSON form of a run with its details.

    :param events: include every event.
    """
    run, items = details.run, details.items
    shape: dict[str, Any] = {
        **run_json(run),
        "response": details.response,
        "metrics": details.metrics.as_json(),
        "tool_calls": [{**row.data, "at": row.at} for row in details.tool_calls],
    }
    shape["steps"] = [step_json(row, items.get(row.step, [])) for row in details.steps]
    shape["runs"] = [{**run_json(child), "parent_step": step} for step, child in details.children]
    if details.edited:
        shape["edited"] = details.edited
    if details.failed_in is not None:
        shape["failed_in"] = details.failed_in
    if details.next_run is not None:
        shape["next"] = details.next_run
    if run.kind == "machine":
        shape["path"] = [{key: row.data.get(key) for key in ("from", "to", "when")} for row in details.moves]
    shape["checkpoints"] = [
        {"checkpoint_id": row.id, "step": row.step, "manual": row.manual} for row in details.checkpoints
    ]
    if details.is_task:
        shape["gated"] = _task_json(details)
    if events:
        shape["events"] = [
            {"sequence": row.sequence, "name": row.name, "at": row.at, "data": row.data}
            for row in details.events
        ]
    return shape


def step_named(steps: list[StepRow], name: str) -> StepRow:
    """Return a step by name.

    :raises InvalidInput: the run has no such step.
    """
    known = {row.step: row for row in steps}
    if name not in known:
        raise InvalidInput(f"the run has no step {name!r}{did_you_mean(name, known)}")
    return known[name]


def items_of(events: Iterable[EventRow]) -> dict[str, list[Item]]:
    """Return the ended items by step, in list order."""
    found: dict[str, dict[int, Item]] = {}
    for row in events:
        named = ITEM.fullmatch(str(row.data.get("step"))) if row.name == EXECUTED else None
        if named is not None:
            items, index = found.setdefault(named[1], {}), int(named[2])
            before = items.get(index)
            items[index] = _item(row, index, 1 + (before.tries if before else 0))
    return {step: [items[index] for index in sorted(items)] for step, items in found.items()}


def step_json(row: StepRow, items: list[Item]) -> dict[str, Any]:
    """Return the JSON form of a step."""
    shape = {"items": [asdict(item) for item in items]} if items else {}
    return {
        **shape,
        "step": row.step,
        "name": row.name,
        "agent": row.agent,
        "task": row.task,
        "status": row.status,
        "attempts": row.attempts,
        "dependencies": list(row.dependencies),
        "result": row.result,
        "error": row.error,
        "error_code": row.error_code,
        "started_at": row.started_at,
        "completed_at": row.completed_at,
        "duration_ms": row.duration_ms,
        "usage": tokens_json(row.tokens),
        "files": list(row.files),
    }


def child_runs(reader: Reader, run: RunRow, steps: list[StepRow]) -> list[tuple[str, RunRow]]:
    """Return the runs within a run, each with the id of its step."""
    # here, because few runs have any
    from tideate_core.engine import child_id

    found = []
    for row in steps:
        for attempt in range(1, row.attempts + 1) if row.agent in ("machine", "workflow") else ():
            try:
                found.append((row.step, reader.run(child_id(run.id, row.step, attempt))))
            except RunNotFound:
                continue  # this attempt failed before its run began
    return found


def restored_words(reader: Reader, run: RunRow) -> str:
    """Return the phrase for the checkpoint that a run was restored from; empty if none."""
    if run.restored_from is None:
        return ""
    words = f"from the checkpoint {short_id(run.restored_from)}"
    try:
        reader.checkpoint(run.restored_from)
    except CheckpointNotFound:
        return f"{words}, which no longer exists"
    return words


def _task_json(details: RunDetails) -> dict[str, Any]:
    decisions = details.decisions
    return {
        "plan": details.plan,
        "audit": details.audit,
        "gates": [
            {**row.data, "passed": GATE_EVENTS[row.name], "at": row.at}
            for row in decisions
            if row.name in GATE_EVENTS
        ],
        "checks": [{**row.data, "at": row.at} for row in decisions if row.name == CHECK_ENDED],
        "corrections": [row.result for row in details.corrections],
        "rolled_back": details.rollback,
    }


def _is_gate(row: EventRow) -> bool:
    """Return whether an event is a decision of one of the five numbered gates."""
    return row.name in GATE_EVENTS and bool(row.data.get("number"))


def _item(row: EventRow, index: int, tries: int) -> Item:
    data = row.data
    error = None if data.get("success") or data.get("declined") else data.get("error")
    state: Any = "done" if data.get("success") else "declined" if data.get("declined") else "stopped"
    duration = int(data.get("duration_ms") or 0)
    return Item(index, "failed" if error else state, tries, row.at, duration, error)
