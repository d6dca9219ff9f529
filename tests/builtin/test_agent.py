"""The workflow `agent`, and other work by agents with tools of their own, in guarded copies."""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from tests import harness
from tests.engine.test_landing import CALC, TEST
from tests.harness.bench import Bench
from tests.harness.front import LIMIT, in_order, no, yes
from tideate_core.adapters import AdapterPool
from tideate_core.config import Config, VerifyConfig
from tideate_core.engine import Comparison, EventName, RunRequest, compared_requests
from tideate_core.project import project_state
from tideate_core.snapshots import GuardedCopy, GuardSession, GuardState, list_sessions
from tideate_core.toolchain import Check, ProjectTrust, select_tools
from tideate_core.workflows import Decision, WorkflowDefinition, WorkflowStep

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from tests.harness.model_server import ModelServer
    from tideate_core.engine import ConfirmationRequest

AGENT = Path(harness.__file__).with_name("acp_agent.py")
CALL = {"kind": "tool_call", "toolCallId": "c", "title": "Edit a.txt", "status": "pending"}
DONE = {"kind": "tool_call_update", "toolCallId": "c", "status": "completed"}
CAN_RESUME: dict[str, Any] = {"agentCapabilities": {"sessionCapabilities": {"resume": {}}}}


class Desk(Bench):
    """Bench with scripted agents; the run's adapter is the agent `helper`."""

    def __init__(self, folder: Path, server: ModelServer) -> None:
        root = folder / "root"
        root.mkdir()
        super().__init__(root, server)
        self.scripts = folder / "scripts"
        self.scripts.mkdir()
        self.write("a.txt", "one\ntwo\n")
        self.write("b.txt", "bee\n")
        self.use("helper")

    @property
    def private(self) -> Path:
        return project_state(self.root)

    def use(self, *names: str, own: Mapping[str, Any] = MappingProxyType({}), **more: Any) -> None:
        """Configure scripted agents; the first one is the default."""
        adapters: dict[str, Any] = {
            name: {"acp": [sys.executable, "-S", str(AGENT), str(self.scripts / f"{name}.json")]}
            for name in names
        }
        adapters["fake"] = {"base_url": self.server.base_url, "model": "scripted", "tools": False}
        scripts = {"writable": [str(self.scripts)], **own}
        agents = dict.fromkeys(names, scripts)
        values = {"adapter": names[0], "adapters": adapters, "agents": agents, **more}
        self.config = Config.model_validate(values)
        self.pool = AdapterPool(self.config, root=self.root)
        self.runner = self.make_runner(self.config)

    def plays(self, *turns: list[dict[str, Any]], name: str = "helper", **more: Any) -> None:
        (self.scripts / f"{name}.json").write_text(json.dumps({"turns": turns, **more}))

    def received(self, name: str = "helper") -> list[dict[str, Any]]:
        log = self.scripts / f"{name}.log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def prompts(self, name: str = "helper") -> list[str]:
        told = (one for one in self.received(name) if one.get("method") == "session/prompt")
        return [one["params"]["prompt"][0]["text"] for one in told]

    def copies(self) -> list[Path]:
        """Return the guarded copies on disk."""
        return list((self.private / "guard").glob("sessions/*"))

    def text(self, path: str = "a.txt") -> str:
        return (self.root / path).read_text()


@pytest.fixture
async def desk(tmp_path: Path, server: ModelServer) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path, server)
    try:
        yield desk
    finally:
        await desk.aclose()


async def test_an_agents_changes_are_reviewed_and_written(desk: Desk) -> None:
    desk.plays([{"text": "I changed it."}, {"write": ["a.txt", "one\nTWO\n"]}, {"delete": "b.txt"}])
    result = await desk.succeed("agent", "make it loud")
    assert (desk.text(), (desk.root / "b.txt").exists()) == ("one\nTWO\n", False)
    assert (result.response, sorted(result.files)) == ("I changed it.", ["a.txt", "b.txt"])
    assert [request.kind for request in desk.front.requests] == ["review"]


