"""Failed or unchanged files of `multi_file` do not affect the other files."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.results import resume
from tests.builtin.test_buffer_workflows import PLAN, planned
from tests.harness.model_rules import text_of
from tideate_core.cli.render.tables import waiting_lines
from tideate_core.engine import ConfirmationRequest, RunRequest, write_draft
from tideate_core.store import Reader
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.bench import Bench
    from tideate_core.engine import WorkflowResult

pytestmark = pytest.mark.slow

LIMIT = 60.0
TASK = "move f into a library"
LEFT_OUT = "```python\n# rest of the code\n```"
GOOD = "```python\ndef f():\n    return 1\n```"
NEW = {
    "a.py": b"from lib.b import f\n\nf()\n",
    "lib/b.py": b"def f():\n    return 1\n",
    "lib/m.py": b"M = 1\n",
}


def failing(bench: Bench, *answers: str) -> None:
    planned(bench)
    bench.server.answers("Write the new file lib/b.py: holds it", *answers)


def about_failed(*answers: Decision) -> Callable[[ConfirmationRequest], Decision]:
    """Return an answer to questions about failed files in turn, and yes to all others."""
    given = iter(answers)

    def answer(request: ConfirmationRequest) -> Decision:
        failed = request.kind == "plan" and "again?" in request.message
        return next(given) if failed else Decision(True)

    return answer


def asked_again(bench: Bench) -> list[ConfirmationRequest]:
    return [request for request in bench.front.requests if "again?" in request.message]


async def test_a_file_that_fails_is_left_out_by_the_person_and_the_others_are_kept(bench: Bench) -> None:
    failing(bench, LEFT_OUT)
    bench.front.answer = about_failed(Decision(False))
    await bench.succeed("multi_file", TASK)
    assert bench.fingerprint() == {path: text for path, text in NEW.items() if path != "lib/b.py"}
    (question,) = asked_again(bench)
    assert "lib/b.py: " in question.message
    assert "left out" in question.message
    assert "3 of the others are kept" in question.message
    assert [file["path"] for file in question.payload["files"]] == ["lib/b.py"]
    assert [request.kind for request in bench.front.requests] == ["plan", "plan", "review"]


async def test_a_file_that_fails_can_be_tried_again_with_other_words(bench: Bench) -> None:
    failing(bench, LEFT_OUT)
    bench.server.answers("Write the new file lib/b.py: all of it", GOOD)
    again = {"files": [{**PLAN["files"][1], "why": "all of it"}]}
    bench.front.answer = about_failed(Decision(True, again))
    await bench.succeed("multi_file", TASK)
    assert bench.fingerprint() == NEW
    assert len(asked_again(bench)) == 1
    assert "+from lib.b import f" in prompt_of(bench, "Write the new file lib/b.py: all of it")


async def test_what_is_said_of_a_file_that_fails_goes_to_the_model_and_comes_back_where_it_fails_again(
    bench: Bench,
) -> None:
    failing(bench, LEFT_OUT)
    whole, short = "write all of it, without any placeholder for the rest", "and keep it as short as you can"
    said = [{"path": "lib/b.py", "text": whole}, {"path": "lib/m.py", "text": "of another"}]
    bench.server.answers(f"{whole}\nThe person says of it: {short}", GOOD)
    bench.front.answer = about_failed(
        Decision(False, {"comments": [{"text": " "}]}),
        Decision(False, {"comments": said}),
        Decision(False, {"files": [PLAN["files"][1]], "comments": [said[0], {"text": short}]}),
    )
    await bench.succeed("multi_file", TASK)
    assert bench.fingerprint() == NEW
    first, unsaid, again = asked_again(bench)
    assert first.payload["revisable"]
    assert "the comments are empty" in unsaid.message
    assert [one.payload.get("comments") for one in (first, unsaid, again)] == [None, None, [said[0]]]
    assert prompt_of(bench, f"The person says of it: {short}")
    assert "of another" not in str(bench.server.requests)


async def test_a_plan_of_failed_files_that_is_not_valid_is_shown_again_as_it_was_typed(bench: Bench) -> None:
    failing(bench, LEFT_OUT)
    bench.server.answers("Write the new file lib/c.py", GOOD)
    said = {"path": "lib/b.py", "text": "write it in full"}
    typed = [{"action": "move", "path": "lib/c.py", "why": "of my own"}]
    mended = [{**typed[0], "action": "create"}]
    bench.front.answer = about_failed(
        Decision(False, {"files": typed, "comments": [said]}),
        Decision(False, {"files": mended, "comments": [{**said, "path": "lib/c.py"}]}),
    )
    await bench.succeed("multi_file", TASK)
    _, again = asked_again(bench)
    assert again.payload["files"] == typed
    assert "lib/c.py does not exist, so it cannot be moved" in again.message
    assert again.payload["comments"] == [{**said, "path": "lib/c.py"}], "the plan names it so"
    assert bench.fingerprint()["lib/c.py"] == NEW["lib/b.py"]
    assert prompt_of(bench, "of my own\nThe person says of it: write it in full")


async def test_a_comment_on_a_failed_file_that_is_taken_out_is_told_as_not_sent(bench: Bench) -> None:
    failing(bench, LEFT_OUT)
    said = [{"path": "lib/b.py", "text": "write it in full"}]
    bench.front.answer = about_failed(Decision(False, {"files": [], "comments": said}))
    await bench.succeed("multi_file", TASK)
    told = bench.front.notices()
    assert "the comment on lib/b.py is not sent: lib/b.py is not tried again" in told


@pytest.mark.parametrize(("by", "asked"), [("policy:yes", 1), ("user", 3)])
async def test_the_others_are_written_without_a_person_and_after_three_tries(
    bench: Bench, by: str, asked: int
) -> None:
    failing(bench, LEFT_OUT)
    bench.front.answer = lambda _request: Decision(True, by=by)
    result = await bench.run("multi_file", TASK)
    assert (result.ok, result.error_code) == (False, "StepFailed")
    assert "left out lib/b.py; changed a.py, old.py, lib/m.py" in str(result.error)
    assert bench.fingerprint() == {path: text for path, text in NEW.items() if path != "lib/b.py"}
    assert len(asked_again(bench)) == asked
    tries = sum("lib/b.py" in str(one["messages"][-1]["content"]) for one in bench.server.requests)
    assert tries > asked // 3 * 3, "each yes is carried out"


@pytest.mark.parametrize("said", ["NO CHANGE", "`No change.`", "```\nNO CHANGE\n```"])
async def test_a_file_that_needs_no_change_is_told_and_the_others_are_written(
    bench: Bench, said: str
) -> None:
    planned(bench)
    bench.server.answers("Change a.py: use the new name", said)
    result = await bench.succeed("multi_file", TASK)
    assert bench.fingerprint() == {**NEW, "a.py": b"from old import f\n\nf()\n"}
    assert "= a.py: no change" in str(result.response)
    assert any("no change in a.py" in notice for notice in bench.front.notices())
    prompts = [str(request["messages"]) for request in bench.server.requests]
    assert any("NO CHANGE" in prompt and "Change a.py" in prompt for prompt in prompts)
    assert not any("NO CHANGE" in prompt for prompt in prompts if "Write the new file" in prompt)


@pytest.mark.parametrize("name", ["README.md", "notes.txt", "conf.yaml", "LICENSE"])
async def test_a_sentence_is_never_the_text_of_a_file(bench: Bench, name: str) -> None:
    bench.write(name, "Title: one\n\nA text of this file.\n")
    plan: dict[str, Any] = {"files": [{"action": "modify", "path": name, "why": "better"}]}
    bench.server.answers("Which files have to be", plan)
    bench.server.answers(f"Change {name}", "Note: nothing to change here.")
    bench.front.answer = lambda _request: Decision(True, by="policy:yes")
    before = bench.fingerprint()
    result = await bench.run("multi_file", TASK)
    assert result.error_code == "UnusableAnswer"
    assert bench.fingerprint() == before
    again = bench.server.requests[-1]["messages"][-1]["content"]
    assert "in the form that was asked for: one fenced code block" in again
    assert "NO CHANGE" in again


async def test_a_refusal_names_the_blocks_that_were_asked_for(bench: Bench) -> None:
    bench.write("a.py", "x = 1\n" * 100)
    plan: dict[str, Any] = {"files": [{"action": "modify", "path": "a.py", "why": "better"}]}
    bench.server.answers("Which files have to be", plan)
    bench.server.answers("Change a.py", "I would rather not.")
    result = await bench.run("multi_file", TASK)
    assert result.error_code == "UnusableAnswer"
    again = bench.server.requests[-1]["messages"][-1]["content"]
    assert "<<<<<<< SEARCH" in again
    assert "in the form that was asked for: search/replace blocks" in again
    assert "fenced" not in again


def prompt_of(bench: Bench, words: str) -> str:
    (sent,) = [text for one in bench.server.requests if words in (text := text_of(one))]
    return sent


async def test_a_file_is_asked_for_behind_those_that_it_uses_and_is_shown_what_they_became(
    bench: Bench,
) -> None:
    planned(bench)
    await bench.succeed("multi_file", TASK)
    asked = [text_of(one) for one in bench.server.requests]
    of_new, of_old = prompt_of(bench, "Write the new file lib/b.py"), prompt_of(bench, "Change a.py: ")
    assert asked.index(of_new) < asked.index(of_old), "it imports old.py, which goes first"
    assert "are done" not in of_new
    shown = of_old.partition("These files of the plan are done.")[2]
    assert "+++ b/lib/b.py\n@@ -0,0 +1,2 @@\n+def f():\n+    return 1\n" in shown
    assert "--- a/old.py" in shown
    assert "m.py" not in shown


async def test_tests_are_asked_for_last_though_they_are_new_and_name_no_file(bench: Bench) -> None:
    bench.write("a.py", "x = 1\n")
    bench.front.answer = lambda _request: Decision(True)
    files = [
        {"action": "create", "path": "tests/test_f.py", "why": "the new behaviour"},
        {"action": "modify", "path": "a.py", "why": "use the new name"},
    ]
    bench.server.answers("Which files have to be", {"files": files})
    bench.server.answers("Change a.py", "```python\nx = 2\n```")
    bench.server.answers("Write the new file tests/test_f.py", "```python\ndef test_x():\n    assert 1\n```")
    await bench.succeed("multi_file", TASK)
    assert "+++ b/a.py" in prompt_of(bench, "Write the new file tests/test_f.py")


async def test_a_model_with_little_room_is_shown_what_fits(bench: Bench) -> None:
    await bench.limit(120)
    planned(bench)
    await bench.succeed("multi_file", TASK)
    assert "are done" not in prompt_of(bench, "Change a.py: ")


@pytest.mark.parametrize("agrees", [True, False])
async def test_a_planned_file_with_a_secret_is_given_only_after_a_yes(bench: Bench, agrees: bool) -> None:
    planned(bench, {"files": [{"action": "modify", "path": "a.py", "why": "the address"}]})
    secret = f'TOKEN = "ghp_{"a1" * 20}"\n'
    bench.write("a.py", secret)
    bench.server.answers("Change a.py: the address", "NO CHANGE")
    bench.front.answer = lambda request: Decision(agrees or request.kind != "gate")
    result = await bench.run("multi_file", "use the new address")
    (question,) = [request for request in bench.front.requests if request.kind == "gate"]
    assert question.message.startswith("Give a.py to the model? ")
    given = [request for request in bench.server.requests if secret.strip() in text_of(request)]
    assert (result.ok, result.cancelled, bool(given)) == (agrees, not agrees, agrees), result.error
    assert bench.fingerprint()["a.py"].decode() == secret
    memos = (await bench.reader()).memos(result.execution_id)
    assert ("texts:" in str(memos)) is agrees
    assert secret.strip() not in str(memos), "a text that is no secret is kept for a resumed run"


async def test_each_revision_of_a_plan_has_a_draft_of_its_own_that_is_found_again(bench: Bench) -> None:
    planned(bench)
    bench.server.answers("The person has read your plan", {"files": PLAN["files"][:2]})
    front, said = bench.front, [{"path": "old.py", "text": "keep it"}]
    given = iter([Decision(False, {"comments": said}), Decision(True), Decision(True)])
    front.answer = lambda _request: next(given)
    request = RunRequest(name="multi_file", prompt=TASK)
    front.hold = True
    running = asyncio.create_task(bench.runner.run(request))
    await front.until_asked()
    begun = Path(front.requests[0].draft)
    await asyncio.to_thread(write_draft, begun, [{"said": {"comments": said}}])
    bench.runner.leave()
    await asyncio.wait_for(running, LIMIT)
    front.hold = False
    await resume(bench, request.execution_id)
    drafts = [Path(one.draft) for one in front.requests if one.kind == "plan"]
    assert drafts[:2] == [begun, begun]
    assert len(drafts) == 3
    assert drafts[2].parent == begun.parent
    assert drafts[2] != begun
    assert not begun.parent.exists(), "the run has ended"


async def test_of_each_run_that_was_left_it_is_told_what_it_waits_for(bench: Bench) -> None:
    planned(bench)
    front = bench.front
    front.hold = True

    def waiting(count: int) -> bool:
        return len(front.requests) == count

    told = {"multi_file": "plan", "refactor": "question", "generate": "review"}
    bench.server.answers("what must not change", "nothing")
    bench.server.answers("a constant", GOOD)
    running: list[asyncio.Task[WorkflowResult]] = []
    for number, name in enumerate(told, start=1):
        prompt = "a constant" if name == "generate" else TASK
        request = RunRequest(name=name, prompt=prompt, context=bench.context("a.py", 1, 1))
        running.append(asyncio.create_task(bench.runner.run(request)))
        await front.until(partial(waiting, number))
    bench.runner.leave()
    await asyncio.wait_for(asyncio.gather(*running), LIMIT)
    reader = Reader(bench.private)
    runs = await asyncio.to_thread(lambda: reader.runs(limit=9, unfinished=True))
    lines = await asyncio.to_thread(waiting_lines, reader, runs * 2)
    assert lines[-1] == "  and 1 more; `tideate history` lists them"
    assert sorted(lines[:3]) == sorted(
        f"  {run.id[:8]} of {run.name} waits for your answer to its {told[run.name]}" for run in runs
    )
