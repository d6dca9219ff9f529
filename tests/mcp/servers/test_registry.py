"""Arguments of `tideate mcp serve NAME` are checked before it serves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.mcp.conftest import COMMAND
from tests.mcp.served import INITIALIZE
from tests.mcp.walker import at
from tideate_core.errors import InvalidInput
from tideate_core.mcp.servers.registry import SERVERS, checked_root

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.conftest import Home


def told(home: Home, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command that must not start a server."""
    return subprocess.run(
        [*COMMAND, *words],
        env=home.environment,
        cwd=home.project,
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("name", SERVERS)
def test_no_root_no_start(name: str) -> None:
    for root in (None, ""):
        with pytest.raises(InvalidInput, match=f"the server '{name}' needs --root DIR"):
            checked_root(name, root)


@pytest.mark.parametrize("name", SERVERS)
def test_the_home_directory_and_what_is_above_it_are_not_served(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "people" / "nora"
    project = home / "project"
    project.mkdir(parents=True)
    (tmp_path / "link").symlink_to(home)
    monkeypatch.setenv("HOME", str(home))
    for root in ("/", str(home), str(home.parent), "~", str(tmp_path / "link"), str(project / "..")):
        with pytest.raises(InvalidInput, match="your home directory or one above it"):
            checked_root(name, root)
    assert checked_root(name, str(project)) == project
    assert checked_root(name, str(tmp_path / "link" / "project")) == project


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["git"], "the server 'git' needs --root DIR"),
        (["filesystem", "--root", "no-such-directory"], "is not a directory"),
        (["test", "--root", "/"], "your home directory"),
        (["nonsense", "--root", "."], "nonsense"),
        (["git", "--root"], "--root"),
        (["git", "--root", "-x"], "requires an argument"),
        (["git", "--root", ".", "--transport", "carrier-pigeon"], "carrier-pigeon"),
    ],
)
def test_wrong_usage_is_told_and_nothing_is_served(home: Home, words: list[str], said: str) -> None:
    done = told(home, *words)
    assert done.returncode == 2, done
    assert said in done.stderr.replace("\n", " ")
    assert (done.stdout, "Traceback" in done.stderr) == ("", False)


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["http", "websocket"])
async def test_a_token_that_is_made_is_told_once(home: Home, transport: str) -> None:
    del home.environment["TIDEATE_MCP_TOKEN"]
    served = home.serve("git", "--transport", transport, "--port", "0")
    url = served.url()
    line = served.error_line()
    found = re.fullmatch(r"its token, for .*\$TIDEATE_MCP_TOKEN.*: (\S{32,})\n", line)
    assert found, line
    async with at(url, found[1], mode="legacy") as client:
        assert (await client.list_tools()).tools
    served.process.terminate()
    assert served.ended() == 0
    assert (served.out, served.err.count(found[1].encode())) == (b"", 1)
    logs = b"".join(path.read_bytes() for path in home.state.rglob("*") if path.is_file())
    assert found[1].encode() not in logs


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_imports_nothing_that_it_does_not_use(home: Home, name: str) -> None:
    program = f"""
import json, sys
sys.argv = ["tideate", "mcp", "serve", {name!r}, "--root", {str(home.project)!r}]
from tideate_core.cli.__main__ import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
sys.stderr.write(json.dumps(sorted(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=home.environment,
        cwd=home.project,
        input=f"{json.dumps(INITIALIZE)}\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert '"serverInfo"' in done.stdout, done.stderr
    loaded = set(re.findall(r'"([^"]+)"', done.stderr))
    unused = {
        *("cyclopts", "websockets", "jsonschema", "sqlite3", "pynvim"),
        *("blake3", "zstandard", "ast_grep_py", "jinja2", "ruamel.yaml", "pydantic_ai", "openai"),
        *("tideate_core.engine", "tideate_core.agents", "tideate_core.adapters", "tideate_core.cli.main"),
    }
    assert not unused & loaded
    others = {f"tideate_core.mcp.servers.{other}.server" for other in SERVERS if other != name}
    assert not others & loaded
