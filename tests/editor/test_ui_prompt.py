"""The prompt window: written in, kept as a draft, completed, looked at before it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.runs import configure, result, start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.editor.conftest import FakeHost
    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_server import ModelServer

from tests.harness.model_server import ModelServer as Server

FILE = "def first():\n    return 1\n\n\ndef second():\n    return 2\n"
SELECT = """
vim.ui.select = function(items, opts, give)
  _G.shown = vim.tbl_map(opts.format_item, items)
  give(items[2])
end
"""
REFUSE = """
require('tideate.client').request = function(_, _, done)
  done({ ok = false, error = 'no model' })
end
"""
SYMBOLS = """
local range = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 1 } }
local symbol = { name = 'Handler.take', kind = 6, range = range, selectionRange = range }
local function server()
  return {
    request = function(method, _, done)
      if method == 'initialize' then
        done(nil, { capabilities = { documentSymbolProvider = true } })
      elseif method == 'textDocument/documentSymbol' then
        done(nil, { symbol })
      else
        done(nil, nil)
      end
      return true, 1
    end,
    notify = function() return true end,
    is_closing = function() return false end,
    terminate = function() end,
  }
end
vim.lsp.start({ name = 'symbols', cmd = server, root_dir = vim.fn.getcwd() })
"""
NAME = "return vim.api.nvim_buf_get_name(0)"


@pytest.fixture
def screen(start_editor: EditorFactory, fake_host: FakeHost) -> Editor:
    """An editor of 80 columns and 24 rows with the fake host."""
    editor = start_editor(env=fake_host.environment(), ui=(80, 24))
    editor.edit("main.py", FILE)
    # the output takes the focus when a run begins
    editor.lua("require('tideate.ui').on_event = function() end")
    return editor


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with Server() as server:
        server.answers("", "forty-two")
        yield server


@pytest.fixture
def real(small_editor: Editor, server: ModelServer) -> Editor:
    """An editor of 80 columns and 24 rows with a real host, in a project with a file."""
    (small_editor.cwd / ".git").mkdir()
    small_editor.edit("main.py", FILE)
    configure(small_editor, server)
    return small_editor


def in_prompt(editor: Editor) -> bool:
    return str(editor.lua(NAME)).startswith("tideate://prompt/")


def sent(editor: Editor, fake_host: FakeHost) -> dict[str, Any]:
    (request,) = editor.wait_for(lambda: fake_host.heard("run"), "the run")
    params: dict[str, Any] = request["params"]
    return params


# -- open, write, send, close -------------------------------------------------------------------------


def test_a_prompt_of_several_lines_is_written_and_sent(screen: Editor, fake_host: FakeHost) -> None:
    screen.feed(":2,3Workflow refactor<CR>")
    assert in_prompt(screen)
    assert screen.mode() == "i"
    screen.feed("make it<CR>short<C-s>")
    params = sent(screen, fake_host)
    assert (params["name"], params["prompt"]) == ("refactor", "make it\nshort")
    assert params["context"]["selection"] == {"start": 2, "end": 3}
    assert not in_prompt(screen)
    assert screen.mode() == "n"
    assert "\n".join(screen.lines()) == FILE.removesuffix("\n")


def test_keys_that_are_typed_ahead_are_the_prompts(screen: Editor, fake_host: FakeHost) -> None:
    screen.nvim.input(":Workflow ask<CR>dd why?<C-s>")
    assert sent(screen, fake_host)["prompt"] == "dd why?"
    assert "\n".join(screen.lines()) == FILE.removesuffix("\n")


def test_every_key_that_sends_does(screen: Editor, fake_host: FakeHost) -> None:
    for number, keys in enumerate(("<Esc><CR>", "<Esc><C-s>", "<C-CR>", "<Esc>:w<CR>")):
        screen.feed(f":Workflow ask<CR>why {number}?")
        screen.feed(keys)
        screen.wait_for(lambda: not in_prompt(screen), "the window is gone")
    screen.wait_for(lambda: len(fake_host.heard("run")) == 4, "all are sent")
    assert [one["params"]["prompt"] for one in fake_host.heard("run")] == [f"why {n}?" for n in range(4)]


@pytest.mark.parametrize("keys", ["<Esc><Esc>", "<Esc>q", "<Esc>:q<CR>", "<Esc><C-w>c"])
def test_a_draft_is_kept_and_nothing_is_started(screen: Editor, fake_host: FakeHost, keys: str) -> None:
    screen.feed(":Workflow ask<CR>half a<CR>thought")
    screen.feed(keys)
    screen.wait_for(lambda: not in_prompt(screen), "the window is gone")
    screen.wait("not require('tideate').is_running()")
    assert screen.lua("return #vim.fn.getbufinfo({ bufmodified = 1 })") == 0, "nobody is kept from leaving"
    screen.feed(":Workflow generate<CR>")
    assert screen.lines() == [""]
    screen.feed("<Esc>q:Workflow ask<CR>")
    assert screen.lines() == ["half a", "thought"]
    screen.feed("!<C-s>")
    assert sent(screen, fake_host)["prompt"] == "half a\nthought!"
    screen.feed(":Workflow ask<CR>")
    assert screen.lines() == [""]


def test_cancelling_the_run_closes_the_window_and_keeps_the_draft(screen: Editor) -> None:
    screen.feed(":Workflow ask<CR>half a thought")
    screen.lua("require('tideate').cancel()")
    screen.wait_for(lambda: not in_prompt(screen), "the window is gone")
    screen.wait("not require('tideate').is_running()")
    assert screen.wait_for(lambda: screen.mode() == "n", "normal mode")
    screen.feed(":Workflow ask<CR>")
    assert screen.lines() == ["half a thought"]


def test_the_cursor_of_the_file_stays(screen: Editor, fake_host: FakeHost) -> None:
    screen.feed("5G7|")
    screen.feed(":Workflow ask<CR>why?<C-s>")
    sent(screen, fake_host)
    assert screen.lua("return vim.api.nvim_win_get_cursor(0)") == [5, 6]
    screen.lua("require('tideate').run('ask', {})")
    screen.feed("x")
    screen.lua("require('tideate').cancel()")
    screen.wait_for(lambda: screen.mode() == "n", "normal mode")
    assert screen.lua("return vim.api.nvim_win_get_cursor(0)") == [5, 6]


def test_from_insert_mode_one_comes_back_to_it(screen: Editor, fake_host: FakeHost) -> None:
    screen.lua("vim.keymap.set('i', '<F5>', '<Cmd>Workflow ask<CR>')")
    screen.feed("A#<F5>")
    screen.feed("why?<C-s>")
    sent(screen, fake_host)
    screen.feed("#")
    assert screen.lines()[0] == "def first():##"


def test_another_workflow_is_named_at_the_start_and_a_path_is_none(
    screen: Editor, fake_host: FakeHost
) -> None:
    screen.feed(":2,3Workflow ask<CR>/refactor make it short<C-s>")
    params = sent(screen, fake_host)
    assert (params["name"], params["prompt"]) == ("refactor", "make it short")
    assert params["context"]["selection"] == {"start": 2, "end": 3}
    screen.feed(":Workflow ask<CR>/etc/hosts, why?<C-s>")
    screen.wait_for(lambda: len(fake_host.heard("run")) == 2, "it is sent")
    params = fake_host.heard("run")[1]["params"]
    assert (params["name"], params["prompt"]) == ("ask", "/etc/hosts, why?")


def test_another_prompt_takes_the_place_of_one_that_is_open(screen: Editor, fake_host: FakeHost) -> None:
    screen.feed(":Workflow ask<CR>half a thought<Esc>:Workflow refactor<CR>")
    assert screen.lines() == [""]
    screen.feed("short<C-s>")
    params = sent(screen, fake_host)
    assert (params["name"], params["context"]["buffer"]["text"] + "\n") == ("refactor", FILE)
    assert screen.lua("return #vim.api.nvim_list_wins()") == 1
    screen.feed(":Workflow ask<CR>")
    assert screen.lines() == ["half a thought"]


def test_a_context_of_the_api_need_not_have_everything(screen: Editor, fake_host: FakeHost) -> None:
    for context in ("{}", "{ buffer = { text = 'x' } }"):
        screen.lua(f"require('tideate').run('ask', {{ context = {context} }})")
        screen.wait_screen("tokens")
        screen.feed("why?<C-s>")
        screen.wait_for(lambda: not in_prompt(screen), "it is sent")
    screen.wait_for(lambda: len(fake_host.heard("run")) == 2, "both are sent")


# -- the screen ---------------------------------------------------------------------------------------


def test_the_window_fits_a_small_screen(screen: Editor) -> None:
    screen.feed(":2,3Workflow refactor<CR>short")
    shown = screen.wait_screen("send")
    text = "\n".join(shown)
    assert " refactor " in text
    assert "lines 2-3 of main.py" in text
    assert "tokens" in text
    assert "short" in text
    screen.feed("<CR>line" * 30)
    screen.wait_screen("line")
    rows = screen.lua("local c = vim.api.nvim_win_get_config(0) return { c.row, c.height }")
    assert rows[0] >= 0
    assert sum(rows) + 2 <= 24 - 2


def test_the_border_is_that_of_winborder_unless_one_is_configured(screen: Editor) -> None:
    known = screen.lua("return vim.fn.exists('&winborder') == 1")
    if known:
        screen.command("set winborder=double")
    screen.feed(":Workflow ask<CR>")
    screen.wait_screen("╔" if known else "╭")
    screen.feed("<Esc>q")
    screen.lua("require('tideate').setup({ ui = { border = 'single' } })")
    screen.feed(":Workflow ask<CR>")
    screen.wait_screen("┌")


def test_the_help_names_the_keys(screen: Editor) -> None:
    screen.feed(":Workflow ask<CR>why<Esc>?")
    screen.wait_screen("search the earlier prompts")
    screen.feed("q")
    assert in_prompt(screen)


# -- history ------------------------------------------------------------------------------------------


def test_earlier_prompts_come_back_and_what_is_written_is_kept(screen: Editor, fake_host: FakeHost) -> None:
    for prompt in ("one", "two"):
        screen.feed(f":Workflow ask<CR>{prompt}<C-s>")
    screen.feed(":Workflow refactor<CR>mine<C-p>")
    assert screen.lines() == ["two"]
    screen.feed("<C-p>")
    assert screen.lines() == ["one"]
    screen.feed(" more<C-p>")
    assert screen.lines() == ["one more"]
    screen.feed("<Down>")
    assert screen.lines() == ["two"]
    screen.feed("<Up>")
    assert screen.lines() == ["one more"]
    screen.feed("<C-n><C-n>")
    assert screen.lines() == ["mine"]


def test_the_arrows_move_in_a_text_of_several_lines(screen: Editor) -> None:
    screen.feed(":Workflow ask<CR>old<C-s>")
    screen.feed(":Workflow ask<CR>a<CR>b<Up>c")
    assert screen.lines() == ["ac", "b"]
    screen.feed("<Up>")
    assert screen.lines() == ["old"]


def test_earlier_prompts_are_searched(screen: Editor) -> None:
    for prompt in ("rename the parser", "why is it slow", "rename the tests"):
        screen.feed(f":Workflow ask<CR>{prompt}<C-s>")
    screen.lua(SELECT)
    screen.feed(":Workflow ask<CR>mine<Esc>gh")
    screen.feed("RENAME<CR>")
    screen.wait("_G.shown")
    assert screen.lua("return _G.shown") == ["rename the tests", "rename the parser"]
    assert screen.lines() == ["rename the parser"]
    screen.feed("gh")
    screen.feed("slow<CR>")
    assert screen.lines() == ["why is it slow"]


@pytest.mark.slow
def test_the_prompts_of_stored_runs_are_in_the_history(real: Editor, server: ModelServer) -> None:
    start(real, "ask", "why of before")
    assert result(real)["ok"]
    real.feed(":Workflow ask<CR>")
    real.wait("not require('tideate.client').busy()")
    real.feed("<C-p>")
    assert real.lines() == ["why of before"]


# -- completion ---------------------------------------------------------------------------------------


def test_tab_completes_mentions_files_symbols_and_workflows(screen: Editor) -> None:
    words = {
        "see @sel": "see @selection",
        "see mai": "see main.py",
        "what does sec": "what does second",
        "/refa": "/refactor",
    }
    for typed, word in words.items():
        screen.feed(f":Workflow ask<CR><C-u>{typed}<Tab>")
        assert screen.lines() == [word]
        screen.feed("<Esc>q")


def test_with_the_menu_open_the_keys_of_history_walk_it(screen: Editor) -> None:
    screen.feed(":Workflow ask<CR>old<C-s>")
    screen.feed(":Workflow ask<CR>@s<Tab>")
    assert screen.lines() == ["@selection"]
    screen.feed("<C-n>")
    assert screen.lines() == ["@symbol"]
    screen.feed("<C-p>")
    assert screen.lines() == ["@selection"]


# -- what will be sent --------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_will_be_sent_is_shown_and_nothing_is_sent(real: Editor, server: ModelServer) -> None:
    real.write("AGENTS.md", "Write short lines.\n")
    real.feed(":1,2Workflow refactor<CR>make it short<Esc>K")
    shown = real.wait_screen("what is sent")
    assert any("refactor to fake" in line for line in shown)
    text = "\n".join(real.lines())
    assert "make it short" in text
    assert "def first():" in text
    assert "def second():" in text
    assert "Write short lines." in text
    real.feed("q")
    assert in_prompt(real)
    real.wait_screen("rules")
    assert server.requests == []
    assert real.lua("return require('tideate').get_status() == nil")


@pytest.mark.slow
def test_a_secret_is_asked_about_first_and_not_shown(real: Editor, server: ModelServer) -> None:
    real.write(".env", "PASSWORD=hunter2\n")
    real.feed(":Workflow ask<CR>see @file:.env<Esc>K")
    real.wait_screen("Asks first")
    text = "\n".join(real.lines())
    assert "hunter2" not in text
    assert "Give @file:.env to the model?" in text
    assert real.lua("return #require('tideate.ui').pending()") == 0
    real.feed("q")
    real.wait_screen("asks first")


@pytest.mark.slow
def test_the_line_tells_model_and_tokens_as_the_host_counts_them(real: Editor) -> None:
    real.feed(":1,2Workflow ask<CR>" + "why " * 10)
    real.wait_screen("fake · lines 1-2 of main.py · ~")

    def counted() -> int:
        line = next(line for line in real.screen() if "tokens" in line)
        return int(line.partition(" · ~")[2].split()[0])

    real.wait_for(lambda: counted() > 30, "the host's count, which has the file")


def test_the_line_names_no_model_before_the_host_has_said_which(small_editor: Editor) -> None:
    small_editor.set_lines(["one", "two"])
    small_editor.lua("require('tideate.client').request = function(method, _, done) _G[method] = done end")
    small_editor.command("Workflow refactor")
    small_editor.wait("_G.preview ~= nil")
    bar = "return vim.api.nvim_eval_statusline(vim.wo.winbar, {use_winbar = true}).str"
    assert small_editor.lua(bar).strip() == "the whole of the buffer, 2 lines · ~0 tokens"
    preview = "workflow = 'refactor', adapter = 'mine', notices = {}, asks = {}, tokens = 7"
    small_editor.lua(f"_G.preview({{ ok = true, preview = {{ {preview} }} }})")
    assert small_editor.lua(bar).strip() == "mine · the whole of the buffer, 2 lines · ~7 tokens"
    small_editor.feed("/ask why")
    assert "mine" not in small_editor.lua(bar), "another workflow may ask another model"


def test_the_line_names_the_memory_and_a_key_drops_it_before_it_is_sent(small_editor: Editor) -> None:
    """Document 4, "from Memory: cached solutions"."""
    small_editor.lua("require('tideate.ui').on_event = function() end")
    asked = "_G[method], _G.sent = done, { method = method, memory = params.memory }"
    small_editor.lua(f"require('tideate.client').request = function(method, params, done) {asked} end")
    small_editor.feed(":Workflow ask<CR>why<Esc>")
    small_editor.wait("_G.preview ~= nil")
    notices = "{ 'memory: MEMORY.md (~5 tokens)', 'memory: @run:1a2b3c4d (ask, ~9 tokens), @run:00ff (x)' }"
    preview = f"workflow = 'ask', adapter = 'mine', notices = {notices}, asks = {{}}, tokens = 7"
    small_editor.lua(f"_G.preview({{ ok = true, preview = {{ {preview} }} }})")
    bar = "return vim.api.nvim_eval_statusline(vim.wo.winbar, {use_winbar = true}).str"
    assert "· MEMORY.md · @run:1a2b3c4d · @run:00ff ·" in small_editor.lua(bar)
    small_editor.feed("gm")
    assert small_editor.lua("return _G.sent") == {"method": "preview", "memory": False}
    assert "· without memory ·" in small_editor.lua(bar)
    small_editor.feed("gmgm<CR>")
    assert small_editor.lua("return _G.sent") == {"method": "run", "memory": False}
    small_editor.feed(":Workflow ask<CR><C-u>/refactor why<Esc>gm")
    small_editor.lua("local inputs = require('tideate.inputs') inputs.has_none = function() return false end")
    gathered = "opts.on_done({ prompt = words, inputs = {} })"
    small_editor.lua(f"require('tideate.inputs').gather = function(opts, words) {gathered} end")
    small_editor.lua("_G.sent = nil")
    small_editor.feed("<CR>")
    assert small_editor.lua("return _G.sent") == {"method": "run", "memory": False}, (
        "another workflow is chosen"
    )


def test_a_preview_that_fails_says_why(small_editor: Editor) -> None:
    small_editor.feed(":Workflow refactor<CR>go<Esc>")
    small_editor.lua(REFUSE)
    small_editor.feed("K")
    small_editor.wait_screen("no model")


def test_the_symbols_of_a_language_server_are_completed(screen: Editor) -> None:
    screen.lua(SYMBOLS)
    screen.feed(":Workflow ask<CR>")
    screen.wait("require('tideate.ui.prompt.completion').candidates('Ha', false)[1]")
    screen.feed("why does Ha<Tab>")
    assert screen.lines() == ["why does Handler.take"]


def test_the_lines_that_are_asked_about_stay_in_sight(screen: Editor) -> None:
    place = "local c = vim.api.nvim_win_get_config(0) return { c.row, c.row + c.height + 2 }"
    screen.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split(('line\\n'):rep(80), '\\n'))")
    for selection, fits in (("7,9", lambda first, _: first >= 9), ("14,16", lambda _, last: last <= 13)):
        screen.command(f"normal! {selection.split(',')[0]}G")
        screen.feed(f":{selection}Workflow refactor<CR>")
        screen.wait_screen("send")
        assert fits(*screen.lua(place))
        screen.feed("<Esc>q")
        screen.wait_screen_without("send")


def test_the_words_in_the_border_stand_on_its_background(screen: Editor) -> None:
    screen.feed(":Workflow ask<CR>")
    screen.wait_screen("send")
    config = screen.lua("return vim.api.nvim_win_get_config(0)")
    groups = [chunk[1] for chunk in (*config["title"], *config["footer"])]
    assert groups
    assert all(group[0] == "TideateBorder" and len(group) == 2 for group in groups)
