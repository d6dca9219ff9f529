"""Checks that write files: with the user's confirmation their changes belong to the task."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.builtin.task.runs.child import Told
from tests.builtin.task.runs.site import RUN, Site
from tests.harness.front import LIMIT
from tests.harness.tally import DONE, LINES, TASK, WORDS, as_it_stands, node
from tests.harness.tally_texts import CHECK
from tests.harness.tasks import CODE, Model, edits
from tideate_core.app.wiring import open_project
from tideate_core.engine import EventName, RunRequest
from tideate_core.snapshots import SnapshotManager
from tideate_core.snapshots.caches import SIGNATURE
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.builtin.task.runs.desk import Desk
    from tests.builtin.task.runs.nursery import Nursery
    from tests.harness.model_server import ModelServer
    from tideate_core.engine import ConfirmationRequest

pytestmark = pytest.mark.slow

FORMATTER = """\
#!/usr/bin/env python3
import os, sys
if sys.argv[1:] == ["lint"]:
    for name in ("src/tally/lines.py", "src/tally/words.py"):
        text = open(name).read()
        if not text.endswith("# formatted\\n"):
            open(name, "w").write(text + "# formatted\\n")
    os.makedirs("made/deep", exist_ok=True)
    open("made/deep/list.txt", "w").write("made\\n")
    os.chmod("scripts/check.py", 0o700)
    if os.path.lexists("docs/later"):
        os.remove("docs/later")
        os.remove("data/sample.bin")
        os.rmdir("data/incoming")
