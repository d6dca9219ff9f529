"""`tideate mcp tools`, and the MCP servers in `tideate doctor`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.mcp.client.conftest import BARE
from tideate_core.config import OWN_SERVERS

if TYPE_CHECKING:
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


def configured(shell: Shell, name: str = "bare", program: str = sys.executable) -> str:
    return f"[mcp.servers.{name}]\ncommand = {json.dumps([program, str(BARE), str(shell.project)])}\n"


def test_the_tools_of_a_configured_server_are_listed(shell: Shell) -> None:
    shell.configure(configured(shell))
    ended = shell.ok("mcp", "tools", "bare", "--json")
    tools = {tool["name"]: tool for tool in json.loads(ended.stdout)["tools"]}
    assert tools["echo"]["read_only"] is True
    assert tools["echo"]["allowed"] is False
    assert tools["echo"]["input_schema"]["required"] == ["text"]
    shown = shell.run("mcp", "tools", "bare").stdout
    assert "text, [times]" in shown
    assert "It is echo." in shown


def test_strict_names_the_field_that_is_not_of_the_protocol(shell: Shell) -> None:
    shell.configure(configured(shell))
    (shell.project / "odd").touch()
    shell.ok("mcp", "tools", "bare")
    for words in (("tools", "bare", "--strict"), ("call", "bare", "echo", "text=x", "--yes", "--strict")):
        shell.fails(1, "result.tools.0.annotations.readOnlyHint", "mcp", *words)
    shell.configure(f"{configured(shell)}[mcp]\nstrict = true\n")
    assert "readOnlyHint" in shell.run("mcp", "tools", "bare").stderr


def test_without_a_name_the_servers_are_listed_and_none_is_started(shell: Shell) -> None:
    shell.configure(configured(shell))
    shell.write(".tideate/config.toml", configured(shell, "theirs"))
    ended = shell.ok("mcp", "tools", "--json")
    shape = json.loads(ended.stdout)
    assert {one["name"] for one in shape["servers"]} == {"bare", *OWN_SERVERS}
    assert shape["untrusted"] == ["theirs"]
    assert "not trusted; `tideate trust`" in shell.run("mcp", "tools").stdout
    assert not (shell.project / "starts").exists()


def test_what_is_wrong_with_a_server_is_said(shell: Shell) -> None:
    shell.configure(configured(shell))
    for name, status, words in (
        ("bear", 2, "did you mean 'bare'?"),
        ("ftp://x", 2, "no MCP server is called 'ftp://x'"),
        ("http://127.0.0.1:9/mcp", 1, "MCP server 'http://127.0.0.1:9/mcp'"),
        ("http://a b/", 2, "cannot be used"),
    ):
        ended = shell.fails(status, words, "mcp", "tools", name)
        assert "Traceback" not in ended.stderr
    (shell.project / "broken").touch()
    ended = shell.fails(1, "I cannot start: the folder is broken", "mcp", "tools", "bare")


def test_doctor_says_how_the_servers_stand_and_starts_none(shell: Shell) -> None:
    shell.configure(configured(shell) + configured(shell, "gone", "no-such-program"))
    shell.write(".tideate/config.toml", configured(shell, "theirs"))
    checks = {one["name"]: one for one in shell.json("doctor")["checks"]}
    assert checks["mcp server bare"]["ok"] is True
    assert "no-such-program is not installed" in checks["mcp server gone"]["message"]
    assert "`tideate trust`" in checks["mcp server theirs"]["message"]
    assert checks["mcp server git"]["message"] == "tideate's own"
    assert not (shell.project / "starts").exists()
