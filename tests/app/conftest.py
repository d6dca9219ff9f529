"""A private home and a project for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.bench import Bench
from tests.harness.project import use_home

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.harness.model_server import ModelServer


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Private home directory of a test."""
    home = tmp_path / "home"
    use_home(home, monkeypatch)
    return home


@pytest.fixture
async def bench(root: Path, server: ModelServer) -> AsyncIterator[Bench]:
    bench = Bench(root, server)
    yield bench
    await bench.aclose()
