"""A client of the server for the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.mcp.servers.calling import held_open, serve
from tideate_core.mcp.servers.test.server import test_server as make_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.mcp.projects import Project
    from tests.mcp.servers.calling import Caller


@pytest.fixture
async def served(project: Project) -> AsyncIterator[Caller]:
    """Call the tools of the server."""
    async with held_open(serve(make_server(project.root))) as caller:
        yield caller
