"""Fixtures for test programs, and a check for leftover processes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from tideate_core.process import CommandResult, make_environment, run_program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.harness.processes import Brood


class Running(Protocol):
    """Runs a Python program in the test's directory, with options of `run_program`."""

    async def __call__(self, text: str, *arguments: str, **options: Any) -> CommandResult: ...


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


@pytest.fixture
def running(program: Callable[[str], list[str]], tmp_path: Path, environment: dict[str, str]) -> Running:
    async def running(text: str, *arguments: str, **options: Any) -> CommandResult:
        return await run_program(
            [*program(text), *arguments], cwd=tmp_path, environment=environment, **options
        )

    return running
