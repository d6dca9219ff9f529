"""`multi_file` in a real Neovim: open files change in buffers, others on disk, all or none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.runs import accept_all, configure, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

PLAN = {
    "files": [
        {"action": "modify", "path": "open.py", "why": "rename"},
        {"action": "modify", "path": "closed.py", "why": "rename"},
        {"action": "create", "path": "new/made.py", "why": "needed"},
        {"action": "delete", "path": "old.py", "why": "dead"},
        {"action": "move", "path": "here.py", "move_to": "new/there.py", "why": "belongs there"},
    ]
}
BEFORE = {
    "pyproject.toml": "",
    "open.py": "A = 1\n",
    "closed.py": "from open import A\n",
    "old.py": "OLD = 1\n",
    "here.py": "HERE = 1\n",
}


@pytest.fixture
def server(server: ModelServer) -> ModelServer:
    server.answers("Which files have to be", PLAN)
    server.answers("Change open.py", "```python\nB = 1\n```")
    server.answers("Change closed.py", "```python\nfrom open import B\n```")
    server.answers("Write the new file new/made.py", "```python\nMADE = 1\n```")
    return server


@pytest.fixture
def nvim(editor: Editor, server: ModelServer) -> Editor:
    configure(editor, server)
    for name, text in BEFORE.items():
        editor.write(name, text)
    editor.edit("here.py")
    editor.edit("open.py")
    return editor


def files(editor: Editor) -> dict[str, str]:
    return {
        str(path.relative_to(editor.cwd)): path.read_text()
        for path in sorted(editor.cwd.rglob("*"))
        if path.is_file() and ".tideate" not in path.parts
    }


def buffer_named(editor: Editor, name: str) -> int:
    return int(editor.lua("return vim.fn.bufnr(...)", str(editor.cwd / name)))


def test_open_files_change_in_their_buffers_and_are_saved_with_the_others(nvim: Editor) -> None:
    accept_all(nvim)
    start(nvim, "multi_file", "rename A to B")
    done = result(nvim, 40)
    assert done["ok"], done
    assert files(nvim) == {
        "pyproject.toml": "",
        "open.py": "B = 1\n",
        "closed.py": "from open import B\n",
        "new/made.py": "MADE = 1\n",
        "new/there.py": "HERE = 1\n",
    }
    opened = buffer_named(nvim, "open.py")
    assert nvim.lines(opened) == ["B = 1"]
    assert not nvim.lua("return vim.bo[...].modified", opened)
    assert buffer_named(nvim, "new/there.py") > 0
    assert sorted(done["files"]) == ["closed.py", "new/made.py", "new/there.py", "old.py", "open.py"]


def test_a_plan_is_readable_while_it_is_written(nvim: Editor, server: ModelServer) -> None:
    text = json.dumps(PLAN)
    cut = text.index('"closed.py"') + 11
    server.forgets("Which files have to be")
    gate = server.holds("Which files have to be", text=text, pieces=[text[:cut], text[cut:]])
    start(nvim, "multi_file", "rename A to B")
    found = "vim.fn.bufnr('tideate://multi_file/')"
    last = f"vim.api.nvim_buf_get_lines({found}, -2, -1, true)[1]"
    nvim.wait(f"{found} > 0 and {last}:find('`closed.py`', 1, true)")
    shown = nvim.lua("return vim.fn.bufnr('tideate://multi_file/')")
    assert nvim.lines(shown)[-3:] == ["files:", "- modify `open.py`: rename", "- modify `closed.py`"]
    gate.release()
    nvim.wait("require('tideate.ui').pending()[1]")
    assert "- move `here.py` → `new/there.py`: belongs there" in nvim.lines(shown)
    assert not [line for line in nvim.lines(shown) if '"' in line]
    nvim.lua("require('tideate').cancel()")


def test_what_a_screen_would_obey_in_a_plan_is_drawn_as_a_text(
    screen_editor: Editor, server: ModelServer
) -> None:
    configure(screen_editor, server)
    screen_editor.write("open.py", "A = 1\n")
    why = "re\x1b[2Jname\u2028- delete `all.py`"
    text = json.dumps({"files": [{"action": "modify", "path": "open.py", "why": why}]})
    assert r"\u001b" in text
    server.forgets("Which files have to be")
    gate = server.holds("Which files have to be", text=text, pieces=[text[:-3], text[-3:]])
    start(screen_editor, "multi_file", "rename A to B")
    screen = screen_editor.wait_screen("delete `all.py`")
    at = next(at for at, line in enumerate(screen) if "files:" in line)
    drawn = [line.strip("│").rstrip()[1:] for line in screen[at : at + 3]]
    assert drawn == ["files:", "- modify `open.py`: re^[[2Jname", "    - delete `all.py`"]
    screen_editor.lua("require('tideate').cancel()")
    gate.release()


def test_an_open_file_with_other_unsaved_changes_is_not_saved_and_the_end_says_so(nvim: Editor) -> None:
    opened = buffer_named(nvim, "open.py")
    nvim.lua("vim.api.nvim_buf_set_lines(..., -1, -1, true, {'# mine'})", opened)
    nvim.lua("_G.told = {} vim.notify = function(text) table.insert(_G.told, text) end")
    accept_all(nvim)
    identity = start(nvim, "multi_file", "rename A to B")
    assert result(nvim, 40)["ok"]
    assert (nvim.lines(opened), files(nvim)["open.py"]) == (["B = 1"], "A = 1\n")
    words = "1 file is changed in its buffer and not saved: open.py"
    assert [text.splitlines()[1:] for text in nvim.lua("return _G.told")] == [[words]]
    shown = nvim.lua("return vim.fn.bufnr('tideate://multi_file/')")
    nvim.wait(
        "table.concat(vim.api.nvim_buf_get_lines(..., 0, -1, true)):find('Not saved: `open.py`', 1, true)",
        20,
        shown,
    )
    nvim.lua("require('tideate').rollback(..., function(r) _G.back = r end)", identity)
    assert nvim.wait("_G.back")["ok"]
    assert (nvim.lines(opened), files(nvim)) == (["A = 1", "# mine"], BEFORE)


def test_a_rollback_takes_all_of_it_back(nvim: Editor) -> None:
    accept_all(nvim)
    identity = start(nvim, "multi_file", "rename A to B")
    assert result(nvim, 40)["ok"]
    nvim.lua("require('tideate').rollback(..., function(r) _G.back = r end)", identity)
    back: dict[str, Any] = nvim.wait("_G.back")
    assert back["ok"], back
    assert files(nvim) == BEFORE
    assert nvim.lines(buffer_named(nvim, "open.py")) == ["A = 1"]


def test_typing_where_one_edit_goes_stops_all_of_them(nvim: Editor, server: ModelServer) -> None:
    # the request says that the file has been read: what is typed before would be a part of it
    gate = server.holds("Change open.py: rename", text="```python\nB = 1\n```")
    accept_all(nvim)
    start(nvim, "multi_file", "rename A to B")
    gate.wait_started()
    nvim.wait("require('tideate').get_status().step == 3")
    nvim.lua("vim.api.nvim_buf_set_lines(..., 0, 1, true, {'A = 1  # mine'})", buffer_named(nvim, "open.py"))
    gate.release()
    done = result(nvim, 40)
    if done["ok"]:
        pytest.fail("the edit was written over what the person typed")
    assert done["error_code"] == "EditConflict"
    assert files(nvim) == BEFORE
    assert nvim.lines(buffer_named(nvim, "open.py")) == ["A = 1  # mine"]
