"""Chats in a real Neovim: display, messages, forks, drafts and code blocks."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_command import told
from tests.harness.runs import accept_all, configure, result, start

if TYPE_CHECKING:
    from tests.editor.conftest import FakeHost
    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_server import ModelServer

HISTORY = "return require('tideate.ui.chat').of().stream.buf"
CHAT = "require('tideate.ui.chat').of()"
IDLE = f"({CHAT} and not {CHAT}.loading and not {CHAT}.running)"
SHOWN = "return #vim.fn.win_findbuf(require('tideate.ui.chat').of().stream.buf)"
TOLD = "_G.told = {} vim.notify = function(message) table.insert(_G.told, message) end"
WINDOW = f"vim.fn.win_findbuf({CHAT}.stream.buf)[1]"
TO_HISTORY = """
vim.cmd.stopinsert()
vim.api.nvim_set_current_win(vim.fn.bufwinid(vim.fn.bufnr('tideate://chat/')))
"""
FILE = "x = 1\n\n\ndef one():\n    return 1\n"


@pytest.fixture
def nvim(screen_editor: Editor, server: ModelServer) -> Editor:
    """An editor with the model server as default adapter."""
    configure(screen_editor, server)
    screen_editor.write("pyproject.toml")
    screen_editor.lua(TOLD)
    return screen_editor


def history(editor: Editor) -> list[str]:
    return [line.split("  ")[0] for line in editor.lines(int(editor.lua(HISTORY)))]


def turns(editor: Editor) -> list[str]:
    """Return the texts of the turns, without blank lines."""
    text = "\n".join(line for line in history(editor) if line)
    return [part.split("\n", 1)[-1] for part in text.removeprefix("# ").split("\n# ")]


def send(editor: Editor, text: str) -> None:
    """Type a message in the current window, send it, and wait for the answer."""
    editor.feed(f"{text}<C-s>")
    editor.wait(IDLE, 60)


def to_line(editor: Editor, text: str) -> None:
    """Put the cursor on a line of the history, in normal mode."""
    editor.lua(TO_HISTORY)
    editor.settle()
    row = next(at for at, line in enumerate(editor.lines(), 1) if text in line)
    editor.lua("vim.api.nvim_win_set_cursor(0, {..., 0})", row)


def again(
    editor: Editor, server: ModelServer, start_editor: EditorFactory, *, killed: bool = False, **adapter: Any
) -> Editor:
    """End a Neovim and start another one in its project."""
    if killed:
        for pid in [editor.process.pid, *editor.children()]:
            os.kill(pid, signal.SIGKILL)
        editor.process.wait(60)
        assert editor.brood.gone(60)
    else:
        editor.quit()
    other = start_editor(ui=(80, 24), cwd=editor.cwd, env={"XDG_STATE_HOME": str(editor.home / "state")})
    configure(other, server, **adapter)
    other.lua(TOLD)
    return other


def test_a_conversation_stays_in_one_window(nvim: Editor, server: ModelServer) -> None:
    server.answers("say one", "It is ONE.", times=1)
    server.answers("say two", "It is TWO.", times=1)
    nvim.command("Workflow chat")
    send(nvim, "say one")
    send(nvim, "say two")
    assert history(nvim) == [
        *("# You", "", "say one", "", "# fake", "", "It is ONE.", ""),
        *("# You", "", "say two", "", "# fake", "", "It is TWO."),
    ]
    roles = [message["role"] for message in server.requests[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert nvim.lines() == [""]
    assert nvim.mode() == "i"
    nvim.command("Workflow output")
    assert nvim.lua(SHOWN) == 1


@pytest.mark.slow
def test_another_neovim_shows_the_chat_and_the_unsent_message(
    nvim: Editor, server: ModelServer, start_editor: EditorFactory
) -> None:
    server.calls("what is", "read_file", {"path": "a.py"}, times=1)
    server.answers("x = 1", "It is\r\n\x1b[31m**1**.", times=1)
    server.answers("sure?", "Yes.", times=1)
    configure(nvim, server, tools=True)
    nvim.edit("a.py", FILE)
    nvim.command("Workflow chat new")
    send(nvim, "what is x?")
    shown = turns(nvim)
    assert shown == ["what is x?", "> ✓ `read_file a.py`\nIt is\n\x1b[31m**1**."]
    nvim.feed("sure?")
    other = again(nvim, server, start_editor, tools=True)
    other.command("Workflow chat")
    other.wait(IDLE, 60)
    assert turns(other) == shown
    assert other.lines() == ["sure?"]
    other.feed("<C-s>")
    other.wait(f"{IDLE} and #{CHAT}.ids == 2", 60)
    assert turns(other)[2:] == ["sure?", "Yes."]
    to_line(other, "read_file")
    other.feed("<CR>")
    assert "x = 1" in "\n".join(other.lines()), "the call opens whole"


@pytest.mark.slow
def test_an_ask_run_is_continued_as_a_chat(nvim: Editor, server: ModelServer) -> None:
    server.answers("first", "ONE", times=1)
    server.answers("second", "TWO", times=1)
    start(nvim, "ask", "first")
    first = result(nvim)["execution_id"]
    nvim.lua("require('tideate.ui.output').focus()")
    nvim.feed("gc")
    nvim.wait(IDLE, 60)
    send(nvim, "isecond")
    assert turns(nvim) == ["first", "ONE", "second", "TWO"]
    assert nvim.lua(f"return {CHAT}.ids[1]") == first
    nvim.command("Workflow export")
    nvim.wait("vim.bo.filetype == 'markdown' and vim.bo.modified", 60)
    exported = "\n".join(nvim.lines())
    assert all(text in exported for text in ("first", "ONE", "second", "TWO"))


def test_nothing_typed_is_lost_if_buffers_and_windows_are_closed(nvim: Editor, server: ModelServer) -> None:
    server.answers("say one", "ONE", times=1)
    nvim.command("Workflow chat")
    send(nvim, "say one")
    for keys in (":q<CR>", ":bd<CR>", ":bwipe!<CR>", "q", "<C-w>k:bwipe!<CR>", "<C-w>o"):
        nvim.feed("<Esc>0Dihalf a word<Esc>")
        nvim.feed(keys)
        nvim.command("Workflow chat")
        assert nvim.lines() == ["half a word"], keys
        assert turns(nvim) == ["say one", "ONE"], keys
        assert nvim.lua(SHOWN) == 1, keys
    nvim.feed("<Esc>u")
    assert turns(nvim) == ["say one", "ONE"]


def test_a_message_without_an_answer_returns_to_its_window(nvim: Editor, server: ModelServer) -> None:
    gate = server.holds("say one")
    nvim.command("Workflow chat")
    nvim.feed("say one<C-s>")
    gate.wait_started()
    nvim.feed("<C-c>")
    nvim.wait(IDLE, 60)
    assert nvim.lines() == ["say one"]
    assert "**Cancelled.**" in history(nvim)
    gate.release()
    server.forgets("say one")
    server.fails("say one", 400)
    nvim.feed("<C-s>")
    nvim.wait(f"{IDLE} and #{CHAT}.ids == 2", 60)
    assert nvim.lines() == ["say one"]
    assert any(line.startswith("**Failed.**") for line in history(nvim))


def test_typing_and_scrolling_go_on_while_an_answer_streams(nvim: Editor, server: ModelServer) -> None:
    server.answers("many", "\n".join(f"line {number}" for number in range(60)), times=1)
    server.answers("more", "\n".join(f"more {number}" for number in range(60)))
    nvim.command("Workflow chat")
    send(nvim, "many")
    nvim.lua(f"vim.api.nvim_win_set_cursor({WINDOW}, {{3, 0}})")
    nvim.feed("more<C-s>and then")
    nvim.wait(IDLE, 60)
    assert nvim.lua(f"return vim.api.nvim_win_get_cursor({WINDOW})[1]") == 3
    assert nvim.lines() == ["and then"]
    assert history(nvim)[-1] == "more 59"
    assert "and then" not in history(nvim)


@pytest.mark.slow
def test_a_chat_is_forked_at_a_turn(nvim: Editor, server: ModelServer) -> None:
    for word in ("one", "two", "other"):
        server.answers(f"say {word}", f"{word.upper()}!", times=1)
    nvim.command("Workflow chat")
    send(nvim, "say one")
    send(nvim, "say two")
    to_line(nvim, "say two")
    nvim.feed("f")
    assert turns(nvim) == ["say one", "ONE!"]
    assert nvim.lines() == ["say two"], "the message can be edited"
    nvim.feed("ccsay other<C-s>")
    nvim.wait(f"{IDLE} and #{CHAT}.ids == 1", 60)
    assert turns(nvim) == ["say one", "ONE!", "say other", "OTHER!"]
    assert "TWO!" not in str(server.requests[-1])


@pytest.mark.slow
def test_edits_of_a_chat_are_reviewed(nvim: Editor, server: ModelServer) -> None:
    edits = [{"search": "x = 1", "replace": "x = 2"}]
    server.calls("make it two", "edit_file", {"path": "a.py", "edits": edits}, times=1)
    server.answers("make it two", "It is two.")
    configure(nvim, server, tools=True)
    buf = nvim.edit("a.py", FILE)
    accept_all(nvim)
    nvim.command("Workflow chat")
    send(nvim, "make it two")
    assert nvim.lua("return _G.kinds") == ["review"]
    assert nvim.lines(buf)[0] == "x = 2"
    assert turns(nvim)[1].endswith("It is two.\n---\n**Done.** Changed: `a.py`")


@pytest.mark.slow
def test_a_declined_review_keeps_the_answer_and_the_model_is_told(nvim: Editor, server: ModelServer) -> None:
    edits = [{"search": "x = 1", "replace": "x = 2"}]
    server.calls("make it two", "edit_file", {"path": "a.py", "edits": edits}, times=1)
    server.answers("make it two", "It is two.", times=1)
    server.answers("leave it", "As you like.")
    configure(nvim, server, tools=True)
    buf = nvim.edit("a.py", FILE)
    accept_all(nvim, "review")
    nvim.command("Workflow chat")
    send(nvim, "make it two")
    assert nvim.lines(buf)[0] == "x = 1"
    assert nvim.lines() == [""], "the message was answered"
    assert "It is two." in history(nvim)
    send(nvim, "leave it")
    assert "were not written" in str(server.requests[-1]["messages"][-1])
    nvim.lua(TO_HISTORY)
    nvim.feed("gg]]]]")
    assert nvim.lua("return vim.api.nvim_get_current_line()") == "# You"
    nvim.feed("[[")
    assert nvim.lua("return vim.api.nvim_get_current_line()") == "# fake"


def test_the_model_is_switched_within_a_chat(nvim: Editor, server: ModelServer) -> None:
    server.answers("say one", "ONE", times=1)
    server.answers("say two", "TWO", times=1)
    adapters = {
        name: {"base_url": server.base_url, "model": name, "tools": False} for name in ("fake", "other")
    }
    nvim.lua("require('tideate').setup(...)", {"adapter": "fake", "adapters": adapters})
    nvim.command("Workflow chat")
    send(nvim, "say one")
    nvim.command("Workflow model --workflow=chat other")
    nvim.wait("require('tideate.model_choice').adapter_for('chat') == 'other'", 60)
    send(nvim, "say two")
    assert [request["model"] for request in server.requests] == ["fake", "other"]
    assert history(nvim)[-3:] == ["# other", "", "TWO"]


def test_mentions_are_completed_and_underlined(nvim: Editor, server: ModelServer) -> None:
    nvim.edit("alpha_beta.py", FILE)
    nvim.command("Workflow chat new")
    nvim.wait("#require('tideate.project_files').search('alpbe', 5) > 0", 60)
    nvim.feed("see @file:nothing.py and @alpbe")
    nvim.wait("vim.fn.pumvisible() == 1")
    nvim.feed("<C-n><Esc>")
    assert "alpha_beta.py" in nvim.lines()[0]
    nvim.wait(
        "vim.iter(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true })):any(function(mark)"
        " return mark[3] == 4 and mark[4].hl_group == 'TideateUnresolved' end)",
        60,
    )


def test_selected_lines_go_with_the_next_message_only(nvim: Editor, server: ModelServer) -> None:
    server.answers("what", "Fine.")
    nvim.edit("a.py", FILE)
    nvim.command("4,5Workflow chat")
    nvim.wait_screen("lines 4-5 of a.py")
    send(nvim, "what is this?")
    assert "def one():" in str(server.requests[0]["messages"][-1])
    send(nvim, "what now?")
    assert "def one():" not in str(server.requests[1]["messages"][-1])


BLOCKS = """Use this:

