"""Progress of runs on a terminal of 80 columns and in a log."""

from __future__ import annotations

import errno
import io
from typing import TYPE_CHECKING, Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from tideate_core.cli.render.live_view import RunningCheck, RunView, StepState
from tideate_core.cli.render.progress import Progress
from tideate_core.cli.render.words import check_text
from tideate_core.engine import Event, EventName
from tideate_core.gates.correction import MAX_ATTEMPTS

if TYPE_CHECKING:
    from collections.abc import Callable

RUN = "a" * 32
FAILURE = {"filename": "tests/test_a.py", "lnum": 7, "col": 0, "text": "AssertionError:\n 1 != 2"}


class Output:
    """Events of a run, and their output."""

    def __init__(self, name: str = "task", *, live: bool = False) -> None:
        self.file = io.StringIO()
        self.console = Console(file=self.file, width=80, height=40, force_terminal=live, highlight=False)
        self.progress = Progress(self.console, live=live)
        self.event("WORKFLOW_STARTED", name=name, adapter="fake", steps=[], demonstration=False)

    def event(self, name: str, /, **data: Any) -> Output:
        self.progress.emit(Event(EventName[name], RUN, data))
        return self

    def step(self, step: str) -> Output:
        """Start a step of a task; states without work have no stage."""
        state = step.partition("#")[0]
        stage = {} if state == "idle" or state.startswith("awaiting_") else {"stage": 1}
        self.event("STEP_STARTED", step=step, index=1, total=0, state=state, **stage)
        return self

    def ends(self, step: str, milliseconds: int, *, success: bool = True) -> Output:
        self.event("STEP_EXECUTED", step=step, success=success, duration_ms=milliseconds)
        return self

    def moves(self, target: str, event: str) -> Output:
        self.event("TRANSITION", **{"from": "x", "to": target, "when": event, "by": "only", "move": 1})
        return self

    def gate(self, step: str, number: int, gate: str, *issues: str, **more: Any) -> Output:
        name = "GATE_FAILED" if issues else "GATE_PASSED"
        told = {"number": number, "duration_ms": 12, "auto_fixed": False, "entries": [], **more}
        self.event(name, step=step, gate=gate, issues=list(issues), **told)
        return self

    def check(self, status: str, *failures: dict[str, Any], **more: Any) -> Output:
        self.event("CHECK_STARTED", step="verifying", check="tests", command="python -m pytest -q")
        told = {"reason": "", "duration_ms": 1500, "exit_code": 0, **more}
        self.event("CHECK_ENDED", step="verifying", check="tests", status=status, failures=failures, **told)
        return self

    @property
    def text(self) -> str:
        return self.file.getvalue()

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


LOGS: dict[str, tuple[Callable[[Output], object], list[str]]] = {
    "stages, gates and checks in order; the time of a verification once": (
        lambda told: (
            told.step("awaiting_plan_gate"),
            told.gate("awaiting_plan_gate", 1, "plan"),
            told.step("verifying"),
            told.check("passed"),
            told.gate("verifying", 5, "verification", duration_ms=1600),
            told.ends("verifying", 1700),
        ),
        [
            "✓ gate 1, plan  passed, 12 ms",
            "verifying …",
            "tests: python -m pytest -q …",
            "✓ tests  passed after 1.5 s",
            "✓ gate 5, verification  passed, 1.6 s",
        ],
    ),
    "a failed gate": (
        lambda told: (
            told.step("awaiting_plan_gate"),
            told.gate("awaiting_plan_gate", 1, "plan", "rollback_strategy: is missing"),
        ),
        ["✗ gate 1, plan  failed, 12 ms", "plan: rollback_strategy: is missing"],
    ),
    "a plan with fixes of the audit": (
        lambda told: (
            told.step("awaiting_audit_gate"),
            told.gate("awaiting_audit_gate", 2, "audit", auto_fixed=True),
        ),
        ["✓ gate 2, audit  passed, after the audit's own fixes, 12 ms"],
    ),
    "a failed state without work": (
        lambda told: (told.step("idle"), told.ends("idle", 20, success=False)),
        ["idle failed after 0.0 s"],
    ),
    "the command of a check once, without its output": (
        lambda told: (
            told.check("failed", exit_code=1),
            told.event("CHECK_OUTPUT", step="verifying", check="tests", lines=["collected 3"]),
            told.check("passed"),
        ),
        [
            "tests: python -m pytest -q …",
            "✗ tests  failed after 1.5 s with exit status 1",
            "✓ tests  passed after 1.5 s",
        ],
    ),
    "counted corrections": (
        lambda told: (told.step("self_correcting"), told.step("self_correcting#2")),
        [
            f"self_correcting (correction 1 of {MAX_ATTEMPTS}) …",
            f"self_correcting#2 (correction 2 of {MAX_ATTEMPTS}) …",
        ],
    ),
}


