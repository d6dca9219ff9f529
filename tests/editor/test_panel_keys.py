"""Panel of runs: keys with actions on a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.editor.test_run_views import answered_by_host
from tests.editor.test_trust import trust
from tests.harness.dialogs import say_yes, wait_focused
from tests.harness.panel import (
    FOCUSED,
    PANEL,
    ask_with_a_call,
    go_to,
    open_panel,
    wait_line,
)
from tests.harness.runs import accept_all, configure, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import Gate, ModelServer

pytestmark = pytest.mark.slow

MODEL = "model (empty: the same)"
SAY = "say to the model before that turn"


@pytest.fixture
def held(pair: Editor, server: ModelServer) -> tuple[Editor, Gate, str]:
    """A run of two steps, the first waiting for its model, with the panel's cursor on the run."""
    gate = server.holds("say one", text="FIRST", times=1)
    server.answers("say two", "SECOND")
    identity = start(pair, "pair", "go")
    gate.wait_started()
    open_panel(pair)
    go_to(pair, "● one")
    return pair, gate, identity


def test_the_help_fits_on_24_rows(screen: Editor) -> None:
    screen.feed("?")
    lines = screen.wait_screen("this help")
    assert any("<CR>  " in line for line in lines), "its first line is visible, too"


def test_c_cancels_the_run_of_the_line(held: tuple[Editor, Gate, str]) -> None:
    editor, gate, _ = held
    editor.feed("c")
    assert "Cancel pair" in say_yes(editor)
    assert result(editor)["cancelled"] is True
    gate.wait_disconnected()
    wait_line(editor, "⊘ pair  cancelled")
    wait_line(editor, "⊘ one")


def test_p_pauses_and_resumes_the_run_of_the_line(held: tuple[Editor, Gate, str]) -> None:
    editor, gate, _ = held
    editor.feed("p")
    wait_line(editor, "‖ pair  pausing")
    answered_by_host(editor)
    gate.release()
    wait_line(editor, "‖ pair  paused")
    editor.feed("p")
    assert result(editor)["response"] == "SECOND"
    wait_line(editor, "✓ pair")


def test_s_tells_a_model_at_work_something(small_editor: Editor, server: ModelServer) -> None:
    configure(small_editor, server, tools=True)
    small_editor.write("b.py", "VALUE_OF_B = 41\n")
    server.calls("what is in b", "read_file", {"path": "b.py"}, times=1)
    gate = server.holds("VALUE_OF_B", text="It is 41.", before_first=True)
    start(small_editor, "ask", "what is in b?")
    gate.wait_started()
    open_panel(small_editor)
    go_to(small_editor, "read_file b.py")
    small_editor.feed("s")
    small_editor.wait_screen("Say:")
    small_editor.feed("be short<CR>")
    wait_line(small_editor, "you: be short")
    gate.release()
    assert result(small_editor)["ok"]
    go_to(small_editor, "ask")
    small_editor.feed("s")
    small_editor.wait_screen("no model reads it any more")


def test_o_shows_and_hides_the_output_beside_the_panel(held: tuple[Editor, Gate, str]) -> None:
    editor, gate, identity = held
    where = "require('tideate.ui.output').float()"
    config = editor.lua(f"return vim.api.nvim_win_get_config({where})")
    row = editor.lua(f"return vim.api.nvim_win_get_position(vim.fn.bufwinid({PANEL}))[1]")
    assert config["row"] + config["height"] + 2 <= row
    editor.feed("o")
    editor.wait(f"not {where}")
    editor.feed("o")
    editor.wait(where)
    assert editor.lua("return require('tideate.state').ended(...)", identity) is False
    gate.release()
    assert result(editor)["ok"]


def refactored(editor: Editor, server: ModelServer) -> str:
    """Let a run change a.py."""
    configure(editor, server)
    editor.edit("a.py", "def f():\n    return  1\n")
    server.answers("what must not change", "ANALYSIS")
    server.answers("ANALYSIS", "```python\ndef f():\n    return 1\n```")
    editor.lua("_G.confirm = require('tideate.ui').confirm")
    accept_all(editor)
    identity = start(editor, "refactor", "tidy")
    assert result(editor)["ok"]
    editor.lua("require('tideate.ui').confirm = _G.confirm")
    editor.feed("q")
    return identity


