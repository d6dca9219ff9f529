"""Programs that a test writes, and the processes that it must leave none of."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.processes import Brood
from tideate_core.commands import make_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def brood() -> Iterator[Brood]:
    """All processes of a test; none outlives it."""
    brood = Brood()
    yield brood
    brood.kill()


@pytest.fixture
def environment(brood: Brood) -> dict[str, str]:
    return make_environment(brood.environment())


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], list[str]]:
    """Writes a Python program; returns the command that runs it."""

    def write(text: str) -> list[str]:
        path = tmp_path / "program.py"
        path.write_text(text, encoding="utf-8")
        return [sys.executable, str(path)]

    return write
