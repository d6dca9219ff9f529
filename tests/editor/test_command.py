"""`:Workflow`: runs, completion, questions, messages."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from tests.harness.dialogs import say_yes
from tideate_core.builtin.registration import register_builtin
from tideate_core.workflows import WorkflowDefinition, WorkflowRegistry
from tideate_core.workflows.definitions import RESERVED_NAMES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.editor.conftest import FakeHost
    from tests.harness.editor import Editor, EditorFactory

WORKFLOWS = {"ask", "summarize", "refactor", "generate", "multi_file"}
RUNNING = "vim.fn.getline(vim.fn.search('running', 'nw'))"
HOLD = "require('tideate').run('hold', {}, function(result) _G.result = result end)"
MOVES = "local to = ... require('tideate.client').request('list', {}, function() vim.cmd(to) end)"


def complete(editor: Editor, line: str) -> list[str]:
    return list(editor.lua("return vim.fn.getcompletion(..., 'cmdline')", line))


def sent(editor: Editor, fake_host: FakeHost) -> dict[str, Any]:
    """Return the parameters of the only requested run."""
    (request,) = editor.wait_for(lambda: fake_host.heard("run"), "a run")
    return dict(request["params"])


def hold(editor: Editor) -> str:
    """Start a run that continues until cancelled; return its id."""
    execution_id = str(editor.lua(f"return {HOLD}"))
    editor.wait("(require('tideate').get_status() or {}).step == 2")
    return execution_id


def listen(editor: Editor) -> None:
    """Record notifications at full length."""
    editor.lua("_G.told = {} vim.notify = function(message) table.insert(_G.told, message) end")


def told(editor: Editor) -> str:
    return "\n".join(editor.lua("return _G.told"))


# -- loading --------------------------------------------------------------------------------------


def test_starting_neovim_loads_no_module(editor: Editor) -> None:
    loaded = editor.lua(
        "return vim.tbl_filter(function(n) return n:find('^tideate') end, vim.tbl_keys(package.loaded))"
    )
    assert loaded == []
    editor.command("runtime plugin/tideate.lua")
    assert editor.lua("return vim.fn.exists(':Workflow')") == 2, "it can be sourced again"


def test_no_global_is_set_and_nothing_deprecated_is_used(faked: Editor) -> None:
    look = "return vim.tbl_keys(_G)"
    faked.lua("_G.deprecated = {} vim.deprecate = function(name) table.insert(_G.deprecated, name) end")
    # Neovim's own highlighting of a window leaves a `_`
    before = set(faked.lua(look)) | {"_"}
    faked.lua("vim.cmd.Workflow({ args = { 'ask', 'why' } })")
    faked.wait("require('tideate.state').runs()[1].state == 'completed'")
    for subcommand in ("status", "list", "cancel", "log", "output", "health"):
        faked.lua("vim.cmd.Workflow({ args = { ... } })", subcommand)
    assert set(faked.lua(look)) <= before
    assert faked.lua("return _G.deprecated") == []


# -- starting -------------------------------------------------------------------------------------


def test_the_rest_of_the_line_is_the_prompt(faked: Editor, fake_host: FakeHost) -> None:
    faked.command(r"Workflow ask what  is 'a|b' \n?")
    params = sent(faked, fake_host)
    assert params["name"] == "ask"
    assert params["prompt"] == r"what  is 'a|b' \n?"
    assert len(params["execution_id"]) == 32


def test_a_range_and_a_visual_selection_are_the_selection(faked: Editor, fake_host: FakeHost) -> None:
    faked.set_lines(["1", "2", "3", "4"])
    lines = {"": None, "2": (2, 2), "2,3": (2, 3), "%": (1, 4), "0": (1, 1)}
    for typed in lines:
        faked.command(f"{typed}Workflow ask q")
    faked.feed("2GVj:Workflow refactor go<CR>")
    faked.command("xmap gs <Plug>(tideate-summarize)")
    faked.feed("2GVjgs")
    faked.wait_for(lambda: len(fake_host.heard("run")) == 7, "all runs")
    runs = [one["params"] for one in fake_host.heard("run")]
    assert [one["name"] for one in runs] == ["ask"] * 5 + ["refactor", "summarize"]
    selections = [one["context"].get("selection") for one in runs]
    expected = [*lines.values(), (2, 3), (2, 3)]
    assert selections == [lines and {"start": lines[0], "end": lines[1]} for lines in expected]


def test_without_a_prompt_the_person_is_asked(faked: Editor, fake_host: FakeHost) -> None:
    faked.command("Workflow generate")
    title = faked.lua("return vim.api.nvim_win_get_config(0).title")
    assert title[0][0] == " generate "
    faked.feed("because<C-s>")
    params = sent(faked, fake_host)
    assert (params["name"], params["prompt"]) == ("generate", "because")


def test_what_was_selected_before_the_question_counts(faked: Editor, fake_host: FakeHost) -> None:
    faked.set_lines(["1", "2", "3"])
    faked.command("2,3Workflow refactor")
    faked.lua("vim.api.nvim_buf_set_lines(1, 0, -1, true, { 'other' })")
    faked.feed("x<C-s>")
    context = sent(faked, fake_host)["context"]
    assert context["buffer"]["text"] == "1\n2\n3"
    assert context["selection"] == {"start": 2, "end": 3}


ASK_OPENLY = """
_G.ends = {}
_G.id = require('tideate').run('ask', {}, function(result) table.insert(_G.ends, result) end)
"""


def test_a_question_that_is_not_answered_starts_nothing(faked: Editor, fake_host: FakeHost) -> None:
    for keys in ("<C-s>", "  <CR><CR><Esc><CR>"):
        faked.lua(ASK_OPENLY)
        faked.feed(keys)
        faked.wait("_G.ends[1]")
        assert faked.lua("return _G.ends[1].cancelled") is True
    assert fake_host.heard("run") == []
    assert faked.lua("return require('tideate').is_running()") is False


def test_a_run_is_cancelled_while_its_prompt_is_asked_for(faked: Editor, fake_host: FakeHost) -> None:
    for which in ("_G.id", ""):
        faked.lua(ASK_OPENLY)
        faked.feed("too ")
        assert faked.lua("return require('tideate').is_running(_G.id)") is True
        assert faked.lua(f"return require('tideate').cancel({which})") is True
        faked.wait("_G.ends[1]")
        faked.feed("late<C-s>")
        (end,) = faked.lua("return _G.ends")
        assert (end["ok"], end["cancelled"]) == (False, True)
        assert faked.lua("return require('tideate').is_running(_G.id)") is False
        assert faked.lua("return require('tideate').cancel(_G.id)") is False
    faked.lua(f"{ASK_OPENLY} require('tideate').cancel(_G.id)")
    faked.wait("_G.ends[1]")
    assert faked.lua("return _G.give == nil") is True, "nothing is asked"
    assert fake_host.heard("run") == []


def test_a_run_that_ended_before_it_was_cancelled_is_no_error(faked: Editor) -> None:
    hold(faked)
    listen(faked)
    faked.lua("""
    require('tideate.client').request = function(method, _, on_reply)
      on_reply({ ok = false, error = 'there is no run', error_code = 'RunNotFound' })
      _G.asked = method
    end
    require('tideate').cancel()""")
    assert faked.lua("return _G.asked") == "cancel"
    assert told(faked) == ""


def test_what_the_host_says_of_an_unknown_name_is_shown(faked: Editor) -> None:
    listen(faked)
    faked.command("Workflow nonsense please")
    faked.wait_for(lambda: "unknown workflow" in told(faked), "the message")


def test_all_options_of_run_reach_the_host(faked: Editor, fake_host: FakeHost) -> None:
    faked.lua("""
    require('tideate').run('ask', {
      prompt = 'p', adapter = 'mine', require_confirmation = false, inputs = { a = 1 }, options = {},
      context = {},
    })""")
    params = sent(faked, fake_host)
    assert params["adapter"] == "mine"
    assert params["require_confirmation"] is False
    assert params["inputs"] == {"a": 1}
    assert (params["options"], params["context"]) == ({}, {}), "empty ones are maps"


# -- the menu -------------------------------------------------------------------------------------


def test_the_bare_command_offers_workflows_and_starts_the_chosen_one(
    faked: Editor, fake_host: FakeHost
) -> None:
    faked.set_lines(["1", "2", "3"])
    faked.lua("""
    require('tideate.ui').menu = function(entries, choose)
      _G.offered = vim.tbl_map(function(entry) return entry.name end, entries)
      vim.cmd.enew({ bang = true })
      for _, entry in ipairs(entries) do
        if entry.name == 'summarize' then choose(entry) end
      end
    end""")
    faked.command("2,3Workflow")
    params = sent(faked, fake_host)
    assert set(faked.lua("return _G.offered")) >= WORKFLOWS | {"status"}
    assert params["name"] == "summarize"
    assert params["context"]["selection"] == {"start": 2, "end": 3}
    assert params["context"]["buffer"]["text"] == "1\n2\n3"


# -- completion -----------------------------------------------------------------------------------


def test_names_are_completed_before_a_host_has_started(faked: Editor, fake_host: FakeHost) -> None:
    found = complete(faked, "Workflow ")
    assert set(found) >= WORKFLOWS | {"cancel", "status", "rollback"}
    assert found == sorted(found)
    assert fake_host.heard() == []


def test_completion_fits_what_was_typed(editor: Editor) -> None:
    editor.feed("V<Esc>")
    for line in ("Workflow re", "'<,'>Workflow re", "2,3Workflow re", "Workf re"):
        assert complete(editor, line) == ["refactor", "resume", "retry", "review", "review_changes"]
    editor.write("flows/review.yaml")
    assert complete(editor, "Workflow ./flows/re") == [], "a file that cannot be run"
    editor.lua("table.insert(require('tideate.command').mentions, function() return { '@mine' } end)")
    assert complete(editor, "Workflow ask why @b") == ["@buffer"]
    assert complete(editor, "Workflow ask why @m") == ["@mine"]
    assert complete(editor, "Workflow ask why b") == []


def test_ids_are_completed_and_their_beginning_is_enough(faked: Editor) -> None:
    first = hold(faked)
    assert complete(faked, "Workflow cancel ") == [first[:8]]
    assert complete(faked, "Workflow cancel x") == []
    assert complete(faked, "Workflow resume ") == []
    second = str(faked.lua(f"return {HOLD}"))
    faked.command(f"Workflow cancel {first[:8]}")
    faked.wait("_G.result")
    assert faked.lua("return _G.result.execution_id") == first
    assert faked.lua("return require('tideate').is_running(...)", second) is True


# -- subcommands ----------------------------------------------------------------------------------


def test_the_subcommands_are_described_and_have_the_reserved_names(editor: Editor) -> None:
    commands = editor.lua("""
    return vim.tbl_map(function(c) return { c.name, c.help, c.args } end,
      require('tideate.command').subcommands)""")
    # names of built-in workflows are taken, too
    assert {name for name, _, _ in commands} == RESERVED_NAMES | {"chat", "land"}
    assert [name for name, help_text, _ in commands if not help_text] == []


def test_cancel_without_an_id_cancels_all(faked: Editor, fake_host: FakeHost) -> None:
    hold(faked)
    hold(faked)
    faked.command("Workflow cancel")
    assert fake_host.heard("cancel") == []
    assert "Cancel all 2 runs?" in say_yes(faked)
    faked.wait("not require('tideate').is_running()")
    (request,) = fake_host.heard("cancel")
    assert request["params"] == {}


def test_with_nothing_to_act_on_it_says_so(faked: Editor, fake_host: FakeHost) -> None:
    listen(faked)
    answers = {
        "cancel": "nothing is running",
        "cancel 123": "there is no run with the id '123'",
        "pause": "there is no running workflow",
        "log": "there is no log yet",
    }
    for command in answers:
        faked.command(f"Workflow {command}")
    said = faked.lua("return _G.told")
    assert [words for words, line in zip(answers.values(), said, strict=True) if words not in line] == []
    assert fake_host.heard() == []


def test_pause_and_resume_name_the_run(faked: Editor, fake_host: FakeHost) -> None:
    execution_id = hold(faked)
    faked.command("Workflow pause")
    faked.command(f"Workflow resume {execution_id[:6]}")
    faked.wait_for(lambda: fake_host.heard("resume"), "resume")
    assert fake_host.heard("pause")[0]["params"] == {"execution_id": execution_id}
    assert fake_host.heard("resume")[0]["params"] == {"execution_id": execution_id}


def test_status_shows_a_run_and_cuts_its_prompt_between_characters(faked: Editor) -> None:
    run = faked.lua("return require('tideate').run('hold', { prompt = ('x'):rep(7) .. ('äöü'):rep(30) })")
    faked.wait("(require('tideate').get_status() or {}).step == 2")
    faked.command("Workflow status")
    line = faked.wait(RUNNING)
    assert run[:8] in line
    assert "2/3 two" in line
    assert re.search("x{7}[äöü]+…", line)


def test_list_shows_and_learns_what_the_host_knows(faked: Editor) -> None:
    faked.command("Workflow list")
    faked.wait("require('tideate').get('team')")
    assert "team" in complete(faked, "Workflow ")
    assert faked.lua("return require('tideate').get('ask').needs_prompt") is True


def test_log_opens_the_hosts_log(faked: Editor) -> None:
    faked.command("Workflow ask why")
    faked.wait("require('tideate.state').runs()[1].state == 'completed'")
    faked.command("Workflow logs")
    assert any("started" in line for line in faked.lines())
    assert faked.lua("return vim.bo.readonly") is True


def test_health_reports_on_the_host_and_writes_nowhere_else(faked: Editor) -> None:
    for where in ("split", "edit"):
        faked.edit("a.txt", "one\n")
        faked.lua(MOVES, f"{where} a.txt")
        faked.command("Workflow health")
        assert faked.lines(faked.lua("return vim.fn.bufnr('a.txt')")) == ["one"]
        report = "\n".join(faked.lines())
        for words in ("Neovim", "the host answers", "adapter: unreachable"):
            assert words in report
    running = faked.lua("return require('tideate.host').info().python")
    assert f"interpreter: {running}" in report
    assert f"with all packages, in the environment {sys.prefix}" in report
    assert "extra keyring: installed" in report
    faked.lua("vim.env.TIDEATE_PYTHON = '/usr/bin/another-python'")
    faked.command("Workflow health")
    report = "\n".join(faked.lines())
    assert f"the running host has another interpreter: {running}" in report
    assert "the options now name /usr/bin/another-python; restart Neovim" in report
    assert f"interpreter: {running}" in report


def test_health_says_what_to_do_without_python(start_editor: EditorFactory, tmp_path: Path) -> None:
    editor = start_editor(env={"TIDEATE_PYTHON": str(tmp_path / "none")})
    editor.command("checkhealth tideate")
    assert any(":Workflow install" in line for line in editor.lines())


def test_a_subcommand_without_arguments_takes_none(editor: Editor) -> None:
    said = editor.lua("return select(2, pcall(vim.cmd, 'Workflow health --help')) or ''")
    assert "takes no argument, got '--help'" in said + editor.messages()


def test_the_built_in_workflows_are_known_by_heart(editor: Editor) -> None:
    builtin = editor.lua("return require('tideate.registry').builtin")
    by_heart = {w["name"]: w for w in builtin if w.get("kind") != "machine"}
    registry = WorkflowRegistry()
    register_builtin(registry)
    definitions = [one.definition for one in registry.list()]
    known = {one.name: one for one in definitions if isinstance(one, WorkflowDefinition)}
    for name, definition in known.items():
        assert by_heart[name]["description"] == definition.description
        assert by_heart[name]["steps"] == [step.id for step in definition.steps]
        assert bool(by_heart[name].get("needs_prompt")) is ("prompt" in definition.needs)
    assert by_heart.keys() == known.keys()
