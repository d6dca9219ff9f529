"""A task killed in any state continues from that state, or its rollback is completed.

`make crash` kills at every one of these moments, `make test` once in each state and at a few of the others.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from tests.builtin.task.runs.child import Told
from tests.builtin.task.runs.site import RUN, Site
from tests.builtin.task.runs.test_correcting import BODY
from tests.harness.model_server import ModelServer
from tests.harness.tally import AFTER, BEFORE, DONE, LINES, node
from tests.harness.tasks import CODE, Model, edits
from tideate_core.snapshots import SnapshotManager

if TYPE_CHECKING:
    from pathlib import Path

    from tests.builtin.task.runs.nursery import Nursery
    from tests.builtin.task.runs.site import Durable

pytestmark = [pytest.mark.bulk, pytest.mark.crash, pytest.mark.slow]

THOROUGH = bool(os.environ.get("TIDEATE_KILLS"))
STEPS = (
    "idle",
    "planning",
    "awaiting_plan_gate",
    "auditing",
    "awaiting_audit_gate",
    "executing",
    "awaiting_execution_gate",
    "documenting",
    "awaiting_documentation_gate",
    "verifying",
    "self_correcting",
)
ASKS = ("awaiting_audit_gate", "awaiting_execution_gate", "awaiting_documentation_gate", "self_correcting")
STAGES = {
    "planning": "planner",
    "auditing": "auditor",
    "executing": "executor",
    "documenting": "documenter",
    "self_correcting": "corrector",
}


T = TypeVar("T")


def some(moments: tuple[T, ...], *normally: T) -> tuple[T, ...]:
    """Return all moments in a thorough run, otherwise a few."""
    return moments if THOROUGH else normally


@pytest.fixture
def model(server: ModelServer) -> Model:
    return scripted(server, mends=True)


def scripted(server: ModelServer, *, mends: bool = False) -> Model:
    """Script a wrong edit that the corrector fixes or repeats."""
    wrong = {"src/tally/lines.py": LINES.replace(BODY, "return 0")}
    model = Model(server)
    model.says("executor", edits({**CODE, **wrong}))
    model.says("corrector", edits({"src/tally/lines.py": LINES} if mends else wrong))
    return model


class Before:
    """State when a process was killed."""

    def __init__(self, site: Site, model: Model) -> None:
        self.durable = site.durable()
        self.asked = len(site.asked())
        self.requests = {role: model.asked(role) for role in STAGES.values()}


def killed(site: Site, model: Model, nursery: Nursery, told: Told) -> Before:
    assert site.go(nursery, told=told) is None, f"it came to its end without {told}"
    return Before(site, model)


def nothing_was_done_twice(site: Site, model: Model, before: Before) -> None:
    """Check that durable answers and steps were not repeated."""
    durable: Durable = before.durable
    again = [step for step, _ in site.asked()[before.asked :] if step in durable.answered | durable.ended]
    assert again == [], "answered questions were asked again"
    for step, role in STAGES.items():
        if step in durable.ended:
            assert model.asked(role) == before.requests[role], f"the {role} was asked again"


def goes_on(site: Site, model: Model, nursery: Nursery, before: Before) -> dict[str, Any]:
    ended = site.go(nursery)
    assert ended is not None
    nothing_was_done_twice(site, model, before)
    result: dict[str, Any] = ended["result"]
    return result


def went_well(site: Site, result: dict[str, Any]) -> None:
    assert result["ok"], result
    assert site.changed() == DONE
    assert site.durable().status == "completed"


async def was_taken_back(site: Site, result: dict[str, Any]) -> None:
    assert not result["ok"], result
    assert result["rollback_performed"] is True
    assert site.changed() == {}
    assert site.durable().status in ("failed", "cancelled")
    snapshots = SnapshotManager(site.root)
    (snapshot,) = [one for one in await snapshots.list() if RUN[:8] in one.name or RUN in one.name]
    assert await snapshots.diff(snapshot.id) == []


MOMENTS = (
    *(Told("STEP_STARTED", step) for step in STEPS),
    *(Told("STEP_COMPLETED", step) for step in some(STEPS, "idle", "executing", "awaiting_execution_gate")),
    *(
        Told(event, step)
        for event in some(("ASKED", "CONFIRMATION_ANSWERED"), "CONFIRMATION_ANSWERED")
        for step in some(ASKS, "awaiting_audit_gate", "awaiting_execution_gate")
    ),
    *(Told("MODEL_ANSWERED", step) for step in some(tuple(STAGES), "executing")),
    *(Told("CHECK_STARTED", nth=nth) for nth in some((1, 4, 9), 4)),
    Told("WORKFLOW_COMPLETED"),
)


@pytest.mark.parametrize("told", MOMENTS, ids=lambda told: f"{told.event} {told.where or told.nth}")
def test_a_task_killed_at_an_event_goes_on(site: Site, model: Model, nursery: Nursery, told: Told) -> None:
    before = killed(site, model, nursery, told)
    went_well(site, goes_on(site, model, nursery, before))


@pytest.mark.parametrize("event", ["ROLLED_BACK", "WORKFLOW_FAILED"])
async def test_when_it_has_failed(site: Site, model: Model, nursery: Nursery, event: str) -> None:
    model.says("corrector", "I cannot.")
    before = killed(site, model, nursery, Told(event))
    await was_taken_back(site, goes_on(site, model, nursery, before))


def calls_of_a_rollback(place: Path, nursery: Nursery, since: str, told: Told | None = None) -> int:
    """Return the number of system calls from an event to the end of a rollback."""
    with ModelServer() as server:
        site = Site(place, server)
        site.trust()
        scripted(server)
        ended = site.go(nursery, told=told)
    assert ended is not None
    result = ended["result"]
    assert (result.get("cancelled", False), result["rollback_performed"]) == (told is not None, True)
    calls: dict[str, int] = ended["calls"]
    return calls["ROLLED_BACK None"] - calls[since]


@pytest.fixture(scope="module")
def taking_back(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> int:
    """Number of system calls of a task's rollback."""
    return calls_of_a_rollback(tmp_path_factory.mktemp("unkilled"), nursery, "STEP_COMPLETED self_correcting")


