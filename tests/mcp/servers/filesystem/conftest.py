"""A served directory with private neighbours, and a client of the server."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mcp import Client

from tests.harness.project import Project, use_home
from tests.mcp.servers.calling import Caller, held_open
from tideate_core.mcp.servers.filesystem.server import filesystem_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SECRET = "nobody may see this"


class Field(Project):
    """A served directory and its surroundings."""

    def __init__(self, around: Path) -> None:
        super().__init__(around / "ws")
        self.outside = around / "outside"
        self.root.mkdir()
        for place in (self.outside, around / "ws-evil"):
            place.mkdir()
            (place / "private.txt").write_text(SECRET)

    def link(self, name: str, target: str | Path) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def all(self) -> dict[str, str]:
        """Return all paths below the root, directories included, except private ones."""
        found = {}
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root)
            if ".tideate" not in name.parts:
                found[str(name)] = "" if path.is_dir() else path.read_bytes().decode("latin-1")
        return found

    def unharmed(self) -> None:
        """Assert that nothing around the root has changed."""
        around = {
            str(path.relative_to(self.root.parent)): path.read_text()
            for folder in (self.outside, self.root.parent / "ws-evil")
            for path in folder.rglob("*")
        }
        assert around == {"outside/private.txt": SECRET, "ws-evil/private.txt": SECRET}

    @asynccontextmanager
    async def client(self) -> AsyncIterator[Caller]:
        async with Client(filesystem_server(self.root)) as client:
            yield Caller(client)


@pytest.fixture
def field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Field:
    use_home(tmp_path, monkeypatch)
    around = Path(os.path.realpath(tmp_path)) / "place"
    around.mkdir()
    return Field(around)


@pytest.fixture
async def call(field: Field) -> AsyncIterator[Caller]:
    """Call the tools of the server."""
    async with held_open(field.client()) as caller:
        yield caller
