"""State of runs, built from their events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.work import lua_work_of

if TYPE_CHECKING:
    from tests.harness.editor import Editor

ID = "a" * 32
OTHER = "b" * 32


def apply(editor: Editor, name: str, execution_id: str = ID, /, **data: Any) -> None:
    event = {"name": f"SD_EVENT_{name}", "execution_id": execution_id, "at": 0, "data": data}
    editor.lua("require('tideate.state').apply(...)", event)


def status(editor: Editor, execution_id: str | None = ID) -> Any:
    return editor.lua("return require('tideate').get_status(...)", *([execution_id] if execution_id else []))


@pytest.fixture
def running(editor: Editor) -> Editor:
    apply(editor, "WORKFLOW_STARTED", name="refactor", steps=["a", "b", "c"], adapter="fake", prompt="p")
    return editor


def test_the_statusline_names_the_runs_where_there_are_several(running: Editor) -> None:
    apply(running, "STEP_STARTED", step="a", index=1, total=3)
    apply(running, "WORKFLOW_STARTED", OTHER, name="ask", steps=["query"], adapter="fake", prompt="p")
    apply(running, "CONFIRMATION_REQUIRED", OTHER)
    statusline = "return require('tideate').statusline()"
    assert running.lua(statusline) == "2 runs: ask 1/1 (confirming), refactor 1/3"
    apply(running, "WORKFLOW_STARTED", "c" * 32, name="task", steps=[], adapter="fake", prompt="p")
    assert running.lua(statusline) == "3 runs: task, ask 1/1 (confirming), refactor 1/3"
    for run in ("c" * 32, OTHER):
        apply(running, "WORKFLOW_COMPLETED", run)
    assert running.lua(statusline) == "refactor 1/3 a"


def test_a_gate_that_a_task_waits_for_is_named(editor: Editor) -> None:
    apply(editor, "WORKFLOW_STARTED", name="task", kind="machine", states=[], steps=[], adapter="fake")
    apply(
        editor, "STEP_STARTED", step="awaiting_audit_gate#2", state="awaiting_audit_gate#2", index=3, total=0
    )
    assert editor.lua("return require('tideate').statusline()") == "task 3 audit gate#2"
    assert status(editor)["steps"][0]["label"] == "audit gate#2"
    assert status(editor)["steps"][0]["name"] == "awaiting_audit_gate#2"


def test_step_two_of_three_is_reported(running: Editor) -> None:
    apply(running, "STEP_STARTED", step="a", index=1, total=3)
    apply(running, "STEP_COMPLETED", step="a", index=1, total=3, duration_ms=7)
    apply(running, "STEP_STARTED", step="b", index=2, total=3)
    found = status(running, None)
    assert found["name"] == "refactor"
    assert (found["step"], found["total_steps"], found["current_step"]) == (2, 3, "b")
    assert [step["state"] for step in found["steps"]] == ["completed", "running", "waiting"]
    assert found["steps"][0]["duration_ms"] == 7


STATES = [
    ([], "running", "refactor 1/3"),
    (["STEP_STARTED"], "running", "refactor 2/3 b"),
    (["CONFIRMATION_REQUIRED"], "confirming", "refactor 2/3 b (confirming)"),
    (["STEP_STARTED", "CONFIRMATION_REQUIRED"], "confirming", "refactor 2/3 b (confirming)"),
    (["STEP_STARTED", "CONFIRMATION_REQUIRED", "CONFIRMATION_ANSWERED"], "running", "refactor 2/3 b"),
    (["STEP_STARTED", "WORKFLOW_PAUSED"], "paused", "refactor 2/3 b (paused)"),
    (["STEP_STARTED", "WORKFLOW_PAUSED", "WORKFLOW_RESUMED"], "running", "refactor 2/3 b"),
    (["WORKFLOW_COMPLETED"], "completed", ""),
    (["WORKFLOW_FAILED"], "failed", ""),
    (["WORKFLOW_CANCELLED"], "cancelled", ""),
    (["WORKFLOW_CANCELLED", "STEP_STARTED"], "cancelled", ""),
    (["WORKFLOW_COMPLETED", "WORKFLOW_FAILED"], "completed", ""),
]


def test_state_and_statusline_follow_the_events(editor: Editor) -> None:
    statusline = "return require('tideate').statusline()"
    assert (status(editor, None), editor.lua(statusline)) == (None, "")
    for number, (events, state, line) in enumerate(STATES):
        run = f"{number:032}"
        started = {"name": "refactor", "steps": ["a", "b", "c"], "adapter": "fake", "prompt": "p"}
        apply(editor, "WORKFLOW_STARTED", run, **started)
        for name in events:
            apply(editor, name, run, step="b", index=2, total=3)
        assert (status(editor, run)["state"], editor.lua(statusline)) == (state, line), events
        apply(editor, "WORKFLOW_COMPLETED", run)


def test_a_requested_pause_is_shown_during_a_question(running: Editor) -> None:
    apply(running, "STEP_STARTED", step="a", index=1, total=3)
    running.lua("require('tideate.state').set_pausing(..., true)", ID)
    apply(running, "CONFIRMATION_REQUIRED")
    found = status(running)
    assert (found["state"], found["pausing"]) == ("confirming", True)
    assert running.lua("return require('tideate').statusline()") == "refactor 1/3 a (confirming, pausing)"
    title = "return require('tideate.ui.text').bar(require('tideate.ui.progress').title(...))"
    assert "waits for you, pausing" in running.lua(title, found)
    running.command("Workflow status")
    assert "confirming, pausing" in "\n".join(running.lines())
    offered = running.lua("return require('tideate.command').complete('', 'Workflow resume ', 16)")
    assert [name for name in offered if ID.startswith(name)]
    apply(running, "CONFIRMATION_ANSWERED")
    assert status(running)["state"] == "pausing"


def test_no_time_runs_on_while_a_run_waits_for_the_person(running: Editor) -> None:
    shown = """
      local now, progress, said = vim.uv.now, require('tideate.ui.progress'), {}
      vim.uv.now = function() return now() + 7500 end
      local run = require('tideate').get_status(...)
      for _, chunks in ipairs({ progress.title(run), progress.steps(run) }) do
        table.insert(said, require('tideate.ui.text').bar(chunks))
      end
      vim.uv.now = now
      return said
    """
    apply(running, "STEP_STARTED", step="a", index=1, total=3)
    assert all(re.search(r"\b\d+s", text) for text in running.lua(shown, ID))
    apply(running, "CONFIRMATION_REQUIRED")
    assert not any(re.search(r"\ds", text) for text in running.lua(shown, ID))
    apply(running, "CONFIRMATION_ANSWERED")
    apply(running, "WORKFLOW_COMPLETED", files=[])
    assert re.search(r"\d\.\ds", running.lua(shown, ID)[0])


def test_a_withdrawn_pause_is_not_shown_during_a_question(running: Editor) -> None:
    running.lua("require('tideate.state').set_pausing(..., true)", ID)
    apply(running, "CONFIRMATION_REQUIRED")
    running.lua("require('tideate.state').set_pausing(..., false)", ID)
    assert not status(running)["pausing"]
    assert running.lua("return require('tideate').statusline()") == "refactor 1/3 (confirming)"


@pytest.mark.parametrize("end", ["WORKFLOW_COMPLETED", "WORKFLOW_FAILED", "WORKFLOW_CANCELLED"])
def test_an_ended_run_is_no_longer_the_current_one(running: Editor, end: str) -> None:
    apply(running, end, error="it broke", files=["x.py"])
    assert status(running, None) is None
    assert running.lua("return require('tideate').is_running(...)", ID) is False
    assert running.lua("return require('tideate').statusline()") == ""
    assert status(running)["files"] == ["x.py"]


def test_the_newest_running_one_is_the_current_one(running: Editor) -> None:
    apply(running, "WORKFLOW_STARTED", OTHER, name="ask", steps=["query"])
    assert status(running, None)["execution_id"] == OTHER
    apply(running, "WORKFLOW_COMPLETED", OTHER)
    assert status(running, None)["execution_id"] == ID


def test_tokens_are_estimated_while_streaming_then_as_reported(running: Editor) -> None:
    apply(running, "TOKEN", step="a", text="x" * 40)
    assert status(running)["tokens"] == 10
    usage = {"input_tokens": 100, "output_tokens": 9}
    apply(running, "MODEL_ANSWERED", step="a", model="m", usage=usage)
    assert status(running)["tokens"] == 109


def test_elapsed_time_stops_at_the_end(running: Editor) -> None:
    apply(running, "WORKFLOW_COMPLETED")
    before = status(running)["elapsed_ms"]
    running.lua("vim.wait(30)")
    assert status(running)["elapsed_ms"] == before


def test_an_event_of_an_unknown_run_is_ignored(editor: Editor) -> None:
    apply(editor, "STEP_STARTED", step="a", index=1, total=1)
    assert editor.lua("return require('tideate.state').runs()") == []


def test_only_the_last_ended_runs_are_kept(editor: Editor) -> None:
    for number in range(30):
        apply(editor, "WORKFLOW_STARTED", f"{number:032}", name="ask", steps=["query"])
        apply(editor, "WORKFLOW_COMPLETED", f"{number:032}")
    kept = [run["execution_id"] for run in editor.lua("return require('tideate.state').runs()")]
    assert len(kept) <= 21
    assert kept[0] == f"{29:032}"


def test_the_statusline_warns_of_the_demonstration_model(editor: Editor) -> None:
    apply(editor, "WORKFLOW_STARTED", name="ask", steps=["query"], demonstration=True)
    assert "[demo model]" in editor.lua("return require('tideate').statusline()")


def test_reading_the_status_is_no_more_work_however_much_was_streamed(running: Editor) -> None:
    def read() -> int:
        return lua_work_of(running, "for _ = 1, 1000 do require('tideate').get_status() end")

    read()
    before = read()
    running.lua(
        """
    for _ = 1, 10000 do
      local data = { step = 'a', text = 'x' }
      require('tideate.state').apply({ name = 'SD_EVENT_TOKEN', execution_id = ..., at = 0, data = data })
    end""",
        ID,
    )
    assert read() < 1.1 * before


def test_a_run_whose_answer_changes_nothing_is_not_called_done(running: Editor) -> None:
    words = """
      local run = require('tideate').get_status(...)
      return vim.iter(require('tideate.ui.progress').title(run)):map(function(c) return c[1] end):join('')
    """
    apply(running, "WORKFLOW_COMPLETED", files=[], unchanged=True)
    assert status(running)["unchanged"] is True
    assert "= nothing changed" in running.lua(words, ID)
    apply(running, "WORKFLOW_STARTED", OTHER, name="ask", steps=["query"], adapter="fake", prompt="p")
    apply(running, "WORKFLOW_COMPLETED", OTHER, files=[])
    assert "✓ done" in running.lua(words, OTHER)