async def test_nothing_reaches_the_project_before_the_review(desk: Desk) -> None:
    desk.plays([{"write": ["a.txt", "changed\n"]}])
    desk.front.answer = no
    result = await desk.run("agent", "change it")
    assert result.cancelled
    assert desk.text() == "one\ntwo\n"


async def test_text_thoughts_plan_and_calls_are_events(desk: Desk) -> None:
    desk.plays(
        [
            {"thought": "hm"},
            {"plan": [["look", "completed"], ["write", "in_progress"]]},
            {"text": "Hello"},
            {"update": CALL},
            {"update": DONE},
            {"plan": [["look", "completed"], ["write", "completed"]]},
        ]
    )
    await desk.succeed("agent", "say hello")
    front = desk.front
    assert [data["text"] for data in front.data(EventName.TOKEN)] == ["Hello"]
    assert [data["text"] for data in front.data(EventName.REASONING)] == ["hm"]
    called = [(data["server"], data["tool"]) for data in front.data(EventName.TOOL_CALLED)]
    assert called == [("helper", "plan"), ("helper", "other")]
    ended = {data["tool"]: data for data in front.data(EventName.TOOL_COMPLETED)}
    assert ended["plan"]["checklist"] == ["[x] look", "[x] write"]
    assert (ended["other"]["ok"], ended["other"]["summary"]) == (True, "helper/other Edit a.txt")
    assert front.data(EventName.TOOL_PROGRESS)[0]["message"] == "write"


@pytest.mark.parametrize(
    ("answers", "outcomes"),
    [
        ([True, True], "[id-allow_once][id-allow_once]"),
        ([False, True], "[id-reject_once][id-allow_once]"),
        ([Decision(True, "run")], "[id-allow_once][id-allow_once]"),
    ],
)
async def test_a_person_may_answer_the_agents_permissions(
    desk: Desk, answers: list[Decision | bool], outcomes: str
) -> None:
    desk.use("helper", own={"permissions": "ask"})
    call = {"toolCallId": "c1", "title": "Run make", "kind": "execute", "rawInput": {"command": "make"}}
    desk.plays([{"permission": call, "kinds": ["allow_always", "allow_once", "reject_once"]}] * 2)
    desk.front.answer = in_order(*answers)
    result = await desk.succeed("agent", "build")
    assert str(result.response).replace("\n", "") == outcomes
    asked = desk.front.requests[0]
    assert (asked.kind, asked.payload["tool"]) == ("tool", "execute")
    assert asked.payload["arguments"]["command"] == "make"


async def test_the_agent_may_do_everything_in_its_copy_by_default(desk: Desk) -> None:
    desk.plays([{"permission": {"toolCallId": "c1"}, "kinds": ["allow_once", "reject_once"]}])
    result = await desk.succeed("agent", "build")
    assert (result.response, desk.front.requests) == ("[id-allow_once]", [])


async def test_a_preview_starts_no_agent_and_makes_no_copy(desk: Desk) -> None:
    shown = await desk.runner.preview(RunRequest(name="agent", prompt="make it loud"))
    assert (shown.exact, shown.user) == (True, "make it loud")
    assert "private copy" in shown.system
    assert (desk.received(), desk.copies()) == ([], [])


async def test_a_missing_agent_is_told_before_a_copy_is_made(desk: Desk) -> None:
    result = await desk.run("agent", "hello", adapter="acp:copilot")
    assert "npm install -g @github/copilot" in str(result.error)
    assert desk.copies() == []


async def test_usage_and_cost_of_a_turn_are_the_runs(desk: Desk) -> None:
    used = {"totalTokens": 30, "inputTokens": 10, "outputTokens": 20}
    cost = {"kind": "usage_update", "used": 1, "size": 2, "cost": {"amount": 0.5, "currency": "USD"}}
    desk.plays([{"text": "x"}, {"update": cost}, {"stop": "end_turn", "usage": used}])
    result = await desk.succeed("agent", "hello")
    assert (result.usage.input_tokens, result.usage.output_tokens, result.usage.cost) == (10, 20, 0.5)
    assert desk.front.data(EventName.MODEL_ANSWERED)[0]["model"] == "scripted 7"


