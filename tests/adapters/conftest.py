"""Model server, and adapters connected to it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.oauth_server import OAuthServer, route_to
from tideate_core.adapters.local import local_adapter
from tideate_core.adapters.login_flows import CLIENT_VARIABLE
from tideate_core.adapters.model import ModelAdapter
from tideate_core.adapters.model_options import request_settings
from tideate_core.adapters.retry import Backoff
from tideate_core.adapters.sources import ServerSource
from tideate_core.config import AdapterConfig

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer

MakeAdapter = Callable[..., ModelAdapter]

LIMIT = 60.0
"""Time limit of every wait in seconds."""

LOCAL_LIMIT = 240.0
"""Time limit of waits for the bundled model in seconds."""


@pytest.fixture
async def make_adapter(server: ModelServer) -> AsyncIterator[MakeAdapter]:
    """Create adapters of the server that retry at once; all are closed after the test."""
    made: list[ModelAdapter] = []

    def make(*, attempts: int = 3, first: float = 0.0, **config: Any) -> ModelAdapter:
        values = {"base_url": server.base_url, "model": "scripted"} | config
        parsed = AdapterConfig.model_validate(values)
        made.append(
            ModelAdapter(
                "fake",
                ServerSource("fake", parsed),
                attempts=attempts,
                context_tokens=parsed.context_tokens,
                settings=request_settings(parsed),
                backoff=Backoff(first=first),
            )
        )
        return made[-1]

    yield make
    async with asyncio.timeout(LIMIT):
        for adapter in made:
            await adapter.aclose()


@pytest.fixture
def adapter(make_adapter: MakeAdapter) -> ModelAdapter:
    return make_adapter()


@pytest.fixture
def oauth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OAuthServer]:
    """Server of all login providers, with no login of the user's."""
    for name in ("state", "config"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    for name in (
        "GITHUB_COPILOT_API_KEY",
        "GITHUB_COPILOT_API_TOKEN",
        "COPILOT_GITHUB_TOKEN",
        CLIENT_VARIABLE,
    ):
        monkeypatch.delenv(name, raising=False)
    with OAuthServer() as server:
        route_to(server.address, monkeypatch)
        yield server


@pytest.fixture
async def local() -> AsyncIterator[ModelAdapter]:
    adapter = local_adapter()
    yield adapter
    async with asyncio.timeout(LOCAL_LIMIT):
        await adapter.aclose()


def only_child(parent: int | None = None) -> int:
    """Return the process id of the single model process."""
    parent = parent or os.getpid()
    found: list[int] = []
    for task in Path(f"/proc/{parent}/task").iterdir():
        for child in (task / "children").read_text().split():
            if b"local_server.py" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))  # noqa: PERF401 - clearer than one expression
    assert len(found) == 1
    return found[0]
