from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from tests.harness.work import QueryWork, Work
from tests.store.past import NOON, Past, run_id
from tideate_core.errors import CheckpointNotFound, RunNotFound
from tideate_core.store.database import FILE

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store import Store
    from tideate_core.store.reader import Reader

A = run_id(0xA)
VIEW = "SCAN all_checkpoints"


def plan(private: Path, statements: list[str]) -> list[str]:
    connection = sqlite3.connect(f"file:{private / FILE}?mode=ro", uri=True)
    lines = [row[3] for text in statements for row in connection.execute(f"EXPLAIN QUERY PLAN {text}")]
    connection.close()
    return lines


def test_nothing_is_found_by_reading_a_whole_table(
    private: Path, store: Store, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def note(statement: str, values: list[object]) -> list[object]:
        connection = sqlite3.connect(":memory:")
        literals = [connection.execute("SELECT quote(?)", (value,)).fetchone()[0] for value in values]
        connection.close()
        parts = statement.split("?")
        asked.append("".join(part + literal for part, literal in zip(parts, [*literals, ""], strict=True)))
        return []

    monkeypatch.setattr(reader, "_fetch", note)
    reader.runs()
    reader.runs(before=NOON, before_id=A, parents_only=False)
    reader.runs(name="w", status="completed")
    reader.runs(unfinished=True)
    reader.runs(status="paused")
    reader.checkpoints()
    for ask in (reader.run, reader.steps, reader.events, reader.memos, reader.checkpoints, reader.checkpoint):
        with pytest.raises((RunNotFound, CheckpointNotFound)):
            ask(A)
    lines = plan(private, asked)
    assert len(lines) > 20
    # a view is no table: what it is made of has lines of its own
    scans = [line for line in lines if line.startswith("SCAN") and "USING" not in line and line != VIEW]
    assert scans == []


def rows_of_steps(store: Store, private: Path, number: int, count: int) -> None:
    connection = sqlite3.connect(private / FILE)
    connection.executemany(
        "INSERT INTO workflow_steps (execution_id, step_id, step_name, agent_id, task, dependencies, status,"
        " result, position, ordinal) VALUES (?, ?, 'n', 'agent', 'task', '[\"s0\"]', 'completed', ?, ?, ?)",
        [(run_id(number), f"s{place}", '{"n": 1}', place, place + 1) for place in range(count)],
    )
    connection.commit()
    connection.close()


@pytest.mark.slow
async def test_the_work_of_reading_a_step_does_not_grow_with_their_number(
    private: Path, store: Store, reader: Reader
) -> None:
    for number, count in ((1, 500), (2, 2000)):
        await Past(store, number, steps=()).begin()
        rows_of_steps(store, private, number, count)

    def spent(number: int, count: int) -> tuple[int, int]:
        connection = reader._connections._connection()
        assert connection is not None
        with Work() as ours, QueryWork(connection) as queries:
            assert len(reader.steps(run_id(number))) == count
        return ours.count, queries.count

    few, many = spent(1, 500), spent(2, 2000)
    for less, more in zip(few, many, strict=True):
        assert more <= 5 * less