async def test_an_agent_is_stopped_at_the_cost_limit(desk: Desk) -> None:
    desk.use("helper", limits={"cost_usd": 0.1})
    cost = {"kind": "usage_update", "used": 1, "size": 2, "cost": {"amount": 0.5, "currency": "USD"}}
    desk.plays([{"update": cost}, {"receive": "session/cancel"}, {"stop": "cancelled"}])
    result = await desk.run("agent", "hello")
    assert result.error_code == "CostLimitReached"
    assert desk.received()[-1]["method"] == "session/cancel"


async def test_an_agent_is_stopped_at_the_limit_of_calls(desk: Desk) -> None:
    desk.use("helper", limits={"tool_calls": 1})
    calls = [{"update": CALL}, {"update": {**CALL, "toolCallId": "d"}}]
    desk.plays([*calls, {"receive": "session/cancel"}, {"stop": "cancelled"}])
    result = await desk.run("agent", "hello")
    assert result.error_code == "BudgetReached"


async def test_a_turn_that_the_agent_cancels_is_reviewed(desk: Desk) -> None:
    desk.plays([{"write": ["a.txt", "ONE\ntwo\n"]}, {"stop": "cancelled"}])
    result = await desk.succeed("agent", "make it loud")
    assert desk.text() == "ONE\ntwo\n"
    assert result.files == ["a.txt"]
    assert any("cancelled its turn" in one["message"] for one in desk.front.data(EventName.NOTICE))


async def test_a_turn_that_the_agent_cancels_at_once_is_no_failure(desk: Desk) -> None:
    desk.plays([{"stop": "cancelled"}])
    await desk.succeed("agent", "make it loud")
    assert desk.text() == "one\ntwo\n"


async def test_comments_of_the_review_are_the_agents_next_prompt(desk: Desk) -> None:
    desk.plays(
        [{"text": "one"}, {"write": ["a.txt", "one\nTWO\n"]}],
        [{"text": "two"}, {"write": ["a.txt", "ONE\ntwo\n"]}],
        initialize=CAN_RESUME,
    )
    said = [{"path": "a.txt", "hunk": 0, "text": "the other line"}]
    comment = {"files": [{"accepted": []}], "comments": said}
    desk.front.answer = in_order(Decision(False, comment), True)
    result = await desk.succeed("agent", "make it loud")
    assert desk.text() == "ONE\ntwo\n"
    assert result.response == "one\n\ntwo"
    assert "the other line" in desk.prompts()[1]
    assert "session/resume" in [one.get("method") for one in desk.received()]


def commented(desk: Desk, *answers: Decision | bool, **more: Any) -> None:
    """Let an agent work in two turns; the person accepts a part of the first, and comments on the other."""
    desk.use("helper", **more)
    desk.plays(
        [{"text": "one"}, {"write": ["a.txt", "ONE\ntwo\n"]}, {"write": ["b.txt", "BEE\n"]}],
        [{"text": "two"}, {"write": ["b.txt", "Bee\n"]}],
        initialize=CAN_RESUME,
    )
    said = [{"path": "b.txt", "hunk": 0, "text": "not so loud"}]
    comment = {"files": [{"accepted": [0]}, {"accepted": []}], "comments": said}
    desk.front.answer = in_order(Decision(False, comment), *answers)


async def test_after_the_limit_of_revisions_the_comments_are_for_the_next_run(desk: Desk) -> None:
    commented(desk, limits={"revisions": 0})
    result = await desk.succeed("agent", "make it loud")
    assert (desk.text(), desk.text("b.txt")) == ("ONE\ntwo\n", "bee\n")
    assert "not so loud" in str(result.results["work"])
    assert len(desk.prompts()) == 1
    assert "limits.revisions (0) is reached" in str(desk.front.events)


async def test_a_declined_revision_keeps_what_was_written_before(desk: Desk) -> None:
    commented(desk, False)
    result = await desk.succeed("agent", "make it loud")
    assert (desk.text(), desk.text("b.txt")) == ("ONE\ntwo\n", "bee\n")
    assert result.files == ["a.txt"]


