"""A model server and adapters that talk to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.adapters.model import ModelAdapter
from tideate_core.adapters.retry import Backoff
from tideate_core.adapters.sources import ServerSource
from tideate_core.config import AdapterConfig

if TYPE_CHECKING:
    from tests.support.model_server import ModelServer

MakeAdapter = Callable[..., ModelAdapter]

LIMIT = 20.0
"""Seconds that any wait of these tests takes at most."""


@pytest.fixture
async def make_adapter(server: ModelServer) -> AsyncIterator[MakeAdapter]:
    """Make adapters for the server that try again at once; all are closed after the test."""
    made: list[ModelAdapter] = []

    def make(*, attempts: int = 3, first: float = 0.0, **config: Any) -> ModelAdapter:
        values = {"base_url": server.base_url, "model": "scripted"} | config
        source = ServerSource("fake", AdapterConfig.model_validate(values))
        made.append(ModelAdapter("fake", source, attempts=attempts, backoff=Backoff(first=first)))
        return made[-1]

    yield make
    async with asyncio.timeout(LIMIT):
        for adapter in made:
            await adapter.aclose()


@pytest.fixture
def adapter(make_adapter: MakeAdapter) -> ModelAdapter:
    return make_adapter()