@pytest.mark.parametrize("kind", LOGS)
def test_the_log_of_a_task_has(kind: str) -> None:
    script, lines = LOGS[kind]
    told = Output()
    script(told)
    assert told.lines == lines


def test_a_log_of_another_machine_has_its_moves_and_no_reasoning() -> None:
    told = Output("essay")
    told.event("REASONING", step="draft", text="First this.\n")
    told.moves("review", "it is long enough")
    assert told.lines == ["→ review  (it is long enough)"]


def test_states_without_work_and_moves_of_a_task_have_no_line() -> None:
    told = Output()
    for step, event, milliseconds in (
        ("idle", "only", 200),
        ("planning", "start_task", 1800),
        ("awaiting_plan_gate", "planning_complete", 5000),
        ("auditing", "plan_gate_passed", 49),
    ):
        told.moves(step, event)
        told.step(step)
        told.ends(step, milliseconds)
    assert told.lines == ["planning …", "planning done after 1.8 s", "auditing …"]


def without_command(told: Output, check: str, *, required: bool = False) -> None:
    told.event("CHECK_ENDED", step="verifying", check=check, status="not_configured", required=required)


def test_checks_that_are_not_run_are_told_in_one_line_once() -> None:
    told = Output()
    for step in ("verifying", "verifying#2"):
        told.step(step)
        without_command(told, "lint")
        without_command(told, "build", required=True)
        told.gate(step, 5, "verification")
    assert told.lines == [
        "verifying …",
        "· not run: lint (off), build (not configured)",
        "✓ gate 5, verification  passed, 12 ms",
        "verifying#2 …",
        "✓ gate 5, verification  passed, 12 ms",
    ]


def test_on_a_terminal_a_state_without_work_leaves_only_its_gate() -> None:
    told = Output(live=True)
    told.moves("awaiting_plan_gate", "planning_complete")
    told.step("awaiting_plan_gate")
    told.gate("awaiting_plan_gate", 1, "plan")
    with told.console.capture() as captured:
        told.console.print(told.progress._view.latest())
    assert "plan gate" in captured.get(), "it runs"
    assert "awaiting" not in captured.get()
    told.ends("awaiting_plan_gate", 2000)
    told.event("WORKFLOW_FAILED", error="it failed")
    last = told.text.rpartition("task · fake")[2]
    assert "gate 1, plan" in last
    assert "plan gate" not in last
    assert "planning_complete" not in last


def test_a_failed_check_shows_its_first_failures_and_how_many_more() -> None:
    told = Output()
    told.step("verifying")
    told.check("failed", *(FAILURE | {"lnum": line} for line in range(1, 8)), exit_code=1)
    told.gate("verifying", 5, "verification", "tests: tests/test_a.py:1: AssertionError")
    assert told.lines[2] == "✗ tests  failed after 1.5 s with exit status 1 (7 failures)"
    assert told.lines[3] == "tests: tests/test_a.py:1: AssertionError: 1 != 2"
    assert told.lines[7:9] == ["tests: tests/test_a.py:5: AssertionError: 1 != 2", "tests: … and 2 more"]
    assert told.lines[9:] == ["✗ gate 5, verification  failed, 12 ms"], "its issues were told as they came"


@pytest.mark.parametrize(
    ("status", "reason", "line"),
    [
        ("not_trusted", "`tideate trust` lets it run", "! tests  not trusted: `tideate trust` lets it run"),
        ("timed_out", "took longer than 60 s", "✗ tests  timed out after 1.5 s: took longer than 60 s"),
        ("cancelled", "", "■ tests  cancelled after 1.5 s"),
    ],
)
def test_a_check_that_said_nothing_says_why(status: str, reason: str, line: str) -> None:
    told = Output()
    told.check(status, reason=reason)
    assert told.lines[-1] == line


def test_a_check_that_is_off_is_no_warning() -> None:
    data = {"check": "lint", "status": "not_configured", "reason": 'verify.lint is "off"', "failures": []}
    assert check_text({**data, "required": False}).plain == "· lint  off"
    assert check_text({**data, "required": True}).plain == '! lint  not configured: verify.lint is "off"'


def rolled_back(**data: Any) -> list[str]:
    told = Output()
    nothing: dict[str, Any] = {"restored": [], "merged": [], "left": [], "foreign": [], "more_foreign": 0}
    told.event("ROLLED_BACK", **nothing | {"snapshot": "9bbfc8d1", "error": None} | data)
    return told.lines


