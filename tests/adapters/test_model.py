"""An open model is closed once, and not under those who use it; what streams of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from tideate_core.adapters.model import ModelHandle, _Stream
from tideate_core.adapters.sources import OpenModel
from tideate_core.adapters.translate import Origin
from tideate_core.adapters.turns import PartStream
from tideate_core.errors import InvalidReply

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pydantic_ai.messages import AgentStreamEvent


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


async def test_a_typed_answer_that_comes_as_an_object_streams_as_its_json_and_counts() -> None:
    from pydantic_ai.messages import PartStartEvent, TextPart, ToolCallPart

    async def events() -> AsyncIterator[AgentStreamEvent]:
        yield PartStartEvent(index=0, part=TextPart("So:"))
        yield PartStartEvent(index=1, part=ToolCallPart("final_result", {"path": "a.py"}))

    told: list[str] = []
    stream = _Stream(PartStream(told.append))
    await stream.follow(None, events())
    assert told == ["So:", '\n\n{"path": "a.py"}']
    assert stream.characters == len('So:{"path": "a.py"}')
    with pytest.raises(InvalidReply, match="more than 18 characters"):
        await _Stream(PartStream(told.append), longest=18).follow(None, events())
