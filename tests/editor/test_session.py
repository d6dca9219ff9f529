"""Requests to the session without an editor: each gets one reply."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.project import use_home
from tideate_core.editor.session import Session
from tideate_core.process import enclosure_support
from tideate_core.snapshots import scratch_support

if TYPE_CHECKING:
    from pathlib import Path


LIMIT = 60.0
"""Seconds."""


class Posted:
    """Messages of the session to Lua."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self._more = asyncio.Event()

    def __call__(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        self._more.set()

    async def of(self, kind: str, count: int) -> list[dict[str, Any]]:
        """Wait for a number of messages of a type."""
        async with asyncio.timeout(LIMIT):
            while len(found := [m for m in self.messages if m["type"] == kind]) < count:
                self._more.clear()
                await self._more.wait()
        return found


@pytest.fixture
def posted() -> Posted:
    return Posted()


@pytest.fixture
async def session(tmp_path: Path, posted: Posted, monkeypatch: pytest.MonkeyPatch) -> Session:
    use_home(tmp_path, monkeypatch)
    return Session({"cwd": str(tmp_path)}, posted)


async def test_a_request_that_is_called_off_at_once_is_answered(session: Session, posted: Posted) -> None:
    session.take({"id": "q1", "method": "health", "params": {}})
    session.take({"id": "q2", "method": "cancel_ask", "params": {"id": "q1"}})
    (reply,) = await posted.of("reply", 1)
    assert reply == {"type": "reply", "id": "q1", "result": {"ok": False, "cancelled": True}}


@pytest.mark.slow
async def test_the_health_says_what_scratch_copies_are_here(session: Session, posted: Posted) -> None:
    session.take({"id": "q1", "method": "health", "params": {}})
    (reply,) = await posted.of("reply", 1)
    checks = {check["name"]: check for check in reply["result"]["checks"]}
    assert checks["scratch copies"]["message"] == scratch_support(None).words
    assert checks["guarded agents"]["message"] == enclosure_support().words


async def test_an_unknown_request_is_an_error(session: Session, posted: Posted) -> None:
    session.take({"id": "q1", "method": "dance"})
    (reply,) = await posted.of("reply", 1)
    assert reply["result"]["error_code"] == "InvalidInput"
    assert "'dance'" in reply["result"]["error"]


async def test_a_run_that_makes_no_sense_is_an_error_not_a_crash(session: Session, posted: Posted) -> None:
    session.take({"id": "q1", "method": "run", "params": {"name": "ask", "adaptor": 1}})
    session.take({"id": "q2", "method": "pause", "params": {"execution_id": "0" * 32}})
    session.take({"id": "q3", "method": "register", "params": {"name": "cancel", "steps": ["a"]}})
    results = {reply["id"]: reply["result"]["error_code"] for reply in await posted.of("reply", 3)}
    assert results == {"q1": "InvalidInput", "q2": "RunNotFound", "q3": "InvalidDefinition"}


async def test_a_preview_is_the_first_prompt_and_begins_no_run(
    session: Session, posted: Posted, tmp_path: Path
) -> None:
    context = {
        "buffer": {"path": str(tmp_path / "a.py"), "text": "x = 1"},
        "selection": {"start": 1, "end": 1},
    }
    session.take({"id": "q1", "method": "preview", "params": {"name": "ask", "context": context}})
    session.take(
        {"id": "q2", "method": "preview", "params": {"name": "ask", "prompt": "why?", "context": context}}
    )
    session.take({"id": "q3", "method": "preview", "params": {"name": "aks", "prompt": "why?"}})
    results = {reply["id"]: reply["result"] for reply in await posted.of("reply", 3)}
    assert "x = 1" in results["q1"]["preview"]["user"]
    assert results["q2"]["preview"]["user"].rstrip().endswith("why?")
    assert results["q2"]["preview"]["exact"] is True
    assert results["q3"]["error_code"] == "UnknownWorkflow"
    session.take({"id": "q4", "method": "history", "params": {}})
    history = (await posted.of("reply", 4))[3]
    assert history["result"]["runs"] == []


async def test_another_projects_untrusted_configuration_is_told_once(
    session: Session, posted: Posted, tmp_path: Path
) -> None:
    project = tmp_path / "cloned"
    (project / ".tideate").mkdir(parents=True)
    (project / ".tideate" / "config.toml").write_text('adapter = "anthropic:some-model"\n')
    run = {"name": "summarize", "context": {"buffer": {"path": str(project / "a.py"), "text": " "}}}
    session.take({"id": "q1", "method": "run", "params": run})
    await posted.of("reply", 1)
    session.take({"id": "q2", "method": "run", "params": run})
    await posted.of("reply", 2)
    (message,) = await posted.of("notices", 1)
    assert "adapter" in message["notices"][0]
    assert "trust" in message["notices"][0]
