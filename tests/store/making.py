"""Builders of records, and direct access to the database."""

from __future__ import annotations

import asyncio
import sqlite3
import uuid
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tideate_core.store import Definition, Ending, NewRun, StepOutcome, StepStart, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tideate_core.store import Store

DAY = 1_790_000_000_000
"""A moment, milliseconds since the epoch."""


def new_run(run: str | None = None, *, at: int = DAY, workflow: str = "w1", **more: Any) -> NewRun:
    definition = Definition(workflow, "review", "graph", '{"name": "review"}', source="project")
    return NewRun(run or uuid.uuid4().hex, definition, {"prompt": "look at it"}, 3, at, **more)


def start(step: str, attempt: int = 1) -> StepStart:
    return StepStart(step, step.upper(), "assistant", f"do {step}", attempt, DAY)


def outcome(step: str, result: Any = None, **more: Any) -> StepOutcome:
    return StepOutcome(step, more.pop("status", "completed"), DAY, result=result, **more)


def ending(status: Any = "completed", *, duration: int = 100, steps: int = 1, **more: Any) -> Ending:
    return Ending(status, DAY + duration, duration, completed_steps=steps, **more)


def query(private: Path, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return the rows that another connection sees."""
    connection = sqlite3.connect(private / "tideate.db")
    try:
        return connection.execute(statement, values).fetchall()
    finally:
        connection.close()


async def until(reached: Callable[[], bool], within: float = 60) -> None:
    """Wait until another connection shows a condition."""
    async with asyncio.timeout(within):
        # what another process commits is no event here
        while not reached():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


def change(private: Path, statement: str, *values: object) -> None:
    """Change a database as another program would."""
    with closing(sqlite3.connect(private / "tideate.db")) as connection, connection:
        connection.execute(statement, values)


def commits(store: Store) -> list[str]:
    """Return a list that collects every later COMMIT."""
    seen: list[str] = []
    connection = store._writer._connection
    connection.set_trace_callback(lambda text: seen.append(text) if text == "COMMIT" else None)
    return seen


def locked(private: Path) -> sqlite3.Connection:
    other = sqlite3.connect(private / "tideate.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    return other


def versions() -> list[tuple[int]]:
    """Return the numbers of all migrations, as rows."""
    return [(number,) for number, _ in schema._files()]
