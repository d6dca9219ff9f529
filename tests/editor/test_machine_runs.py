"""Runs and drawings of machines in a real Neovim with the real host and a local model server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.dialogs import wait_focused
from tests.harness.runs import accept_all, configure, result, start

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

TEXT = """\
# Reviews a draft until it is good
* to draft: Write a short draft.

: The draft is written
draft to check: Look for what is missing.

: Something is missing
check to draft

: Nothing is missing
check to *
"""
LONG = 30.0
"""Seconds for what takes a host, a run and a model: more than enough, also on a busy machine."""
WRONG = "* to a\na too b\nb to *\n# ü \x01\n"


@pytest.fixture
def nvim(screen_editor: Editor, server: ModelServer) -> Editor:
    """An editor in a project with the machine `essay` and a model server."""
    configure(screen_editor, server)
    screen_editor.write(".tideate/workflows/essay.workflow", TEXT)
    return screen_editor


@pytest.fixture
def twice_round(server: ModelServer) -> ModelServer:
    """Script a model that returns to the draft once."""
    server.answers("Write a short draft", "the DRAFT")
    server.answers("Look for what is missing", "the CHECK")
    server.answers("Which one is next", {"reason": "no ending", "next": "draft"}, times=1)
    server.answers("Which one is next", {"reason": "all there", "next": "end"})
    return server


def machine_file(editor: Editor, name: str = "own.workflow", text: str = TEXT) -> Path:
    path = editor.cwd / name
    path.write_text(text)
    return path


def draw_machine(editor: Editor) -> str:
    """Open a machine's file and its drawing; return the drawing."""
    editor.edit(machine_file(editor))
    editor.command("Workflow graph")
    return str(editor.wait_for(lambda: "check" in graph(editor) and graph(editor), "a drawing"))


def output(editor: Editor) -> str:
    """Return the text of the only output buffer."""
    buf = editor.lua(
        """
        return vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
          local name = vim.api.nvim_buf_get_name(buf)
          return name:find('^tideate://') and not name:find('^tideate://graph')
        end)
        """
    )
    return "\n".join(editor.lines(buf))


def graph(editor: Editor) -> str:
    """Return the shown drawing, empty if there is none."""
    return str(
        editor.lua(
            """
            for _, win in ipairs(vim.api.nvim_list_wins()) do
              local buf = vim.api.nvim_win_get_buf(win)
              if vim.api.nvim_buf_get_name(buf):find('^tideate://graph') then
                return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\\n')
              end
            end
            return ''
            """
        )
    )


def marked(editor: Editor) -> str:
    """Return the text of the highlighted box."""
    return str(
        editor.lua(
            """
            local ns = vim.api.nvim_create_namespace('tideate.graph')
            for _, buf in ipairs(vim.api.nvim_list_bufs()) do
              local words = vim.tbl_map(function(mark)
                local row, from, to = mark[2], mark[3], mark[4].end_col
                return vim.api.nvim_buf_get_text(buf, row, from, row, to, {})[1]
              end, vim.api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true }))
              if #words > 0 then return table.concat(words, '\\n') end
            end
            return ''
            """
        )
    )


# -- runs ---------------------------------------------------------------------------------------------


