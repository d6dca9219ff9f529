"""Guarded copy over a scratch copy, until guarded copies exist."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from tideate_core.errors import ScratchUnavailable
from tideate_core.snapshots import open_scratch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Self


class GuardedCopy:
    stack: Any
    scratch: Any
    root: Path
    notices: tuple[str, ...] = ()
    id = "0"

    @classmethod
    async def prepare(
        cls, root: Path, files: Mapping[str, Any] | None = None, *, private: Path | None = None
    ) -> Self:
        copy = cls()
        copy.stack = AsyncExitStack()
        copy.scratch = await copy.stack.enter_async_context(open_scratch(root, private, files))
        copy.root = copy.scratch.root
        return copy

    @classmethod
    def attach(cls, root: Path, id: str, *, private: Path | None = None) -> Self:  # noqa: A002
        raise ScratchUnavailable("there is none")

    async def open(self) -> None:
        pass

    def command(self, argv: Sequence[str], *, cwd: str = "") -> list[str]:
        return list(self.scratch.command(argv, cwd=cwd))

    def environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        known: Mapping[str, str] = self.scratch.environment(environment)
        return known

    async def difference(self) -> Any:
        return await self.scratch.difference()

    async def close(self) -> None:
        pass

    async def discard(self) -> None:
        await self.stack.aclose()