def test_r_shows_what_a_rollback_restores_and_does_it_after_a_yes(
    small_editor: Editor, server: ModelServer
) -> None:
    identity = refactored(small_editor, server)
    open_panel(small_editor)
    small_editor.lua("require('tideate.ui.output').show(..., false)", identity)  # nothing is left of the room
    go_to(small_editor, "✓ refactor .* tidy")
    for answer, text in (("n", "    return 1"), ("y", "    return  1")):
        small_editor.feed("R")
        wait_focused(small_editor)
        small_editor.wait_screen("Roll back 1 file")
        small_editor.wait_screen(" - a.py")
        small_editor.feed("d")
        small_editor.wait_screen("+    return  1")
        assert small_editor.lua("return vim.bo.syntax") == "diff"
        small_editor.feed("q")
        small_editor.wait("require('tideate.ui').pending()[1].ready")
        small_editor.feed(answer)
        if answer == "n":
            small_editor.wait(FOCUSED)
        else:
            small_editor.wait_screen("rolled back: a.py")
            wait_line(small_editor, r"↺ refactor  rolled back .* tidy")
        assert small_editor.lines(1)[1] == text
    small_editor.command("Workflow history interrupted")
    small_editor.wait_screen("no run")
    small_editor.command("Workflow history rolled-back")
    wait_line(small_editor, r"↺ refactor  rolled back .* tidy")


@pytest.fixture
def ran(pair: Editor, server: ModelServer) -> tuple[Editor, str]:
    """An editor after a completed run of two steps, and the run."""
    server.answers("say one", "FIRST")
    server.answers("say two", "SECOND")
    run = start(pair, "pair", "go")
    assert result(pair)["ok"]
    return pair, run


def test_r_runs_what_failed_anew_and_f_with_another_prompt(
    ran: tuple[Editor, str], server: ModelServer
) -> None:
    editor, first = ran
    editor.feed("q")
    asked = len(server.requests)
    open_panel(editor)
    go_to(editor, f"✓ pair .*{first[:8]}")
    editor.feed("zo")
    go_to(editor, "✓ two")
    editor.feed("r")
    assert f"Rerun pair {first[:8]} (go) from the step two?" in say_yes(editor)
    wait_line(editor, f"✓ pair .*(?!{first[:8]})[0-9a-f]{{8}}")
    newest = "(require('tideate.state').runs()[1] or {})"
    editor.wait(f"{newest}.execution_id ~= ... and {newest}.state == 'completed'", 60, first)
    assert len(server.requests) == asked + 1  # the step before it was not asked again
    second_id = editor.lua(f"return {newest}.execution_id")
    go_to(editor, f"✓ pair .*{first[:8]}")
    editor.feed("r")  # of a run that completed, nothing says from where on
    editor.wait_screen("put the cursor on the first step")
    assert editor.lua(f"return {newest}.execution_id") == second_id
    go_to(editor, "✓ one")
    editor.feed("f")
    editor.wait("vim.bo.filetype == 'tideate-fork'")
    assert editor.lines() == ["▍▍ anew from the step one on", "▍ prompt", "go", f"▍ {MODEL}", ""]
    editor.feed("ccanother<Esc>:w<CR>")
    editor.wait(f"{newest}.execution_id ~= ... and {newest}.state == 'completed'", 60, second_id)
    assert editor.lua(f"return {newest}.prompt") == "another"


def test_f_on_a_run_in_which_nothing_failed_runs_all_of_it_anew(
    ran: tuple[Editor, str], server: ModelServer
) -> None:
    editor, first = ran
    editor.feed("q")
    asked = len(server.requests)
    open_panel(editor)
    go_to(editor, f"✓ pair .*{first[:8]}")
    editor.feed("f")
    editor.wait("vim.bo.filetype == 'tideate-fork'")
    assert editor.lines() == ["▍▍ all of it anew", "▍ prompt", "go", f"▍ {MODEL}", ""]
    editor.feed(":w<CR>")
    newest = "(require('tideate.state').runs()[1] or {})"
    editor.wait(f"{newest}.execution_id ~= ... and {newest}.state == 'completed'", 60, first)
    assert len(server.requests) == 2 * asked


