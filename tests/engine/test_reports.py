from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.logbook import RUN
from tideate_core.engine.ending import (
    SUMMARY,
    StepCounts,
    WorkflowSummaryDTO,
    iso_time,
    summary_of,
    write_summary,
)
from tideate_core.errors import StoreError
from tideate_core.project import Documents
from tideate_core.store.records import Ending

if TYPE_CHECKING:
    from pathlib import Path

ENDED = 1_700_000_000_042
KEYS = {
    *("workflowId", "planId", "status", "duration", "agents", "artifacts"),
    *("checkpoints", "steps", "success", "timestamp"),
}


def summary(status: Any = "completed", *, total: int = 3, **rest: Any) -> WorkflowSummaryDTO:
    ending = Ending(status, ENDED, 1234, files=("a.py",), **rest)
    agents, checkpoints = ["assistant", "tool"], ["c1", "c2"]
    return summary_of(ending, RUN, plan="review", total_steps=total, agents=agents, checkpoints=checkpoints)


def test_the_summary_has_the_keys_and_values_of_the_document(tmp_path: Path) -> None:
    path = write_summary(Documents(tmp_path), summary(completed_steps=2, failed_steps=1))
    assert path == tmp_path / ".tideate" / "workflow" / "reports" / "run-summary.json"
    written = json.loads(path.read_text())
    assert written.keys() == KEYS
    assert written == {
        "workflowId": RUN,
        "planId": "review",
        "status": "completed",
        "duration": 1234,
        "agents": ["assistant", "tool"],
        "artifacts": ["a.py"],
        "checkpoints": ["c1", "c2"],
        "steps": {"total": 3, "completed": 2, "failed": 1},
        "success": True,
        "timestamp": "2023-11-14T22:13:20.042Z",
    }


@pytest.mark.parametrize(
    ("ended", "status", "success"),
    [("completed", "completed", True), ("failed", "failed", False), ("cancelled", "partial", False)],
)
def test_every_end_has_a_status_that_the_document_knows(ended: str, status: str, success: bool) -> None:
    told = summary(ended)
    assert (told.status, told.success) == (status, success)


def test_of_a_machine_the_steps_that_ended_count() -> None:
    assert summary(total=0, completed_steps=4, failed_steps=1).steps == StepCounts(
        total=5, completed=4, failed=1
    )


def test_the_next_run_replaces_the_summary_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    write_summary(Documents(tmp_path), summary())
    path = write_summary(Documents(tmp_path), summary("failed"))
    assert json.loads(path.read_text())["status"] == "failed"
    assert [file.name for file in path.parent.iterdir()] == ["run-summary.json"]


def test_a_summary_that_cannot_be_written_leaves_the_last_one_whole(tmp_path: Path) -> None:
    documents = Documents(tmp_path)
    before = write_summary(documents, summary()).read_text()
    target = documents.path(SUMMARY)
    target.rename(target.with_name("kept"))
    target.mkdir()  # nothing can take the place of a directory
    with pytest.raises(StoreError, match=r"run-summary\.json was not written.*kept in the database"):
        write_summary(documents, summary("failed"))
    assert target.with_name("kept").read_text() == before
    assert sorted(file.name for file in target.parent.iterdir()) == ["kept", "run-summary.json"]


def test_times_are_told_to_the_millisecond() -> None:
    assert iso_time(ENDED + 900) == "2023-11-14T22:13:20.942Z"
    assert iso_time(0) == "1970-01-01T00:00:00.000Z"
