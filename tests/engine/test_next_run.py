"""Runs that a step proposes to follow its own: any workflow may, and nothing starts by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.engine import EventName, request_of
from tideate_core.errors import StepFailed
from tideate_core.workflows import Declined, FileToChange, NextRun

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext

NEXT = NextRun("second", "what is left", "1 file is left", (FileToChange("a.py", "calls it"),), "a diff")


async def proposes(step: StepContext) -> str:
    assert step.proposed is None
    await step.propose(NEXT)
    return "done"


async def test_a_later_step_sees_and_replaces_the_proposal(bench: Bench) -> None:
    async def withdraws(step: StepContext) -> str:
        assert step.proposed == NEXT
        await step.propose(None)
        return "done"

    bench.register("first", {"one": proposes, "two": withdraws})
    result = await bench.run("first")
    assert (result.ok, result.next_run) == (True, None), result.error


async def test_what_is_proposed_is_told_and_not_begun(bench: Bench) -> None:
    begun = []

    async def begins(step: StepContext) -> str:
        begun.append(step.prompt)
        return "done"

    bench.register("first", {"one": proposes})
    bench.register("second", {"one": begins})
    result = await bench.run("first")
    assert result.next_run == {
        "workflow": "second",
        "prompt": "what is left",
        "message": "1 file is left",
        "files": [{"path": "a.py", "why": "calls it"}],
        "continues": result.execution_id,
        "asks": True,
    }
    assert not begun
    assert not bench.front.requests
    request = request_of(result.next_run)
    assert (request.name, request.prompt, request.continues) == (
        *("second", "what is left"),
        result.execution_id,
    )


@pytest.mark.parametrize("error", [StepFailed("broken"), Declined("no")])
async def test_a_run_that_is_not_completed_proposes_nothing(bench: Bench, error: Exception) -> None:
    async def breaks_off(_step: StepContext) -> None:
        raise error

    bench.register("first", {"one": proposes, "two": breaks_off})
    result = await bench.run("first")
    assert (result.ok, result.next_run) == (False, None)


async def test_a_single_step_of_a_run_proposes_nothing(bench: Bench) -> None:
    async def works(_step: StepContext) -> str:
        return "done"

    bench.register("first", {"one": proposes, "two": works})
    result = await bench.run("first", step="one")
    assert (result.ok, result.next_run) == (True, None), result.error


async def test_what_a_part_of_a_run_proposes_is_a_notice(bench: Bench) -> None:
    bench.register("first", {"one": proposes})
    definition = bench.registry.parse(
        "name: around\nsteps:\n  - id: one\n    workflow: first\n", "yaml", "around"
    ).definition
    bench.registry.register(definition, {})
    result = await bench.run("around")
    assert (result.ok, result.next_run) == (True, None), result.error
    (notice,) = bench.front.data(EventName.NOTICE)
    words, _, run = notice["message"].rpartition(" ")
    assert words == "1 file is left; second can continue the run"
    child = (await bench.reader()).run(run)
    assert (child.name, child.parent) == ("first", result.execution_id)
