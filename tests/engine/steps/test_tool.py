"""Tool steps: requests, permissions, events, and no repeated calls."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from tests.harness.front import no
from tests.harness.later import Later
from tideate_core.engine import EventName, PolicyFrontEnd, RunRequest, WorkflowRunner
from tideate_core.errors import ToolFailed, ToolInterrupted, UnknownTool
from tideate_core.mcp.client import ConnectedServer, Tool, ToolResult
from tideate_core.store import Store
from tideate_core.workflows import Decision, PromptLibrary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.engine.steps.conftest import Write
    from tests.harness.bench import Bench
    from tideate_core.engine import ConfirmationRequest, FrontEnd

TOOL = """
context: {lines: [3, 4]}
steps:
  - id: look
    tool:
      server: files
      name: read
      arguments: {path: "{{ prompt }}.py", lines: "{{ context.lines }}", exact: true}
"""

READ = Tool("files", "read", "Reads.", read_only=True, own=True)
WRITE = replace(READ, name="write", read_only=False, description="Writes a file.")


@dataclass
class Tools:
    """Client with this test as its server."""

    tool_: Tool = READ
    answers: list[Any] = field(default_factory=lambda: [None])
    """One for each call: an exception is raised; the last one stays."""
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    allowed: set[str] = field(default_factory=set)
    timeouts: list[float | None] = field(default_factory=list)
    listeners: list[Callable[[ConnectedServer], None]] = field(default_factory=list)
    hangs: bool = False

    @property
    def names(self) -> list[str]:
        return ["files", "git"]

    @property
    def permissions(self) -> Tools:
        return self

    def allows(self, tool: Tool) -> bool:
        return (tool.own and tool.read_only) or tool.digest in self.allowed

    def allow(self, tool: Tool) -> None:
        self.allowed.add(tool.digest)

    def on_connected(self, listener: Callable[[ConnectedServer], None]) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    async def left_out(self, server: str) -> dict[str, str]:
        return {}

    async def tools(self, server: str) -> list[Tool]:
        return [self.tool_]

    async def tool(self, server: str, name: str) -> Tool:
        if name != self.tool_.name:
            raise UnknownTool(server, name, [self.tool_.name])
        for listener in list(self.listeners):
            listener(ConnectedServer(server, "stdio", "2026-07-28"))
            listener(ConnectedServer("another", "stdio", "2026-07-28"))
        return self.tool_

    async def call(
        self,
        server: str,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        permitted: Tool | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 the client's own signature
        on_progress: Callable[[float, float | None, str | None], None] | None = None,
    ) -> ToolResult:
        assert permitted is not None and permitted.name == name
        self.calls.append((server, name, arguments))
        self.timeouts.append(timeout)
        if on_progress is not None:
            on_progress(1, 2, "halfway")
            on_progress(2, 2, "at once after it")
        if self.hangs:
            await asyncio.Event().wait()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return ToolResult(answer)


def use(bench: Bench, tools: Tools | None, front: FrontEnd | None = None) -> None:
    bench.runner = WorkflowRunner(
        bench.registry,
        bench.pool,
        bench.config,
        front or bench.front,
        lambda _request: bench.workspace(),
        PromptLibrary(),
        lambda: Store.open(bench.private),
        tools=cast("Any", tools),
    )
    bench.runners.append(bench.runner)


def writing(*answers: Any, tool: Tool = WRITE) -> Tools:
    return Tools(tool, list(answers) or ["written"])


def flow(*steps: str, name: str = "write", more: str = "") -> str:
    ids = steps or ("one",)
    text = "".join(
        f"  - id: {step}\n    tool: {{server: files, name: {name}, arguments: {{to: a}}}}\n{more}"
        for step in ids
    )
    return f"steps:\n{text}"


def answering(*values: str | None) -> Callable[[ConfirmationRequest], Decision]:
    left = list(values)
    return lambda _request: Decision(True, left.pop(0))


async def test_without_servers_the_error_names_what_was_wanted(bench: Bench, write: Write) -> None:
    write(TOOL)
    result = await bench.run("flow")
    assert result.error_code == "ConfigError"
    for words in ("'look'", "'read'", "'files'", "there are no MCP servers here"):
        assert words in str(result.error)


async def test_the_tool_gets_its_arguments_filled_in_and_of_their_types(bench: Bench, write: Write) -> None:
    tools = Tools(answers=[{"text": "x = 1"}])
    use(bench, tools)
    write(TOOL)
    result = await bench.run("flow", "main")
    assert result.results["look"] == {"text": "x = 1"}
    assert tools.calls == [("files", "read", {"path": "main.py", "lines": [3, 4], "exact": True})]
    assert bench.front.requests == []


async def test_a_call_is_told_from_its_connection_to_its_end(bench: Bench, write: Write) -> None:
    use(bench, Tools(answers=[ToolFailed("no"), "yes"]))
    write(flow(name="read", more="    retries: 1\n    retry_delay: 0\n    timeout: 5000\n"))
    await bench.succeed("flow")
    place = {"step": "one", "server": "files", "tool": "read"}
    connected = {"step": "one", "server": "files", "transport": "stdio", "protocol": "2026-07-28"}
    assert bench.front.data(EventName.MCP_CONNECTED) == [connected, connected]
    called = bench.front.data(EventName.TOOL_CALLED)
    more = {"arguments": {"to": "a"}, "summary": "files/read → a"}
    assert called == [{**place, "call": one["call"], **more} for one in called]
    assert (
        bench.front.data(EventName.TOOL_PROGRESS)
        == [{**place, "progress": 1, "total": 2, "message": "halfway"}] * 2
    )
    ends = bench.front.data(EventName.TOOL_COMPLETED)
    assert [(end["ok"], end.get("error_code")) for end in ends] == [(False, "ToolFailed"), (True, None)]
    assert [end["call"] for end in ends] == [one["call"] for one in called]


async def test_the_steps_timeout_is_the_calls(bench: Bench, write: Write) -> None:
    tools = Tools()
    use(bench, tools)
    write(flow(name="read", more="    timeout: 5000\n"))
    await bench.run("flow")
    assert tools.timeouts == [5.0]


async def test_what_is_wrong_with_a_call_is_not_tried_again(bench: Bench, write: Write) -> None:
    tools = Tools()
    use(bench, tools)
    write(flow(name="raed", more="    retries: 3\n"))
    result = await bench.run("flow")
    assert (result.error_code, tools.calls) == ("UnknownTool", [])
    assert "STEP_RETRYING" not in bench.front.names()


async def test_arguments_that_do_not_fit_are_refused_before_anybody_is_asked(
    bench: Bench, write: Write
) -> None:
    schema = {
        "type": "object",
        "properties": {"path": {}},
        "required": ["path"],
        "additionalProperties": False,
    }
    tools = writing(tool=replace(WRITE, input_schema=schema))
    use(bench, tools)
    write(flow())
    result = await bench.run("flow")
    assert result.error_code == "InvalidArguments"
    assert "'to' is not known" in str(result.error)
    assert (bench.front.requests, tools.calls) == ([], [])


async def test_what_writes_asks_with_its_arguments_and_a_no_ends_the_run(bench: Bench, write: Write) -> None:
    tools = writing()
    use(bench, tools)
    bench.front.answer = no
    write(flow())
    result = await bench.run("flow")
    assert (result.cancelled, tools.calls) == (True, [])
    (request,) = bench.front.requests
    assert request.kind == "tool"
    assert request.payload == {"server": "files", "tool": "write", "arguments": {"to": "a"}}
    for words in ('"to": "a"', "Writes a file.", "it may destroy something"):
        assert words in request.details


async def test_a_tool_that_is_not_ours_asks_also_where_it_says_that_it_only_reads(
    bench: Bench, write: Write
) -> None:
    tools = Tools(replace(READ, own=False))
    use(bench, tools)
    write(flow(name="read"))
    await bench.run("flow")
    assert len(bench.front.requests) == 1


async def test_yes_is_for_one_call_run_for_the_run_and_project_for_ever(bench: Bench, write: Write) -> None:
    tools = writing()
    use(bench, tools)
    write(flow("one", "two", "three"), "flow")
    bench.front.answer = answering(None, None, None)
    await bench.succeed("flow")
    assert len(bench.front.requests) == 3
    bench.front.requests.clear()
    bench.front.answer = answering("run")
    await bench.succeed("flow")
    assert len(bench.front.requests) == 1
    bench.front.requests.clear()
    bench.front.answer = answering("project")
    for _ in range(2):
        await bench.succeed("flow")
    assert len(bench.front.requests) == 1
    tools.tool_ = replace(WRITE, description="Writes a file, and sends it away.")
    bench.front.answer = no
    assert (await bench.run("flow")).cancelled


async def test_another_attempt_at_the_same_call_needs_no_other_permission(bench: Bench, write: Write) -> None:
    tools = writing(ToolFailed("not yet"), "written")
    use(bench, tools)
    write(flow(more="    retries: 1\n    retry_delay: 0\n"))
    await bench.succeed("flow")
    assert (len(tools.calls), len(bench.front.requests)) == (2, 1)


@pytest.mark.parametrize("again", [True, False])
async def test_a_call_without_an_answer_is_repeated_only_with_a_persons_word(
    bench: Bench, write: Write, again: bool
) -> None:
    tools = writing(ToolInterrupted("it died"), "written")
    use(bench, tools)
    bench.front.answer = lambda request: Decision(request.kind == "tool" or again)
    write(flow(more="    retries: 1\n    retry_delay: 0\n"))
    result = await bench.run("flow")
    assert result.ok is again
    assert len(tools.calls) == (2 if again else 1)
    assert [request.kind for request in bench.front.requests] == ["tool", "gate"]
    assert "may have done its work" in bench.front.requests[1].message


@pytest.mark.parametrize(
    ("tool", "more"),
    [(replace(WRITE, idempotent=True), ""), (WRITE, "    idempotent: true\n")],
    ids=["its own word", "the author's word"],
)
async def test_what_may_be_repeated_is_repeated_unasked(
    bench: Bench, write: Write, tool: Tool, more: str
) -> None:
    tools = writing(ToolInterrupted("it died"), "written", tool=tool)
    use(bench, tools)
    write(flow(more=f"    retries: 1\n    retry_delay: 0\n{more}"))
    await bench.succeed("flow")
    assert (len(tools.calls), len(bench.front.requests)) == (2, 1)


async def test_where_nobody_is_asked_a_call_without_an_answer_is_not_repeated(
    bench: Bench, write: Write
) -> None:
    tools = writing(ToolInterrupted("it died"), "written")
    tools.allow(WRITE)
    use(bench, tools)
    write(flow(more="    retries: 1\n    retry_delay: 0\n"))
    result = await bench.run("flow", require_confirmation=False)
    assert result.error_code == "ToolInterrupted"
    assert "idempotent: true" in str(result.error)
    assert (len(tools.calls), bench.front.requests) == (1, [])


@pytest.mark.parametrize(("accept", "gated"), [(True, True), (True, False), (False, True), (False, False)])
async def test_a_policy_permits_a_call_where_it_says_yes(
    bench: Bench, write: Write, accept: bool, gated: bool
) -> None:
    tools = writing()
    use(bench, tools, PolicyFrontEnd(accept))
    write(flow())
    result = await bench.run("flow", require_confirmation=None if gated else False)
    assert (result.ok, len(tools.calls)) == (accept, int(accept))
    assert tools.allowed == set()


async def test_the_time_that_a_person_takes_is_not_the_steps(bench: Bench, write: Write) -> None:
    tools, later = writing(), Later()
    use(bench, tools)

    def slow(_request: ConfirmationRequest) -> Decision:
        later.skip(5)
        return Decision(True)

    bench.front.answer = slow
    write(flow(more="    timeout: 4000\n"))
    result = await bench.run("flow")
    assert (result.ok, len(tools.calls)) == (True, 1), result.error


async def test_what_is_allowed_for_the_run_is_allowed_for_the_runs_within_it(
    bench: Bench, write: Write
) -> None:
    tools = writing()
    use(bench, tools)
    bench.front.answer = answering("run")
    write(flow(), "inner")
    write("steps: [{id: a, workflow: inner}, {id: b, dependencies: [a], workflow: inner}]", "outer")
    result = await bench.run("outer")
    assert (result.ok, len(tools.calls), len(bench.front.requests)) == (True, 2, 1)
    bench.front.answer = answering("run")
    assert (await bench.run("outer")).ok  # another run asks again
    assert len(bench.front.requests) == 2


async def test_every_item_of_a_loop_asks_for_itself(bench: Bench, write: Write) -> None:
    tools = writing()
    use(bench, tools)
    write(flow(more="    for_each: \"['a', 'b']\"\n"))
    result = await bench.run("flow")
    assert result.results["one"] == ["written", "written"]
    assert len({request.message for request in bench.front.requests}) == 2


async def test_a_run_that_goes_on_after_a_crash_does_not_call_again_what_was_answered(
    bench: Bench, write: Write
) -> None:
    tools = writing()
    use(bench, tools)
    write(flow("one", "two"))
    bench.front.hold = False
    asked = 0

    def once(request: ConfirmationRequest) -> Decision:
        nonlocal asked
        asked += 1
        if asked == 1:
            bench.front.hold = True
        return Decision(True)

    bench.front.answer = once
    request = RunRequest(name="flow")
    run = asyncio.create_task(bench.runner.run(request))
    front = bench.front
    # the first call is durable, too: one that is cut off is made again
    await front.until(lambda: len(front.requests) == 2 and bool(front.data(EventName.CHECKPOINT_CREATED)))
    bench.runner.leave()
    await run
    bench.front.hold = False
    bench.front.requests.clear()
    result = await bench.resume(request.execution_id)
    assert result.ok
    assert [call[1] for call in tools.calls] == ["write", "write"]


@pytest.mark.parametrize("again", [True, False])
async def test_a_call_that_a_crash_cut_off_is_made_again_only_with_a_persons_word(
    bench: Bench, write: Write, again: bool
) -> None:
    tools = writing()
    tools.hangs = True
    use(bench, tools)
    write(flow())
    request = RunRequest(name="flow")
    run = asyncio.create_task(bench.runner.run(request))
    await bench.front.until_told("TOOL_CALLED")
    bench.runner.leave()
    await run
    tools.hangs = False
    bench.front.requests.clear()
    bench.front.answer = lambda _request: Decision(again)
    result = await bench.resume(request.execution_id)
    assert result.ok is again
    assert [question.kind for question in bench.front.requests] == ["gate"]
    assert len(tools.calls) == (2 if again else 1)