```python a.py
def one():
    return 11
```

`sub/new.txt`:

````
```nested
inside
```
````

```sh
ls
"""


def test_code_blocks_are_copied_applied_and_saved(nvim: Editor, server: ModelServer) -> None:
    server.answers("how", BLOCKS)
    buf = nvim.edit("a.py", FILE)
    accept_all(nvim)
    nvim.command("Workflow chat")
    send(nvim, "how?")
    to_line(nvim, "return 11")
    nvim.feed("gY")
    assert nvim.lua("return vim.fn.getreg('\"')") == "def one():\n    return 11\n"
    nvim.feed("gA")
    nvim.wait("#_G.kinds == 1 and not require('tideate').is_running()", 60)
    assert nvim.lines(buf) == ["x = 1", "", "", "def one():", "    return 11"]
    assert nvim.lua(SHOWN) == 1, "the chat stays"
    nvim.lua("vim.ui.input = function(opts, done) done(opts.default) end")
    to_line(nvim, "inside")
    nvim.feed("gN")
    nvim.wait("vim.api.nvim_buf_get_name(0):match('new.txt$')", 60)
    assert (nvim.cwd / "sub/new.txt").read_text() == "```nested\ninside\n```\n"
    nvim.lua("vim.ui.select = function(items, opts, done) _G.asked = opts.prompt done('no') end")
    to_line(nvim, "inside")
    nvim.feed("gN")
    assert "exists" in nvim.wait("_G.asked")
    to_line(nvim, "ls")
    nvim.feed("gY")
    assert nvim.lua("return vim.fn.getreg('\"')") == "ls\n", "an open block ends with the answer"
    to_line(nvim, "Use this")
    nvim.feed("gY")
    assert "no code block" in told(nvim)


NAMES = {
    "```python src/a.py\nx\n```": "src/a.py",
    "```src/a.py\nx\n```": "src/a.py",
    "```py:src/a.py\nx\n```": "src/a.py",
    '```py title="src/a.py"\nx\n```': "src/a.py",
    "**`src/a.py`:**\n\n```py\nx\n```": "src/a.py",
    "### src/a.py\n```py\nx\n```": "src/a.py",
    "```py\n# src/a.py\nx\n```": "src/a.py",
    "```js\n// a.js\nx\n```": "a.js",
    "```html\n<!-- a.html -->\nx\n```": "a.html",
    "Do as in a.py, e.g.:\n```py\nx\n```": None,
    "```py\n# note\nx\n```": None,
}


