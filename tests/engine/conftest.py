"""A runner over a real model server, a real workspace, and a front end that the test answers for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.adapters import AdapterPool
from tideate_core.builtin import register_builtin
from tideate_core.config import Config
from tideate_core.engine import (
    ConfirmationRequest,
    Event,
    EventName,
    FrontEnd,
    RunRequest,
    WorkflowResult,
    WorkflowRunner,
)
from tideate_core.machines.language import parse
from tideate_core.store import Store
from tideate_core.workflows import (
    BufferContext,
    Decision,
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

Answer = Callable[[ConfirmationRequest], Decision]
LIMIT = 60.0
"""Seconds after which a wait has failed."""


def yes(_request: ConfirmationRequest) -> Decision:
    return Decision(True)


def no(_request: ConfirmationRequest) -> Decision:
    return Decision(False, reason="not now")


@dataclass
class Front:
    """Front end that records events, and answers or withholds answers as the test says."""

    answer: Answer = yes
    events: list[Event] = field(default_factory=list)
    requests: list[ConfirmationRequest] = field(default_factory=list)
    presented: list[str] = field(default_factory=list)
    withdrawn: int = 0
    hold: bool = False
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    waiters: list[tuple[Callable[[], bool], asyncio.Event]] = field(default_factory=list)

    editor = None

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        self.requests.append(request)
        self._wake()
        if self.hold:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.withdrawn += 1
                raise
        return self.answer(request)

    def emit(self, event: Event) -> None:
        self.events.append(event)
        self._wake()

    async def present(self, text: str, filetype: str) -> None:
        self.presented.append(text)

    async def until(self, reached: Callable[[], bool]) -> None:
        """Wait until something is so; looked at after every event and question."""
        if not reached():
            event = asyncio.Event()
            self.waiters.append((reached, event))
            await asyncio.wait_for(event.wait(), LIMIT)

    def names(self) -> list[str]:
        """Return the told events, without the checkpoint after every step."""
        names = (event.name for event in self.events if event.name is not EventName.CHECKPOINT_CREATED)
        return [name.value.removeprefix("SD_EVENT_") for name in names]

    def data(self, name: EventName) -> list[dict[str, Any]]:
        return [event.data for event in self.events if event.name is name]

    def notices(self) -> list[str]:
        """Return the messages of all notices."""
        return [data["message"] for data in self.data(EventName.NOTICE)]

    async def until_told(self, name: str, times: int = 1) -> None:
        """Wait until an event was told so many times."""
        await self.until(lambda: len(self.data(EventName[name])) >= times)

    async def until_asked(self, times: int = 1) -> None:
        """Wait until so many questions were asked."""
        await self.until(lambda: len(self.requests) >= times)

    def _wake(self) -> None:
        for reached, event in self.waiters:
            if reached():
                event.set()


class Bench:
    """Everything a run needs, on a folder of its own."""

    def __init__(self, root: Path, server: ModelServer, *, tools: bool = False) -> None:
        self.root = root
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

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

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

    def fingerprint(self) -> dict[str, bytes]:
        """Return the bytes of every file of the project that is not the product's own."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and ".tideate" not in path.parts
        }


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


@pytest.fixture
def tools() -> bool:
    """Tell whether the bench's model can call tools; a module of tests may say otherwise."""
    return False


@pytest.fixture
async def bench(tmp_path: Path, server: ModelServer, tools: bool) -> AsyncIterator[Bench]:
    root = tmp_path / "project"
    root.mkdir()
    bench = Bench(root, server, tools=tools)
    yield bench
    await bench.aclose()