async def test_a_landed_turn_is_not_landed_again_after_a_stop(desk: Desk) -> None:
    commented(desk)
    run = desk.begin("agent", "make it loud")
    await desk.front.until(lambda: len(desk.front.requests) == 1)
    desk.front.hold = True
    await desk.front.until(lambda: len(desk.front.requests) == 2)
    (left,) = desk.runner.leave()
    await run
    desk.front.hold, desk.front.answer = False, yes
    result = await desk.resume(left)
    assert (result.ok, desk.text(), desk.text("b.txt")) == (True, "ONE\ntwo\n", "Bee\n")
    assert len(desk.prompts()) == 2


async def test_a_follow_up_continues_the_session(desk: Desk) -> None:
    desk.plays([{"text": "first"}], [{"text": "second"}], initialize=CAN_RESUME)
    first = await desk.succeed("agent", "begin")
    second = await desk.succeed("agent", "and then", continues=first.execution_id)
    assert second.response == "second"
    assert desk.prompts()[1].endswith("and then")
    assert "first" not in desk.prompts()[1]


async def test_an_agent_that_cannot_continue_gets_the_conversation(desk: Desk) -> None:
    desk.plays([{"text": "first"}], [{"text": "second"}])
    first = await desk.succeed("agent", "begin")
    await desk.succeed("agent", "and then", continues=first.execution_id)
    assert "begin" in desk.prompts()[1]
    assert "first" in desk.prompts()[1]


async def test_a_cancelled_run_cancels_the_agent(desk: Desk) -> None:
    desk.plays([{"text": "x"}, {"write": ["a.txt", "no\n"]}, {"receive": "session/cancel"}])
    run = desk.begin("agent", "work")
    await desk.front.until_told("TOKEN")
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert desk.received()[-1]["method"] == "session/cancel"
    assert desk.text() == "one\ntwo\n"


async def test_a_turn_that_ended_before_the_run_stopped_is_landed_and_not_repeated(desk: Desk) -> None:
    desk.plays([{"text": "done"}, {"write": ["a.txt", "changed\n"]}], [{"text": "again"}])
    desk.front.hold = True
    run = desk.begin("agent", "change it")
    await desk.front.until(lambda: bool(desk.front.requests))
    assert len(desk.copies()) == 1
    (left,) = desk.runner.leave()
    await run
    assert desk.text() == "one\ntwo\n"
    desk.front.hold = False
    result = await desk.resume(left)
    assert (result.ok, result.response, desk.text()) == (True, "done", "changed\n")
    assert len(desk.prompts()) == 1
    assert desk.copies() == []


async def test_without_namespaces_the_agent_works_in_a_copy_elsewhere(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GuardedCopy, "prepare", partial(GuardedCopy.prepare, kind="copy"))
    desk.plays([{"run": ["pwd"]}, {"write": ["a.txt", "changed\n"]}])
    result = await desk.succeed("agent", "change it")
    assert str(desk.private) in str(result.response)
    assert desk.text() == "changed\n"
    assert desk.copies() == []


async def test_plans_without_end_are_not_stored_without_end(desk: Desk) -> None:
    plans = [{"plan": [[f"step {number}", "completed"]]} for number in range(80)]
    desk.plays([*plans, *plans[-1:] * 20, {"text": "x"}])
    await desk.succeed("agent", "plan")
    assert len(desk.front.data(EventName.TOOL_CALLED)) == 50


async def test_an_interrupted_turn_continues_in_the_same_copy_and_session(desk: Desk) -> None:
    desk.plays(
        [{"write": ["a.txt", "half\n"]}, {"text": "x"}, {"receive": "session/cancel"}],
        [{"run": ["cat", "a.txt"]}, {"write": ["b.txt", "rest\n"]}],
        initialize=CAN_RESUME,
    )
    run = desk.begin("agent", "change it")
    await desk.front.until_told("TOKEN")
    (left,) = desk.runner.leave()
    await run
    result = await desk.resume(left)
    assert (result.ok, result.response) == (True, "half")
    assert (desk.text(), desk.text("b.txt")) == ("half\n", "rest\n")
    assert "interrupted" in desk.prompts()[1]
    assert "session/resume" in [one.get("method") for one in desk.received()]