@pytest.mark.slow
def test_a_code_block_that_is_left_open_ends_with_its_message(
    nvim: Editor, server: ModelServer, start_editor: EditorFactory
) -> None:
    server.answers("what", "This:\n~~~sh\n```\n")
    nvim.command("Workflow chat")
    nvim.feed("```lua<CR>x = 1<CR>what?")
    send(nvim, "")
    shown = turns(nvim)
    assert shown == ["```lua\nx = 1\nwhat?\n```", "This:\n~~~sh\n```\n~~~"]
    other = again(nvim, server, start_editor)
    other.command("Workflow chat")
    other.wait(IDLE, 60)
    assert turns(other) == shown


def test_places_are_written_in_many_ways(editor: Editor) -> None:
    editor.write("a.py", FILE)
    editor.write("my files/b.py", FILE)
    at = """vim.api.nvim_win_set_cursor(0, {1, (vim.api.nvim_get_current_line():find('[ab]%.py')) - 1})
    local place = require('tideate.ui.references').at_cursor() or {}
    return { place.path and vim.fs.basename(place.path), place.line }"""
    for text, wanted in {
        'File "a.py", line 4, in one': ["a.py", 4],
        "in `a.py`, line 4": ["a.py", 4],
        'File "my files/b.py", line 2': ["b.py", 2],
        "**a.py**": ["a.py"],
        "FAILED a.py::test_one": ["a.py"],
        "a.py:L3": ["a.py", 3],
        "a.py(5)": ["a.py", 5],
        "none/a.py:4": [],
    }.items():
        editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, {...})", text)
        assert editor.lua(at) == wanted, text


