from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.engine import WorkflowRunner
from tideate_core.errors import StepFailed
from tideate_core.store import Store
from tideate_core.workflows import PromptLibrary

if TYPE_CHECKING:
    from tests.engine.conftest import Bench
    from tests.engine.steps.conftest import Write

TOOL = """
context: {lines: [3, 4]}
steps:
  - id: look
    tool:
      server: files
      name: read
      arguments: {path: "{{ prompt }}.py", lines: "{{ context.lines }}", exact: true}
"""


class Tools:
    def __init__(self, answer: Any = None, error: Exception | None = None) -> None:
        self.calls: list[tuple[str, str, dict[str, Any]]] = []
        self._answer = answer
        self._error = error

    async def call(self, server: str, name: str, arguments: dict[str, Any]) -> Any:
        self.calls.append((server, name, arguments))
        if self._error:
            raise self._error
        return self._answer


def use(bench: Bench, tools: Tools) -> None:
    bench.runner = WorkflowRunner(
        bench.registry,
        bench.pool,
        bench.config,
        bench.front,
        lambda _request: bench.workspace(),
        PromptLibrary(),
        lambda: Store.open(bench.private),
        tools=tools,
    )
    bench.runners.append(bench.runner)


async def test_without_servers_the_error_names_what_was_wanted(bench: Bench, write: Write) -> None:
    write(TOOL)
    result = await bench.run("flow")
    assert result.error_code == "ConfigError"
    for words in ("'look'", "'read'", "'files'", "MCP servers are not configured in this version"):
        assert words in str(result.error)


async def test_the_tool_gets_its_arguments_filled_in_and_of_their_types(bench: Bench, write: Write) -> None:
    tools = Tools({"text": "x = 1"})
    use(bench, tools)
    write(TOOL)
    result = await bench.run("flow", "main")
    assert result.results["look"] == {"text": "x = 1"}
    assert tools.calls == [("files", "read", {"path": "main.py", "lines": [3, 4], "exact": True})]


async def test_a_tool_that_fails_fails_the_step(bench: Bench, write: Write) -> None:
    use(bench, Tools(error=StepFailed("no such file")))
    write(TOOL)
    assert (await bench.run("flow")).error == "no such file"