def test_a_machine_of_the_project_runs_by_its_name_and_tells_every_move(
    nvim: Editor, twice_round: ModelServer
) -> None:
    nvim.lua(
        """
        _G.moves = {}
        vim.api.nvim_create_autocmd('User', { pattern = 'TideateTransition', callback = function(event)
          table.insert(_G.moves, event.data.to)
        end })
        """
    )
    start(nvim, "essay", "about tea")
    done = result(nvim)
    assert done["ok"], done
    moves = [(move["from"], move["to"], move["by"]) for move in done["path"]]
    assert moves == [
        ("*", "draft", "only"),
        ("draft", "check", "only"),
        ("check", "draft", "model"),
        ("draft", "check", "only"),
        ("check", "*", "model"),
    ]
    assert nvim.lua("return _G.moves") == [to for _, to, _ in moves]
    assert done["response"] == "the CHECK"
    assert sorted(done["results"]) == ["check", "check#2", "draft", "draft#2"]
    text, at = output(nvim), -1
    for mark in (
        *("# essay", "> about tea", "→ `draft`", "## draft", "the DRAFT"),
        *("→ `check` (The draft is written)", "## check", "the CHECK"),
        *("→ `draft` (Something is missing)", "> no ending", "## draft#2", "## check#2"),
        *("→ end (Nothing is missing)", "> all there"),
    ):
        at = text.find(mark, at + 1)
        assert at >= 0, f"{mark!r} is missing or out of order in\n{text}"
    nvim.command("Workflow status")
    status = "\n".join(nvim.lines())
    assert "✓ essay" in status
    assert "*" not in status, "the end has no name there"


def test_status_and_statusline_tell_the_state(nvim: Editor, server: ModelServer) -> None:
    server.answers("Write a short draft", "the DRAFT")
    gate = server.holds("Look for what is missing")
    start(nvim, "essay", "about tea")
    gate.wait_started(LONG)
    nvim.wait("require('tideate').statusline() == 'essay 2 check'")
    status = nvim.lua("return require('tideate').get_status()")
    assert (status["kind"], status["step"], status["total_steps"]) == ("machine", 2, 0)
    assert (status["current_state"], status["states"]) == ("check", ["draft", "check"])
    assert [move["to"] for move in status["path"]] == ["draft", "check"]
    nvim.command("Workflow status")
    assert "2 check" in "\n".join(nvim.lines())
    nvim.feed("q")
    nvim.command("Workflow graph")
    nvim.wait_for(lambda: " check " in marked(nvim), "the highlighted state")
    nvim.command("Workflow cancel")
    assert result(nvim)["cancelled"]
    gate.wait_disconnected()
    nvim.wait_for(lambda: marked(nvim) == "", "no highlight after the end")
    assert nvim.lua("return require('tideate').statusline()") == ""


def test_a_file_runs_by_its_path_from_the_command_line(nvim: Editor, twice_round: ModelServer) -> None:
    (nvim.cwd / "sub dir").mkdir()
    machine_file(nvim, "sub dir/own.workflow")
    nvim.command(r"Workflow sub\ dir/own.workflow about tea\ and milk")
    nvim.wait("require('tideate').get_status() == nil and #require('tideate.state').runs() == 1", LONG)
    run = nvim.lua("return require('tideate.state').runs()[1]")
    assert (run["state"], run["name"], run["prompt"]) == ("completed", "own", r"about tea\ and milk")
    assert run["asked"] == str(nvim.cwd / "sub dir" / "own.workflow")


def test_a_chosen_state_is_entered_only_after_a_yes(nvim: Editor, twice_round: ModelServer) -> None:
    start(nvim, "essay", "about tea", inputs={"confirm": "check"})
    nvim.wait_screen("check")
    wait_focused(nvim)
    assert nvim.lua("return require('tideate.ui').pending()[1].kind") == "gate"
    assert not any("Look for what is missing" in str(request) for request in twice_round.requests)
    nvim.feed("n")
    done = result(nvim)
    assert done["cancelled"]
    assert not any("Look for what is missing" in str(request) for request in twice_round.requests)


def test_obfuscated_nothing_in_the_editor_has_a_state(nvim: Editor, server: ModelServer) -> None:
    server.answers("Which one is next", lambda body: {"reason": "so", "next": "end"})
    server.answers("Its instruction", "words")
    accept_all(nvim)
    nvim.lua(
        """
        _G.heard = {}
        local dispatch = require('tideate.events').dispatch
        require('tideate.events').dispatch = function(event)
          table.insert(_G.heard, vim.json.encode(event))
          return dispatch(event)
        end
        """
    )
    start(nvim, "essay", "go", obfuscate=True)
    done = result(nvim)
    assert done["ok"], done
    assert all(move["to"] == "*" or move["to"].startswith("obf_") for move in done["path"])
    everything = output(nvim) + str(nvim.lua("return _G.heard")) + str(server.requests)
    assert "obf_" in everything
    assert "draft to check" not in everything
    assert "'draft'" not in everything
    assert "`draft`" not in everything