def test_blocks_name_their_files_in_many_ways(nvim: Editor) -> None:
    find = """local block = require('tideate.ui.chat.blocks').find(...)
    return { block.path or vim.NIL, block.lines[#block.lines] }"""
    for text, path in NAMES.items():
        lines = text.split("\n")
        assert nvim.lua(find, lines, len(lines) - 1) == [path, "x"], text


def test_a_block_in_a_list_is_found(nvim: Editor) -> None:
    lines = ["1. Do this:", "2. ```lua a.lua", "   local x = {", "     1 }", "   ```", "after"]
    block = nvim.lua("return require('tideate.ui.chat.blocks').find(...)", lines, 3)
    assert (block["path"], block["lines"]) == ("a.lua", ["local x = {", "  1 }"])
    assert nvim.lua("return require('tideate.ui.chat.blocks').find(...)", lines, 6) is None


def test_a_fence_in_a_block_of_markdown_does_not_end_it(nvim: Editor) -> None:
    lines = ["```markdown README.md", "# A", "```sh", "ls", "```", "end", "```", "after"]
    find = "return require('tideate.ui.chat.blocks').find(...)"
    assert nvim.lua(find, lines, 6)["lines"] == ["# A", "```sh", "ls", "```", "end"]
    assert nvim.lua(find, lines, 8) is None