def test_a_rollback_is_said_plainly() -> None:
    assert rolled_back(restored=["b.py", "a.py"], merged=["c.py"], left=["d.py"]) == [
        "rolled back what the run wrote",
        "  restored: a.py, b.py",
        "  restored, your own edits kept: c.py",
        "  stays, changed after the run wrote it: d.py",
        "  as it was before: snapshot 9bbfc8d1; `tideate snapshot diff 9bbfc8d1 --changes` shows it",
    ]


def test_a_rollback_of_nothing_and_one_that_failed_are_told_apart() -> None:
    assert rolled_back()[0] == "nothing to roll back: the run had changed no file"
    assert rolled_back(left=["d.py"])[0] == "nothing was rolled back"
    assert rolled_back(error="disk full")[0] == "not everything was rolled back: disk full"


def test_what_others_changed_stands_with_the_rollback() -> None:
    others = [f"{number}.py" for number in range(9)]
    assert rolled_back(restored=["a.py"], foreign=others, more_foreign=4) == [
        "rolled back what the run wrote",
        "  restored: a.py",
        f"  stays, changed by you or a check: {', '.join(others[:8])} and 5 more",
        "  as it was before: snapshot 9bbfc8d1; `tideate snapshot diff 9bbfc8d1 --changes` shows it",
    ]


def test_on_a_terminal_a_rollback_stands_below_the_steps() -> None:
    told = Output(live=True)
    told.step("verifying")
    told.ends("verifying", 1500)
    done = {"restored": ["a.py"], "merged": [], "left": [], "foreign": [], "more_foreign": 0}
    told.event("ROLLED_BACK", **done, snapshot=None, error=None)
    told.event("WORKFLOW_FAILED", error="no")
    assert told.text.rindex("verifying") < told.text.index("rolled back") < told.text.index("error: ")


def test_names_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in "".join(rolled_back(restored=["a\x1b[2J.py"]))


def test_on_a_terminal_gates_and_checks_are_rows_below_their_step() -> None:
    told = Output(live=True)
    told.step("verifying")
    told.check("failed", FAILURE, exit_code=1)
    told.gate("verifying", 5, "verification", "tests: failed")
    told.event("STEP_EXECUTED", step="verifying", success=True, duration_ms=2000)
    told.event("WORKFLOW_FAILED", error="it failed")
    last = Console(width=80).render_str(told.text.rpartition("task · fake")[2]).plain
    rows = [line.rstrip() for line in last.splitlines()]
    assert any(" ✓ " in row and "verifying" in row and "2.0 s" in row for row in rows), rows
    at = next(index for index, row in enumerate(rows) if "verifying" in row)
    assert "✗" in rows[at + 1], rows
    assert "tests" in rows[at + 1], rows
    assert "gate 5, verification" in rows[at + 2], rows
    assert "tests: tests/test_a.py:7: AssertionError: 1 != 2" in told.text


def test_the_running_check_shows_its_command_and_its_last_line_in_one_row_each() -> None:
    told = Output(live=True)
    told.step("verifying")
    told.event("CHECK_STARTED", step="verifying", check="tests", command=f"python -m pytest {'x' * 99}")
    told.event("CHECK_OUTPUT", step="verifying", check="tests", lines=["first", "collected\x1b[2J 3", " "])
    told.progress.close()  # nothing draws beside what is asked for
    with told.console.capture() as captured:
        told.console.print(told.progress._view.latest())
    title, step, check, output = [
        Console().render_str(line).plain for line in captured.get().splitlines() if line.strip()
    ]
    assert "task · fake" in title
    assert "verifying" in step
    assert "python -m pytest xxx" in check
    assert r"│ collected\x1b[2J 3" in output
    assert max(map(len, (check, output))) < 200, "a row is a line"


def test_old_steps_scroll_out_of_the_view_and_are_printed_at_its_end() -> None:
    view = RunView(Console(width=80, height=12))
    view.steps = {f"state_{number}": StepState("done") for number in range(20)}
    latest, whole = (
        [str(row).split()[1] for row in rows.renderables[1:]] for rows in (view.latest(), view.whole())
    )
    assert latest == whole[-10:]
    assert whole == [*view.steps]


def test_a_row_is_never_wider_than_the_terminal() -> None:
    view = RunView(Console(width=80, height=20))
    check = RunningCheck("tests", "x" * 200, 0.0, "y" * 200)
    view.steps["verifying"] = StepState("running", check=check)
    view.move = "z" * 200
    widths = [row.cell_len for row in view.whole().renderables]  # type: ignore[union-attr]
    assert max(widths) == 80


