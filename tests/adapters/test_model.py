"""An open model is closed once, and not under those who use it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tideate_core.adapters.model import ModelHandle
from tideate_core.adapters.sources import OpenModel
from tideate_core.adapters.translate import Origin


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
