"""MCP servers in the editor: listed and started on demand, called by steps, allowed by a person."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.editor.test_run_views import ASK
from tests.editor.test_trust import trust
from tests.harness.dialogs import answers, ask, wait_focused
from tests.harness.runs import result, start
from tests.mcp.client.conftest import BARE

if TYPE_CHECKING:
    from tests.harness.editor import Editor

pytestmark = pytest.mark.slow

FLOW = """\
description: adds
steps:
  - id: one
    tool: {server: bare, name: add, arguments: {text: "{{ prompt }}"}}
"""


@pytest.fixture
def nvim(screen_editor: Editor) -> Editor:
    """A project, with a server and a workflow of the person's own."""
    (screen_editor.cwd / ".tideate").mkdir()
    folder = screen_editor.home / "config" / "tideate" / "workflows"
    folder.mkdir(parents=True)
    (folder / "flow.yaml").write_text(FLOW)
    command = [sys.executable, str(BARE), str(screen_editor.cwd)]
    screen_editor.lua("require('tideate').setup(...)", {"mcp": {"servers": {"bare": {"command": command}}}})
    return screen_editor


def tools(editor: Editor) -> list[str]:
    """Open the list of servers; returns its lines."""
    editor.command("Workflow tools")
    editor.wait("vim.bo.filetype == 'tideate-runs'", 60)
    return editor.lines()


def test_servers_are_listed_without_being_started_and_started_by_a_key(nvim: Editor) -> None:
    nvim.write(".tideate/config.toml", '[mcp.servers.theirs]\ncommand = ["evil"]\n')
    nvim.command("Workflow tools")
    nvim.wait("vim.bo.filetype == 'tideate-runs'")
    nvim.wait_screen("not trusted: `:Workflow trust`")
    names = [line.split()[0] for line in nvim.lines()]
    assert names == ["bare", "build", "filesystem", "git", "test", "theirs"]
    assert not (nvim.cwd / "starts").exists()
    nvim.feed("<CR>")
    nvim.wait_screen("reads, asks")
    lines = nvim.lines()
    assert "connected" in lines[0]
    assert any("echo" in line and "It is echo." in line for line in lines)
    nvim.feed("q")
    nvim.wait("vim.bo.filetype ~= 'tideate-runs'")


@pytest.mark.parametrize("link", [".tideate", ".tideate/config.toml"])
def test_the_servers_of_a_linked_configuration_are_not_listed_or_started(
    screen_editor: Editor, link: str
) -> None:
    trusted = screen_editor.home / "trusted"
    (trusted / ".tideate").mkdir(parents=True)
    (trusted / ".tideate" / "config.toml").write_text('[mcp.servers.helper]\ncommand = ["./helper.sh"]\n')
    screen_editor.edit(trusted / "a.py", "A = 1\n")
    trust(screen_editor)
    assert "helper" in " ".join(tools(screen_editor))
    screen_editor.feed("q")
    helper = screen_editor.cwd / "helper.sh"
    helper.write_text("#!/bin/sh\ntouch ran\n")
    helper.chmod(0o755)
    (screen_editor.cwd / link).parent.mkdir(exist_ok=True)
    (screen_editor.cwd / link).symlink_to(trusted / link)
    screen_editor.edit("a.py", "A = 1\n")
    lines = tools(screen_editor)
    assert [line.split()[0] for line in lines] == ["build", "filesystem", "git", "test"]
    screen_editor.lua("_G.answer = nil")
    params = {"folder": str(screen_editor.cwd), "connect": ["helper"]}
    screen_editor.lua(ASK, "tools", params)
    screen_editor.wait("_G.answer")
    assert "helper" not in str(screen_editor.lua("return _G.answer.servers"))
    assert not (screen_editor.cwd / "ran").exists()


def test_a_server_that_does_not_start_says_why_in_the_list(nvim: Editor) -> None:
    (nvim.cwd / "broken").touch()
    nvim.command("Workflow tools")
    nvim.wait("vim.bo.filetype == 'tideate-runs'")
    nvim.feed("<CR>")
    nvim.wait_screen("starting")
    nvim.wait_for(lambda: "the folder is broken" in "\n".join(nvim.lines()), "the server's last words")


def test_a_step_asks_before_it_calls_a_tool_and_always_is_for_good(nvim: Editor) -> None:
    start(nvim, "flow", "first")
    wait_focused(nvim)
    nvim.wait_screen('"text": "first"')
    nvim.feed("a")
    done = result(nvim)
    assert done["results"] == {"one": "added first"}
    for name in ("SD_EVENT_MCP_CONNECTED", "SD_EVENT_TOOL_CALLED", "SD_EVENT_TOOL_COMPLETED"):
        assert name in nvim.lua("return _G.seen")
    nvim.wait_screen("✓ `bare/add ")
    start(nvim, "flow", "second")
    assert result(nvim)["results"] == {"one": "added second"}
    assert (nvim.cwd / "added").read_text() == "first\nsecond\n"
    nvim.command("Workflow show")
    nvim.wait("vim.bo.filetype == 'tideate-runs'")
    nvim.wait_for(lambda: any("✓ bare/add" in line for line in nvim.lines()), "the call in the run's page")


@pytest.mark.parametrize(
    ("key", "accepted", "value"),
    [
        ("r", True, "run"),
        ("a", True, "project"),
        ("<Esc>", False, None),
    ],
)
def test_the_keys_of_the_question(editor: Editor, key: str, accepted: bool, value: str | None) -> None:
    ask(editor, "tool", message="May it be called?", details="Arguments: 1", payload={"tool": "t"})
    wait_focused(editor)
    editor.feed(key)
    (answer,) = answers(editor)
    assert (answer["accepted"], answer.get("value")) == (accepted, value)
