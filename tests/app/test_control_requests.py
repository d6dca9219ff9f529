"""Choice of the run to resume, and the wait for its process."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.app.stored import ALIVE, GONE, run_row
from tideate_core.app.control_requests import paused_in, run_to_resume, wait_for_run
from tideate_core.errors import InvalidInput, RunEnded

if TYPE_CHECKING:
    from tideate_core.store import Reader, RunRow


class Runs:
    """Gives the named run as it stands one after the other; the list has the last."""

    def __init__(self, *stages: RunRow) -> None:
        self.stages = list(stages)

    def run(self, _wanted: str) -> RunRow:
        return self.stages.pop(0) if len(self.stages) > 1 else self.stages[0]

    def runs(self, **_: object) -> list[RunRow]:
        return self.stages


def reader(*stages: RunRow) -> Reader:
    return Runs(*stages)  # type: ignore[return-value]


def test_without_a_name_the_newest_that_can_be_resumed_is_meant() -> None:
    living, gone = run_row(id="a" * 32), run_row(id="b" * 32, lease=GONE)
    assert run_to_resume(reader(living, gone, replace(gone, id="c" * 32)), None) == gone
    with pytest.raises(InvalidInput, match="no run can be resumed"):
        run_to_resume(reader(living), None)


def test_a_named_run_that_cannot_be_resumed_is_refused_with_the_reason() -> None:
    with pytest.raises(RunEnded, match="run abcdef01 is failed; only a run that has not ended"):
        run_to_resume(reader(run_row(status="failed")), "abc")
    with pytest.raises(InvalidInput, match="is a step of the run fedcba98 and is resumed with it"):
        run_to_resume(reader(run_row(parent="fedcba9876543210")), "abc")


def test_a_named_run_of_a_living_process_is_returned() -> None:
    assert run_to_resume(reader(run_row()), "abc") == run_row()


def test_only_a_living_process_continues_what_it_paused() -> None:
    assert paused_in(run_row(status="paused", lease=ALIVE)) == ALIVE.pid
    assert paused_in(run_row(status="paused", lease=GONE)) is None
    assert paused_in(run_row(status="paused", lease=None)) is None
    assert paused_in(run_row(lease=ALIVE)) is None


async def test_a_wait_ends_with_the_state_that_is_waited_for() -> None:
    stages = reader(run_row(), run_row(status="paused"))
    assert (await wait_for_run(stages, "abc", lambda run: run.status == "paused", 60)).status == "paused"


async def test_a_wait_whose_time_is_over_returns_the_run_as_it_is() -> None:
    assert (await wait_for_run(reader(run_row()), "abc", lambda run: run.ended, 0)) == run_row()