def test_places_in_our_windows_are_followed(nvim: Editor, server: ModelServer) -> None:
    server.answers("where", "In `a.py:4`, a.py#L5, (sub dir)/b.py:2:3. And `sub dir/b.py:2:3`.")
    nvim.edit("a.py", FILE)
    (nvim.cwd / "sub dir").mkdir()
    (nvim.cwd / "sub dir/b.py").write_text("one\ntwo\n")
    where = "return { vim.fs.basename(vim.api.nvim_buf_get_name(0)), unpack(vim.api.nvim_win_get_cursor(0)) }"
    nvim.command("Workflow chat")
    send(nvim, "where?")
    for text, keys, wanted in (
        ("a.py:4", "gf", ["a.py", 4, 0]),
        ("a.py#L5", "gF", ["a.py", 5, 0]),
        ("`sub dir/b", "<CR>", ["b.py", 2, 2]),
    ):
        to_line(nvim, "a.py:4")
        nvim.feed(f"0/{text.replace('/', '.')}<CR>")
        nvim.feed("l" + keys)
        assert nvim.lua(where) == wanted
    to_line(nvim, "where?")
    nvim.feed("gf")
    assert "no file name under the cursor" in told(nvim)
    start(nvim, "ask", "where")
    result(nvim)
    nvim.lua("require('tideate.ui.output').focus()")
    nvim.feed("gg/a.py<CR><CR>")
    assert nvim.lua(where) == ["a.py", 4, 0], "in the output too"


def test_chats_are_completed_with_their_titles(nvim: Editor, server: ModelServer) -> None:
    server.answers("say", "ONE")
    nvim.command("Workflow chat new")
    send(nvim, "say one")
    complete = "return vim.fn.getcompletion('Workflow chat ', 'cmdline')"
    nvim.lua(complete)
    nvim.wait(f"#(function() {complete} end)() == 3", 60)
    word = f"{nvim.lua(f'return {CHAT}.ids[1]')[:8]} say one"
    assert word in nvim.lua(complete)
    nvim.feed("<Esc>q")
    nvim.command(f"Workflow chat {word}")
    assert turns(nvim) == ["say one", "ONE"]
    nvim.command("Workflow chat nonsense")
    assert "is none of these" in told(nvim)