def test_a_form_takes_another_result_and_is_kept_where_the_fork_is_refused(ran: tuple[Editor, str]) -> None:
    editor, first = ran
    open_panel(editor)
    go_to(editor, f"✓ pair .*{first[:8]}")
    editor.feed("zo")
    go_to(editor, "✓ two")
    editor.feed("f")
    form = "vim.bo.filetype == 'tideate-fork'"
    editor.wait(form)
    lines = editor.lines()
    assert lines[-2:] == ["▍ result of one", "FIRST"]
    editor.set_lines([*lines[:-1], "OTHER", "▍▍ no heading", "", "▍ no part"])
    editor.feed(":w<CR>")
    editor.wait_screen("there is no part with this heading")
    editor.lua("vim.cmd.messages('clear')")
    editor.set_lines([*lines[:4], "nobody", *lines[5:-1], "OTHER", "▍▍ no heading", ""])
    editor.feed(":w<CR>")
    editor.wait_screen("nobody")  # such an adapter there is not: the form comes again with what was written
    editor.wait(f"{form} and vim.fn.getline(5) == 'nobody'")
    editor.set_lines([*lines[:-1], "OTHER", "▍▍ no heading", ""])
    editor.feed(":w<CR>")
    newest = "require('tideate.state').runs()[1]"
    editor.wait(f"{newest}.execution_id ~= ... and {newest}.state == 'completed'", 60, first)
    editor.lua(f"""
        local id = {newest}.execution_id
        require('tideate.stored_runs').ask('show', {{ execution_id = id }}, function(answer)
          _G.shown = answer
        end)
    """)
    editor.wait("_G.shown")
    assert editor.lua("return _G.shown.steps[1].result") == "OTHER\n▍ no heading\n"


def test_help_names_every_key(screen: Editor) -> None:
    screen.feed("?")
    shown = "\n".join(screen.wait_screen("open or close the fold"))
    keys = "return vim.tbl_map(function(key) return key.lhs[1] end, require('tideate.ui.panel').keys())"
    for key in screen.lua(keys):
        assert f" {key} " in shown
    assert "on a turn: reply to the model from there" in " ".join(shown.replace("│", " ").split())
    screen.feed("q")
    screen.wait(FOCUSED)


def test_f_on_a_turn_goes_on_with_the_conversation_from_there_and_makes_none_of_its_calls(
    small_editor: Editor, server: ModelServer
) -> None:
    first = ask_with_a_call(small_editor, server)
    server.answers("and instead", "OTHER")
    open_panel(small_editor)
    go_to(small_editor, f"✓ ask .*{first[:8]}")
    small_editor.feed("zo")
    go_to(small_editor, "✓ query")
    small_editor.feed("zo")
    go_to(small_editor, "turn 1 ")
    small_editor.feed("f")
    small_editor.wait("vim.fn.mode() == 'i'")
    small_editor.feed("and instead<C-s>")
    newest = "(require('tideate.state').runs()[1] or {})"
    small_editor.wait(f"{newest}.execution_id ~= ... and {newest}.state == 'completed'", 60, first)
    messages = server.requests[-1]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "user"]
    assert "VALUE_OF_B" not in str(messages)


def test_f_on_a_turn_that_no_run_goes_on_from_says_that_the_step_is_run_again(
    ran: tuple[Editor, str],
) -> None:
    editor, first = ran
    editor.feed("q")
    open_panel(editor)
    go_to(editor, f"✓ pair .*{first[:8]}")
    editor.feed("zo")
    go_to(editor, "✓ one")
    editor.feed("zo")
    go_to(editor, "turn 1 ")
    editor.feed("f")
    editor.wait("vim.bo.filetype == 'tideate-fork'")
    words = "▍▍ anew from the step one on, all of it: no run goes on from its turn 1"
    assert editor.lines()[0] == words


LOOKS = """
steps:
  - id: one
    task: Say what is in b.py
    tools: [read_file]
  - id: two
    task: Shorten that it is {{ steps.one.result }}
    dependencies: [one]
"""