def call(told: Output, number: int, summary: str, **ending: Any) -> None:
    place = {"step": "ask", "call": number, "server": "", "tool": summary.split()[0], "summary": summary}
    if ending:
        told.event("TOOL_COMPLETED", **place, duration_ms=120, **ending)
    else:
        told.event("TOOL_CALLED", **place, arguments={})


def latest(told: Output) -> str:
    """Return the current live view, without colours."""
    plain = Console(file=io.StringIO(), width=80)
    with plain.capture() as captured:
        plain.print(told.progress._view.latest())
    return captured.get()


def test_a_tool_call_is_one_line_with_its_size_or_its_error() -> None:
    told = Output("ask")
    told.step("ask")
    call(told, 1, "read_file a.py 10-40")
    call(told, 2, "search x")
    call(told, 2, "search x", ok=False, error="bad\npattern")
    call(told, 1, "read_file a.py 10-40", ok=True, size=1234)
    assert told.lines == [
        "ask …",
        "✗ search x  0.1 s  bad pattern",
        "✓ read_file a.py 10-40  1.2k characters  0.1 s",
    ]


def test_calls_side_by_side_are_in_the_row_of_their_step_until_they_end() -> None:
    told = Output("ask", live=True)
    told.step("ask")
    call(told, 1, "read_file a.py")
    call(told, 2, "search x")
    assert "search x and 1 other …" in latest(told)
    call(told, 2, "search x", ok=True, size=1)
    assert "read_file a.py …" in latest(told)
    assert "✓ search x  1 character  0.1 s" in latest(told)
    call(told, 1, "read_file a.py", ok=True)
    assert "read_file a.py …" not in latest(told)


def test_words_of_two_turns_are_not_glued_together() -> None:
    told = Output("ask", live=True)
    told.step("ask")
    told.event("TOKEN", step="ask", text="Let me look.")
    call(told, 1, "read_file a.py")
    told.event("TOKEN", step="ask", text="It is 41.")
    assert "look.It" not in latest(told)
    assert "│ It is 41." in latest(told)


def test_of_reasoning_the_last_line_is_shown_until_the_model_answers() -> None:
    told = Output("ask", live=True)
    told.step("ask")
    told.event("REASONING", step="ask", text="First this.\nThen ")
    told.event("REASONING", step="ask", text="that.")
    assert "┆ Then that." in latest(told)
    assert "First this" not in latest(told)
    told.event("TOKEN", step="ask", text="It is 41.")
    assert "Then that" not in latest(told)
    assert "It is 41." in latest(told)


def test_what_is_typed_stands_below_the_view_and_a_long_line_shows_its_end() -> None:
    told = Output("ask", live=True)
    view = RunView(told.console)

    def rows() -> list[str]:
        return [str(row) for row in view.latest().renderables[1:]]

    view.typed = ""
    assert rows() == [], "no model was seen that reads messages"
    view.turned("query")
    assert rows() == ["\u203a type a message to the model, Enter sends it"]
    view.typed = "\x1b[2Jkeep"
    assert rows() == ["\u203a \\x1b[2Jkeep "]
    for text in ("a" * 100 + "the end", "\u6f22" * 100 + "the end"):
        view.typed = text
        (row,) = rows()
        assert row.startswith("\u203a …")
        assert row.endswith("the end ")
        assert 75 < cell_len(row) < 80
    view.typed = None
    assert rows() == []


def test_a_warning_to_a_terminal_that_is_gone_ends_nothing() -> None:
    told = Output()
    told.file.write = gone  # type: ignore[method-assign]
    told.progress.warn("not sent, as the run has ended: be short")
    told.progress.warn("nor is this told")


def gone(_text: str) -> int:
    raise OSError(errno.EIO, "the terminal was closed")


def test_a_pause_before_a_gate_names_the_gate() -> None:
    told = Output()
    told.event("WORKFLOW_PAUSED", step="awaiting_audit_gate#2")
    assert "paused before audit gate#2;" in told.text


def test_texts_of_items_that_come_at_once_are_shown_one_after_the_other() -> None:
    told = Output("guide", live=True)
    told.event("STEP_STARTED", step="section", index=1, total=1)
    for piece in ("begin ", "and end"):
        told.event("TOKEN", step="section[0]", text=piece)
        told.event("TOKEN", step="section[1]", text=piece.upper())
    assert "│ begin and end" in latest(told)
    assert "BEGIN" not in latest(told)
    told.ends("section[0]", 100)
    assert "│ BEGIN AND END" in latest(told)
    assert "begin" not in latest(told)
    told.ends("section[1]", 100)
    assert "│" not in latest(told)
    assert "2 items done" in latest(told)
