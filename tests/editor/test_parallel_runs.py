"""Output of parallel, retried, skipped and restored steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.events import Run

if TYPE_CHECKING:
    from tests.harness.editor import Editor


@pytest.fixture
def run(screen_editor: Editor) -> Run:
    """Start a run of three steps, the first two in parallel."""
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


def ends(run: Run, item: str) -> None:
    run.event("STEP_EXECUTED", step=item, success=True, duration_ms=1)


def test_items_that_wait_are_written_in_the_order_of_the_list(screen_editor: Editor) -> None:
    run = Run(screen_editor, "list", "each", "last")
    run.start(1)
    for item in (1, 2, 0):
        run.event("TOKEN", step=f"each[{item}]", text=f"text {item}")
        run.event("MODEL_ANSWERED", step=f"each[{item}]", usage={})
    for item in (2, 0, 1):
        ends(run, f"each[{item}]")
    run.complete(1, result=["text 0", "text 1", "text 2"])
    sections = [f"### each[{item}]\n\ntext {item}" for item in (1, 0, 2)]
    assert text(run).endswith("\n\n".join(["## each", *sections]))


def test_what_is_said_of_an_item_stands_in_its_section(screen_editor: Editor) -> None:
    run = Run(screen_editor, "list", "each", "last")
    run.start(1)
    run.event("TOKEN", step="each[0]", text="one ")
    run.event("NOTICE", step="each[1]", message="asked to wait 8 s", level="info")
    run.event("REASONING", step="each[1]", text="hm")
    run.event("TOKEN", step="each[0]", text="text")
    ends(run, "each[0]")
    ends(run, "each[1]")
    assert text(run).endswith("### each[0]\n\none text\n\n### each[1]\n\n> asked to wait 8 s\n\n┆ hm")


def test_a_heading_appears_with_the_first_text_below_it(screen_editor: Editor) -> None:
    run = Run(screen_editor, "list", "look", "each", "broken", "last")
    run.start(1)
    run.event("MODEL_ANSWERED", step="look", usage={})
    run.token("")
    run.event("STEP_SKIPPED", step="last", reason="not wanted")
    assert "## look" not in text(run)
    run.complete(1, result={"nothing": "to read"})
    run.start(2)
    for item in ("each[0]", "each[1]"):
        run.event("STEP_EXECUTED", step=item, success=True, duration_ms=1)
    assert "each" not in text(run)
    run.event("TOKEN", step="each[2]", text="one")
    ends(run, "each[2]")
    run.complete(2, result=["", "", "one"])
    run.start(3)
    run.event("STEP_FAILED", step="broken", error="no")
    run.event("WORKFLOW_FAILED", step="broken", error="no")
    body = text(run).split("not wanted", 1)
    assert "##" not in body[0]
    assert body[1] == "\n\n## each\n\n### each[2]\n\none\n\n## broken\n\n---\n\n**Failed.** no"


def test_a_call_under_way_stands_below_the_heading_of_its_step(screen_editor: Editor) -> None:
    run = Run(screen_editor, "list", "look", "last")
    run.start(1)
    run.event("TOOL_CALLED", step="look", summary="list_files", call=1, arguments={})
    assert text(run).endswith("## look\n\n")
    run.event("TOOL_COMPLETED", step="look", summary="list_files", call=1, ok=True, duration_ms=100)
    assert text(run).endswith("## look\n\n> ✓ `list_files`  0.1 s")


def test_an_item_that_says_nothing_has_no_section(screen_editor: Editor) -> None:
    run = Run(screen_editor, "list", "each", "last")
    run.start(1)
    for item in ("each[0]", "each[1]"):
        run.event("MODEL_ANSWERED", step=item, usage={})
        ends(run, item)
    run.complete(1, result=[1, 2])
    assert "#" not in text(run).replace("# list", "")


def test_items_that_ran_beside_another_step_follow_it_under_one_heading(run: Run) -> None:
    run.event("TOKEN", step="left", text="long ")
    for item in ("right[1]", "right[0]"):
        run.event("TOKEN", step=item, text=f"begin of {item}")
    ends(run, "right[0]")
    run.event("TOKEN", step="left", text="text")
    run.complete(1)
    run.event("TOKEN", step="right[1]", text=", end")
    ends(run, "right[1]")
    run.complete(2, result=["", ""])
    assert text(run).endswith(
        "## left\n\nlong text\n\n## right\n\n### right[0]\n\nbegin of right[0]\n\n"
        "### right[1]\n\nbegin of right[1], end"
    )


def test_a_list_that_ends_while_another_step_is_written_has_no_second_heading(screen_editor: Editor) -> None:
    run = Run(screen_editor, "wide", "each", "other")
    run.start(1)
    run.start(2)
    run.event("TOKEN", step="each[0]", text="item")
    run.event("TOKEN", step="other", text="beside")
    ends(run, "each[0]")
    run.complete(1, result=["item"])
    run.complete(2)
    assert text(run).count("## each") == 2  # its own, and the item's
    assert text(run).endswith("## other\n\nbeside")


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