async def test_changes_outside_of_the_copy_are_told_and_gone(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    desk.plays([{"text": "x"}, {"write": [str(home / ".bashrc"), "evil"]}])
    await desk.succeed("agent", "work")
    assert list(home.iterdir()) == []
    assert any(
        "discarded changes outside" in notice and ".bashrc" in notice for notice in desk.front.notices()
    )


async def test_a_person_edits_the_same_file_meanwhile(desk: Desk) -> None:
    desk.plays([{"text": "x"}, {"write": ["a.txt", "one\nTWO\n"]}])

    def edit(_request: object) -> Decision:
        (desk.root / "a.txt").write_text("zero\none\ntwo\n")
        return Decision(True)

    desk.front.answer = edit
    await desk.succeed("agent", "make it loud")
    assert desk.text() == "zero\none\nTWO\n"


def waiting(desk: Desk) -> GuardSession:
    """Return the only session, which must wait."""
    (session,) = list_sessions(desk.root)
    assert session.state is GuardState.WAITING
    assert any(f"wait in session {session.short}" in words for words in desk.front.notices())
    return session


async def lands(desk: Desk) -> None:
    """Land the only session, which must be gone then."""
    result = await desk.succeed("land", inputs={"session": waiting(desk).short})
    assert result.ok
    assert (desk.copies(), list_sessions(desk.root)) == ([], [])


async def test_the_work_of_a_cancelled_agent_waits_in_a_session(desk: Desk) -> None:
    desk.plays([{"write": ["a.txt", "half\n"]}, {"text": "x"}, {"receive": "session/cancel"}])
    run = desk.begin("agent", "work")
    await desk.front.until_told("TOKEN")
    assert list_sessions(desk.root) == []
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert desk.text() == "one\ntwo\n"
    await lands(desk)
    assert desk.text() == "half\n"


async def test_the_work_of_a_failed_agent_waits_in_a_session(desk: Desk) -> None:
    desk.plays([{"write": ["a.txt", "half\n"]}, {"exit": 4}])
    assert not (await desk.run("agent", "work")).ok
    await lands(desk)
    assert desk.text() == "half\n"


@pytest.mark.parametrize(
    ("last", "waiting"),
    [
        ([{"write": ["a.txt", "third\n"]}, {"exit": 4}], ["third\n"]),
        ([{"exit": 4}], ["second\n"]),
        ([{"text": "fine"}, {"write": ["c.txt", "new\n"]}], []),
    ],
)
async def test_failed_attempts_of_a_step_leave_one_session_at_most(
    desk: Desk, last: list[dict[str, Any]], waiting: list[str]
) -> None:
    tries: list[list[dict[str, Any]]] = [
        [{"write": ["a.txt", f"{name}\n"]}, {"exit": 4}] for name in ("first", "second")
    ]
    desk.plays(*tries, last)
    step = {"id": "do", "task": "work", "agent": "acp:helper", "retries": 2, "retryDelay": 1}
    desk.registry.register(WorkflowDefinition.model_validate({"name": "own", "steps": [step]}), {})
    result = await desk.run("own", "lines", adapter="fake")
    assert result.ok is not bool(waiting)
    sessions = await asyncio.to_thread(list_sessions, desk.root)
    copies = [GuardedCopy.attach(desk.root, session.id) for session in sessions]
    found = [(await copy.difference()).files["a.txt"][1].data.decode() for copy in copies]
    assert found == waiting


async def test_parts_that_the_person_left_open_wait_in_a_session(desk: Desk) -> None:
    desk.plays(
        [{"write": ["a.txt", "ONE\ntwo\n"]}, {"write": ["b.txt", "BEE\n"]}, {"write": ["c.txt", "c\n"]}]
    )
    files = [
        {"path": "c.txt", "accepted": [], "rejected": [0]},
        {"path": "a.txt", "accepted": [0]},
        {"path": "b.txt", "accepted": []},
    ]

    def decide(request: ConfirmationRequest) -> Decision:
        order = [file["path"] for file in request.payload["files"]]
        return Decision(True, {"files": sorted(files, key=lambda one: order.index(str(one["path"])))})

    desk.front.answer = decide
    result = await desk.succeed("agent", "work")
    assert (result.files, desk.text("b.txt")) == (["a.txt"], "bee\n")
    desk.front.answer = yes
    await lands(desk)
    assert (desk.text("b.txt"), (desk.root / "c.txt").exists()) == ("BEE\n", False)


async def test_open_parts_stay_with_the_agent_that_works_on_comments(desk: Desk) -> None:
    desk.plays(
        [{"write": ["a.txt", "ONE\ntwo\n"]}, {"write": ["b.txt", "BEE\n"]}],
        [{"run": ["cat", "a.txt", "b.txt"]}],
    )
    said = [{"path": "a.txt", "hunk": 0, "text": "no"}]
    files = [{"path": "a.txt", "accepted": [], "rejected": [0]}, {"path": "b.txt", "accepted": []}]
    comment = {"files": files, "comments": said}
    desk.front.answer = in_order(Decision(False, comment), True)
    result = await desk.succeed("agent", "work")
    assert str(result.response).endswith("one\ntwo\nBEE")
    assert "not decided about" in desk.prompts()[1]
    assert (desk.text(), desk.text("b.txt"), desk.copies()) == ("one\ntwo\n", "BEE\n", [])


async def test_a_declined_review_can_be_opened_again(desk: Desk) -> None:
    desk.plays([{"write": ["a.txt", "changed\n"]}])
    desk.front.answer = no
    declined = await desk.run("agent", "change it")
    assert waiting(desk).run == declined.execution_id
    desk.front.answer = yes
    await desk.runner.review_again(declined.execution_id)
    assert (desk.text(), len(desk.prompts()), desk.copies()) == ("changed\n", 1, [])


async def test_work_whose_copy_was_discarded_is_done_anew(desk: Desk) -> None:
    desk.plays([{"write": ["a.txt", "changed\n"]}], [{"write": ["a.txt", "again\n"]}])
    desk.front.hold = True
    run = desk.begin("agent", "change it")
    await desk.front.until_asked()
    (left,) = desk.runner.leave()
    await run
    await GuardedCopy.attach(desk.root, list_sessions(desk.root)[0].id).discard()
    desk.front.hold = False
    await desk.resume(left)
    assert (desk.text(), len(desk.prompts()), desk.copies()) == ("again\n", 2, [])


async def test_changes_that_no_person_was_asked_about_wait_in_a_session(desk: Desk) -> None:
    desk.plays([{"write": ["a.txt", "changed\n"]}])
    desk.front.answer = lambda _: Decision(False, by="policy:no")
    assert (await desk.run("agent", "change it")).cancelled
    assert waiting(desk).argv[-1].endswith("helper.json")


async def test_the_copy_of_an_interrupted_run_that_is_never_resumed_is_a_session(desk: Desk) -> None:
    desk.plays([{"write": ["a.txt", "changed\n"]}])
    desk.front.hold = True
    run = desk.begin("agent", "change it")
    await desk.front.until_asked()
    desk.runner.leave()
    await run
    (session,) = list_sessions(desk.root)
    desk.front.hold = False
    await desk.succeed("land", inputs={"session": session.id})
    assert (desk.text(), desk.copies()) == ("changed\n", [])


async def test_no_copy_is_left_by_a_run_without_changes_that_was_cancelled_or_failed(desk: Desk) -> None:
    desk.plays([{"text": "x"}, {"receive": "session/cancel"}], [{"exit": 3}])
    run = desk.begin("agent", "work")
    await desk.front.until_told("TOKEN")
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert desk.copies() == []
    assert not (await desk.run("agent", "work")).ok
    assert desk.copies() == []


async def test_a_refusal_fails_the_run_with_the_agents_words(desk: Desk) -> None:
    desk.plays([{"text": "I will not."}, {"stop": "refusal"}])
    result = await desk.run("agent", "bad things")
    assert result.error == "the agent 'helper' refused the request: I will not."


async def test_an_empty_turn_fails_the_run(desk: Desk) -> None:
    desk.plays([])
    result = await desk.run("agent", "hello")
    assert "ended without an answer and changed nothing" in str(result.error)


async def test_a_run_after_a_crash_of_the_agent_starts_it_again(desk: Desk) -> None:
    desk.plays([{"write": ["a.txt", "half"]}, {"exit": 4}], [{"text": "fine"}])
    first = await desk.run("agent", "hello")
    assert "ended with status 4" in str(first.error)
    assert desk.text() == "one\ntwo\n"
    assert (await desk.succeed("agent", "hello")).response == "fine"


async def test_the_agent_sees_secrets_of_the_prompt_only_if_the_person_typed_them(desk: Desk) -> None:
    desk.plays([{"text": "fine"}])
    await desk.succeed("agent", "use sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD")
    assert "sk-proj-" in desk.prompts()[0]


async def test_a_model_is_no_agent(desk: Desk) -> None:
    result = await desk.run("agent", "hello", adapter="fake")
    assert "needs an agent" in str(result.error)


# -- other work of agents --------------------------------------------------------------------------------


async def test_an_agent_answers_questions_in_a_copy_that_is_thrown_away(desk: Desk) -> None:
    desk.plays([{"write": ["a.txt", "changed\n"]}, {"text": "It is a text."}])
    result = await desk.succeed("ask", "what is it?")
    assert result.response == "It is a text."
    assert desk.text() == "one\ntwo\n"


async def test_changes_of_an_agent_that_only_answers_are_told(desk: Desk) -> None:
    desk.plays([{"write": ["a.txt", "changed\n"]}, {"text": "It is a text."}])
    await desk.succeed("ask", "what is it?")
    (told,) = (notice for notice in desk.front.notices() if "discarded" in notice)
    assert "1 file " in told


async def test_an_agent_edits_in_a_conversation(desk: Desk) -> None:
    desk.plays([{"text": "Hello"}], [{"text": "Done"}, {"write": ["a.txt", "x\n"]}], initialize=CAN_RESUME)
    first = await desk.succeed("chat", "hello")
    second = await desk.succeed("chat", "now edit", continues=first.execution_id)
    assert (second.response, desk.text()) == ("Done", "x\n")
    assert "session/resume" in [one.get("method") for one in desk.received()]


async def test_a_step_is_done_by_an_agent(desk: Desk) -> None:
    desk.plays([{"text": '```json\n{"count": 2}\n```'}, {"write": ["c.txt", "new\n"]}])
    schema = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
    step = {"id": "do", "task": "count {{ prompt }}", "agent": "acp:helper", "output_schema": schema}
    definition = WorkflowDefinition.model_validate({"name": "own", "steps": [step]})
    desk.registry.register(definition, {})
    result = await desk.succeed("own", "lines", adapter="fake")
    assert desk.text("c.txt") == "new\n"
    assert result.response == {"response": {"count": 2}, "files": ["c.txt"]} or result.files == ["c.txt"]
    assert "count lines" in desk.prompts()[0]


def test_a_step_of_an_agent_needs_trust() -> None:
    step = WorkflowStep(id="do", agent="acp:claude", task="work")
    assert step.effect == "let the agent acp:claude work in a copy of the project"


async def test_an_agent_carries_out_a_plan_of_files(desk: Desk) -> None:
    plan = {"files": [{"path": "a.txt", "action": "modify", "why": "louder"}]}
    desk.plays(
        [{"text": f"```json\n{json.dumps(plan)}\n```"}],
        [{"write": ["a.txt", "one\nTWO\n"]}, {"write": ["b.txt", "no\n"]}, {"text": "done"}],
    )
    desk.front.answer = in_order(True, False, True)
    result = await desk.succeed("multi_file", "make it loud")
    assert (desk.text(), desk.text("b.txt")) == ("one\nTWO\n", "bee\n")
    assert [request.kind for request in desk.front.requests] == ["plan", "gate", "review"]
    assert result.files == ["a.txt"]


async def test_agents_are_compared(desk: Desk) -> None:
    desk.use("left", "right")
    desk.plays([{"write": ["a.txt", "left\n"]}, {"text": "l"}], name="left")
    desk.plays([{"write": ["a.txt", "right\n"]}, {"text": "r"}], name="right")
    request = RunRequest(name="agent", prompt="change it")
    comparison = Comparison(desk.runner, desk.front, take="acp:right")
    runs = compared_requests(request, ["acp:left", "acp:right"])
    result = await asyncio.wait_for(comparison.run(runs), LIMIT)
    assert result.result is not None
    assert result.result.ok
    assert desk.text() == "right\n"


async def test_an_agent_of_a_role_keeps_the_line_ends_of_files(desk: Desk) -> None:
    (desk.root / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    desk.write("b.txt", "")
    plan = {"files": [{"path": path, "action": "modify", "why": "louder"} for path in ("a.txt", "b.txt")]}
    desk.plays(
        [{"text": f"```json\n{json.dumps(plan)}\n```"}],
        [{"write": ["a.txt", "one\nTWO\n"]}, {"write": ["b.txt", "bee\n"]}, {"text": "done"}],
    )
    await desk.succeed("multi_file", "make it loud")
    assert (desk.root / "a.txt").read_bytes() == b"one\r\nTWO\r\n"
    assert (desk.root / "b.txt").read_bytes() == b"bee\n"


@pytest.mark.slow
async def test_trusted_checks_run_on_the_changes_of_each_compared_agent(desk: Desk) -> None:
    for name, text in {
        "setup.cfg": "",
        "calc.py": CALC,
        "tests/__init__.py": "",
        "tests/test_calc.py": TEST,
    }.items():
        desk.write(name, text)
    tools = select_tools(desk.root, VerifyConfig())
    ProjectTrust(desk.root).trust(tools[Check.TESTS])
    desk.use("left", "right")
    for name, text in {"left": CALC, "right": CALC.replace("a - b", "a + b")}.items():
        desk.plays([{"write": ["calc.py", f"{text}# done\n"]}, {"text": name}], name=name)
    desk.front.answer = lambda request: Decision(request.kind != "compare")
    comparison = Comparison(desk.runner, desk.front)
    runs = compared_requests(RunRequest(name="agent", prompt="mend it"), ["acp:left", "acp:right"])
    result = await asyncio.wait_for(comparison.run(runs), LIMIT)
    asked = desk.front.requests[-1].payload["runs"]
    assert [one["checks"] for one in asked] == [{"tests": "failed"}, {"tests": "passed"}]
    assert [one["files"][0]["checked"] for one in asked] == ["tests failed", "tests passed"]
    assert [one["checks"]["tests"] for one in result.as_json()["runs"]] == ["failed", "passed"]
    assert desk.copies() == []


def costs(amount: float) -> dict[str, Any]:
    cost = {"amount": amount, "currency": "USD"}
    return {"update": {"kind": "usage_update", "used": 1, "size": 2, "cost": cost}}


async def test_a_continued_session_gets_rejections_but_no_instructions_and_counts_only_its_own_cost(
    desk: Desk,
) -> None:
    desk.plays(
        [{"write": ["a.txt", "one\nTWO\n"]}, costs(0.5)],
        [{"text": "second"}, costs(0.75)],
        initialize=CAN_RESUME,
    )
    desk.front.answer = lambda _: Decision(
        False, {"files": [{"path": "a.txt", "rejected": [0], "accepted": []}]}
    )
    first = await desk.succeed("agent", "begin")
    second = await desk.succeed("agent", "and then", continues=first.execution_id)
    assert "+TWO" in desk.prompts()[1]
    assert ["private copy" in words for words in desk.prompts()] == [True, False]
    assert (first.usage.cost, second.usage.cost) == (0.5, 0.25)