@pytest.mark.parametrize("share", some((0.1, 0.3, 0.5, 0.7, 0.9), 0.3, 0.7))
async def test_while_it_is_taken_back(
    site: Site, server: ModelServer, nursery: Nursery, taking_back: int, share: float
) -> None:
    model = scripted(server)
    calls = max(1, round(taking_back * share))
    before = killed(site, model, nursery, Told("STEP_COMPLETED", "self_correcting", calls=calls))
    again = Told("WORKFLOW_RESTORED", calls=calls)
    if site.go(nursery, told=again) is None:
        nothing_was_done_twice(site, model, before)
    await was_taken_back(site, goes_on(site, model, nursery, before))
    assert {role: model.asked(role) for role in STAGES.values()} == before.requests


CANCELLED = Told("CHECK_STARTED", "verifying", cancels=True)


@pytest.fixture(scope="module")
def cancelling(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> int:
    """Number of system calls from cancelling a task to its end."""
    return calls_of_a_rollback(
        tmp_path_factory.mktemp("unkilled"), nursery, "CHECK_STARTED verifying", CANCELLED
    )


@pytest.mark.parametrize("share", some((0.3, 0.6, 0.9), 0.6))
async def test_while_a_cancelled_one_is_taken_back(
    site: Site, server: ModelServer, nursery: Nursery, cancelling: int, share: float
) -> None:
    """A task never continues after its rollback has begun."""
    model = scripted(server)
    calls = max(1, round(cancelling * share))
    before = killed(site, model, nursery, replace(CANCELLED, calls=calls))
    assert 0 < len(site.changed()) < len(DONE), "it did not die in the middle"
    ended = site.go(nursery)
    assert ended is not None
    assert ended["result"]["cancelled"] is True
    await was_taken_back(site, ended["result"])
    assert {role: model.asked(role) for role in STAGES.values()} == before.requests
    assert "CHECK_STARTED verifying" not in ended["calls"]


@pytest.mark.parametrize("well", [True, False])
async def test_what_a_person_writes_before_it_goes_on_stays(
    site: Site, server: ModelServer, nursery: Nursery, *, well: bool
) -> None:
    name, mine = "src/tally/__init__.py", "# mine\r\n"
    model = scripted(server, mends=well)
    before = killed(site, model, nursery, Told("STEP_STARTED", "documenting"))
    path = site.root / name
    path.write_bytes(mine.encode() + path.read_bytes())
    result = await asyncio.to_thread(goes_on, site, model, nursery, before)
    assert (result["ok"], result["rollback_performed"]) == (well, not well), result
    if well:
        assert site.changed() == {**DONE, name: node(mine + AFTER[name])}
    else:
        assert site.changed() == {name: node(mine + BEFORE[name])}


async def test_over_and_over(site: Site, model: Model, nursery: Nursery) -> None:
    for step in STEPS:
        before = killed(site, model, nursery, Told("STEP_STARTED", step))
    result = await asyncio.to_thread(goes_on, site, model, nursery, before)
    went_well(site, result)
    assert [model.asked(role) for role in STAGES.values()] == [1, 1, 1, 2, 1]
    assert site.asked() == [
        ("awaiting_audit_gate", "document"),
        ("awaiting_execution_gate", "review"),
        ("awaiting_documentation_gate", "review"),
        ("self_correcting", "review"),
    ]
