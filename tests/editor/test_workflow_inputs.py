"""Inputs that a workflow declares: given behind its name, asked for, completed, refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_command import complete, listen, told
from tests.harness.runs import configure

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

FIX = """
description: Fix a thing
inputs:
  target: {type: string, description: What is to be fixed}
  mode: {type: string, enum: [fast, slow and careful]}
  count: {type: integer}
  deep: {type: boolean, default: false}
  style: {type: string, default: plain words}
steps:
  - id: one
    task: >-
      T={{ inputs.target }} M={{ inputs.mode }} C={{ inputs.count + 1 }} D={{ inputs.deep }}
      S={{ inputs.style }} P={{ prompt }}.
"""
ANSWER = """
local answers = {...}
_G.asked = {}
local function answer(words, default, give)
  table.insert(_G.asked, { words, default or '' })
  give(table.remove(answers, 1))
end
vim.ui.input = function(opts, give) answer(opts.prompt, opts.default, give) end
vim.ui.select = function(choices, opts, give)
  answer(opts.prompt .. '|' .. table.concat(choices, '|'), nil, give)
end
"""


@pytest.fixture
def server(server: ModelServer) -> ModelServer:
    server.answers("T=", "DONE")
    return server


@pytest.fixture
def nvim(small_editor: Editor, server: ModelServer) -> Editor:
    folder = small_editor.cwd / ".tideate" / "workflows"
    folder.mkdir(parents=True)
    (folder / "fix.yaml").write_text(FIX)
    configure(small_editor, server)
    listen(small_editor)
    return small_editor


def answers(editor: Editor, *given: str) -> None:
    """Answer the questions in turn; cancel after the last answer."""
    editor.lua(ANSWER, *given)


def asked(editor: Editor) -> list[list[str]]:
    return list(editor.lua("return _G.asked"))


def sent(editor: Editor, server: ModelServer) -> str:
    """The one request that the model got."""
    editor.wait("(require('tideate.state').runs()[1] or {}).state == 'completed'", 60)
    (request,) = server.requests
    return str(request)


def idle(editor: Editor) -> None:
    editor.wait("not require('tideate.client').busy() and not require('tideate').is_running()")


def started(editor: Editor) -> Any:
    return editor.lua("return #require('tideate.state').runs()")


GIVEN = 'Workflow fix target="the \\"old\\" parser" mode=fast count=2 deep=true x=1 is wrong'


def test_inputs_before_the_prompt_are_read_as_they_are_declared(nvim: Editor, server: ModelServer) -> None:
    nvim.command(GIVEN)
    request = sent(nvim, server)
    assert 'T=the "old" parser M=fast C=3 D=true S=plain words P=x=1 is wrong.' in request


def test_missing_inputs_are_asked_for_one_by_one_until_they_fit(nvim: Editor, server: ModelServer) -> None:
    answers(nvim, "slow and careful", "many", "4")
    nvim.command("Workflow fix target=a deap=2 go on")
    request = sent(nvim, server)
    assert "T=a M=slow and careful C=5 D=false S=plain words P=deap=2 go on." in request
    assert "fix has no input 'deap'; did you mean 'deep'?" in told(nvim)
    assert asked(nvim) == [
        ["fix: mode|fast|slow and careful", ""],
        ["fix: count (a whole number): ", ""],
        ["fix: count (a whole number): ", "many"],
    ]
    assert "fix: the input 'count' must be a whole number, not a text" in told(nvim)


def test_a_value_on_the_line_that_does_not_fit_starts_and_asks_nothing(
    nvim: Editor, server: ModelServer
) -> None:
    answers(nvim)
    nvim.command("Workflow fix target=a mode=never count=x go")
    nvim.wait("_G.told[1]")
    idle(nvim)
    assert "fix: the input 'mode' must be one of 'fast', 'slow and careful', not 'never'" in told(nvim)
    assert "fix: the input 'count' must be a whole number, not a text" in told(nvim)
    assert (started(nvim), asked(nvim), server.requests) == (0, [], [])


def test_a_question_that_is_cancelled_starts_nothing_and_keeps_the_answers(
    nvim: Editor, server: ModelServer
) -> None:
    nvim.set_lines(["1", "2", "3"])
    answers(nvim)
    nvim.command("Workflow fix")
    nvim.wait("_G.told[1]")
    assert nvim.lua("return vim.fn.histnr('cmd')") in (-1, 0), "nothing was answered"
    listen(nvim)
    answers(nvim, 'the "parser"', "fast")
    nvim.command("2,3Workflow fix go on")
    nvim.wait("_G.told[1]")
    idle(nvim)
    assert "fix was not started" in told(nvim)
    assert (started(nvim), server.requests) == (0, [])
    kept = str(nvim.lua("return vim.fn.histget('cmd', -1)"))
    assert kept == '2,3Workflow fix mode=fast target="the \\"parser\\"" go on'
    answers(nvim, "1")
    nvim.command(kept)
    assert "M=fast C=2 D=false S=plain words P=go on." in sent(nvim, server)


def test_a_run_is_cancelled_while_its_inputs_are_asked_for(nvim: Editor, server: ModelServer) -> None:
    nvim.lua("vim.ui.input = function(_, give) _G.give = give end")
    nvim.command("Workflow fix go")
    nvim.wait("_G.give ~= nil")
    assert nvim.lua("return require('tideate').is_running()") is True
    nvim.command("Workflow cancel")
    nvim.wait("not require('tideate').is_running()")
    nvim.lua("_G.give('too late') vim.wait(20)")
    idle(nvim)
    assert (started(nvim), server.requests) == (0, [])


def test_a_question_waits_for_a_person_who_types(nvim: Editor, server: ModelServer) -> None:
    nvim.lua("vim.ui.input = function(_, give) _G.mode = vim.api.nvim_get_mode().mode end")
    nvim.feed(":Workflow fix go<CR>ione")
    nvim.wait("not require('tideate.client').busy() and require('tideate.registry').get('fix') ~= nil")
    nvim.feed(" two")
    assert nvim.lua("return _G.mode == nil") is True
    nvim.feed("<Esc>")
    assert nvim.wait("_G.mode") == "n"
    assert nvim.lines() == ["one two"]


def test_an_input_that_is_added_to_the_file_counts_at_once(nvim: Editor, server: ModelServer) -> None:
    nvim.command(GIVEN)
    sent(nvim, server)
    path = nvim.cwd / ".tideate" / "workflows" / "fix.yaml"
    path.write_text(FIX.replace("  count:", "  extra: {type: number}\n  count:"))
    answers(nvim)
    nvim.command(GIVEN)
    nvim.wait("_G.asked[1]")
    assert asked(nvim) == [["fix: extra (a number): ", ""]]


def test_a_file_that_is_named_has_inputs_too(nvim: Editor, server: ModelServer) -> None:
    nvim.write("my files/own.yaml", FIX)
    answers(nvim, "1")
    nvim.command(r"Workflow my\ files/own.yaml target=a mode=fast go")
    nvim.wait("_G.asked[1]")
    assert asked(nvim) == [["own: count (a whole number): ", ""]]
    assert "P=go." in sent(nvim, server)
    assert complete(nvim, r"Workflow my\ files/own.yaml mode=f") == ["mode=fast"]


@pytest.fixture
def known(nvim: Editor) -> Editor:
    """An editor after the host listed the project's workflows."""
    nvim.lua("require('tideate.registry').refresh()")
    nvim.wait("(require('tideate.registry').get('fix') or {}).inputs")
    return nvim


