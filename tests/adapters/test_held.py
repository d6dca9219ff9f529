"""An open model is closed once, and not under those who use it."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tideate_core.adapters.held import HeldModel
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
def held(closing: Closing) -> HeldModel:
    return HeldModel(OpenModel(cast("Any", None), Origin("fake"), 1.0, closing))


async def test_what_nobody_uses_is_closed_as_it_is_retired(held: HeldModel, closing: Closing) -> None:
    await held.retire()
    await held.retire()
    assert closing.count == 1


async def test_what_is_in_use_is_closed_by_its_last_user(held: HeldModel, closing: Closing) -> None:
    async with held.in_use():
        async with held.in_use():
            await held.retire()
        assert closing.count == 0
    assert closing.count == 1


async def test_what_was_closed_is_not_closed_again(held: HeldModel, closing: Closing) -> None:
    async with held.in_use():
        await held.close()
        await held.retire()
    assert closing.count == 1