@pytest.mark.slow
def test_a_session_shows_the_last_chat_again(
    nvim: Editor, server: ModelServer, start_editor: EditorFactory
) -> None:
    server.answers("say one", "ONE")
    nvim.command("Workflow chat")
    send(nvim, "say one")
    nvim.feed("<Esc>")
    nvim.command("set sessionoptions-=curdir")
    nvim.command("mksession s.vim")
    other = again(nvim, server, start_editor)
    other.command("source s.vim")
    other.wait("vim.fn.bufnr('^tideate://chat/') > 0", 60)
    other.lua(TO_HISTORY)
    other.wait(IDLE, 60)
    assert turns(other) == ["say one", "ONE"]
    assert len(other.lua("return vim.api.nvim_list_wins()")) == 3


def test_a_chat_is_shown_in_two_tab_pages(nvim: Editor, server: ModelServer) -> None:
    server.answers("say one", "ONE")
    nvim.command("Workflow chat")
    nvim.feed("<Esc>")
    nvim.command("tabnew")
    nvim.command("Workflow chat")
    assert nvim.lua(SHOWN) == 2
    nvim.feed("say one<Esc>:w<CR>")
    nvim.wait(f"{IDLE} and #{CHAT}.ids == 1", 60)
    nvim.command("tabclose")
    nvim.lua(TO_HISTORY)
    assert turns(nvim) == ["say one", "ONE"]
    nvim.feed("q")
    assert len(nvim.lua("return vim.api.nvim_list_wins()")) == 1


@pytest.mark.slow
def test_a_turn_of_a_killed_neovim_is_resumed_in_its_chat(
    nvim: Editor, server: ModelServer, start_editor: EditorFactory
) -> None:
    server.answers("say one", "ONE", times=1)
    gate = server.holds("say two", times=1)
    nvim.command("Workflow chat")
    send(nvim, "say one")
    nvim.feed("say two<C-s>")
    gate.wait_started()
    nvim.feed("and then<Esc>")
    other = again(nvim, server, start_editor, killed=True)
    gate.release()
    other.command("Workflow chat")
    other.wait(IDLE, 60)
    assert other.lines() == ["and then"]
    assert any("`:Workflow resume" in line for line in history(other))
    other.feed("<C-s>")
    other.wait(f"{IDLE} and #{CHAT}.turns == 4", 60)
    assert other.lines() == ["and then"], "the turn has to end first"
    server.answers("say two", "TWO")
    other.command(f"Workflow resume {other.lua(f'return {CHAT}.ids[2]')}")
    other.wait(f"{IDLE} and {CHAT}.count == 2", 60)
    assert history(other)[-1] == "TWO"
    server.answers("and then", "THREE")
    other.feed("<C-s>")
    other.wait(f"{IDLE} and {CHAT}.count == 3", 60)
    assert [text for text in turns(other) if text in ("ONE", "TWO", "THREE")] == ["ONE", "THREE"]
    assert history(other)[-1] == "THREE"


@pytest.mark.slow
def test_a_dead_host_loses_no_message(nvim: Editor, server: ModelServer) -> None:
    server.answers("say one", "ONE", times=1)
    gate = server.holds("say two", times=1)
    nvim.command("Workflow chat")
    send(nvim, "say one")
    nvim.feed("say two<C-s>")
    gate.wait_started()
    os.kill(nvim.lua("return require('tideate.host').info().pid"), signal.SIGKILL)
    nvim.wait(IDLE, 60)
    assert nvim.lines() == ["say two"]
    gate.release()
    server.answers("say two", "TWO")
    nvim.feed("<C-s>")
    nvim.wait(f"{IDLE} and {CHAT}.count == 2", 60)
    assert history(nvim)[-1] == "TWO"
    assert "ONE" in str(server.requests[-1])


def test_buffers_wiped_while_an_answer_streams_lose_nothing(nvim: Editor, server: ModelServer) -> None:
    gate = server.holds("say one", text="It is ONE.")
    nvim.command("Workflow chat")
    nvim.feed("say one<C-s>")
    gate.wait_started()
    nvim.feed("<Esc>:bwipe!<CR>")
    nvim.lua(TO_HISTORY)
    nvim.feed(":bwipe!<CR>")
    gate.release()
    nvim.wait("not require('tideate').is_running()", 60)
    nvim.command("Workflow chat")
    nvim.wait(IDLE, 60)
    assert turns(nvim) == ["say one", "It is ONE."]
    assert "Error" not in nvim.messages()


