"""The work loop: a turn without its model, and a cold start to the first request.

``python -m benchmarks.loop [--short]``; its tools are measured by `benchmarks.loop_tools`.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.figures import Figure, console, ratios, targets_table
from tests.harness.model_server import ModelServer
from tideate_core.adapters import ModelTurn, Prompt, RequestedCall
from tideate_core.agents import StagedFiles, WorkLoop
from tideate_core.agents.tools.table import tools_named
from tideate_core.agents.tools.tool import ToolContext, offer_tools
from tideate_core.config import Config
from tideate_core.engine import PolicyFrontEnd, RunRequest, WorkflowRunner
from tideate_core.store import Store
from tideate_core.workflows import PromptLibrary, WorkflowDefinition, WorkflowRegistry
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from tideate_core.workflows import StepContext

TURNS: Final = 50
MODULE: Final = "".join(f"def function_{number}(x):\n    return x + {number}\n\n\n" for number in range(20))

LIBRARY: Final = """
import gc, os
gc.disable()
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
OpenAIChatModel("m", provider=OpenAICompatibleProvider("x", base_url="http://127.0.0.1:1/v1"))
os._exit(0)
"""
"""What has to be done before any request of a model, of which there is no less: the start's floor."""


class Turns:
    """An adapter that wants a file read in every turn, at once."""

    name, demonstration, context_tokens, tools = "turns", False, None, True

    async def take_turn(self, conversation: Any, *_: Any, **__: Any) -> ModelTurn:
        taken = sum(isinstance(one, ModelTurn) for one in conversation.messages)
        if taken == TURNS:
            return ModelTurn("done", (), "turns")
        return ModelTurn("", (RequestedCall(f"call{taken}", "read_file", {"path": "a.py"}),), "turns")

    async def aclose(self) -> None:
        """Nothing is open."""


class Adapters:
    """A pool that has only this one."""

    def get(self, _name: str) -> Any:
        return Turns()


async def turn_ms(root: Path) -> float:
    """Return the milliseconds of a turn with one call, both durable, without the model."""
    took = 0.0

    async def work(step: StepContext) -> str:
        nonlocal took
        staged = StagedFiles()
        tools = offer_tools(tools_named(["files"], editor=False), ToolContext(step, staged))
        loop: WorkLoop[Any] = WorkLoop(step, "work", tools, staged=staged)
        begun = time.perf_counter()
        done = await loop.run(Prompt("go on"))
        took = time.perf_counter() - begun
        return done.text

    registry = WorkflowRegistry()
    registry.register(WorkflowDefinition.chain("loop", ["work"]), {"work": work})
    with tempfile.TemporaryDirectory() as private:
        runner = WorkflowRunner(
            registry,
            Adapters(),  # type: ignore[arg-type]
            Config(),
            PolicyFrontEnd(accept=True),
            lambda _request: Workspace(root, private=Path(private)),
            PromptLibrary(),
            lambda: Store.open(Path(private)),
        )
        result = await runner.run(RunRequest(name="loop"))
        await runner.aclose()
    if result.response != "done":
        raise RuntimeError(result.error)
    return took * 1000 / (TURNS + 1)


def start_seconds(root: Path) -> float:
    """Return the seconds from the command to the model's first request, of a cold shell."""
    with ModelServer() as server, tempfile.TemporaryDirectory() as home:
        server.answers("", "fine")
        config = Path(home, "tideate", "config.toml")
        config.parent.mkdir()
        fake = f'[adapters.fake]\nbase_url = "{server.base_url}"\nmodel = "m"\n'
        config.write_text(f'adapter = "fake"\n{fake}')
        command = [str(Path(sys.executable).with_name("tideate")), "run", "ask", "why", "--yes"]
        environment = {"HOME": home, "XDG_CONFIG_HOME": home, "PATH": "/usr/bin:/bin"}
        begun = time.perf_counter()
        with subprocess.Popen(
            command, cwd=root, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            server.wait_for_requests(1)
            took = time.perf_counter() - begun
            process.wait()
    return took


def library_seconds() -> float:
    """Return the seconds in which a bare Python imports the model library and makes a model."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", LIBRARY], check=True)
    return time.perf_counter() - begun


def main(*, short: bool) -> None:
    """Print the figures."""
    rounds = 3 if short else 9
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "project")
        root.mkdir()
        (root / "a.py").write_text(MODULE)
        turns = [asyncio.run(turn_ms(root)) for _ in range(rounds)]
        starts, libraries = zip(
            *[(start_seconds(root), library_seconds()) for _ in range(rounds)], strict=True
        )
    figures = [
        Figure("a turn with one call, without the model", turns, "ms", target=5),
        Figure("a cold shell to its first request", list(starts), "s", target=0.7),
        Figure("the model library alone, in a bare Python", list(libraries), "s"),
        Figure("a cold shell / the library alone", ratios(list(starts), list(libraries))),
    ]
    console().print(targets_table(figures, "work loop"))


if __name__ == "__main__":
    main(short="--short" in sys.argv[1:])
