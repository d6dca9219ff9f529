"""An open model is closed once, after its last request."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from pydantic_ai.models.test import TestModel

from tideate_core.adapters.model import ModelAdapter, ModelHandle
from tideate_core.adapters.sources import OpenModel
from tideate_core.adapters.translate import Origin
from tideate_core.adapters.turns import AnswerStream


class Closing:
    def __init__(self) -> None:
        self.count = 0

    async def __call__(self) -> None:
        self.count += 1


@pytest.fixture
def closing() -> Closing:
    return Closing()


@pytest.fixture
def handle(closing: Closing) -> ModelHandle:
    return ModelHandle(OpenModel(cast("Any", None), Origin("fake"), 1.0, closing))


async def test_what_nobody_uses_is_closed_as_it_is_retired(handle: ModelHandle, closing: Closing) -> None:
    await handle.retire()
    await handle.retire()
    assert closing.count == 1


async def test_what_is_in_use_is_closed_by_its_last_user(handle: ModelHandle, closing: Closing) -> None:
    async with handle.in_use():
        async with handle.in_use():
            await handle.retire()
        assert closing.count == 0
    assert closing.count == 1


async def test_what_was_closed_is_not_closed_again(handle: ModelHandle, closing: Closing) -> None:
    async with handle.in_use():
        await handle.close()
        await handle.retire()
    assert closing.count == 1


async def test_no_more_requests_are_under_way_than_the_adapter_has_places_for(closing: Closing) -> None:
    class Source:
        async def open(self) -> OpenModel:
            return OpenModel(TestModel(), Origin("fake"), 1.0, closing)

    inside, most = 0, 0

    async def enters(_opened: OpenModel) -> int:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside -= 1
        return 1

    adapter = ModelAdapter("fake", cast("Any", Source()), at_once=2)
    requests = (adapter._with_model(enters, AnswerStream()) for _ in range(5))
    assert await asyncio.gather(*requests) == [1] * 5
    assert most == 2