def test_a_file_with_mistakes_fills_the_quickfix_list(nvim: Editor) -> None:
    path = machine_file(nvim, "wrong.workflow", WRONG)
    start(nvim, str(path), "go")
    done = result(nvim)
    assert done["error_code"] == "InvalidWorkflowFile"
    assert "(and 1 more; :copen lists them)" in nvim.messages()
    items = nvim.lua(
        """
        return vim.tbl_map(function(item)
          return { vim.fn.bufname(item.bufnr), item.lnum, item.col, item.type }
        end, vim.fn.getqflist())
        """
    )
    assert [item[1:] for item in items] == [[2, 3, "E"], [4, 6, "E"]]
    assert all(item[0].endswith("wrong.workflow") for item in items)
    nvim.command("cfirst")
    assert nvim.lua("return vim.api.nvim_buf_get_name(0)") == str(path)


def test_unsaved_changes_of_the_file_are_told(nvim: Editor, twice_round: ModelServer) -> None:
    path = machine_file(nvim)
    nvim.edit(path)
    nvim.set_lines(["# changed"])
    start(nvim, str(path), "go")
    assert result(nvim)["ok"]
    assert "not saved" in nvim.messages()


# -- names --------------------------------------------------------------------------------------------


def test_what_lua_knows_of_the_planner_is_what_the_host_says(editor: Editor) -> None:
    before = editor.lua("return require('tideate.registry').get('PLANNER')")
    editor.lua(
        "require('tideate.client').request('list', {}, function(result) _G.listed = result.workflows end)"
    )
    listed = {each["name"]: each for each in editor.wait("_G.listed")}
    after = listed["PLANNER"]
    assert {key: after[key] for key in ("kind", "source", "steps")} == {
        key: before[key] for key in ("kind", "source", "steps")
    }
    assert after["description"] == before["description"]
    assert "execution" in after["states"]


def test_list_tells_the_projects_machines_and_what_is_wrong_with_others(nvim: Editor) -> None:
    nvim.write(".tideate/workflows/broken.workflow", WRONG)
    nvim.command("Workflow list")
    nvim.wait("vim.fn.search('essay', 'nw') > 0")
    shown = "\n".join(nvim.lines())
    line = next(line for line in shown.splitlines() if line.startswith(" essay"))
    assert line.split()[:3] == ["essay", "project", "machine"]
    assert "broken.workflow:2:3" in shown
    assert nvim.lua("return require('tideate.workflow_lookup').complete('')").count("essay") == 1


def test_the_workflows_are_those_of_the_buffers_project(nvim: Editor) -> None:
    other = nvim.home / "elsewhere"
    (other / ".tideate" / "workflows").mkdir(parents=True)
    (other / ".tideate" / "workflows" / "faraway.workflow").write_text(TEXT)
    nvim.command("Workflow list")
    nvim.wait("vim.bo.filetype == 'tideate-runs'")
    assert nvim.lua("return require('tideate.registry').get('essay') ~= nil")
    nvim.feed("q")
    nvim.edit(other / "a.txt", "x\n")
    nvim.command("Workflow list")
    nvim.wait("require('tideate.registry').get('faraway')")
    assert nvim.lua("return require('tideate.registry').get('essay') == nil")


# -- drawings -----------------------------------------------------------------------------------------


def test_the_drawing_follows_what_is_typed(nvim: Editor) -> None:
    draw_machine(nvim)
    nvim.command("wincmd p")
    nvim.feed("Gocheck to later<CR>later to *<CR>what is this<Esc>")
    nvim.wait_for(lambda: "later" in graph(nvim), "the new state")
    nvim.wait_screen("1 mistake")


