"""Main thread of the host: replies while the engine is busy, reports a dead engine."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_bridge import Loop
from tests.harness.project import use_home
from tideate_core.editor import host as module
from tideate_core.editor.host import Host

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Stage:
    """A host on a main loop driven by the test."""

    def __init__(self, cwd: Path) -> None:
        self.loop = Loop()
        self.sent: list[dict[str, Any]] = []
        api = SimpleNamespace(exec_lua=lambda _code, args, async_: self.sent.extend(args[0]))
        self.host = Host(SimpleNamespace(loop=self.loop, api=api))
        self.host.start({"cwd": str(cwd)})
        self.engine = self.host._engine
        assert self.engine is not None
        self.release = threading.Event()

    def block(self) -> None:
        """Keep the engine busy until `release`."""
        busy = threading.Event()
        assert self.engine is not None
        self.engine._loop.call_soon_threadsafe(busy.set)
        self.engine._loop.call_soon_threadsafe(self.release.wait)
        assert busy.wait(60)

    def end(self) -> None:
        """End the engine as an internal error would."""
        assert self.engine is not None
        self.release.set()
        loop = self.engine._loop
        if self.engine.is_alive():
            loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
        self.engine.join(60)
        assert not self.engine.is_alive()

    def answers(self, kind: str) -> list[dict[str, Any]]:
        self.loop.run()
        return [message for message in self.sent if message["type"] == kind]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    use_home(tmp_path, monkeypatch)
    stage = Stage(tmp_path)
    yield stage
    stage.end()


def test_ready_comes_first_and_once(stage: Stage) -> None:
    assert stage.answers("ready")[0]["type"] == "ready"
    assert stage.sent[0]["type"] == "ready"


def test_a_ping_is_answered_while_the_engine_is_busy(stage: Stage) -> None:
    stage.block()
    stage.host.send({"id": "p1", "method": "ping", "params": {}})
    assert stage.answers("pong") == [{"type": "pong", "id": "p1"}]


def test_an_engine_that_is_stuck_for_long_is_not_vouched_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.block()
    monkeypatch.setattr(module, "STUCK", 0.0)
    stage.host.send({"id": "p1", "method": "ping", "params": {}})
    assert stage.answers("pong") == []


def test_a_request_to_an_engine_that_is_gone_says_so(stage: Stage) -> None:
    stage.end()
    stage.host.send({"id": "q1", "method": "list", "params": {}})
    assert stage.answers("broken")[-1]["error_code"] == "HostDied"