def test_an_unsent_message_does_not_keep_neovim_from_ending(nvim: Editor) -> None:
    nvim.command("set nohidden")
    nvim.command("Workflow chat new")
    nvim.feed("half a word<Esc>q")
    nvim.command("Workflow chat new")
    assert nvim.lines() == ["half a word"]
    assert nvim.lua("return vim.bo.modified") is False
    nvim.feed("A more")
    nvim.lua("require('tideate.ui.chat').of():set_text('other')")
    nvim.feed("<Esc>")
    nvim.quit()


def test_other_windows_do_not_deform_the_message(nvim: Editor) -> None:
    height = f"return vim.api.nvim_win_get_height(vim.fn.win_findbuf({CHAT}.input)[1])"
    nvim.edit("a.py", FILE)
    nvim.command("Workflow chat new")
    nvim.feed("<Esc>")
    before = nvim.lua(height)
    for command in ("botright 8split | close", "belowright 3split a.py | close", "wincmd ="):
        nvim.command(f"silent! {command}")
        nvim.lua(f"vim.api.nvim_set_current_win(vim.fn.win_findbuf({CHAT} and {CHAT}.input or 0)[1] or 0)")
        assert nvim.lua(height) == before, command
    nvim.command("resize 9")
    nvim.feed("ione word")
    assert nvim.lua(height) >= 5, "the user's height stays while typing"


def test_a_chat_opens_on_a_small_screen(start_editor: EditorFactory) -> None:
    small = start_editor(ui=(40, 5))
    small.lua(TOLD)
    small.command("Workflow chat new")
    assert "too few lines" in told(small)
    assert len(small.lua("return vim.api.nvim_list_wins()")) == 1
    for rows in (9, 12):
        small = start_editor(ui=(40, rows))
        small.command("Workflow chat new")
        small.feed("one<CR>two<CR>three<Esc>")
        assert small.lines() == ["one", "two", "three"]
        small.feed("q")
        assert len(small.lua("return vim.api.nvim_list_wins()")) == 1


@pytest.mark.slow
def test_a_fork_and_its_origin_keep_their_own_unsent_messages(
    nvim: Editor, server: ModelServer, start_editor: EditorFactory
) -> None:
    for word in ("one", "two", "other"):
        server.answers(f"say {word}", word.upper(), times=1)
    nvim.command("Workflow chat")
    send(nvim, "say one")
    send(nvim, "say two")
    nvim.feed("of the origin<Esc>")
    origin = nvim.lua(f"return {CHAT}.tip")
    to_line(nvim, "ONE")
    nvim.feed("fi")
    send(nvim, "say other")
    nvim.feed("of the fork<Esc>")
    fork = nvim.lua(f"return {CHAT}.tip")
    nvim.command("Workflow chat new")
    nvim.feed("of a new one<Esc>")
    other = again(nvim, server, start_editor)
    for chat, message in ((origin, "of the origin"), (fork, "of the fork"), ("new", "of a new one")):
        other.command(f"Workflow chat {chat}")
        other.wait(IDLE, 60)
        assert other.lines() == [message]
        other.feed("<Esc>")


@pytest.mark.slow
def test_a_message_that_no_host_has_taken_survives_a_killed_neovim(
    server: ModelServer, start_editor: EditorFactory, fake_host: FakeHost
) -> None:
    editor = start_editor(ui=(80, 24), env=fake_host.environment("never"))
    configure(editor, server)
    editor.command("Workflow chat new")
    editor.feed("say one<C-s><Esc>")
    assert editor.lines() == [""]
    other = again(editor, server, start_editor, killed=True)
    other.command("Workflow chat new")
    assert "\n".join(other.lines()).strip() == "say one"


def test_a_long_title_is_cut_between_characters(nvim: Editor, server: ModelServer) -> None:
    server.answers("é", "ONE")
    nvim.command("Workflow chat")
    send(nvim, "a" + "é" * 60)
    assert nvim.lua(f"return {CHAT}.title") == "a" + "é" * 59
