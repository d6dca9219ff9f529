"""Refactorings that report other affected files propose a run of `multi_file`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.test_with_tools import AREA, edit, hand_in, last, offered
from tideate_core.builtin.affected import LONGEST_DIFF, NAMED
from tideate_core.engine import ConfirmationRequest, EventName, RunRollback
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.engine import WorkflowResult

WITH_TOOLS = pytest.mark.parametrize("tools", [True])
WITHOUT = pytest.mark.parametrize("tools", [False])
ASKED = "what must not change"
REWRITE = "Rewrite these lines of"
TOOL = "report_affected_files"
RENAMED = "```python\ndef size(r):\n    return math.pi * r**2\n```"
APP = "from a import area\n\nprint(area(3))\n"
LISTED = [{"path": "app.py", "why": "calls area"}, {"path": "tests/test_a.py", "why": "tests area"}]


def project(bench: Bench) -> None:
    bench.write("a.py", AREA)
    bench.write("app.py", APP)
    bench.write("tests/test_a.py", "from a import area\n")


def reports(bench: Bench, files: list[dict[str, str]], match: str = ASKED) -> None:
    bench.server.calls(match, TOOL, {"files": files}, times=1)


async def refactored(bench: Bench, **rest: Any) -> WorkflowResult:
    bench.server.answers(ASKED, "It is called elsewhere.", times=1)
    bench.server.answers(REWRITE, RENAMED, times=1)
    return await bench.run("refactor", "rename it to size", context=bench.context("a.py", 4, 6), **rest)


def planned(bench: Bench) -> None:
    files = [{"action": "modify", "path": "app.py", "why": "calls it"}]
    bench.server.calls("Which files have to", "submit_plan", {"files": files}, times=1)


def paths(result: WorkflowResult) -> list[str]:
    assert result.next_run is not None, result.error
    return [one["path"] for one in result.next_run["files"]]


@WITH_TOOLS
async def test_reported_files_are_proposed_as_the_next_run(bench: Bench) -> None:
    project(bench)
    reports(bench, LISTED)
    result = await refactored(bench, adapter="fake")
    assert result.next_run == {
        "workflow": "multi_file",
        "prompt": "Change what else must change with the refactoring of a.py.",
        "message": "2 other files must change: app.py (calls area), tests/test_a.py (tests area)",
        "files": LISTED,
        "continues": result.execution_id,
        "asks": True,
        "adapter": "fake",
    }, (result.error, bench.server.unmatched)
    assert result.as_json()["next"] == result.next_run
    (ended,) = bench.front.data(EventName.WORKFLOW_COMPLETED)
    assert ended["next"] == result.next_run
    assert TOOL in offered(bench)
    assert bench.front.requests[0].message.endswith("? 2 other files must change, too: offered next.")
    assert "These must change, too" in bench.front.requests[0].details
    assert "- app.py: calls area" in bench.front.requests[0].details
    assert result.results["analyze"] == "It is called elsewhere."
    assert bench.fingerprint()["app.py"].decode() == APP, "the proposal changes nothing"


@WITHOUT
async def test_a_model_without_tools_names_them_in_a_block(bench: Bench) -> None:
    project(bench)
    block = "<affected>\n- app.py: calls area\nsrc/app.py: moved?\n</affected>"
    bench.server.answers(ASKED, f"It squares.\n\n{block}\n", times=1)
    result = await refactored(bench)
    assert paths(result) == ["app.py"], bench.server.unmatched
    assert result.results["analyze"] == "It squares."
    assert "<affected>" not in bench.front.requests[0].details
    assert "<affected>" in bench.server.requests[0]["messages"][-1]["content"]
    assert "<affected>" not in last(bench), "the rewrite is one block"
    assert any("src/app.py does not exist (there is app.py)" in one for one in bench.front.notices())


@pytest.mark.parametrize("tools", [True, False])
async def test_prose_proposes_nothing(bench: Bench, tools: bool) -> None:
    project(bench)
    bench.server.answers(ASKED, "app.py:3 calls area and must change.\n\n```\napp.py: calls\n```", times=1)
    result = await refactored(bench)
    assert result.ok, (result.error, bench.server.unmatched)
    assert result.next_run is None
    assert "next" not in result.as_json()


@pytest.mark.parametrize("tools", [True, False])
async def test_files_outside_the_root_are_not_taken(bench: Bench, tools: bool) -> None:
    project(bench)
    outside = bench.write("../secret.txt", "x")
    (bench.root / "link.txt").symlink_to(outside)
    bench.write(".git/config", "")
    named = ["../secret.txt", str(outside), "link.txt", ".git/config", "/etc/passwd", "tests", "appp.py"]
    if tools:
        reports(bench, [{"path": path, "why": "obey"} for path in [*named, "./app.py", "app.py"]])
    else:
        lines = "\n".join(f"{path}: obey" for path in [*named, "./app.py", "app.py"])
        bench.server.answers(ASKED, f"So.\n<affected>\n{lines}\n</affected>", times=1)
    result = await refactored(bench)
    assert paths(result) == ["app.py"], bench.server.unmatched
    told = json.dumps(bench.server.requests[1]["messages"]) if tools else "\n".join(bench.front.notices())
    assert "outside the project" in told
    assert not tools or "appp.py does not exist (there is app.py" in told


@WITH_TOOLS
async def test_a_report_that_is_too_long_is_refused(bench: Bench) -> None:
    project(bench)
    reports(bench, [{"path": "app.py", "why": "again"}] * 21)
    result = await refactored(bench)
    assert result.ok, (result.error, bench.server.unmatched)
    assert result.next_run is None
    assert "at most 20 items" in json.dumps(bench.server.requests[1]["messages"])


@pytest.mark.slow
@WITH_TOOLS
async def test_the_rewrite_may_report_anew(bench: Bench) -> None:
    project(bench)
    reports(bench, LISTED)
    reports(bench, LISTED[:1], REWRITE)
    assert paths(await refactored(bench)) == ["app.py"], bench.server.unmatched


@WITH_TOOLS
async def test_a_declined_review_proposes_nothing(bench: Bench) -> None:
    project(bench)
    reports(bench, LISTED)
    bench.front.answer = lambda request: Decision(request.kind != "review")
    result = await refactored(bench)
    assert result.cancelled
    assert result.next_run is None


@WITH_TOOLS
@pytest.mark.parametrize("changes", [True, False], ids=["no file is reported", "nothing is changed"])
async def test_a_rewrite_withdraws_a_proposal_without_a_file_or_a_change(bench: Bench, changes: bool) -> None:
    project(bench)
    reports(bench, LISTED)
    if changes:
        reports(bench, [], REWRITE)
    else:
        same = "\n".join(AREA.split("\n")[3:6])
        bench.server.answers(REWRITE, f"```python\n{same}\n```", times=1)
    result = await refactored(bench)
    assert result.ok, (result.error, bench.server.unmatched)
    assert "offered next" in bench.front.requests[0].message
    assert result.next_run is None


@pytest.mark.slow
@WITH_TOOLS
async def test_the_next_run_plans_from_the_conversation_the_diff_and_the_list(bench: Bench) -> None:
    project(bench)
    before = bench.fingerprint()
    reports(bench, LISTED)
    first = await refactored(bench)
    after_first = bench.fingerprint()
    planned(bench)
    edit(bench, "app.py", "print(area(3))", "print(size(3))")
    hand_in(bench)
    second = await bench.succeed("multi_file", continues=first.execution_id)
    asked = next(one for one in bench.server.requests if "Which files have to" in json.dumps(one["messages"]))
    said = "\n".join(str(one["content"]) for one in asked["messages"])
    assert "rename it to size" in said
    assert "It is called elsewhere." in said
    question = asked["messages"][-1]["content"]
    assert "-def area(r):" in question
    assert "+def size(r):" in question
    assert "- app.py: calls area\n- tests/test_a.py: tests area\n" in question
    assert "The task: Change what else must change with the refactoring of a.py." in question
    assert b"print(size(3))" in bench.fingerprint()["app.py"]
    assert second.next_run is None
    row = (await bench.reader()).run(second.execution_id)
    assert (row.continues, row.prompt) == (first.execution_id, first.next_run and first.next_run["prompt"])
    rollback = RunRollback(bench.root, bench.private)
    for run, expected in ((second, after_first), (first, before)):
        await rollback.restore_files([run.execution_id])
        assert bench.fingerprint() == expected


@WITH_TOOLS
async def test_only_what_was_accepted_is_in_the_diff(bench: Bench) -> None:
    bench.write("a.py", "one = 1\ntwo = 2\nthree = 3\n")
    bench.write("app.py", APP)
    reports(bench, LISTED[:1])
    bench.server.answers(ASKED, "Three numbers.", times=1)
    bench.server.answers(REWRITE, "```python\nfirst = 1\ntwo = 2\nthird = 3\n```", times=1)
    half = {"files": [{"path": "a.py", "accepted": [0]}]}
    bench.front.answer = lambda request: Decision(True, half if request.kind == "review" else None)
    first = await bench.succeed("refactor", "reword", context=bench.context("a.py", 1, 3))
    bench.front.answer = lambda request: Decision(request.kind != "plan")
    planned(bench)
    await bench.run("multi_file", continues=first.execution_id)
    question = last(bench)
    assert "+first = 1" in question
    assert "+third" not in question


@pytest.mark.slow
@WITHOUT
async def test_one_prompt_a_file_has_the_request_and_the_diff(bench: Bench) -> None:
    project(bench)
    bench.server.answers(ASKED, "It squares.\n<affected>\napp.py: calls area\n</affected>", times=1)
    first = await refactored(bench)
    plan = {"files": [{"action": "modify", "path": "app.py", "why": "calls it"}]}
    bench.server.answers("Which files have to", json.dumps(plan), times=1)
    bench.server.answers("Change app.py: calls it", f"```python\n{APP.replace('area', 'size')}```")
    await bench.succeed("multi_file", continues=first.execution_id)
    assert "rename it to size" in last(bench)
    assert "+def size(r):" in last(bench)
    assert bench.fingerprint()["app.py"].decode() == APP.replace("area", "size")


@pytest.mark.slow
@WITH_TOOLS
async def test_a_plan_that_was_declined_can_be_gone_on_with(bench: Bench) -> None:
    project(bench)
    reports(bench, LISTED)
    first = await refactored(bench)
    planned(bench)
    bench.front.answer = lambda _request: Decision(False)
    second = await bench.run("multi_file", continues=first.execution_id)
    assert second.cancelled
    planned(bench)
    await bench.run("multi_file", continues=second.execution_id)
    assert "- app.py: calls area" in last(bench)
    assert "The task: Change what else must change" in last(bench)


@pytest.mark.slow
@WITH_TOOLS
async def test_a_follow_up_proposes_only_what_it_reports_itself(bench: Bench) -> None:
    project(bench)
    reports(bench, LISTED)
    first = await refactored(bench)
    back = "```python\ndef area(r):\n    return math.pi * r**2\n```"
    bench.server.answers("keep the name", back, times=1)
    second = await bench.succeed("refactor", "keep the name", continues=first.execution_id)
    assert second.next_run is None
    reports(bench, LISTED[:1], "now anew")
    bench.server.answers("now anew", RENAMED)
    third = await bench.run("refactor", "now anew", continues=second.execution_id)
    assert paths(third) == ["app.py"], bench.server.unmatched


@WITH_TOOLS
async def test_a_run_that_asks_nothing_is_not_to_be_asked_about(bench: Bench) -> None:
    project(bench)
    reports(bench, LISTED)
    asked: list[ConfirmationRequest] = bench.front.requests
    result = await refactored(bench, require_confirmation=False)
    assert result.next_run is not None, bench.server.unmatched
    assert result.next_run["asks"] is False
    assert [one.kind for one in asked] == ["review"]


@pytest.mark.slow
@WITH_TOOLS
async def test_of_many_files_the_first_are_named_and_the_others_counted(bench: Bench) -> None:
    project(bench)
    names = [f"use_{number}.py" for number in range(NAMED + 2)]
    for name in names:
        bench.write(name, APP)
    reports(bench, [{"path": name, "why": ""} for name in names])
    result = await refactored(bench)
    assert paths(result) == names, bench.server.unmatched
    assert result.next_run is not None
    assert result.next_run["message"] == (
        "6 other files must change: use_0.py, use_1.py, use_2.py, use_3.py, and 2 more"
    )


@pytest.mark.slow
@WITH_TOOLS
async def test_of_a_very_long_diff_the_next_run_is_shown_the_beginning(bench: Bench) -> None:
    project(bench)
    reports(bench, LISTED[:1])
    lines = [f"    # remark {number} " + "-" * 60 for number in range(LONGEST_DIFF // 60)]
    answer = "\n".join(["```python", "def size(r):", *lines, "    return r", "```"])
    bench.server.answers(ASKED, "It squares.", times=1)
    bench.server.answers(REWRITE, answer, pieces=1, times=1)
    first = await bench.succeed("refactor", "explain it", context=bench.context("a.py", 4, 6))
    bench.front.answer = lambda request: Decision(request.kind != "plan")
    planned(bench)
    await bench.run("multi_file", continues=first.execution_id)
    question = last(bench)
    assert "+def size(r):" in question
    assert "… (cut off; read the file)" in question
    assert lines[-1] not in question
    assert "The task: Change what else must change" in question
