"""Translation of shell commands in messages to commands of the editor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.events import Run
from tideate_core.editor.commands_named import SAME, name_editor_commands, with_editor_commands
from tideate_core.editor.frontend import EditorFrontEnd, EditorQuestions
from tideate_core.engine import Event, EventName

if TYPE_CHECKING:
    from tests.harness.editor import Editor


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "it stopped; `tideate resume 1a2b` continues it",
            "it stopped; `:Workflow resume 1a2b` continues it",
        ),
        ("read it, then run `tideate trust` or `:Workflow trust`", "read it, then run `:Workflow trust`"),
        ("`tideate trust a.yaml` or `:Workflow trust a.yaml`; then", "`:Workflow trust a.yaml`; then"),
        ("Read it, then run :Workflow trust or `tideate trust`", "Read it, then run :Workflow trust"),
        ("`tideate snapshot list` names them", "`:Workflow snapshot` names them"),
        ("`tideate snapshot diff 1a2b` shows it", "`:Workflow snapshot` shows it"),
        ("`tideate export 1a2b` has all", "`:Workflow export 1a2b` has all"),
        ("`tideate export 1a2b -o a.md` writes it", "`tideate export 1a2b -o a.md` writes it"),
        ("`tideate doctor` says where", "`:Workflow health` says where"),
        ("export it, or `tideate login openai`", "export it, or `:Workflow login openai`"),
        (
            "`tideate resume 1a2b --definition=file` goes on",
            "`:Workflow resume 1a2b --definition=file` goes on",
        ),
        # what the editor has no command for
        (
            "`tideate resume 1a2b --takeover-after 3` goes on",
            "`tideate resume 1a2b --takeover-after 3` goes on",
        ),
        (
            "`tideate retry 1a2b.two --definition=file` uses it",
            "`:Workflow retry 1a2b.two --definition=file` uses it",
        ),
        ("`tideate retry 1a2b.two --json` prints it", "`tideate retry 1a2b.two --json` prints it"),
        ("`tideate project list` lists them", "`tideate project list` lists them"),
        ("`tideate inbox` lists others", "`:Workflow inbox` lists others"),
        ("`tideate inbox send 1a2b` publishes it", "`tideate inbox send 1a2b` publishes it"),
        ("tideate resume is no quotation", "tideate resume is no quotation"),
    ],
)
def test_a_command_of_the_shell_is_named_as_the_editors(said: str, shown: str) -> None:
    assert name_editor_commands(said) == shown


def test_the_named_subcommands_exist() -> None:
    table = (Path(__file__).parents[2] / "lua/tideate/subcommands.lua").read_text()
    for word in SAME.values():
        assert f"name = '{word}'" in table


def test_events_are_told_in_the_editors_words_and_others_are_left() -> None:
    posted: list[dict[str, object]] = []
    front = EditorFrontEnd(EditorQuestions(posted.append), posted.append)
    front.emit(Event(EventName.WORKFLOW_FAILED, "r", {"error": "`tideate trust`", "text": "`tideate trust`"}))
    assert posted[0]["data"] == {"error": "`:Workflow trust`", "text": "`tideate trust`"}
    data = {"step": "a"}
    assert with_editor_commands(data) is data


RESUMES = """
local answer = ...
_G.sent = {}
require('tideate.client').request = function(method, params, on_result)
  table.insert(_G.sent, { method, params.execution_id, params.definition or 'none' })
  if method == 'to_resume' then
    local run = { execution_id = ('a'):rep(32), workflow = 'fix', owner = { pid = 1 } }
    run.completed_steps, run.total_steps = 1, 2
    on_result(vim.tbl_deep_extend('force', { ok = true, owned = false, run = run }, answer or {}))
  end
end
"""


NOTICES = """
_G.told = {}
require('tideate.ui').notify = function(text) table.insert(_G.told, text) end
"""


@pytest.mark.parametrize(
    ("arguments", "definition"),
    [("aaaa", "none"), ("aaaa --definition=file", "file"), ("--definition=stored aaaa", "stored")],
)
def test_resume_takes_the_definition_that_a_message_names(
    editor: Editor, arguments: str, definition: str
) -> None:
    editor.lua(RESUMES)
    editor.command(f"Workflow resume {arguments}")
    assert editor.lua("return _G.sent") == [
        ["to_resume", "aaaa", "none"],
        ["resume_run", "a" * 32, definition],
    ]


def test_resume_completes_which_definition_counts(editor: Editor) -> None:
    found = editor.lua("return vim.fn.getcompletion('Workflow resume --', 'cmdline')")
    assert found == ["--definition=file", "--definition=stored"]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "resume aaaa --defintion=file",
            "unknown option '--defintion=file'; did",
        ),
        (
            "retry aaaa --definition=fil",
            "unknown option '--definition=fil'; did",
        ),
    ],
)
def test_a_mistyped_option_is_refused_with_the_nearest_and_no_id(
    editor: Editor, command: str, words: str
) -> None:
    editor.lua(RESUMES + NOTICES)
    editor.command(f"Workflow {command}")
    assert editor.lua("return { _G.sent, _G.told }") == [[], [f"{words} you mean '--definition=file'?"]]


def test_resume_says_that_no_definition_counts_for_a_run_that_is_paused_here(editor: Editor) -> None:
    editor.lua(RESUMES + NOTICES)
    run = Run(editor)
    run.start(1)
    run.event("WORKFLOW_PAUSED")
    editor.command("Workflow resume --definition=file")
    words = "--definition does not count here: the run goes on as it began"
    assert editor.lua("return { _G.sent[1][1], _G.told }") == ["resume", [words]]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"owned": True}, "the run goes on as it began"),
        ({"run": {"compared": ["one", "two"]}}, "the runs of a comparison are resumed together"),
    ],
)
def test_resume_says_that_no_definition_counts_elsewhere_and_for_a_comparison(
    editor: Editor, answer: dict[str, object], words: str
) -> None:
    editor.lua(RESUMES + NOTICES, answer)
    editor.command("Workflow resume aaaa --definition=file")
    assert f"--definition does not count here: {words}" in editor.lua("return _G.told")
