"""Messages name the commands of the front end that shows them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tideate_core.editor.commands_named import SAME, name_editor_commands, with_editor_commands
from tideate_core.editor.frontend import EditorFrontEnd, EditorQuestions
from tideate_core.engine import Event, EventName

if TYPE_CHECKING:
    from tests.support.editor import Editor


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
_G.sent = {}
require('tideate.client').request = function(method, params, on_result)
  table.insert(_G.sent, { method, params.execution_id, params.definition or 'none' })
  if method == 'to_resume' then
    on_result({ ok = true, owned = false, run = { execution_id = ('a'):rep(32), workflow = 'fix',
      completed_steps = 1, total_steps = 2 } })
  end
end
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