"""
TOUCHED = {
    "data/incoming",
    "data/sample.bin",
    "docs/later",
    "made",
    "made/deep",
    "made/deep/list.txt",
    "scripts/check.py",
    "src/tally/lines.py",
    "src/tally/words.py",
}
BROKEN = LINES.replace("return", "return 1 +", 1)


def format_by_lint(site: Site) -> None:
    """Make the lint command format, create and remove files."""
    (site.root / "scripts" / "check.py").write_text(FORMATTER + CHECK)
    site.before = as_it_stands(site.root)


@pytest.fixture
def formatting(desk: Desk) -> Desk:
    format_by_lint(desk.site)
    return desk


def saying(
    *, yes: bool, before: Callable[[], object] = lambda: None
) -> Callable[[ConfirmationRequest], Decision]:
    """Return an answer to the question about checks; all others are accepted."""

    def answer(request: ConfirmationRequest) -> Decision:
        if request.step.startswith("verifying"):
            before()
            return Decision(yes)
        return Decision(True)

    return answer


def questions(desk: Desk) -> list[ConfirmationRequest]:
    return [request for request in desk.front.requests if request.step.startswith("verifying")]


def failing(desk: Desk) -> None:
    desk.model.says("executor", edits({**CODE, "src/tally/lines.py": BROKEN}))
    desk.model.says("corrector", "I cannot.")


async def test_what_a_check_did_goes_with_a_task_that_is_rolled_back(formatting: Desk) -> None:
    desk = formatting
    desk.front.answer = saying(yes=True)
    result = await desk.succeed()
    assert set(desk.changed()) == {*DONE, *TOUCHED}
    (request,) = questions(desk)
    assert request.message.startswith("Changed while the checks ran: data/incoming/, data/sample.bin, ")
    assert "+# formatted" in request.details
    assert "modified `scripts/check.py`: mode 0755 → 0700\n" in request.details
    assert "deleted `data/incoming/`\n" in request.details
    assert {"src/tally/words.py", "made/deep/list.txt"} <= set(result.files)
    await desk.rolls_back(result.execution_id)
    assert [one.name.split()[1] for one in await SnapshotManager(desk.root).list()] == ["task"]


async def test_and_with_one_that_fails(formatting: Desk) -> None:
    desk = formatting
    failing(desk)
    desk.front.answer = saying(yes=True)
    result = await desk.run()
    assert (result.ok, result.rollback_performed, result.files) == (False, True, [])
    assert desk.changed() == {}


async def test_and_with_one_that_is_corrected(formatting: Desk) -> None:
    desk = formatting
    desk.model.says("executor", edits({**CODE, "src/tally/lines.py": BROKEN}))
    desk.model.says("corrector", edits({"src/tally/lines.py": LINES}))
    desk.front.answer = saying(yes=True)
    result = await desk.succeed()
    assert [request.step for request in questions(desk)] == ["verifying", "verifying#2"]
    assert "words.py" not in questions(desk)[1].message, "it was formatted already"
    await desk.rolls_back(result.execution_id)


async def test_what_the_person_calls_theirs_stays(formatting: Desk) -> None:
    desk = formatting
    failing(desk)
    desk.front.answer = saying(yes=False)
    result = await desk.run()
    assert (result.ok, result.rollback_performed) == (False, False)
    assert result.files == ["src/tally/lines.py"], "a new file of the task that somebody changed"
    assert set(desk.changed()) == {*TOUCHED, "src/tally/lines.py"}
    (back,) = desk.front.data(EventName.ROLLED_BACK)
    assert back["left"] == ["src/tally/lines.py"]
    others = {"data/incoming/" if path == "data/incoming" else path for path in TOUCHED}
    assert set(back["foreign"]) == others - {"made", "made/deep", "src/tally/lines.py"}
    assert not [said for said in desk.front.notices() if "words.py" in said], (
        "the person was asked, and told once"
    )


async def test_their_line_stays_where_they_edit_meanwhile(desk: Desk) -> None:
    words = desk.root / "src/tally/words.py"
    failing(desk)
    desk.when("CHECK_STARTED", "verifying", lambda: words.write_text(WORDS + "MINE = 1\n"))
    desk.front.answer = saying(yes=False)
    result = await desk.run()
    assert (result.ok, result.rollback_performed) == (False, True)
    assert desk.changed() == {"src/tally/words.py": node(WORDS + "MINE = 1\n")}


async def test_what_a_check_did_before_the_task_was_left_is_asked_about_when_it_goes_on(
    formatting: Desk,
) -> None:
    desk, runner = formatting, formatting.runner()

    def leave_after_lint() -> None:
        if desk.front.data(EventName.CHECK_ENDED)[-1]["check"] == "lint":
            runner.leave()
        else:
            desk.when("CHECK_ENDED", "verifying", leave_after_lint)

    desk.when("CHECK_ENDED", "verifying", leave_after_lint)
    desk.front.answer = saying(yes=True)
    request = RunRequest(name="task", prompt=TASK)
    left = await asyncio.wait_for(runner.run(request), LIMIT)
    assert (left.reason, "verifying" in left.results) == ("interrupted", False)
    assert "made" in desk.changed()
    result = await desk.resume(request.execution_id)
    (question,) = questions(desk)
    assert "made/deep/list.txt" in question.message
    assert {"src/tally/words.py", "made/deep/list.txt"} <= set(result.files)
    await desk.rolls_back(result.execution_id)


async def test_nobody_is_asked_where_nobody_is_to_be(formatting: Desk) -> None:
    desk = formatting
    result = await desk.succeed(require_confirmation=False)
    assert questions(desk) == []
    assert "src/tally/words.py" not in result.files
    (said,) = [said for said in desk.front.notices() if "words.py" in said or "and 1 more" in said]
    assert said.startswith("changed while the checks ran, and not counted as the task's: data/incoming/")


async def test_a_cache_that_a_check_left_is_nobodys_after_a_rollback_too(desk: Desk) -> None:
    failing(desk)
    cache = desk.root / "kept"

    def fill() -> None:
        cache.mkdir()
        (cache / "CACHEDIR.TAG").write_bytes(SIGNATURE)
        (cache / "list").write_text("of a tool\n")

    desk.when("CHECK_STARTED", "verifying", fill)
    result = await desk.run()
    assert (result.ok, result.rollback_performed, questions(desk)) == (False, True, [])
    assert set(desk.changed()) == {"kept", "kept/CACHEDIR.TAG", "kept/list"}
    (back,) = desk.front.data(EventName.ROLLED_BACK)
    assert (back["foreign"], back["more_foreign"]) == ([], 0)


async def test_where_checks_only_look_nothing_is_asked(desk: Desk) -> None:
    await desk.succeed()
    assert questions(desk) == []


async def test_what_was_deleted_after_the_answer_is_put_right(formatting: Desk) -> None:
    """The user may delete the question's snapshot while the question is open."""
    desk = formatting

    def forget() -> None:
        for one in (desk.site.private / "snapshots").glob("*.json"):
            if "before the checks" in one.read_text(errors="replace")[:400]:
                one.unlink()

    desk.front.answer = saying(yes=True, before=forget)
    result = await desk.succeed()
    await desk.rolls_back(result.execution_id)


@pytest.mark.crash
@pytest.mark.parametrize(
    "told",
    [Told("ASKED", "verifying"), Told("ASKED", "verifying", calls=12), Told("STEP_COMPLETED", "verifying")],
)
async def test_killed_before_the_answer_or_after_it_all_goes_back(
    tmp_path: Path, server: ModelServer, nursery: Nursery, told: Told
) -> None:
    site = Site(tmp_path, server)
    Model(server)
    site.trust()
    format_by_lint(site)
    assert site.go(nursery, told=told) is None, f"it came to its end without {told}"
    ended = site.go(nursery)
    assert ended is not None
    assert ended["result"]["ok"], ended["result"]
    assert set(site.changed()) == {*DONE, *TOUCHED}
    with site.person():
        await open_project(str(site.root)).workspace.rollback(RUN)
    assert site.changed() == {}
