"""Runs a flow to its end in one process after the other, each killed where the last one was not yet.

`python -m tests.engine.killed_calls ROOT URL PLACES`: beside ROOT there are `flow.json`, and perhaps
`config.json`; what the tools did is appended to `deeds`, the questions to `asked`, a JSON line each. A
process is killed `after` each new turn, `inside` each call (its work is done, its result not recorded), and
once each result is `recorded`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tests.engine.logbook import RUN
from tests.harness.bench import Bench
from tests.harness.forked import import_all
from tests.harness.resumed import go_on
from tideate_core.agents.tools.table import GROUPS
from tideate_core.config import Config
from tideate_core.engine import RunRequest, WorkflowRunner
from tideate_core.engine.context.context import Context
from tideate_core.mcp.client import MCPClient, ToolPermissions, servers_of
from tideate_core.store import Store
from tideate_core.workflows import Decision, PromptLibrary, WorkflowDefinition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.engine import ConfirmationRequest

IMPORTED = (
    *(f"tideate_core.agents.tools.{group}" for group in GROUPS),
    "tideate_core.adapters.model",
    "tideate_core.mentions",
    "pydantic_ai.models.openai",
    "pydantic_ai.providers.openai",
    "openai.resources.chat.completions",
    "openai.lib.streaming.chat",
    "genai_prices.data",
    "jinja2.sandbox",
    "ruamel.yaml",
    "tideate_core.adapters.turns",
    "tideate_core.agents.asking",
    "tideate_core.engine.steps.agent",
)
MOST = 200
"""Processes until it is given up."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def add_line(path: Path, value: Any) -> int:
    """Append a line, and return how often it is there now."""
    line = json.dumps(value)
    with path.open("a") as file:
        file.write(line + "\n")
    return path.read_text().splitlines().count(line)


def be_mortal(deeds: Path, places: str) -> None:
    """Kill this process as soon as it gets further than earlier ones."""
    take_turn, report_call, remember = Context.take_turn, Context.report_call, Context.remember

    async def taken(self: Context, *args: Any, **named: Any) -> Any:
        before = self.usage
        turn = await take_turn(self, *args, **named)
        if "after" in places and self.usage != before:  # a turn that was recorded before takes nothing
            die()
        return turn

    @contextmanager
    def reported(self: Context, tool: str, arguments: Any, *, server: str = "") -> Iterator[Any]:
        with report_call(self, tool, arguments, server=server) as report:
            yield report
        if add_line(deeds, [server, tool, arguments]) == 1 and "inside" in places:
            die()

    async def remembered(self: Context, key: str, value: Any) -> None:
        await remember(self, key, value)
        if "recorded" in places and re.fullmatch(r"loop:.*:call:\d+", key):
            die()

    Context.take_turn, Context.report_call, Context.remember = taken, reported, remembered  # type: ignore[method-assign]


class OutsideBench(Bench):
    """A bench with its private directory beside the project, outside scratch copies."""

    @property
    def private(self) -> Path:
        return self.root.parent / "private"


async def run(root: Path, url: str, places: str) -> None:
    bench = OutsideBench(root, SimpleNamespace(base_url=url), tools=True)  # type: ignore[arg-type]
    flow = json.loads((root.parent / "flow.json").read_text())
    bench.registry.register(WorkflowDefinition.model_validate(flow), {})
    given = root.parent / "config.json"
    if given.exists():
        shape = bench.config.model_dump(exclude_defaults=True) | json.loads(given.read_text())
        bench.config = Config.model_validate(shape)
    no_to = root.parent / "no_to"

    def answer(request: ConfirmationRequest) -> Decision:
        add_line(root.parent / "asked", [request.kind, request.message])
        return Decision(not no_to.exists() or request.kind not in no_to.read_text())

    bench.front.answer = answer
    servers = MCPClient(servers_of(bench.config.mcp, root, own=False), permissions=ToolPermissions(root))
    runner = WorkflowRunner(
        bench.registry,
        bench.pool,
        bench.config,
        bench.front,
        lambda _request: bench.workspace(),
        PromptLibrary(),
        lambda: Store.open(bench.private),
        tools=servers,
    )
    be_mortal(root.parent / "deeds", places)
    result = await go_on(runner, RunRequest(name="flow", execution_id=RUN))
    (root.parent / "result").write_text(json.dumps(result.results))
    usage = [result.usage.input_tokens, result.usage.output_tokens, result.usage.cost]
    (root.parent / "usage").write_text(json.dumps(usage))
    await runner.aclose()
    await servers.aclose()
    await bench.aclose()
    if not result.ok:
        raise SystemExit(f"failed: {result.error}")


def main(root: str, url: str, places: str) -> None:
    """Fork processes, so that each reuses the imports of this one."""
    import_all(IMPORTED)
    for number in range(MOST):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                asyncio.run(run(Path(root), url, places))
                status = 0
            except SystemExit as error:
                print(error, file=sys.stderr)
            except BaseException:  # noqa: BLE001 as the interpreter says it
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        _, ended = os.waitpid(pid, 0)
        if os.WIFEXITED(ended):
            print(number)  # so many were killed before
            raise SystemExit(os.WEXITSTATUS(ended))
        assert os.WTERMSIG(ended) == signal.SIGKILL
    raise SystemExit(f"it has not ended after {MOST} processes")


if __name__ == "__main__":
    main(*sys.argv[1:])
