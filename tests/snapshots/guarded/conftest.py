"""A project, and guarded copies of every kind available on this machine."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from tests.snapshots.scratch.conftest import KINDS, kind, private, root, untouched
from tideate_core.process import make_environment, run_program
from tideate_core.snapshots import GuardedCopy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from tests.harness.processes import Brood
    from tideate_core.process import CommandResult
    from tideate_core.snapshots import ScratchDifference

__all__ = ["KINDS", "kind", "private", "root", "untouched"]


class Opened:
    """Open guarded copy."""

    def __init__(self, copy: GuardedCopy, environment: dict[str, str]) -> None:
        self.copy = copy
        self.root = copy.root
        self._environment = environment

    async def run(self, argv: Sequence[str], *, cwd: str = "") -> CommandResult:
        """Run a program in it."""
        command = self.copy.command(argv, cwd=cwd)
        environment = self.copy.environment(self._environment)
        return await run_program(command, cwd=self.copy.root / cwd, environment=environment)

    async def change(self, script: str, *arguments: str) -> None:
        done = await self.run(["sh", "-ec", script, *arguments])
        assert done.ok, done.printed

    async def difference(self) -> ScratchDifference:
        return await self.copy.difference()


class Opening(Protocol):
    """Opens a guarded copy of the test's kind, and discards it at the end."""

    def __call__(self, files: Any = None, **options: Any) -> AbstractAsyncContextManager[Opened]: ...


@pytest.fixture
def opening(root: Path, private: Path, kind: Any, brood: Brood) -> Opening:
    @asynccontextmanager
    async def opening(files: Any = None, **options: Any) -> AsyncIterator[Opened]:
        place = options.pop("root", root)
        copy = await GuardedCopy.prepare(place, files, **{"kind": kind, "private": private, **options})
        try:
            await copy.open()
            yield Opened(copy, make_environment(brood.environment()))
        finally:
            await copy.discard()
        assert not list((private / "unfinished").iterdir())

    return opening


@pytest.fixture
async def opened(opening: Opening) -> AsyncIterator[Opened]:
    async with opening() as opened:
        yield opened
