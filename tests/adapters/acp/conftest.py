"""Fixtures: an agent that plays a script, and a session with it in a plain directory."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests import harness
from tideate_core.adapters.acp.pipes import AgentPipes
from tideate_core.adapters.acp.session import AgentSession

AGENT = Path(harness.__file__).with_name("acp_agent.py")
Script = Callable[..., list[str]]
Open = Callable[..., AbstractAsyncContextManager[AgentSession]]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Return the command of an agent that plays turns."""

    def write(*turns: list[dict[str, Any]], **more: Any) -> list[str]:
        path = tmp_path / "script.json"
        path.write_text(json.dumps({"turns": turns, **more}))
        return [sys.executable, "-S", str(AGENT), str(path)]

    return write


@pytest.fixture
def requests(tmp_path: Path) -> Callable[[], list[dict[str, Any]]]:
    """Return the messages that the agent received."""

    def read() -> list[dict[str, Any]]:
        log = tmp_path / "script.log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    return read


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "place"
    path.mkdir()
    return path


@pytest.fixture
def open_session(script: Script, place: Path) -> Open:
    @asynccontextmanager
    async def opened(
        *turns: list[dict[str, Any]],
        earlier: str = "",
        settings: dict[str, str | bool] | None = None,
        mode: str = "",
        more: dict[str, Any] | None = None,
        **options: Any,
    ) -> AsyncIterator[AgentSession]:
        command = script(*turns, **(more or {}))
        pipes = await AgentPipes.start("acp:test", command, cwd=place, environment=dict(os.environ))
        session = AgentSession("acp:test", pipes, str(place), **options)
        try:
            await session.greet()
            await session.begin(earlier, settings, mode=mode)
            yield session
        finally:
            await session.close()

    return opened