def test_the_keys_of_the_drawing(nvim: Editor) -> None:
    draw_machine(nvim)
    drawing = graph(nvim)
    nvim.feed("m")
    nvim.wait_for(lambda: "stateDiagram" in graph(nvim), "Mermaid")
    nvim.feed("y")
    assert "stateDiagram" in nvim.lua("return vim.fn.getreg('\"')")
    nvim.feed("m")
    nvim.wait_for(lambda: graph(nvim) == drawing, "the drawing again")
    nvim.feed("q")
    assert graph(nvim) == ""
    assert nvim.lua("return vim.fn.bufname('%')").endswith("own.workflow")
    assert len(nvim.lua("return vim.api.nvim_list_wins()")) == 1


def test_a_narrower_window_gets_a_narrower_drawing(nvim: Editor) -> None:
    nvim.edit(machine_file(nvim))
    nvim.command("Workflow graph PLANNER")
    nvim.wait_for(lambda: "refine_project" in graph(nvim), "a drawing")
    nvim.command("set columns=60")
    nvim.wait_for(lambda: graph(nvim) and max(map(len, graph(nvim).splitlines())) <= 60, "a narrower one")


def test_the_highlight_moves_with_the_run(nvim: Editor, server: ModelServer) -> None:
    first = server.holds("Write a short draft", text="the DRAFT")
    second = server.holds("Look for what is missing")
    server.answers("Which one is next", {"reason": "all there", "next": "end"})
    nvim.command("Workflow graph essay")
    nvim.wait_for(lambda: "check" in graph(nvim), "a drawing")
    start(nvim, "essay", "about tea")
    first.wait_started(LONG)
    nvim.wait_for(lambda: " draft " in marked(nvim), "the highlighted state")
    first.release()
    second.wait_started(LONG)
    nvim.wait_for(lambda: " check " in marked(nvim), "the next state")
    second.release()
    result(nvim)
    nvim.wait_for(lambda: marked(nvim) == "", "no highlight after the end")
    assert "check" in graph(nvim)


def test_a_late_answer_does_not_replace_a_newer_drawing(nvim: Editor) -> None:
    draw_machine(nvim)
    nvim.lua(
        """
        -- answers come in the opposite order of the questions
        local client, request = require('tideate.client'), require('tideate.client').request
        local held
        client.request = function(method, params, callback)
          return request(method, params, function(result)
            if method ~= 'graph' then return callback(result) end
            if not held then
              held = function() callback(result) end
              return
            end
            callback(result)
            held()
            client.request, _G.both = request, true
          end)
        end
        """
    )
    nvim.feed("mm")
    nvim.wait("_G.both")
    assert "stateDiagram" not in graph(nvim)


def test_of_what_has_no_states_the_steps_are_drawn(nvim: Editor) -> None:
    nvim.command("Workflow graph refactor")
    nvim.wait_for(lambda: "← analyze" in graph(nvim), "a drawing of steps")
    nvim.feed("m")
    nvim.wait_for(lambda: "flowchart" in graph(nvim), "Mermaid")


def test_without_a_machine_one_is_asked_for(nvim: Editor) -> None:
    nvim.lua("vim.ui.input = function(opts, done) _G.asked = opts.prompt; done('essay') end")
    nvim.command("Workflow graph")
    assert "Draw which" in nvim.lua("return _G.asked")
    nvim.wait_for(lambda: "check" in graph(nvim), "a drawing")


def test_a_name_that_is_not_known_leaves_the_drawing(nvim: Editor) -> None:
    nvim.command("Workflow graph essay")
    nvim.wait_for(lambda: "check" in graph(nvim), "a drawing")
    drawing = graph(nvim)
    nvim.command("Workflow graph essey")
    nvim.wait("vim.api.nvim_exec2('messages', { output = true }).output:find('unknown workflow')")
    assert graph(nvim) == drawing


