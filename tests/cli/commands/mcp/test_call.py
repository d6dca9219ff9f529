"""`tideate mcp call`: its arguments, its permission and its end."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.test_tool_steps import added
from tests.mcp.client.conftest import BARE
from tideate_core.cli.commands.mcp.call import arguments_of, object_of
from tideate_core.errors import InvalidInput
from tideate_core.mcp.client import Tool

if TYPE_CHECKING:
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


@pytest.fixture
def project(shell: Shell) -> Shell:
    command = json.dumps([sys.executable, str(BARE), str(shell.project)])
    shell.configure(f"[mcp.servers.bare]\ncommand = {command}\n")
    return shell


SCHEMA = {
    "$defs": {"Word": {"type": "string"}},
    "properties": {
        "text": {"type": "string"},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "named": {"$ref": "#/$defs/Word"},
        "count": {"type": ["integer", "null"]},
        "list": {"type": "array"},
        "open": {},
        "round": {"$ref": "#"},
    },
}


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("text=5", "5"),
        ("text=a=b", "a=b"),
        ("text=", ""),
        ("maybe=null", "null"),
        ("named=true", "true"),
        ("count=5", 5),
        ("count=many", "many"),
        ('list=["a"]', ["a"]),
        ("open=5", 5),
        ("open=word", "word"),
        ("unknown=5", 5),
        ("round=5", 5),
    ],
)
def test_a_value_is_what_the_schema_says(pair: str, value: Any) -> None:
    tool = Tool("server", "tool", input_schema=SCHEMA)
    assert arguments_of(tool, [pair], {"other": 1}) == {"other": 1, pair.partition("=")[0]: value}


@pytest.mark.parametrize("schema", [{}, {"properties": []}, {"properties": {"text": True}}, {"$defs": 5}])
def test_a_schema_that_says_nothing_leaves_the_value_to_json(schema: dict[str, Any]) -> None:
    tool = Tool("server", "tool", input_schema=schema)
    assert arguments_of(tool, ["text=5"], {}) == {"text": 5}


@pytest.mark.parametrize(
    ("pairs", "said"),
    [(["text"], "KEY=VALUE"), (["=5"], "KEY=VALUE"), (["a=1", "a=2"], "twice"), (["given=1"], "twice")],
)
def test_words_that_are_no_arguments_are_refused(pairs: list[str], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        arguments_of(Tool("server", "tool"), pairs, {"given": 0})


@pytest.mark.parametrize(("text", "said"), [("{", "not valid JSON"), ("[1]", "a JSON object")])
def test_json_that_is_no_arguments_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        object_of(text)


def test_what_our_own_servers_only_read_is_called_at_once(shell: Shell) -> None:
    shell.write("a.txt", "hello\n")
    ended = shell.run("mcp", "call", "filesystem", "read_text_file", "path=a.txt")
    assert (ended.returncode, ended.stdout) == (0, "hello\n"), ended.stderr
    shape = shell.json("mcp", "call", "filesystem", "read_text_file", "path=a.txt")
    assert (shape["ok"], shape["server"], shape["tool"]) == (True, "filesystem", "read_text_file")
    assert "hello" in json.dumps(shape["result"])


def test_without_a_terminal_what_needs_permission_is_called_only_with_yes(project: Shell) -> None:
    ended = project.fails(3, "--yes allows this call", "mcp", "call", "bare", "add", "text=one")
    declined = project.run("mcp", "call", "bare", "add", "text=one", "--no", "--json")
    assert (declined.returncode, json.loads(declined.stdout)["error_code"]) == (3, "Declined")
    assert added(project) == []
    ended = project.run("mcp", "call", "bare", "add", "--yes", "--arguments", "-", stdin='{"text": "two"}')
    assert (ended.returncode, ended.stdout) == (0, "added two\n"), ended.stderr
    assert added(project) == ["two"]


def test_a_person_allows_a_call_or_the_tool_for_ever(project: Shell) -> None:
    def call(key: str) -> int:
        terminal = project.open("mcp", "call", "bare", "add", "text=one")
        terminal.wait_for("[y/N/a]")
        assert "It is add." in terminal.text
        terminal.type(f"{key}\n")
        return terminal.wait_exit()

    assert call("n") == 3
    assert added(project) == []
    assert call("y") == 0
    assert call("a") == 0
    project.ok("mcp", "call", "bare", "add", "text=two")
    assert added(project) == ["one", "one", "two"]


def test_a_write_of_the_filesystem_server_can_be_rolled_back(shell: Shell) -> None:
    call = ("mcp", "call", "filesystem", "write_file", "path=a.txt", "content=new", "--yes", "--json")
    ended = shell.ok(*call)
    (listed,) = shell.json("rollback")["runs"]
    assert (listed["by"], listed["files"]) == ("filesystem server", ["a.txt"])
    assert abs(listed["started_at"] / 1000 - (shell.project / "a.txt").stat().st_mtime) < 60
    run = json.loads(ended.stdout)["result"]["rollback"]
    assert f"{run[:8]}  filesystem server" in shell.run("rollback").stdout
    shell.ok("rollback", "--yes", run)
    assert not (shell.project / "a.txt").exists()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["bear", "add"], 2, "did you mean 'bare'?"),
        (["bare", "ad"], 2, "did you mean 'add'?"),
        (["bare", "add", "test=x"], 2, "'text'"),
        (["bare", "fail", "why=because", "--yes"], 1, "because"),
        (["bare", "work", "seconds=60", "--yes", "--timeout", "0.3"], 1, "within 0.3 s"),
        (["bare", "die", "--yes"], 1, "something is wrong with me"),
    ],
)
def test_what_is_wrong_is_said(project: Shell, words: list[str], status: int, said: str) -> None:
    ended = project.fails(status, said, "mcp", "call", *words)
    assert "Traceback" not in ended.stderr


def test_ctrl_c_cancels_the_call_and_shows_how_far_it_was(project: Shell) -> None:
    terminal = project.open("mcp", "call", "bare", "work", "--yes")
    terminal.wait_for("bare/work 1/2 halfway")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.wait_exit() == 130
    assert "the call was cancelled" in terminal.text
    assert "done" not in project.read("works")
    with pytest.raises(ProcessLookupError):
        os.kill(int(project.read("starts")), 0)
