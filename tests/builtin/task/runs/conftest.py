"""Desks: a small project with instant checks, and one with real tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builtin.task.runs.desk import Desk
from tests.builtin.task.runs.nursery import Nursery
from tests.builtin.task.runs.site import Site
from tests.harness.elsewhere import state_home

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.harness.model_server import ModelServer

__all__ = ["desk", "real_desk", "state_home"]


@pytest.fixture
async def desk(tmp_path: Path, server: ModelServer) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path, server)
    with desk.site.person():
        yield desk
        await desk.aclose()


@pytest.fixture
async def real_desk(tmp_path: Path, server: ModelServer) -> AsyncIterator[Desk]:
    desk = Desk(tmp_path, server, real=True)
    with desk.site.person():
        yield desk
        await desk.aclose()


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as nursery:
        yield nursery


@pytest.fixture
def site(tmp_path: Path, server: ModelServer) -> Iterator[Site]:
    site = Site(tmp_path, server)
    site.trust()
    with site.person():
        yield site