COMPLETED = {
    "": ["target=", "mode=", "count=", "deep=", "style="],
    "target=a ": ["mode=", "count=", "deep=", "style="],
    'target="a b" mode=slow\\ and\\ careful ': ["count=", "deep=", "style="],
    "m": ["mode="],
    "mode=": ["mode=fast", "mode=slow\\ and\\ careful"],
    "target=a mode=f": ["mode=fast"],
    "deep=": ["deep=true", "deep=false"],
    "style=": ["style=plain\\ words"],
    "count=": [],
    "make ": [],
    "target=a make m": [],
}


def test_inputs_and_their_values_are_completed(known: Editor) -> None:
    assert {typed: complete(known, f"Workflow fix {typed}") for typed in COMPLETED} == COMPLETED


def test_nothing_runs_where_the_host_could_not_say_what_was_given(nvim: Editor, server: ModelServer) -> None:
    # as when it dies just then: the next request would find another one, and run with defaults
    nvim.lua(
        "local client = require('tideate.client')\n"
        "local request = client.request\n"
        "client.request = function(method, params, on_result)\n"
        "  if method ~= 'inputs' then return request(method, params, on_result) end\n"
        "  vim.schedule(function() on_result({ ok = false, error = 'the host ended' }) end)\n"
        "end"
    )
    nvim.command("Workflow fix target=x mode=fast count=1 the rest")
    nvim.wait_for(lambda: "the host ended" in told(nvim), "a message")
    assert (started(nvim), server.requests) == (0, [])
