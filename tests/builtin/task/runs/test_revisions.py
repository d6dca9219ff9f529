"""Review comments of a task: the role revises its edits, and only differences are open again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.results import run_killed
from tests.builtin.task.runs.site import RUN
from tests.builtin.task.runs.test_correcting import BODY
from tests.harness.tally import AFTER, DONE, ENTRY, LINES
from tests.harness.tasks import CODE, approved, documenting, edits, plan, rejected
from tests.harness.unfinished import WORK, documenting_with_tools
from tideate_core.engine import EventName
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.builtin.task.runs.desk import Desk
    from tests.harness.model_server import ModelServer
    from tideate_core.engine import ConfirmationRequest

pytestmark = pytest.mark.slow

LINES_FILE = "src/tally/lines.py"
FIRST = LINES.replace(BODY, "return 0  # for now")
# of several texts in a conversation the model server answers to the longest
BECAUSE = (
    "Zero is no count of lines: return how many there are, as the test of this plan wants to have it counted"
)


def verdicts(request: ConfirmationRequest) -> list[dict[str, Any]]:
    return [
        {"path": file["path"], "accepted": list(range(max(1, len(file["hunks"]))))}
        for file in request.payload["files"]
    ]


def rejects_lines(request: ConfirmationRequest) -> Decision:
    """Accept all files except the new module, with a comment."""
    files = verdicts(request)
    (lines,) = [file for file in files if file["path"] == LINES_FILE]
    lines["accepted"], lines["rejected"] = [], [0]
    comment = {"path": LINES_FILE, "hunk": 0, "text": BECAUSE}
    return Decision(False, {"files": files, "comments": [comment]})


def accepts(request: ConfirmationRequest) -> Decision:
    return Decision(True, {"files": verdicts(request)})


def says(desk: Desk, *answers: Callable[[ConfirmationRequest], Decision]) -> Iterator[Any]:
    """Script the first review answers; everything else is accepted."""
    left = iter(answers)
    desk.answers(review=lambda request: next(left, lambda _request: Decision(True))(request))
    return left


def reviews(desk: Desk, step: str = "awaiting_execution_gate") -> list[ConfirmationRequest]:
    return [one for one in desk.front.requests if one.kind == "review" and one.step == step]


def opened(request: ConfirmationRequest) -> list[str]:
    """Return the files with undecided hunks."""
    decided = {file["path"]: file.get("decided", {}) for file in request.payload["files"]}
    return [path for path, one in decided.items() if not one.get("accepted") and not one.get("rejected")]


def asks_for_other_words(request: ConfirmationRequest) -> Decision:
    if request.step != "awaiting_documentation_gate" or "revision" in request.payload:
        return accepts(request)
    comment = {"path": "CHANGELOG.md", "text": BECAUSE}
    return Decision(False, {"files": verdicts(request), "comments": [comment]})


def use_tools(desk: Desk) -> None:
    config = desk.config / "config.toml"
    config.write_text(config.read_text().replace("tools = false\n", ""))


def with_tools(desk: Desk, server: ModelServer) -> None:
    """Script an executor with tools that follows the comment."""
    use_tools(desk)
    scripts_with_tools(desk.model, server)


def scripts_with_tools(model: Any, server: ModelServer) -> None:
    model.leaves("executor")
    for path, text in {**CODE, LINES_FILE: FIRST}.items():
        server.calls(WORK, "write_file", {"path": path, "text": text}, times=1)
    server.calls(WORK, "submit_work", {"summary": "All is written."}, times=1)
    server.calls(BECAUSE, "write_file", {"path": LINES_FILE, "text": LINES}, times=1)
    server.calls(BECAUSE, "submit_work", {"summary": "It counts."}, times=1)
    model.says("documenter", documenting_with_tools)


async def test_a_reason_is_answered_by_the_conversation_that_made_the_edits(
    desk: Desk, server: ModelServer
) -> None:
    with_tools(desk, server)
    left = says(desk, rejects_lines)
    await desk.succeed()
    first, second = reviews(desk)
    assert (first.payload["revisable"], second.payload["revision"]) == (True, 2)
    assert opened(second) == [LINES_FILE], "the rest keeps its decision"
    assert next(left, None) is None
    assert desk.gates()[2:5] == [("execution", True)] * 3, "before each review, and of what was accepted"
    assert desk.changed() == DONE
    told = next(one["messages"] for one in server.requests if BECAUSE in one["messages"][-1]["content"])
    assert any(WORK in str(one["content"]) for one in told), "it is the same conversation"
    assert f"On {LINES_FILE}, which they reject:" in told[-1]["content"]


async def test_a_model_without_tools_is_shown_the_files_as_they_are_staged(desk: Desk) -> None:
    desk.model.says("executor", edits({**CODE, LINES_FILE: FIRST}), edits({LINES_FILE: LINES}))
    says(desk, rejects_lines)
    await desk.succeed()
    assert desk.model.asked("executor") == 2
    told = desk.model.prompts("executor")[1]
    assert BECAUSE in told
    assert "tools/count.sh as it is" not in told, "nothing is said of it"
    assert "return 0  # for now" in told
    assert opened(reviews(desk)[1]) == [LINES_FILE]
    assert desk.changed() == DONE


async def test_a_revision_that_its_gate_refuses_is_not_shown(desk: Desk) -> None:
    broken = FIRST.replace("return 0", "return (")
    desk.model.says(
        "executor",
        edits({**CODE, LINES_FILE: FIRST}),
        *[edits({LINES_FILE: broken})] * 2,
        edits({LINES_FILE: LINES}),
    )
    says(desk, rejects_lines, rejects_lines)
    await desk.succeed()
    first, again, last = reviews(desk)
    assert "revision" not in again.payload
    assert [one["text"] for one in again.payload["comments"]] == [BECAUSE], "it can be sent again"
    assert [file["hunks"] for file in again.payload["files"]] == [
        file["hunks"] for file in first.payload["files"]
    ]
    assert any("gate 3 refused the revision" in one["message"] for one in desk.front.data(EventName.NOTICE))
    assert last.payload["revision"] == 2
    assert "return (" not in desk.model.prompts("executor")[-1], "what was refused is not what is revised"
    assert desk.changed() == DONE


async def test_a_documentation_is_worded_anew_by_the_documenter(desk: Desk) -> None:
    """The entry may differ from the planned one; the gate checks that there is a new one."""
    worded = AFTER["CHANGELOG.md"].replace(ENTRY, "`count_lines` counts lines")
    said = iter([documenting(), documenting(), edits({"CHANGELOG.md": worded})])
    desk.model.says("documenter", *said)
    desk.answers(review=asks_for_other_words)
    await desk.succeed()
    assert (desk.root / "CHANGELOG.md").read_text() == worded
    assert desk.gates().count(("documentation", True)) == 3
    assert BECAUSE in desk.model.prompts("documenter")[2]


async def test_a_documentation_is_worded_anew_by_the_conversation_that_made_it(
    desk: Desk, server: ModelServer
) -> None:
    use_tools(desk)
    desk.model.leaves("executor")
    for path, text in {**CODE, LINES_FILE: LINES}.items():
        server.calls(WORK, "write_file", {"path": path, "text": text}, times=1)
    server.calls(WORK, "submit_work", {"summary": "All is written."}, times=1)
    desk.model.says("documenter", documenting_with_tools)
    worded = AFTER["CHANGELOG.md"].replace(ENTRY, "`count_lines` counts lines")
    server.calls(BECAUSE, "write_file", {"path": "CHANGELOG.md", "text": worded}, times=1)
    server.calls(BECAUSE, "submit_work", {"summary": "It is worded anew."}, times=1)

    def asks(request: ConfirmationRequest) -> Decision:
        decision = asks_for_other_words(request)
        if not decision.accepted:
            desk.model.leaves("documenter")
        return decision

    desk.answers(review=asks)
    await desk.succeed()
    assert (desk.root / "CHANGELOG.md").read_text() == worded
    told = next(one["messages"] for one in server.requests if BECAUSE in one["messages"][-1]["content"])
    entry, usage, comments = (one["content"] for one in told if one["role"] == "user")
    assert "Document this change." in entry
    assert "Update docs/usage.md for this change." in usage
    assert "+def count_lines" in entry, "the change is told once"
    assert "+def count_lines" not in usage + comments


async def test_a_correction_is_made_anew_by_the_corrector(desk: Desk) -> None:
    wrong = LINES.replace(BODY, "return 0")
    desk.model.says("executor", edits({**CODE, LINES_FILE: wrong}))
    desk.model.says("corrector", edits({LINES_FILE: FIRST}), edits({LINES_FILE: LINES}))
    desk.answers(
        review=lambda one: (
            rejects_lines(one)
            if one.step == "self_correcting" and "revision" not in one.payload
            else Decision(True)
        )
    )
    await desk.succeed()
    assert desk.model.asked("corrector") == 2
    assert BECAUSE in desk.model.prompts("corrector")[1]
    assert len(reviews(desk, "self_correcting")) == 2
    assert desk.changed() == DONE


# files that change on disk

DIES = """
import asyncio, os, pathlib, signal, sys
from tests.builtin.task.runs.site import RUN
from tests.builtin.task.runs.test_revisions import rejects_lines
from tideate_core.app.wiring import build_catalog, open_project, open_runner
from tideate_core.engine import RunRequest
from tideate_core.workflows import Decision
from tests.harness.front import Front
from tests.harness.tally import TASK