def test_f_on_a_turn_of_an_earlier_step_takes_that_turn_again_with_what_is_said(
    small_editor: Editor, server: ModelServer
) -> None:
    small_editor.write(".tideate/workflows/looks.yaml", LOOKS)
    small_editor.write("b.py", "VALUE_OF_B = 41\n")
    configure(small_editor, server, tools=True)
    trust(small_editor, ".tideate/workflows/looks.yaml")
    server.calls("Say what is in b.py", "read_file", {"path": "b.py"}, times=1)
    server.answers("VALUE_OF_B", "It is 41.", times=1)
    server.answers("Shorten that it is", "41", times=2)
    first = start(small_editor, "looks", "go")
    done = result(small_editor)
    assert done["ok"], (done["error"], server.unmatched)
    small_editor.feed("q")
    open_panel(small_editor)
    go_to(small_editor, f"✓ looks .*{first[:8]}")
    small_editor.feed("zo")
    go_to(small_editor, "✓ one")
    small_editor.feed("zo")
    go_to(small_editor, "turn 2 ")
    small_editor.feed("f")
    small_editor.wait("vim.bo.filetype == 'tideate-fork'")
    head, say, line, model, *_ = small_editor.lines()
    assert (head, say, line) == ("▍▍ anew from turn 2 of the step one on", f"▍ {SAY}", "")
    assert model == f"▍ {MODEL}"
    asked = len(server.requests)
    server.answers("and say it in words", "It is forty-one.", times=1)
    small_editor.feed("iand say it in words<Esc>:w<CR>")
    newest = "(require('tideate.state').runs()[1] or {})"
    small_editor.wait(f"{newest}.execution_id ~= ... and {newest}.state == 'completed'", 60, first)
    again, shortened = server.requests[asked:]
    assert [one["role"] for one in again["messages"][-3:]] == ["assistant", "tool", "user"]
    assert again["messages"][-1]["content"] == "and say it in words"
    assert "forty-one" in str(shortened["messages"])
    lines = "vim.iter(vim.api.nvim_list_bufs()):map(function(b) return vim.fn.getbufline(b, 1, '$') end)"
    told = small_editor.lua(f"return {lines}:flatten(1):join('\\n')")
    assert "repeated from turn 2 of the step 'one' on" in told
    assert "Restarted" not in told


def to_turn(editor: Editor, run: str, label: str = "ask") -> None:
    """Open the panel on the first turn of a run."""
    open_panel(editor)
    go_to(editor, f"✓ {label} .*{run[:8]}")
    editor.feed("zo")
    go_to(editor, "✓ query")
    editor.feed("zo")
    go_to(editor, "turn 1 ")


def roles_of_reply(editor: Editor, server: ModelServer, last: str) -> list[str]:
    """Reply in the prompt; return the roles of the sent messages."""
    editor.wait("vim.fn.mode() == 'i'")
    editor.feed("and instead<C-s>")
    newest = "(require('tideate.state').runs()[1] or {})"
    editor.wait(f"{newest}.execution_id ~= ... and {newest}.state == 'completed'", 60, last)
    return [message["role"] for message in server.requests[-1]["messages"]]


@pytest.mark.parametrize("tools", [True, False])
def test_f_on_a_turn_goes_on_from_it_where_turns_of_an_earlier_run_took_as_many_tokens(
    small_editor: Editor, server: ModelServer, tools: bool
) -> None:
    configure(small_editor, server, tools=tools)
    server.prompt_tokens = 7
    server.answers("and instead", "OTHER")
    server.answers("what is", "SAME")
    first = start(small_editor, "ask", "what is a?")
    assert result(small_editor)["ok"]
    second_one = start(small_editor, "ask", "what is b?", continues=first)
    assert result(small_editor)["ok"]
    to_turn(small_editor, second_one)
    small_editor.feed("f")
    assert roles_of_reply(small_editor, server, second_one) == ["system", *["user", "assistant"] * 2, "user"]


@pytest.mark.parametrize("line", ["turn 1 ", "✓ query"])
def test_f_takes_no_focus_from_a_person_who_went_on_to_type(
    small_editor: Editor, server: ModelServer, line: str
) -> None:
    first = ask_with_a_call(small_editor, server)
    small_editor.feed("q")
    to_turn(small_editor, first)
    go_to(small_editor, line)
    small_editor.feed("fqihello world")
    small_editor.wait("vim.fn.execute('messages'):find('the fork of ask is ready: press f', 1, true)")
    assert small_editor.lua("return {vim.fn.mode(), vim.bo.buftype, vim.bo.filetype}") == ["i", "", ""]
    small_editor.feed("<Esc>")
    assert "hello world" in small_editor.lines()[0]


def test_a_turn_whose_tokens_were_not_kept_is_known_by_its_place(editor: Editor) -> None:
    number = editor.lua(
        """
        local none, asked = { input_tokens = 0, output_tokens = 0 }, require('tideate.stored_runs')
        asked.ask = function(_, _, take)
          local function said(turn) return { role = 'model', turn = turn, usage = none } end
          take({ said = { said(1), said(2) }, continued = true })
        end
        local turn, found = { number = 1, usage = { input_tokens = 5, output_tokens = 2 } }, nil
        local node = { run = { id = 'r' }, step = 'query', turns = 1, about = turn }
        require('tideate.ui.panel.details').number_of_turn(node, '.', function(number) found = number end)
        return found
        """
    )
    assert number == 2
