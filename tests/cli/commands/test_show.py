"""One run, as `tideate show` tells of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import SHORT, refactored
from tests.harness.machines import SMALL

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


def test_a_run_is_shown_by_the_beginning_of_its_id(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    done = shell.ok("show", run[:5], "--events")
    assert shell.run("show", "last", "--events").stdout == done.stdout
    for words in (
        run,
        "completed",
        "a.py",
        f"tideate rollback {run[:8]}",
        "- it adds up",
        "CHECKPOINT_CREATED",
    ):
        assert words in done.stdout
    shown = shell.json("show", run, "--events")
    assert [(step["step"], step["status"], step["attempts"]) for step in shown["steps"]] == [
        ("analyze", "completed", 1),
        ("refactor", "completed", 1),
    ]
    assert [event["sequence"] for event in shown["events"]] == list(range(1, len(shown["events"]) + 1))
    assert [point["step"] for point in shown["checkpoints"]] == ["refactor", "analyze"]
    assert "events" not in shell.json("show", run)


def test_a_step_is_shown_whole(shell: Shell, answering: ModelServer) -> None:
    run = refactored(shell, answering)
    done = shell.run("show", run, "--step", "refactor")
    assert SHORT.splitlines()[1].strip() in done.stdout, done.stdout
    shell.fails(2, "did you mean 'refactor'?", "show", run, "--step", "refacto")


def test_the_way_of_a_machine_is_shown(shell: Shell, answering: ModelServer) -> None:
    answering.answers("Do the *first* thing", "done")
    answering.answers("is in the state first", {"reason": "nothing is left", "next": "end"})
    shell.write("small.workflow", SMALL)
    ran = shell.json("run", "./small.workflow", "go")
    assert "* → first → *" in shell.run("show", ran["execution_id"]).stdout
    path = shell.json("show", ran["execution_id"])["path"]
    assert [move["to"] for move in path] == ["first", "*"]


EACH = """\
name: cities
steps:
  - id: each
    for_each: {items: "['Oslo', 'Rome', 'Lima']", max_parallel: 1}
    task: Name a river near {{ item }}.
    continue_on_error: true
"""


def test_the_items_of_a_step_are_shown(shell: Shell, answering: ModelServer) -> None:
    answering.answers("near Oslo", "Akerselva")
    answering.fails("near Rome", 400)
    answering.answers("near Lima", "Rimac")
    ran = shell.json("run", str(shell.write("cities.yaml", EACH)))
    shown = shell.ok("show", ran["execution_id"])
    line = next(line for line in shown.stdout.splitlines() if line.startswith("each[]"))
    assert "2 of 3 done, 1 failed; the longest [" in line
    assert "; [1] adapter 'fake'" in line
    step = shell.run("show", ran["execution_id"], "--step", "each")
    states = [line.split()[:2] for line in step.stdout.splitlines() if line.strip()[:1].isdigit()]
    assert states == [["0", "done"], ["1", "failed"], ["2", "done"]]
    (row,) = shell.json("show", ran["execution_id"])["steps"]
    assert [(item["index"], item["state"], item["tries"]) for item in row["items"]] == [
        (0, "done", 1),
        (1, "failed", 1),
        (2, "done", 1),
    ]
    assert "refused the request" in row["items"][1]["error"]
    alone = shell.json("show", ran["execution_id"], "--step", "each")
    assert alone["items"] == row["items"]


WIDE = """
steps:
  - {id: last, task: Say last., dependencies: [left, right]}
  - {id: left, task: Say left., dependencies: [first]}
  - {id: right, task: Say right., dependencies: [first]}
  - {id: first, task: Say first.}
"""


def test_steps_that_run_side_by_side_stand_beside_lanes(shell: Shell, answering: ModelServer) -> None:
    for step in ("first", "left", "right", "last"):
        answering.answers(f"Say {step}", step)
    ran = shell.json("run", str(shell.write("wide.yaml", WIDE)))
    shown = shell.ok("show", ran["execution_id"])
    lines = [line[:12].rstrip() for line in shown.stdout.splitlines() if "✓" in line[:6]]
    assert lines == ["✓      first", "├─✓─╮  left", "╰─✓─┤  right", "    ✓  last"], shown.stdout