root, step = sys.argv[1:]

class Person(Front):
    async def confirm(self, request):
        if (request.kind, request.step) != ("review", step):
            return Decision(True)
        if "revision" in request.payload:
            os.kill(os.getpid(), signal.SIGKILL)
        return rejects_lines(request)

async def main():
    request = RunRequest(name="task", prompt=TASK, execution_id=RUN)
    async with open_runner(open_project(root), build_catalog(pathlib.Path(root)), Person()) as runner:
        await runner.run(request)

asyncio.run(main())
"""


@pytest.mark.concurrency
@pytest.mark.parametrize(
    ("step", "tools"),
    [("awaiting_execution_gate", False), ("awaiting_execution_gate", True), ("self_correcting", False)],
)
async def test_the_last_round_goes_on_though_a_file_changed_on_disk(
    desk: Desk, server: ModelServer, step: str, tools: bool
) -> None:
    changed = "src/tally/__init__.py"
    if tools:
        with_tools(desk, server)
    elif step == "self_correcting":
        desk.model.says("executor", edits({**CODE, LINES_FILE: LINES.replace(BODY, "return 0")}))
        desk.model.says("corrector", edits({LINES_FILE: FIRST}), edits({LINES_FILE: LINES}))
        changed = LINES_FILE
    else:
        desk.model.says("executor", edits({**CODE, LINES_FILE: FIRST}), edits({LINES_FILE: LINES}))
    await run_killed(DIES, str(desk.root), step)
    asked = len(server.requests)
    path = desk.root / changed
    before = path.read_text()
    path.write_text(f"{before}\n# mine\n")

    def answer(request: ConfirmationRequest) -> Decision:
        assert len(server.requests) == asked, "the model is asked nothing again"
        assert (request.payload["revision"], opened(request)) == (2, [LINES_FILE])
        return accepts(request)

    left = says(desk, answer)
    await desk.resume(RUN)
    assert next(left, None) is None
    assert path.read_text().endswith("\n# mine\n")
    assert "for now" not in (desk.root / LINES_FILE).read_text()


# the plan

SHORTER = "Let the script be: nobody counts lines with it"


def line_of(request: ConfirmationRequest, words: str) -> int:
    lines = request.payload["text"].split("\n")
    return next(at for at, line in enumerate(lines, start=1) if words in line)


def comments_once(*, edits: bool = False) -> Callable[[ConfirmationRequest], Decision]:
    """Return an answer that comments on a line of the first plan, then accepts."""

    def answer(request: ConfirmationRequest) -> Decision:
        if "revision" in request.payload or not request.payload["revisable"]:
            return Decision(True)
        line = line_of(request, "let the script count lines")
        value: dict[str, Any] = {"comments": [{"line": line, "text": SHORTER}, {"text": "And be brief."}]}
        if edits:
            value["text"] = request.payload["text"].replace("write count_lines", "write it in one line")
        return Decision(False, value)

    return answer


def shorter_plan(objective: str = "count the lines of a text") -> dict[str, Any]:
    whole = plan(objective)
    return {
        **whole,
        "steps": whole["steps"][:3],
        "files": [one for one in whole["files"] if one != "tools/count.sh"],
    }


def plans(desk: Desk) -> list[ConfirmationRequest]:
    return [one for one in desk.front.requests if one.kind == "document"]


@pytest.mark.parametrize("tools", [False, True])
async def test_a_comment_on_a_line_of_the_plan_has_it_made_and_audited_anew(
    desk: Desk, server: ModelServer, tools: bool
) -> None:
    if tools:
        with_tools(desk, server)
    desk.model.says("planner", plan(), shorter_plan("count lines, briefly"))
    code = {name: text for name, text in CODE.items() if name != "tools/count.sh"}
    if not tools:
        desk.model.says("executor", edits(code))
    desk.answers(document=comments_once())
    result = await desk.run()
    _, second = plans(desk)
    told = desk.model.prompts("planner")[1]
    assert 'on "4. **edit** let the script count lines, too": Let the script be' in told
    assert "- And be brief." in told
    assert (second.payload["revision"], second.message) == (2, "Revision 2. Carry out this plan?")
    lines = second.payload["text"].split("\n")
    assert [lines[at - 1] for at in second.payload["changed"]] == ["count lines, briefly"]
    assert desk.model.asked("auditor") == 2
    assert desk.gates()[:4] == [("plan", True), ("audit", True)] * 2
    assert ("Plan this task." in told) is tools, "it is the same conversation"
    if not tools:
        assert result.ok, result.error
        assert "count.sh" not in desk.model.prompts("executor")[0].partition("```\n\nsrc/")[0]
    assert "let the script" not in str(result.as_json()["results"]["awaiting_audit_gate"]["plan"])


async def test_a_plan_that_was_edited_is_commented_on_as_it_was_edited(desk: Desk) -> None:
    desk.model.says("planner", plan(), shorter_plan())
    desk.answers(document=comments_once(edits=True))
    await desk.run()
    assert "write it in one line" in desk.model.prompts("planner")[1]


async def test_comments_that_no_plan_answers_are_sent_again(desk: Desk) -> None:
    """If gate 1 or the audit refuses a revised plan, the previous plan is shown again."""
    desk.model.says("planner", plan(), plan(rollback_strategy=""), shorter_plan())
    desk.model.says("auditor", approved(), rejected("too short"), approved())
    shown: list[dict[str, Any]] = []

    def answer(request: ConfirmationRequest) -> Decision:
        shown.append(request.payload)
        comments = request.payload.get("comments", [{"line": 1, "text": SHORTER}])
        return Decision(len(shown) == 4, None if len(shown) == 4 else {"comments": comments})

    desk.answers(document=answer)
    await desk.run()
    assert [one.get("comments") for one in shown] == [None, *[[{"line": 1, "text": SHORTER}]] * 2, None]
    assert [one["text"] == shown[0]["text"] for one in shown] == [True, True, True, False]
    assert any("gate 1 refused the new plan" in one for one in desk.front.notices())
    assert any("gate 2 refused the new plan" in one for one in desk.front.notices())
