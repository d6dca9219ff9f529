"""Runs with reviews answered from outside, in this process or in one that can be killed."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tests.harness.bench import Bench
from tests.harness.front import Front
from tests.harness.resumed import go_on
from tideate_core.engine import RunRequest
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.engine import ConfirmationRequest, Event, WorkflowResult

__all__ = ["LIMIT", "Ended", "Here", "Question", "Reviewing", "Separate"]

LIMIT = 120.0
"""Seconds that a question, or the end of a run, takes at most."""
LONGEST_LINE = 1 << 24


class Question(NamedTuple):
    payload: Mapping[str, Any]
    draft: str


class Ended(NamedTuple):
    ok: bool
    error: str | None


class Reviewing(Protocol):
    """A run that goes on until it asks for a review."""

    async def question(self) -> Question | Ended: ...

    async def answer(self, decision: Decision) -> None: ...

    async def leave(self) -> None:
        """End the process, or its stand-in, but not the run."""


class _Asking(Front):
    """Has the reviews answered from outside, and agrees to all else."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: asyncio.Queue[tuple[ConfirmationRequest, asyncio.Future[Decision]]] = asyncio.Queue()

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        if request.kind != "review":
            return Decision(True)
        given: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self.asked.put_nowait((request, given))
        return await given


class Here:
    """A run in this process."""

    def __init__(self, bench: Bench, request: RunRequest) -> None:
        self._front = _Asking()
        self._runner = bench.make_runner(bench.config, front=self._front)
        self._running = asyncio.create_task(go_on(self._runner, request))
        self._given: asyncio.Future[Decision] | None = None

    async def question(self) -> Question | Ended:
        asked = asyncio.create_task(self._front.asked.get())
        await asyncio.wait([asked, self._running], timeout=LIMIT, return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            asked.cancel()
            assert self._running.done(), "neither a question nor the end"
            return _ended(self._running.result())
        request, self._given = asked.result()
        return Question(request.payload, request.draft)

    async def answer(self, decision: Decision) -> None:
        assert self._given is not None
        self._given.set_result(decision)

    async def leave(self) -> None:
        self._runner.leave()
        await asyncio.wait_for(self._running, LIMIT)


class Separate:
    """A run in a process of its own, which `leave` kills."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def begin(cls, bench: Bench, request: RunRequest) -> Separate:
        told = [str(bench.root), bench.server.base_url, request.name, request.prompt, request.execution_id]
        pipe = asyncio.subprocess.PIPE
        place = Path(__file__).parents[2]
        code = [sys.executable, "-m", "tests.harness.reviewing", *map(str, told)]
        return cls(
            await asyncio.create_subprocess_exec(
                *code, cwd=place, limit=LONGEST_LINE, stdin=pipe, stdout=pipe
            )
        )

    async def question(self) -> Question | Ended:
        while True:
            line = await self._line()
            assert line, "it ended by itself"
            if isinstance(line, Question | Ended):
                return line

    async def answer(self, decision: Decision) -> None:
        assert self._process.stdin is not None
        shape = {"accepted": decision.accepted, "value": decision.value}
        self._process.stdin.write(f"{json.dumps(shape)}\n".encode())
        await self._process.stdin.drain()

    async def pass_(self, events: int) -> Question | Ended | None:
        """Wait for a number of events; return an earlier question or the end."""
        for _ in range(events):
            line = await self._line()
            assert line, "it ended by itself"
            if isinstance(line, Question | Ended):
                return line
        return None

    async def leave(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await asyncio.wait_for(self._process.communicate(), LIMIT)

    async def _line(self) -> Question | Ended | str:
        assert self._process.stdout is not None
        text = await asyncio.wait_for(self._process.stdout.readline(), LIMIT)
        if not text:
            return ""
        kind, value = json.loads(text)
        kinds = {"question": Question, "ended": Ended}
        return kinds[kind](*value) if kind in kinds else str(value)


def _ended(result: WorkflowResult) -> Ended:
    return Ended(result.ok, None if result.error is None else str(result.error))


class _Told(_Asking):
    """Front end that writes events to standard output and reads answers."""

    def __init__(self) -> None:
        super().__init__()
        self._answers = asyncio.StreamReader(limit=LONGEST_LINE)

    async def listen(self) -> None:
        protocol = asyncio.StreamReaderProtocol(self._answers)
        await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        if request.kind != "review":
            return Decision(True)
        _say("question", [request.payload, request.draft])
        return Decision(**json.loads(await self._answers.readline()))

    def emit(self, event: Event) -> None:
        super().emit(event)
        _say("event", event.name.value)


def _say(kind: str, value: object) -> None:
    os.write(1, f"{json.dumps([kind, value])}\n".encode())


async def _main(root: str, url: str, name: str, prompt: str, run: str) -> None:
    server: Any = SimpleNamespace(base_url=url)
    bench, front = Bench(Path(root), server), _Told()
    await front.listen()
    runner = bench.make_runner(bench.config, front=front)
    result = await go_on(runner, RunRequest(name=name, prompt=prompt, execution_id=run))
    await bench.aclose()
    _say("ended", _ended(result))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
