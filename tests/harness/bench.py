"""A runner over a real model server and a real workspace, with the front end of the test."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tests.harness.front import LIMIT, Front
from tests.harness.project import Project
from tideate_core.adapters import AdapterPool
from tideate_core.builtin import register_builtin
from tideate_core.config import Config
from tideate_core.engine import FrontEnd, RunRequest, WorkflowResult, WorkflowRunner
from tideate_core.machines.language import parse
from tideate_core.store import Store
from tideate_core.workflows import (
    BufferContext,
    MachineWorkflow,
    PromptLibrary,
    RunContext,
    Selection,
    WorkflowDefinition,
    WorkflowRegistry,
)
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.model_server import ModelServer
    from tideate_core.store import Reader

__all__ = ["Bench", "left_beside_the_conversation"]


class Bench(Project):
    """Everything a run needs, on a folder of its own."""

    def __init__(self, root: Path, server: ModelServer, *, tools: bool = False) -> None:
        super().__init__(root)
        self.server = server
        self.front = Front()
        self.registry = WorkflowRegistry()
        register_builtin(self.registry)
        adapter = {"base_url": server.base_url, "model": "scripted", "tools": tools}
        self.config = Config.model_validate({"adapter": "fake", "adapters": {"fake": adapter}})
        self.pool = AdapterPool(self.config)
        self.runners: list[WorkflowRunner] = []
        self.runner = self.make_runner(self.config)

    def make_runner(
        self, config: Config, prompts: PromptLibrary | None = None, *, front: FrontEnd | None = None
    ) -> WorkflowRunner:
        runner = WorkflowRunner(
            self.registry,
            self.pool,
            config,
            front or self.front,
            lambda _request: self.workspace(),
            prompts or PromptLibrary(),
            lambda: Store.open(self.private),
        )
        self.runners.append(runner)
        return runner

    async def limit(self, context_tokens: int) -> None:
        """Let the model have only so many tokens of context."""
        small = self.config.adapters["fake"].model_copy(update={"context_tokens": context_tokens})
        self.config = self.config.model_copy(update={"adapters": {"fake": small}})
        await self.pool.aclose()
        self.pool = AdapterPool(self.config)
        self.runner = self.make_runner(self.config)

    async def aclose(self) -> None:
        for runner in self.runners:
            await runner.aclose()
        await self.pool.aclose()

    @property
    def private(self) -> Path:
        return self.root / ".tideate"

    def workspace(self) -> Workspace:
        return Workspace(self.root, private=self.private)

    def register(
        self, name: str, handlers: dict[str, Any], *, steps: list[str] | None = None, **rest: Any
    ) -> None:
        definition = WorkflowDefinition.chain(name, steps or list(handlers), **rest)
        self.registry.register(definition, handlers)

    def machine(self, text: str, name: str = "walk", **rest: Any) -> None:
        """Register a machine from the text of a `.workflow` file."""
        definition = parse(text, name).require(name)
        self.registry.register(MachineWorkflow(name, definition, **rest), {})

    def context(self, name: str, first: int = 0, last: int = 0) -> RunContext:
        """Return the context of a file of the project, with the selected lines if there are any."""
        path = self.root / name
        text = path.read_bytes().decode().replace("\r\n", "\n").removesuffix("\n")
        buffer = BufferContext(path=str(path), text=text)
        selection = Selection(start=first, end=last) if first else None
        return RunContext(cwd=str(self.root), buffer=buffer, selection=selection)

    async def run(self, name: str, prompt: str = "", **rest: Any) -> WorkflowResult:
        request = RunRequest(name=name, prompt=prompt, **rest)
        return await asyncio.wait_for(self.runner.run(request), LIMIT)

    async def succeed(self, name: str, prompt: str = "", **rest: Any) -> WorkflowResult:
        """Run a workflow that must succeed."""
        result = await self.run(name, prompt, **rest)
        assert result.ok, (result.error, self.server.unmatched)
        return result

    def begin(self, name: str, prompt: str = "", **rest: Any) -> asyncio.Task[WorkflowResult]:
        """Start a run without waiting for its end."""
        return asyncio.create_task(self.run(name, prompt, **rest))

    async def resume(self, run: str, **how: Any) -> WorkflowResult:
        return await asyncio.wait_for(self.runner.resume_run(run, **how), LIMIT)

    async def reader(self) -> Reader:
        """Return a reader of the stored runs."""
        return (await self.runner.store()).reader()


async def left_beside_the_conversation(bench: Bench) -> str:
    """Return all that a run leaves but its conversation: records, events, answers, reports."""
    reader = await bench.reader()
    (run,) = reader.runs()
    memos = reader.memos(run.id)
    said = [key for key in memos[""] if key.startswith("conversation:")]
    assert said, "there is no conversation"
    for key in said:
        del memos[""][key]
    await bench.aclose()
    reports = [path.read_text() for path in bench.private.rglob("*.json")]
    kept = [reader.request(run.id), reader.steps(run.id), reader.events(run.id), memos]
    return "".join(map(str, [run, *kept, *reports]))
