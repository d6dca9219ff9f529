"""Spans of runs at a real receiver, their omissions, and failing receivers."""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.trace_receiver import TraceReceiver, attributes_of
from tideate_core.app import telemetry as module
from tideate_core.app.telemetry import Telemetry, traces_address
from tideate_core.app.trust import plan_trust
from tideate_core.app.wiring import build_catalog, open_project, open_runner
from tideate_core.config import Config, load_config
from tideate_core.engine import Event, EventName, PolicyFrontEnd, RunRequest
from tideate_core.engine.tool_call_events import report_call

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.harness.model_server import ModelServer
    from tideate_core.engine import WorkflowResult

PROMPT = "why is the heron grey"
ANSWER = "feathers scatter the light"


@pytest.fixture
def receiver() -> Iterator[TraceReceiver]:
    with TraceReceiver() as receiver:
        yield receiver


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine takes its time to import the library."""
    monkeypatch.setattr(module, "CLOSE_LIMIT", 30)


def configure(home: Path, server: ModelServer, address: str, more: str = "") -> None:
    path = home / "config/tideate/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'adapter = "fake"\n[adapters.fake]\nbase_url = "{server.base_url}"\nmodel = "scripted"\n'
        f'tools = false\n[telemetry]\notlp = "{address}"\n{more}'
    )


async def ask(root: Path, prompt: str = PROMPT) -> WorkflowResult:
    (root / ".tideate").mkdir(exist_ok=True)
    project = open_project(str(root))
    async with open_runner(project, build_catalog(root), PolicyFrontEnd(True)) as runner:
        return await runner.run(RunRequest(name="ask", prompt=prompt))


async def test_a_run_is_a_root_span_above_its_steps_and_turns_without_prompt_and_answer(
    home: Path, root: Path, server: ModelServer, receiver: TraceReceiver
) -> None:
    server.answers("heron", ANSWER)
    configure(home, server, receiver.address)
    result = await ask(root)
    assert result.ok, result.error
    run, turn = receiver.named("invoke_workflow ask"), receiver.named("chat scripted")
    (step,) = [span for span in receiver.spans if span.name.startswith("step ")]
    assert run.parent_span_id == b""
    assert (step.parent_span_id, turn.parent_span_id) == (run.span_id, step.span_id)
    assert {span.trace_id for span in receiver.spans} == {run.trace_id}
    assert run.start_time_unix_nano <= turn.start_time_unix_nano <= turn.end_time_unix_nano
    assert set(receiver.paths) == {"/v1/traces"}
    shown = attributes_of(turn)
    assert shown["gen_ai.operation.name"] == "chat"
    assert (shown["gen_ai.provider.name"], shown["gen_ai.response.model"]) == ("fake", "scripted")
    assert shown["gen_ai.usage.output_tokens"] == result.usage.output_tokens
    assert shown["gen_ai.usage.input_tokens"] > 0
    assert attributes_of(run)["gen_ai.conversation.id"] == result.execution_id
    assert attributes_of(run)["tideate.outcome"] == "completed"
    sent = b"".join(receiver.bodies)
    assert not [word for word in (*PROMPT.split()[-3:], *ANSWER.split()) if word.encode() in sent]


async def test_with_content_prompt_and_answer_are_sent(
    home: Path, root: Path, server: ModelServer, receiver: TraceReceiver
) -> None:
    server.answers("heron", ANSWER)
    configure(home, server, receiver.address, "content = true\n")
    await ask(root)
    asked = json.loads(attributes_of(receiver.named("invoke_workflow ask"))["gen_ai.input.messages"])
    said = json.loads(attributes_of(receiver.named("chat scripted"))["gen_ai.output.messages"])
    assert asked[0]["parts"][0]["content"] == PROMPT
    assert said[0]["parts"][0]["content"] == ANSWER


async def test_a_failed_run_says_so_without_the_words_of_its_error(
    home: Path, root: Path, server: ModelServer, receiver: TraceReceiver
) -> None:
    server.fails("heron", 400, body={"error": {"message": "quotes the heron"}})
    configure(home, server, receiver.address)
    result = await ask(root)
    assert not result.ok
    run = receiver.named("invoke_workflow ask")
    assert (run.status.code, run.status.message) == (2, "")
    assert attributes_of(run)["error.type"] == result.error_code
    assert b"heron" not in b"".join(receiver.bodies)


@pytest.mark.parametrize("kind", ["refused", "silent", "failing"])
async def test_a_dead_receiver_does_not_touch_the_run(
    kind: str,
    home: Path,
    root: Path,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if kind == "silent":
        monkeypatch.setattr(module, "CLOSE_LIMIT", 0.5)
    # of what is silent longer than any test may take: a run that waits for it does not end
    monkeypatch.setattr(module, "EXPORT_TIMEOUT", 600 if kind == "silent" else 0.3)
    server.answers("heron", ANSWER)
    with socket.socket() as silent, TraceReceiver(503) as failing:
        silent.bind(("127.0.0.1", 0))
        if kind == "silent":
            silent.listen()  # takes connections, and never answers
        port = silent.getsockname()[1]
        configure(home, server, failing.address if kind == "failing" else f"http://127.0.0.1:{port}")
        result = await ask(root)
        assert result.ok
        assert result.response == ANSWER
    told = [one for one in caplog.records if "does not accept spans" in one.message]
    assert len(told) == 1 or kind == "silent"  # of that one, nobody waits for the end


async def fed(receiver: TraceReceiver, events: list[Event], **settings: Any) -> None:
    telemetry = Telemetry(Config.model_validate({"telemetry": {"otlp": receiver.address, **settings}}))
    for event in events:
        telemetry.take(event)
    await telemetry.aclose()


def told_calls(run: str) -> list[Event]:
    """Return events of a run that is cancelled after a successful and a failed tool call."""
    told = [
        Event(EventName.WORKFLOW_STARTED, run, {"name": "w", "adapter": "openai:gpt-5", "prompt": "p"}),
        Event(EventName.STEP_STARTED, run, {"step": "look", "index": 1}),
    ]

    def emit(name: EventName, /, **data: Any) -> None:
        told.append(Event(name, run, {"step": "look", **data}))

    with report_call(emit, "grep", {"pattern": "heron"}, server="fs") as report:
        report.size = 12
    with report_call(emit, "grep", {"pattern": "heron ("}) as report:
        report.failed = "heron ( is no pattern"
    usage = {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 4, "cost": 0.5}
    emit(EventName.MODEL_ANSWERED, model="gpt-5-2026", adapter="openai:gpt-5", usage=usage, duration_ms=7)
    emit(EventName.STEP_RETRYING, attempt=2, error="heron", error_code="InvalidReply")
    told.append(Event(EventName.WORKFLOW_CANCELLED, run, {"reason": "cancelled", "message": "heron"}))
    return told


async def test_tool_calls_are_below_their_step(receiver: TraceReceiver) -> None:
    await fed(receiver, told_calls("r1"))
    step = receiver.named("step look")
    calls = [span for span in receiver.spans if span.name == "execute_tool grep"]
    assert [span.parent_span_id for span in calls] == [step.span_id] * 2
    first, second = map(attributes_of, calls)
    assert (first["gen_ai.tool.name"], first["tideate.server"], first["tideate.result.size"]) == (
        "grep",
        "fs",
        12,
    )
    assert (first["tideate.outcome"], second["tideate.outcome"]) == ("completed", "failed")
    assert calls[1].status.code == 2
    turn = attributes_of(receiver.named("chat gpt-5"))
    assert (turn["gen_ai.provider.name"], turn["gen_ai.response.model"]) == ("openai", "gpt-5-2026")
    assert turn["gen_ai.usage.cache_read.input_tokens"] == 4
    assert [event.name for event in step.events] == ["retrying"]
    assert attributes_of(step)["tideate.outcome"] == "cancelled"
    assert b"heron" not in b"".join(receiver.bodies)


async def test_turns_and_calls_of_an_item_of_a_list_are_below_its_step(receiver: TraceReceiver) -> None:
    of_items = [replace(event, data=dict(event.data)) for event in told_calls("r1")]
    for event in of_items[2:-1]:
        event.data["step"] = "look[0]"
    await fed(receiver, of_items)
    step = receiver.named("step look")
    below = [span for span in receiver.spans if span.name.startswith(("execute_tool", "chat"))]
    assert [span.parent_span_id for span in below] == [step.span_id] * 3


async def test_arguments_are_content(receiver: TraceReceiver) -> None:
    await fed(receiver, told_calls("r1"), content=True)
    calls = [attributes_of(span) for span in receiver.spans if span.name == "execute_tool grep"]
    assert [json.loads(one["gen_ai.tool.call.arguments"])["pattern"] for one in calls] == ["heron", "heron ("]


async def test_a_run_that_another_process_resumes_stays_in_one_trace(receiver: TraceReceiver) -> None:
    begun = told_calls("r1")[:2]
    again = [Event(EventName.WORKFLOW_RESTORED, "r1", {"name": "w"})]
    await fed(receiver, begun)
    await fed(receiver, [*again, Event(EventName.WORKFLOW_COMPLETED, "r1")])
    await fed(receiver, told_calls("r2"))
    runs = [span for span in receiver.spans if span.name == "invoke_workflow w"]
    assert len({span.trace_id for span in runs}) == 2
    assert runs[0].trace_id == runs[1].trace_id
    assert [attributes_of(span)["tideate.outcome"] for span in runs] == ["left", "completed", "cancelled"]


async def test_a_run_within_a_step_is_below_it(receiver: TraceReceiver) -> None:
    inner = {"name": "inner", "parent": "r1", "parent_step": "look"}
    events = told_calls("r1")
    events[2:2] = [
        Event(EventName.WORKFLOW_STARTED, "r2", inner),
        Event(EventName.WORKFLOW_COMPLETED, "r2"),
    ]
    await fed(receiver, events)
    assert receiver.named("invoke_workflow inner").parent_span_id == receiver.named("step look").span_id


async def test_events_of_no_run_and_odd_data_make_no_span_and_end_nothing(receiver: TraceReceiver) -> None:
    odd = Event(EventName.MODEL_ANSWERED, "r1", {"step": "look", "usage": {}, "duration_ms": "soon"})
    events = told_calls("r1")
    await fed(receiver, [Event(EventName.STEP_STARTED, "unknown", {}), *events[:2], odd, *events[2:]])
    assert receiver.named("step look").parent_span_id == receiver.named("invoke_workflow w").span_id


async def test_what_cannot_be_taken_in_time_is_left_out(
    receiver: TraceReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WAITING", 2)
    started = asyncio.get_running_loop().time()
    await fed(receiver, told_calls("r1") * 1000)
    assert asyncio.get_running_loop().time() - started < 10


def test_an_address_may_name_the_path() -> None:
    assert traces_address("http://h:1") == traces_address("http://h:1/v1/traces/") == "http://h:1/v1/traces"
    assert traces_address("https://h/otlp/") == "https://h/otlp/v1/traces"


def test_a_project_says_where_spans_go_only_once_it_is_trusted(home: Path, root: Path) -> None:
    own = home / "config/tideate/config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[telemetry]\notlp = "http://mine:4318"\ncontent = true\n')
    (root / ".tideate").mkdir()
    (root / ".tideate/config.toml").write_text('[telemetry]\notlp = "http://theirs:4318"\n')
    loaded = load_config(root)
    assert loaded.config.telemetry.otlp == "http://mine:4318"
    assert any("ignored telemetry" in notice for notice in loaded.notices)
    trusted = load_config(root, as_trusted=True).config.telemetry
    assert (trusted.otlp, trusted.content) == ("http://theirs:4318", False)
    (item,) = plan_trust(root, build_catalog(root)).waiting
    assert item.effects == ("send traces of runs, without prompts and answers, to http://theirs:4318",)
