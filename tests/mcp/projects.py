"""Small projects for the servers that run commands, and clients of these servers in this process."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp import Client

from tests.support.state import trust_all

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.server.mcpserver import MCPServer

    from tests.support.processes import Brood

__all__ = ["Project", "serve"]

OWN_PROGRAMS = Path(sys.executable).parent


class Project:
    """A directory with a project, whose person trusts it only when told so.

    Programs are found in the environment of these tests, as if it was the project's own.
    """

    def __init__(self, directory: Path, brood: Brood) -> None:
        self.root = directory / "project"
        self.root.mkdir()
        self.private = self.root / ".tideate"
        config = directory / "config" / "tideate"
        config.mkdir(parents=True)
        marks = ", ".join(f'{name} = "{value}"' for name, value in brood.environment().items())
        (config / "config.toml").write_text(f"[verify]\nenvironment = {{{marks}}}\n")

    def write(self, **files: str) -> Project:
        """Write files; `__` in a name stands for `/`, `_` before its ending for a dot."""
        for name, text in files.items():
            stem, _, end = name.rpartition("_")
            path = self.root / (f"{stem}.{end}".replace("__", "/") if stem else name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return self

    def make(self, target: str, *lines: str, more: str = "") -> Project:
        """Write a Makefile with one target."""
        recipe = "".join(f"\t@{line}\n" for line in lines)
        (self.root / "Makefile").write_text(f".PHONY: {target} clean\n{target}:\n{recipe}{more}")
        return self

    def trust(self) -> Project:
        trust_all(self.root)
        return self

    def files(self) -> set[str]:
        return {str(path.relative_to(self.root)) for path in self.root.rglob("*")}


class Served:
    """A client of a server in this process."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.told: list[tuple[float, str | None]] = []

    async def call(self, tool: str, **arguments: Any) -> Any:
        async def tell(progress: float, total: float | None, message: str | None) -> None:
            self.told.append((progress, message))

        return await self.client.call_tool(tool, arguments, progress_callback=tell)

    async def answer(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that has to succeed and return its structured answer."""
        result = await self.call(tool, **arguments)
        assert not result.is_error, result.content[0].text
        shape: dict[str, Any] = result.structured_content
        return shape

    async def refusal(self, tool: str, **arguments: Any) -> str:
        """Call a tool that has to fail and return its words."""
        result = await self.call(tool, **arguments)
        assert result.is_error, result.structured_content
        words: str = result.content[0].text
        return words


@asynccontextmanager
async def serve(server: MCPServer[Any]) -> AsyncIterator[Served]:
    async with Client(server, mode="legacy") as client:
        yield Served(client)


async def there(path: Path, within: float = 60) -> None:
    """Wait until a file is there."""
    async with asyncio.timeout(within):
        while not path.exists():  # noqa: ASYNC110, ASYNC240 another process makes it
            await asyncio.sleep(0.01)


def with_own_programs() -> str:
    """Return a PATH on which the programs of these tests are found first."""
    return os.pathsep.join([str(OWN_PROGRAMS), os.environ["PATH"]])
