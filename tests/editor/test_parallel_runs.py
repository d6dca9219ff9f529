"""Runs whose steps run at the same time, are tried again, skipped, or were done by an earlier process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.events import Run

if TYPE_CHECKING:
    from tests.support.editor import Editor


@pytest.fixture
def run(screen_editor: Editor) -> Run:
    """A run of three steps of which the first two run at the same time."""
    run = Run(screen_editor, "wide", "left", "right", "last")
    run.start(1)
    run.start(2)
    return run


def status(run: Run) -> dict[str, Any]:
    return dict(run.editor.lua("return require('tideate').get_status(...)", run.id))


def text(run: Run) -> str:
    lines: list[str] = run.editor.lua(
        "local s = require('tideate.ui.output.runs').get(...).stream s:flush()"
        " return vim.api.nvim_buf_get_lines(s.buf, 0, -1, true)",
        run.id,
    )
    return "\n".join(lines)


def test_all_running_steps_are_known_and_drawn(run: Run) -> None:
    assert (status(run)["running"], status(run)["current_step"]) == (["left", "right"], "right")
    assert run.editor.lua("return require('tideate').statusline()") == "wide 2/3 right +1"
    line = next(line for line in run.editor.wait_screen("● right") if "● right" in line)
    assert "● left" in line
    assert "○ last" in line
    run.complete(2)
    assert (status(run)["running"], status(run)["current_step"]) == (["left"], "left")
    run.complete(1)
    assert status(run)["running"] == []


def test_texts_that_arrive_at_the_same_time_are_not_mixed(run: Run) -> None:
    for piece in ("one ", "two ", "three"):
        run.event("TOKEN", step="left", text=piece)
        run.event("TOKEN", step="right", text=piece.upper())
    run.complete(2)
    assert "ONE" not in text(run)
    run.complete(1)
    written = text(run)
    assert "## left\n\none two three\n\n## right\n\nONE TWO THREE" in written
    run.start(3)
    run.event("TOKEN", step="last", text="end")
    assert "THREE\n\n## last\n\nend" in text(run)


def test_items_of_a_list_have_their_own_sections(screen_editor: Editor) -> None:
    run = Run(screen_editor, "list", "each", "last")
    run.start(1)
    run.event("TOKEN", step="each[0]", text="a")
    run.event("TOKEN", step="each[1]", text="b")
    run.event("TOKEN", step="each[0]", text="A")
    run.event("STEP_EXECUTED", step="each[0]", success=True, duration_ms=1)
    run.event("STEP_EXECUTED", step="each[1]", success=True, duration_ms=1)
    run.complete(1)
    assert "### each[0]\n\naA\n\n### each[1]\n\nb" in text(run)


def test_a_retry_and_a_skipped_step_are_told(run: Run) -> None:
    run.event("STEP_RETRYING", step="left", attempt=1, wait_ms=2000, error="too slow")
    run.editor.wait_screen("↻ left (attempt 2)")
    assert "> left is tried again in 2.0 s: too slow" in text(run)
    assert status(run)["running"] == ["left", "right"]
    run.complete(1)
    run.complete(2)
    run.event("STEP_SKIPPED", step="last", index=3, total=3, reason="nothing to do")
    run.editor.wait_screen("\N{EN DASH} last")
    assert [step["state"] for step in status(run)["steps"]] == ["completed", "completed", "skipped"]


def test_a_checkpoint_fires_its_autocommand(run: Run) -> None:
    run.editor.lua("""
    vim.api.nvim_create_autocmd('User', { pattern = 'TideateCheckpointCreated', callback = function(args)
      _G.checkpoint = args.data
    end })""")
    run.event("CHECKPOINT_CREATED", step="left", checkpoint_id="c" * 36, cursor=1, manual=False)
    assert run.editor.lua("return _G.checkpoint.step") == "left"
    assert status(run)["checkpoint"] == "c" * 36


def test_a_run_that_is_a_steps_is_not_listed_and_keeps_the_output(run: Run) -> None:
    inner = "f" * 32
    run.editor.lua(
        "local id, parent = ... require('tideate.events').dispatch({ name = 'SD_EVENT_WORKFLOW_STARTED',"
        " execution_id = id, at = 0, data = { name = 'nested', steps = { 'x' }, parent = parent } })",
        inner,
        run.id,
    )
    names = run.editor.lua(
        "return vim.tbl_map(function(r) return r.name end, require('tideate.state').runs())"
    )
    assert "nested" not in names
    assert not any(line.lstrip("╭│ ").startswith("nested") for line in run.editor.screen())
