"""A server at an address: reached, lost, and reached again."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING

import pytest

from tests.mcp.client.conftest import error_of
from tests.mcp.conftest import TOKEN
from tideate_core.errors import ConfigError, ServerUnavailable, ToolError
from tideate_core.mcp.client import ServerSpec, server_at

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.client.conftest import Make
    from tests.mcp.conftest import Home

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("transport", ["http", "websocket"])
async def test_a_server_at_an_address_is_called_and_its_loss_is_an_error(
    home: Home, make: Make, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    monkeypatch.setenv("THE_TOKEN", TOKEN)
    served = home.start("--transport", transport, "--port", "0")
    url = served.url()
    client = make(server_at(url, home.project, token_env="THE_TOKEN"))
    assert "transition" in {tool.name for tool in await client.tools(url)}
    first = await client.call(url, "current_guidance", {"state": "*"})
    assert "guidance" in first.value
    served.process.kill()
    served.process.wait()
    with pytest.raises(ToolError):
        await client.call(url, "current_guidance", {"state": "*"}, timeout=60)


@pytest.mark.parametrize("transport", ["http", "websocket"])
async def test_a_server_that_refuses_says_with_what(home: Home, make: Make, transport: str) -> None:
    url = home.start("--transport", transport, "--port", "0").url()
    error = await error_of(make(server_at(url, home.project)).tools(url))
    assert isinstance(error, ServerUnavailable)
    assert "401" in str(error)


async def test_an_address_where_nobody_listens_is_told(make: Make, tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound and not listening: nobody else gets it
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        error = await error_of(make(server_at(url, tmp_path)).tools(url))
    assert isinstance(error, ServerUnavailable)
    assert url in str(error)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"token_env": "TIDEATE_NO_SUCH_TOKEN"}, "$TIDEATE_NO_SUCH_TOKEN is not set"),
        ({"token_command": (sys.executable, "-c", "")}, "printed nothing"),
        ({"token_command": (sys.executable, "-c", "import sys; sys.exit(3)")}, "ended with status 3"),
        ({"token_command": (sys.executable, "-c", "print('a\\tb')")}, "no header can carry"),
    ],
)
async def test_a_token_that_cannot_be_had_is_told_and_nothing_is_sent(
    make: Make, tmp_path: Path, more: dict[str, object], words: str
) -> None:
    spec = ServerSpec("tests", tmp_path, url="http://127.0.0.1:9/mcp", **more)  # type: ignore[arg-type]
    with pytest.raises(ConfigError) as caught:
        await make(spec).tools("tests")
    assert words in str(caught.value)
