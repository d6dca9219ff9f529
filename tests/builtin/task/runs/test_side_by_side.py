"""Two concurrent tasks in one project: neither reverts or overwrites the other's changes."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from tests.harness.front import LIMIT
from tests.harness.model_rules import text_of
from tests.harness.tally import AFTER, DONE, ENTRY, TASK
from tests.harness.tasks import CODE, documenting, edits, plan
from tideate_core.engine import RunRequest

if TYPE_CHECKING:
    from tests.builtin.task.runs.desk import Desk
    from tests.harness.model_rules import Body
    from tests.harness.tasks import Answer, Scripted

pytestmark = pytest.mark.concurrency

OTHER = "Add a page that tells of letters"
PAGE = "# Letters\n\nThere is no count of letters yet.\n"
OTHER_ENTRY = "a page on letters"


def either(first: Scripted, other: Scripted) -> Scripted:
    """Return a scripted answer for a role that serves both tasks."""

    def answer(body: Body) -> Answer:
        chosen = other if OTHER in text_of(body) else first
        return chosen(body) if callable(chosen) else chosen

    return answer


def two_tasks(desk: Desk) -> None:
    """Script the model for both tasks."""
    files = ["docs/letters.md"]
    steps = [{"type": "create", "description": "write the page", "files": files}]
    other_plan = plan("a page that tells of letters", steps=steps, files=files)
    other_words = {"entry": OTHER_ENTRY, "items": [], "documents": []}
    desk.model.says("planner", either(plan(), other_plan))
    desk.model.says("executor", either(edits(CODE), f"````markdown\n{PAGE}````\n"))
    desk.model.says("documenter", either(documenting(), documenting(other_words)))


@pytest.mark.slow
async def test_one_is_cancelled_when_the_other_one_has_ended(desk: Desk) -> None:
    two_tasks(desk)
    runner = desk.runner()
    held, release = threading.Event(), threading.Event()

    def hold(_: Body) -> Answer:
        held.set()
        assert release.wait(LIMIT)
        return {}

    desk.model.says("documenter", either(documenting(), hold))
    try:
        other = asyncio.create_task(runner.run(RunRequest(name="task", prompt=OTHER)))
        assert await asyncio.to_thread(held.wait, LIMIT)
        done = await asyncio.wait_for(runner.run(RunRequest(name="task", prompt=TASK)), LIMIT)
        assert done.ok, done.error
        assert (desk.root / "docs/letters.md").read_text() == PAGE
        runner.cancel()
        cancelled = await asyncio.wait_for(other, LIMIT)
    finally:
        release.set()
    assert (cancelled.cancelled, cancelled.rollback_performed) == (True, True)
    assert desk.changed() == DONE


@pytest.mark.slow
async def test_both_come_to_an_end_that_is_whole(desk: Desk) -> None:
    two_tasks(desk)
    runner = desk.runner()
    requests = [RunRequest(name="task", prompt=prompt) for prompt in (TASK, OTHER)]
    async with asyncio.timeout(LIMIT):
        mine, other = await asyncio.gather(*(runner.run(request) for request in requests))
    assert mine.ok or other.ok, (mine.error, other.error)
    changelog = (desk.root / "CHANGELOG.md").read_text()
    assert (ENTRY in changelog, OTHER_ENTRY in changelog) == (mine.ok, other.ok)
    changed = desk.changed()
    assert ("docs/letters.md" in changed) == other.ok
    for name, text in AFTER.items():
        if name != "CHANGELOG.md":
            assert (changed.get(name) == DONE[name]) == mine.ok, (name, text)
