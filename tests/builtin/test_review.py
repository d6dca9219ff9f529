"""Built-in workflows with unsuitable input, no change, or partial acceptance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.test_buffer_workflows import BETTER, LOOP, PLAN, analyzed, only, planned
from tests.harness.buffers import Buffers
from tideate_core.builtin.buffer_workflows import analyze
from tideate_core.engine import ConfirmationRequest, EventName
from tideate_core.workflows import BufferContext, Decision, RunContext
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from tests.harness.bench import Bench


async def test_lines_that_do_not_fit_the_model_are_refused_before_it_is_asked(bench: Bench) -> None:
    await bench.limit(256)
    bench.write("a.py", "x = 1\n" * 200)
    result = await bench.run("refactor", "simplify", context=bench.context("a.py", 1, 200))
    assert result.error_code == "ContextTooLong"
    assert "200 lines (1199 characters) do not fit this model" in str(result.error)
    assert bench.server.requests == []


async def test_a_planned_file_that_does_not_fit_the_model_is_named_and_left_as_it_is(bench: Bench) -> None:
    planned(bench)
    bench.write("a.py", "x = 1\n" * 2000)
    await bench.limit(4096)
    before = bench.fingerprint()
    result = await bench.run("multi_file", "move f into a library")
    assert (result.ok, result.error_code) == (False, "StepFailed")
    assert "left out a.py; changed lib/b.py, old.py, lib/m.py" in str(result.error)
    assert "a.py does not fit this model" in str(result.error)
    assert bench.fingerprint()["a.py"] == before["a.py"]


async def test_a_handler_that_works_on_lines_says_so_where_there_are_none(bench: Bench) -> None:
    bench.register("mine", {"analyze": analyze})
    result = await bench.run("mine", "simplify")
    assert result.error_code == "InvalidInput"
    assert "analyze needs lines to work on" in str(result.error)


async def test_an_answer_that_was_cut_off_is_given_with_a_warning(bench: Bench) -> None:
    bench.server.answers("why", "Because of", finish_reason="length")
    result = await bench.run("ask", "why")
    assert (result.ok, result.response) == (True, "Because of")
    (notice,) = bench.front.data(EventName.NOTICE)
    assert (notice["level"], "cut off" in notice["message"]) == ("warn", True)


async def test_an_answer_that_changes_nothing_is_told_and_not_reviewed(bench: Bench) -> None:
    bench.write("a.py", LOOP)
    same = "\n".join(LOOP.splitlines()[3:6])
    analyzed(bench, f"```python\n{same}\n```")
    before = bench.fingerprint()
    result = await bench.run("refactor", "simplify", context=bench.context("a.py", 4, 6))
    assert (result.ok, result.files) == (True, [])
    assert [request.kind for request in bench.front.requests] == ["gate"]
    assert bench.front.notices() == ["the answer changes nothing"]
    assert bench.fingerprint() == before
    assert result.as_json()["unchanged"] is True
    assert bench.front.data(EventName.WORKFLOW_COMPLETED)[0]["unchanged"] is True


async def test_planned_files_whose_answers_change_nothing_are_a_run_without_changes(bench: Bench) -> None:
    planned(bench, {"files": PLAN["files"][:1]})
    bench.server.answers("Change a.py: use the new name", "```python\nfrom old import f\n\nf()\n```")
    result = await bench.run("multi_file", "move f into a library")
    assert (result.ok, result.files, result.response) == (True, [], "nothing to change")
    assert result.unchanged


async def test_text_for_a_buffer_that_cannot_be_changed_is_presented_with_its_filetype(bench: Bench) -> None:
    bench.server.answers("a constant", "```\nLIMIT = 3\n```")
    buffer = BufferContext(text="help\n", modifiable=False, filetype="help")
    result = await bench.run("generate", "a constant", context=RunContext(buffer=buffer))
    assert (result.ok, result.files) == (True, [])
    assert bench.front.presented == ["LIMIT = 3"]


# what a person accepts


def verdicts(*accepted: list[int]) -> Any:
    """Return an answer that accepts these hunks, one list per file, and yes to other questions."""

    def answer(request: ConfirmationRequest) -> Decision:
        if request.kind != "review":
            return Decision(True)
        return Decision(True, {"files": [{"accepted": hunks} for hunks in accepted]})

    return answer


async def test_a_review_that_accepts_no_hunk_declines_the_change(bench: Bench) -> None:
    bench.write("a.py", LOOP)
    analyzed(bench)
    bench.front.answer = verdicts([])
    before = bench.fingerprint()
    result = await bench.run("refactor", "simplify", context=bench.context("a.py", 4, 6))
    assert (result.cancelled, result.reason) == (True, "declined")
    assert bench.fingerprint() == before


async def test_of_several_files_those_without_an_accepted_hunk_stay(bench: Bench) -> None:
    planned(bench)
    bench.front.answer = verdicts([], [0], [0], [])
    result = await bench.succeed("multi_file", "move f into a library")
    assert sorted(result.files) == ["lib/b.py", "old.py"]
    assert sorted(bench.fingerprint()) == ["a.py", "lib/b.py", "m.py"]


MALFORMED: dict[str, tuple[Any, str]] = {
    "no object": ([0], "it: input should be"),
    "no files": ({}, "files: field required"),
    "no list": ({"files": {"a": 1}}, "files: input should be a valid list"),
    "no verdict": ({"files": [0]}, "files.0: input should be"),
    "no number": ({"files": [{"accepted": ["0"]}]}, "files.0.accepted.0: input should be a valid integer"),
    "no accepted": ({"files": [{"path": "a.txt"}]}, "files.0.accepted: field required"),
    "another file": ({"files": [{"path": "b.txt", "accepted": [0]}]}, "it names b.txt where a.txt was shown"),
    "too many files": ({"files": [{"accepted": [0]}] * 2}, "it is about 2 files, and 1 were shown"),
    "no such hunk": ({"files": [{"accepted": [0, 999]}]}, "a.txt has 2 hunks, and number 999 was accepted"),
    "a negative one": ({"files": [{"accepted": [-1]}]}, "a.txt has 2 hunks, and number -1 was accepted"),
}


@pytest.mark.parametrize(("value", "why"), MALFORMED.values(), ids=MALFORMED)
async def test_an_answer_that_is_none_to_the_review_is_asked_for_again(
    bench: Bench, value: Any, why: str
) -> None:
    bench.write("a.txt", "one\ntwo\nthree\n")
    analyzed(bench, "```\nONE\ntwo\nTHREE\n```")
    given = iter([value, {"files": [{"path": "a.txt", "accepted": [1]}]}])
    bench.front.answer = lambda request: Decision(True, next(given) if request.kind == "review" else None)
    await bench.succeed("refactor", "shout", context=bench.context("a.txt", 1, 3))
    assert bench.fingerprint()["a.txt"] == b"one\ntwo\nTHREE\n"
    first, again = [request.message for request in bench.front.requests if request.kind == "review"]
    assert (why in again, again.endswith(first)) == (True, True), again


async def test_a_front_end_that_never_gives_an_answer_to_the_review_fails_the_run(bench: Bench) -> None:
    bench.write("a.txt", "one\ntwo\nthree\n")
    analyzed(bench, "```\nONE\ntwo\nTHREE\n```")
    before = bench.fingerprint()
    bench.front.answer = verdicts([999])
    result = await bench.run("refactor", "shout", context=bench.context("a.txt", 1, 3))
    assert (result.ok, result.error_code) == (False, "StepFailed")
    assert "number 999 was accepted; nothing was written" in str(result.error)
    assert bench.fingerprint() == before


async def test_an_answer_that_is_no_plan_is_asked_for_again_with_the_one_before(bench: Bench) -> None:
    planned(bench)
    given = iter([[1], {"files": 1}, {"files": [{"path": 1}]}, None])
    bench.front.answer = lambda request: (
        Decision(True, next(given)) if request.kind == "plan" else Decision(True)
    )
    await bench.succeed("multi_file", "move f into a library")
    asked = [request for request in bench.front.requests if request.kind == "plan"]
    assert [request.payload["files"] == PLAN["files"] for request in asked] == [True] * 4
    assert all("the plan cannot be read" in request.message for request in asked[1:])


async def test_a_plan_with_no_file_left_is_declined(bench: Bench) -> None:
    planned(bench)
    before = bench.fingerprint()
    bench.front.answer = only("plan", Decision(True, {"files": []}))
    result = await bench.run("multi_file", "move f into a library")
    assert (result.cancelled, result.reason) == (True, "declined")
    assert len(bench.server.requests) == 1
    assert bench.fingerprint() == before


@pytest.mark.parametrize(
    ("kind", "value", "code"),
    [
        ("plan", {"files": [{"action": "delete", "path": "nowhere.py", "why": "x"}]}, "InvalidInput"),
        ("override", None, "StepFailed"),
    ],
)
async def test_an_answer_by_rule_that_cannot_be_carried_out_fails_and_is_not_asked_again(
    bench: Bench, kind: str, value: Any, code: str
) -> None:
    planned(bench)
    bench.server.answers("Write the new file lib/b.py: holds it", "```python\ndef f(:\n    return 1\n```")
    bench.front.answer = only(kind, Decision(value is not None, value, by="policy:yes"))
    before = bench.fingerprint()
    result = await bench.run("multi_file", "move f into a library")
    assert result.error_code == code
    assert len([request for request in bench.front.requests if request.kind == kind]) == 1
    assert bench.fingerprint() == before


# buffers of an editor


async def test_a_buffer_that_cannot_be_saved_is_named_and_the_rest_is_written(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(bench)
    editor = Buffers()
    number = editor.load(bench.root / "a.py", "from old import f\n\nf()")
    editor.unwritable.add(number)
    monkeypatch.setattr(
        bench, "workspace", lambda: Workspace(bench.root, buffers=editor, private=bench.private)
    )
    await bench.succeed("multi_file", "move f into a library")
    assert bench.fingerprint()["lib/b.py"]
    warned = [notice["message"] for notice in bench.front.data(EventName.NOTICE) if notice["level"] == "warn"]
    assert warned == ["1 file is changed in its buffer and not saved: a.py (E45: 'readonly' option is set)"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("modified", "on_disk", "words"),
    [
        (False, b"from lib.b import f\n\nf()\n", []),
        (
            True,
            b"from old import f\n\nf()\n",
            ["1 file is changed in its buffer and not saved: a.py (other unsaved changes; `:wa` saves)"],
        ),
    ],
)
async def test_what_was_changed_in_an_editors_buffers_is_saved_unless_it_had_unsaved_changes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, *, modified: bool, on_disk: bytes, words: list[str]
) -> None:
    planned(bench)
    editor = Buffers()
    number = editor.load(bench.root / "a.py", "from old import f\n\nf()", modified=modified)
    monkeypatch.setattr(
        bench, "workspace", lambda: Workspace(bench.root, buffers=editor, private=bench.private)
    )
    await bench.succeed("multi_file", "move f into a library")
    assert editor.text(number) == "from lib.b import f\n\nf()"
    assert bench.fingerprint()["a.py"] == on_disk
    warned = [notice["message"] for notice in bench.front.data(EventName.NOTICE) if notice["level"] == "warn"]
    assert warned == words
    shown = bench.front.requests[-1].payload["files"][0]
    assert (shown["buffer"], shown["before"]) == (number, "from old import f\n\nf()")


async def test_a_buffer_is_changed_where_it_stands(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = Buffers()
    number = editor.load(None, LOOP.removesuffix("\n"))
    monkeypatch.setattr(
        bench, "workspace", lambda: Workspace(bench.root, buffers=editor, private=bench.private)
    )
    analyzed(bench, BETTER)
    context = RunContext.model_validate(
        {
            "buffer": {"text": editor.text(number), "number": number, "tick": 1, "filetype": "python"},
            "selection": {"start": 4, "end": 6},
        }
    )
    await bench.succeed("refactor", "simplify", context=context)
    assert "    return math.pi * r**2\n" in editor.text(number)
    assert "lines 4-6 of the buffer" in bench.front.requests[0].message


async def test_an_edit_that_cannot_be_written_is_shown_with_a_warning(
    bench: Bench,
) -> None:
    bench.write("a.py", LOOP)
    context = bench.context("a.py", 4, 6)
    analyzed(bench, f"```python\n{BETTER}\n```")
    bench.write("a.py", "another file\n")  # not the text that the edit is made for
    before = bench.fingerprint()
    bench.front.answer = lambda _request: Decision(True, by="policy:yes")  # a person would be asked again
    result = await bench.run("refactor", "simplify", context=context)
    assert (result.ok, result.error_code) == (False, "EditConflict")
    assert any(
        "as things are this change cannot be written: a.py" in words for words in bench.front.notices()
    )
    assert [request.kind for request in bench.front.requests].count("review") == 1
    (failed,) = bench.front.data(EventName.STEP_FAILED)
    assert [(entry["filename"], entry["tool"]) for entry in failed["entries"]] == [("a.py", "edit")]
    assert failed["entries"][0]["lnum"] > 0
    assert bench.fingerprint() == before


async def test_a_hard_link_is_named_before_the_question_and_its_other_name_keeps_the_text(
    bench: Bench,
) -> None:
    bench.write("a.py", LOOP)
    other = bench.root.parent / "other.py"
    other.hardlink_to(bench.root / "a.py")
    analyzed(bench, f"```python\n{BETTER}\n```")
    said: list[str] = []

    def answer(request: ConfirmationRequest) -> Decision:
        if request.kind == "review":
            said.extend(one["message"] for one in bench.front.data(EventName.NOTICE))
        return Decision(True)

    bench.front.answer = answer
    await bench.succeed("refactor", "simplify", context=bench.context("a.py", 4, 6))
    assert [words for words in said if "a.py is a hard link: only this name gets the new text" in words]
    assert (bench.root / "a.py").read_text() != other.read_text() == LOOP