def test_a_file_that_is_not_there_is_told_with_the_nearest(nvim: Editor) -> None:
    machine_file(nvim, "own.workflow")
    attempt = "local _, err = pcall(vim.cmd, ...) return err"
    near = nvim.lua(attempt, "Workflow graph onw.workflow")
    assert "no such file: onw.workflow; did you mean 'own.workflow'?" in near
    assert "no such file: no name.workflow" in nvim.lua(attempt, r"Workflow graph no\ name.workflow")
    assert graph(nvim) == ""


def test_typed_text_never_gets_into_the_drawing(nvim: Editor) -> None:
    nvim.edit(machine_file(nvim))
    nvim.command("Workflow graph")
    assert graph(nvim) == ""
    nvim.feed("ohello<Esc>")
    nvim.wait_for(lambda: "check" in graph(nvim), "a drawing")
    assert "hello" not in graph(nvim)
    buf = nvim.lua("return vim.fn.bufnr('own.workflow')")
    assert any("hello" in line for line in nvim.lines(buf))
    modifiable = "return vim.bo[vim.fn.bufnr('^tideate://graph')].modifiable"
    assert nvim.lua(modifiable) is False


def test_the_focus_goes_back_to_a_normal_window(nvim: Editor, twice_round: ModelServer) -> None:
    nvim.edit("a.txt", "one\n")
    home = nvim.lua("return vim.api.nvim_get_current_win()")
    start(nvim, "essay", "about tea")
    result(nvim)
    nvim.lua("require('tideate.ui.output').focus()")
    nvim.command("Workflow graph essay")
    nvim.wait("vim.api.nvim_buf_get_name(0):find('^tideate://graph')")
    nvim.feed("q")
    assert nvim.lua("return vim.api.nvim_get_current_win()") == home


def test_a_state_is_shown_whole(nvim: Editor) -> None:
    nvim.edit(machine_file(nvim))
    nvim.command("Workflow graph PLANNER")
    nvim.wait("vim.api.nvim_buf_get_name(0):find('^tideate://graph')")
    nvim.command("call search('│ initial_loaded')")
    nvim.feed("jwwK")
    shown = nvim.wait("vim.api.nvim_win_get_config(0).relative ~= '' and vim.fn.getline(1, '$')")
    text = " ".join(" ".join(shown).split())
    assert "→ define_project There is no plan yet, or the request" in text
    assert "…" not in text
    nvim.feed("q")
    assert nvim.lua("return vim.api.nvim_buf_get_name(0):find('^tideate://graph') ~= nil")


def test_a_drawing_takes_the_whole_width_of_a_middling_screen(start_editor: EditorFactory) -> None:
    editor = start_editor(ui=(120, 40))
    machine_file(editor)
    editor.command("Workflow graph own.workflow")
    editor.wait_for(lambda: "check" in graph(editor), "a drawing")
    assert editor.lua("return vim.api.nvim_win_get_width(0)") == 120


def test_machines_of_the_directories_complete_before_the_host_is_there(nvim: Editor) -> None:
    own = nvim.home / "config" / "tideate" / "workflows"
    own.mkdir(parents=True)
    (own / "mine.workflow").write_text(TEXT)
    nvim.lua("vim.env.XDG_CONFIG_HOME = ...", str(nvim.home / "config"))
    complete = "return require('tideate.command').complete('{0}', 'Workflow {0}', {1})"
    assert nvim.lua(complete.format("ess", 12)) == ["essay"]
    assert nvim.lua(complete.format("min", 12)) == ["mine"]
    assert "PLANNER" in nvim.lua(complete.format("PLA", 12))
    assert nvim.lua("return require('tideate.host').state()") == "stopped"
    nvim.write(".tideate/workflows/essential.workflow", TEXT)
    assert nvim.lua(complete.format("ess", 12)) == ["essay", "essential"]
    assert nvim.lua("return require('tideate.workflow_lookup').complete('ess')")[:1] == ["PLANNER"]


def test_the_list_is_filled_when_the_host_is_ready(nvim: Editor) -> None:
    nvim.lua("require('tideate.client').request('health', {}, function() end)")
    nvim.wait("require('tideate.registry').get('essay')")
