"""`:Workflow trust`: files and commands used only after it."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.harness.dialogs import focused, wait_focused
from tests.harness.state import state_below

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory


def trust(editor: Editor, name: str = "") -> None:
    """Trust a file or the commands of the project; wait for the answer."""
    editor.command("messages clear")  # an earlier trust has the same message
    editor.command(f"Workflow trust {name}")
    wait_focused(editor)
    editor.feed("y")
    editor.wait_for(lambda: "trusted as it is now" in editor.messages(), "trusted")


@pytest.mark.slow
def test_the_project_of_the_buffer_is_the_one_that_is_trusted(editor: Editor) -> None:
    other = editor.home / "cloned"
    (other / ".tideate").mkdir(parents=True)
    (other / ".tideate" / "config.toml").write_text('adapter = "local"\n')
    editor.edit(other / "a.py", "A = 1\n")
    trust(editor)
    state = state_below(editor.home / "state", other)
    assert (state / "trust.json").is_file()
    assert not (editor.state / "trust.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("typed", "end"), [("y", "<Esc>"), ("iyes", "<Esc>")])
def test_what_is_typed_before_the_question_is_there_does_not_answer_it(
    small_editor: Editor, typed: str, end: str
) -> None:
    config = small_editor.cwd / ".tideate" / "config.toml"
    config.parent.mkdir()
    config.write_text('[mcp.servers.s]\ncommand = ["./s.sh"]\n')
    small_editor.feed(f":Workflow trust<CR>{typed}")
    small_editor.wait_screen("waits for you")
    assert not focused(small_editor)
    small_editor.feed(end)
    wait_focused(small_editor)
    assert not (small_editor.state / "trust.json").exists()
    small_editor.feed("y")
    small_editor.wait_for(lambda: "trusted as it is now" in small_editor.messages(), "trusted")
    assert small_editor.lines() == ["yes" if "i" in typed else ""]


def ask_trust(editor: Editor, path: str, text: str) -> None:
    """Write a file of the project's `.tideate` and ask to trust it."""
    editor.write(f".tideate/{path}", text)
    editor.command("Workflow trust")
    wait_focused(editor)


@pytest.mark.slow
def test_a_no_trusts_nothing_and_a_yes_what_was_shown(editor: Editor) -> None:
    ask_trust(editor, "prompts/ask.md", "shown")
    editor.feed("<CR>")
    editor.wait_for(lambda: editor.lua("return require('tideate.ui').pending()") == [], "closed")
    assert not (editor.state / "trust.json").exists()
    ask_trust(editor, "prompts/ask.md", "shown")
    editor.write(".tideate/prompts/ask.md", "exchanged")
    editor.feed("y")
    editor.wait_for(lambda: "trusted as it is now" in editor.messages(), "trusted")
    trusted = [path.read_text() for path in (editor.state / "trusted").iterdir()]
    assert trusted == ["shown"]


@pytest.mark.slow
def test_what_could_run_and_what_changed_is_shown(start_editor: EditorFactory) -> None:
    editor = start_editor(ui=(80, 40))
    config = editor.cwd / ".tideate" / "config.toml"
    config.parent.mkdir(parents=True)
    servers = "\n".join(f'[mcp.servers.s{n}]\ncommand = ["./s{n}.sh"]' for n in range(12))
    config.write_text(servers)
    editor.command("Workflow trust .tideate/config.toml")
    wait_focused(editor)
    editor.wait_screen("start `./s0.sh` as the MCP server 's0'")
    message = editor.lua("return require('tideate.ui').pending()[1].message")
    assert message.splitlines()[-1] == "… and 4 lines more in the details"
    editor.feed("y")
    editor.wait_for(lambda: "trusted as it is now: .tideate/config.toml" in editor.messages(), "trusted")
    editor.command("Workflow trust .tideate/config.toml")
    editor.wait_for(lambda: "everything here is trusted" in editor.messages(), "nothing is asked any more")


@pytest.mark.slow
def test_what_has_mistakes_is_named_and_not_asked_about(editor: Editor) -> None:
    config = editor.cwd / ".tideate" / "workflows" / "w.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("steps:\n  - {id: a, workflow: {name: none}}\n")
    editor.command("Workflow trust")
    editor.wait_for(lambda: "cannot be trusted while it has mistakes" in editor.messages(), "the mistake")
    assert editor.lua("return #require('tideate.ui').pending()") == 0


@pytest.mark.slow
def test_a_project_that_was_moved_is_told_of_in_the_history(editor: Editor) -> None:
    for name in ("a.py", "b.py", "c.py"):
        editor.write(name, "A = 1\n")
    (editor.cwd / ".tideate").mkdir()
    gone = editor.home / "gone"
    state = editor.home / "state" / "tideate" / "projects" / "gone-0123456789abcdef"
    state.mkdir(parents=True, mode=0o700)
    names = sorted(path.name for path in editor.cwd.iterdir() if path.name != ".tideate")
    digest = hashlib.sha256(b"\0".join(map(os.fsencode, names))).hexdigest()
    (state / "project.json").write_text(json.dumps({"path": str(gone), "files": digest, "used_at": 1}))
    for level in (state, state.parent, state.parent.parent):
        level.chmod(0o700)
    editor.command("Workflow history")
    editor.wait_for(lambda: f"tideate project move {gone}" in editor.messages().replace("\n", ""), "the hint")
