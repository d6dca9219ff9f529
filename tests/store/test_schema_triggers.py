"""Document 5's metrics triggers, with corrections 6 and 7; the last test shows what the originals give."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.store.making import DAY, ending, new_run, outcome, query

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store import Store
    from tideate_core.store.transaction import Transaction

METRICS = (
    "SELECT total_executions, successful_executions, failed_executions, avg_duration, avg_steps_completed,"
    " checkpoints_created FROM workflow_metrics"
)

ORIGINAL_AVERAGE = """
CREATE TRIGGER update_workflow_metrics_on_completion
AFTER UPDATE OF status ON workflow_executions
WHEN NEW.status IN ('completed', 'failed', 'cancelled')
BEGIN
  INSERT INTO workflow_metrics (workflow_id, total_executions, successful_executions, failed_executions,
    avg_duration, avg_steps_completed, last_executed_at, date, created_at, updated_at)
  VALUES (NEW.workflow_id, 1, CASE WHEN NEW.status = 'completed' THEN 1 ELSE 0 END,
    CASE WHEN NEW.status = 'failed' THEN 1 ELSE 0 END, NEW.duration, CAST(NEW.completed_steps AS REAL),
    NEW.completed_at, DATE(NEW.started_at / 1000, 'unixepoch'), NEW.completed_at, NEW.completed_at)
  ON CONFLICT(workflow_id, date) DO UPDATE SET
    total_executions = total_executions + 1,
    successful_executions = successful_executions + CASE WHEN NEW.status = 'completed' THEN 1 ELSE 0 END,
    failed_executions = failed_executions + CASE WHEN NEW.status = 'failed' THEN 1 ELSE 0 END,
    avg_duration = (avg_duration * (total_executions - 1) + COALESCE(NEW.duration, 0)) / total_executions,
    avg_steps_completed = (avg_steps_completed * (total_executions - 1) + CAST(NEW.completed_steps AS REAL))
      / total_executions,
    last_executed_at = NEW.completed_at,
    updated_at = NEW.completed_at;
END
"""

ORIGINAL_CHECKPOINT = """
CREATE TRIGGER update_metrics_on_checkpoint
AFTER INSERT ON workflow_checkpoints
BEGIN
  UPDATE workflow_metrics SET checkpoints_created = checkpoints_created + 1, updated_at = NEW.created_at
  WHERE workflow_id = (SELECT workflow_id FROM workflow_executions WHERE id = NEW.execution_id)
    AND date = DATE(NEW.created_at / 1000, 'unixepoch');
END
"""


async def three_runs(store: Store) -> None:
    for status, duration, steps in (("completed", 100, 1), ("failed", 201, 2), ("cancelled", 400, 6)):
        log = await store.begin(new_run())
        await log.ended(ending(status, duration=duration, steps=steps))


async def a_run_with_checkpoints(store: Store) -> None:
    log = await store.begin(new_run())
    for step in "abc":
        await log.finish(outcome(step)).future
    await log.ended(ending(duration=100, steps=3))


async def replaced(store: Store, name: str, original: str) -> None:
    def job(transaction: Transaction) -> None:
        transaction.execute(f"DROP TRIGGER {name}")
        transaction.execute(original)

    await store._writer.do(job)


async def test_averages_are_those_of_all_runs_of_the_day(store: Store, private: Path) -> None:
    await three_runs(store)
    ((total, good, bad, duration, steps, checkpoints),) = query(private, METRICS)
    assert (total, good, bad, checkpoints) == (3, 1, 1, 0)
    assert duration == pytest.approx((100 + 201 + 400) / 3)
    assert steps == pytest.approx((1 + 2 + 6) / 3)


async def test_checkpoints_before_the_days_first_end_are_counted(store: Store, private: Path) -> None:
    await a_run_with_checkpoints(store)
    assert query(private, METRICS) == [(1, 1, 0, 100.0, 3.0, 3)]


async def test_an_ended_run_is_counted_once(store: Store, private: Path) -> None:
    await a_run_with_checkpoints(store)

    def job(transaction: Transaction) -> None:
        transaction.execute("UPDATE workflow_executions SET status = 'failed'")
        transaction.execute("UPDATE workflow_executions SET status = 'failed'")

    await store._writer.do(job)
    assert query(private, METRICS) == [(1, 1, 0, 100.0, 3.0, 3)]


async def test_days_and_workflows_are_counted_apart(store: Store, private: Path) -> None:
    for at, workflow in ((DAY, "w1"), (DAY + 86_400_000, "w1"), (DAY, "w2")):
        log = await store.begin(new_run(at=at, workflow=workflow))
        await log.ended(ending())
    assert query(
        private, "SELECT workflow_id, date, total_executions FROM workflow_metrics ORDER BY 1, 2"
    ) == [
        ("w1", "2026-09-21", 1),
        ("w1", "2026-09-22", 1),
        ("w2", "2026-09-21", 1),
    ]


async def test_the_documents_own_triggers_count_wrong(store: Store, private: Path) -> None:
    """What the corrections are for: these are the numbers that the originals give."""
    await replaced(store, "update_workflow_metrics_on_completion", ORIGINAL_AVERAGE)
    await replaced(store, "update_metrics_on_checkpoint", ORIGINAL_CHECKPOINT)
    await three_runs(store)
    await a_run_with_checkpoints(store)
    ((total, _, _, duration, _, _),) = query(private, METRICS)
    assert total == 4
    assert duration != pytest.approx((100 + 201 + 400 + 100) / 4)
    log = await store.begin(new_run(workflow="w2"))
    await log.finish(outcome("a")).future
    await log.ended(ending())
    assert query(private, METRICS + " WHERE workflow_id = 'w2'")[0][-1] == 0
