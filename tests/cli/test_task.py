"""Gated tasks in the shell: `run`, `show`, `gates`, `doctor`, `list`, `graph`, `rollback`."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builtin.task.runs.test_checks_that_write import FORMATTER
from tests.cli.interrupted import object_of
from tests.harness.tally import LINES, TASK, as_it_stands, make_project
from tests.harness.tally_texts import CHECK
from tests.harness.tasks import CODE, Model, edits

if TYPE_CHECKING:
    import subprocess

    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell
    from tests.snapshots.trees import Node

pytestmark = pytest.mark.slow


@pytest.fixture
def model(shell: Shell, answering: ModelServer) -> Model:
    (shell.project / "pyproject.toml").unlink()
    make_project(shell.project)
    shell.ok("trust", "--yes")
    return Model(answering)


def failing(model: Model, *first: str) -> None:
    """Script edits that fail a test, after other answers, and a corrector that gives up."""
    body = next(line.strip() for line in LINES.splitlines() if "return " in line and '"""' not in line)
    model.says("executor", *first, edits({**CODE, "src/tally/lines.py": LINES.replace(body, "return 0")}))
    model.says("corrector", "I cannot.")


def test_a_failed_task_is_shown_with_all_that_was_decided(shell: Shell, model: Model) -> None:
    failing(model)
    done = shell.run("run", "task", TASK, "--yes", "--json")
    ended = object_of(done)
    assert (done.returncode, ended["rollback_performed"], ended["attempts"]) == (1, True, 0), done.stderr
    assert ended["path"][-1]["to"] == "failed"
    assert "roll back: tideate rollback" not in done.stderr
    assert "rolled back what the run wrote" in done.stderr
    assert "tests: tests/test_lines.py:7" in done.stderr
    assert "awaiting_audit_gate:" not in done.stderr, "a stage's object is not text to read"
    shown = shell.run("show", ended["execution_id"])
    for words in (
        "## Objective",
        "> The audit: approved.",
        "✓ gate 1, plan  passed",
        "✗ tests  failed after",
        "tests/test_lines.py:7: test_lines: AssertionError",
        "✗ gate 5, verification  failed",
        "1. the corrector changed nothing",
        "rolled back what the run wrote",
    ):
        assert words in shown.stdout, shown.stdout + shown.stderr
    gated = shell.json("show", ended["execution_id"])["gated"]
    assert [(gate["number"], gate["passed"]) for gate in gated["gates"]] == [
        (1, True),
        (2, True),
        (3, True),
        (4, True),
        (5, False),
    ]
    assert {check["check"]: check["status"] for check in gated["checks"]}["tests"] == "failed"
    assert gated["audit"]["approval"] == "approved"
    assert len(gated["plan"]["steps"]) == 4
    assert "src/tally/lines.py" in gated["rolled_back"]["restored"]


def test_the_log_of_a_task_has_what_happened_and_nothing_else(shell: Shell, model: Model) -> None:
    config = shell.project / ".tideate" / "config.toml"
    lines = config.read_text().splitlines()
    off = [
        f'{line.partition(" = ")[0]} = "off"' if line.startswith(("lint", "build")) else line
        for line in lines
    ]
    config.write_text("\n".join(off) + "\n")
    shell.ok("trust", "--yes")
    failing(model, "I am confused.")
    model.says("corrector", "NO CHANGE")
    done = shell.run("run", "task", TASK, "--yes")
    told = done.stderr.splitlines()
    assert done.returncode == 1
    assert not [line for line in told if line.startswith(("idle", "awaiting_", "→ ", "* → "))], told
    assert not [line for line in told if "after 0.0 s" in line], told
    (refused,) = [line for line in told if "refused" in line]
    assert refused.startswith("answer refused, asking again: it holds no edit of a file")
    assert [line for line in told if "lint" in line] == ["· not run: lint (off), build (off)"]
    assert len([line for line in told if "check.py tests" in line]) == 1
    assert "the corrector answered NO CHANGE: it finds nothing to correct" in done.stderr
    assert "exhausted" not in done.stderr


def test_what_a_rollback_leaves_is_said_once(shell: Shell, model: Model) -> None:
    failing(model)
    shell.write("scripts/check.py", FORMATTER + CHECK)
    terminal = shell.open("run", "task", TASK, rows=60, columns=80)
    for question in ("Carry out this plan?", "Apply changes to 4 files?", "Apply changes to 3 files?"):
        terminal.answer(question, ("[y/N", "y"))
    terminal.wait_for("Did a check do that?")
    terminal.wait_for("[y/N")
    answered = len(terminal.text)
    terminal.type("n\n")
    assert terminal.wait_exit() == 1
    last = " ".join(terminal.text[answered:].split())
    assert "stays, changed after the run wrote it: src/tally/lines.py stays, changed by you" in last
    assert "rolled back what the run wrote restored: CHANGELOG.md, " in last
    for fact in ("src/tally/words.py", "src/tally/lines.py stays", "rolled back", "as it was before"):
        assert last.count(fact) == 1, (fact, last)
    assert "tideate rollback" not in last, "it would refuse: a file was changed since"


def test_decisions_are_counted_by_gate(shell: Shell, model: Model) -> None:
    none = shell.run("gates")
    assert (none.returncode, none.stdout) == (0, ""), none.stdout
    assert "no gate decisions" in none.stderr
    failing(model)
    assert shell.run("run", "task", TASK, "--yes").returncode == 1
    rows = [line.split() for line in shell.run("gates").stdout.splitlines()]
    assert [row[:5] for row in rows[1:]] == [
        ["1", "plan", "1", "0", "0"],
        ["2", "audit", "1", "0", "0"],
        ["3", "execution", "1", "0", "0"],
        ["4", "documentation", "1", "0", "0"],
        ["5", "verification", "0", "1", "0"],
    ]
    counted = shell.json("gates", "--days", "1")["gates"]
    assert [(gate["name"], gate["passed"], gate["failed"]) for gate in counted][::4] == [
        ("plan", 1, 0),
        ("verification", 0, 1),
    ]
    assert shell.run("gates", "--days", "0").returncode != 0


def test_a_rollback_of_a_task_keeps_later_edits(shell: Shell, model: Model) -> None:
    ended = object_of(done := shell.run("run", "task", TASK, "--yes", "--json"))
    assert (done.returncode, ended["rollback_performed"], model.asked("corrector")) == (0, False, 0)
    assert f"roll back: tideate rollback {ended['execution_id']}" in done.stderr
    changelog = shell.project / "CHANGELOG.md"
    changelog.write_text(changelog.read_text() + "\nMine.\n")
    assert "CHANGELOG.md (your edits kept)" in shell.run("rollback").stdout
    (listed,) = shell.json("rollback")["runs"]
    assert (listed["merged"], listed["changed_since"]) == (["CHANGELOG.md"], [])
    terminal = shell.open("rollback", ended["execution_id"][:8])
    terminal.answer("would be restored, your edits kept: CHANGELOG.md", ("[y/N]", "n"))
    assert terminal.wait_exit() == 3
    assert "count_lines" in changelog.read_text()
    back = shell.ok("rollback", "--yes", ended["execution_id"])
    assert "restored, your edits kept: CHANGELOG.md" in back.stderr
    assert "restored: tools/count.sh" in back.stderr
    assert "count_lines" not in changelog.read_text()
    assert changelog.read_text().endswith("\nMine.\n")


def test_doctor_says_of_each_check_whether_a_task_could_run_it(shell: Shell) -> None:
    shell.write(".tideate/config.toml", '[verify]\nlint = "off"\ntests = ["make", "test"]\n')
    found = {one["name"]: one for one in shell.json("doctor")["checks"] if one["name"].startswith("verify ")}
    assert len(found) == 5
    assert not found["verify build"]["ok"]
    assert "verify.build" in found["verify build"]["message"]
    assert not found["verify tests"]["ok"], "the project's configuration is not trusted"
    shell.ok("trust", "--yes")
    checks = shell.json("doctor")["checks"]
    found = {one["name"]: one for one in checks}
    assert found["verify tests"]["ok"]
    assert "make test" in found["verify tests"]["message"]
    assert found["verify lint"]["ok"]
    assert "off" in found["verify lint"]["message"]


@dataclass(frozen=True)
class Verifying:
    """A task during tests that never end."""

    process: subprocess.Popen[str]
    check: int
    before: dict[str, Node]
    """The project before the task."""

    def ends_check(self) -> bool:
        stat = Path(f"/proc/{self.check}/stat")
        # a zombie is dead as well
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def held_in_a_check(shell: Shell, *, stubborn: bool = False) -> Verifying:
    began = shell.project / ".tideate" / "began"
    os.mkfifo(began)
    deaf = "trap '' INT TERM HUP\n" if stubborn else ""
    shell.write("scripts/wait.sh", f'{deaf}echo $$ > "{began}"\nexec tail -f /dev/null\n')
    config = shell.project / ".tideate" / "config.toml"
    kept = [line for line in config.read_text().splitlines() if not line.startswith("tests = ")]
    config.write_text("\n".join([*kept, 'tests = ["sh", "scripts/wait.sh"]']) + "\n")
    shell.ok("trust", "--yes")
    before = as_it_stands(shell.project)
    process = shell.start("run", "task", TASK, "--yes")
    check = int(began.read_text())  # blocks until it runs
    assert as_it_stands(shell.project) != before
    return Verifying(process, check, before)


@pytest.mark.crash
def test_ctrl_c_ends_a_check_and_rolls_everything_back(shell: Shell, model: Model) -> None:
    held = held_in_a_check(shell)
    process = held.process
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert "rolled back what the run wrote" in told
    assert "sh scripts/wait.sh" in told
    assert as_it_stands(shell.project) == held.before
    assert held.ends_check()
    assert model.asked("corrector") == 0


@pytest.mark.crash
def test_repeated_ctrl_c_ends_a_check_that_ignores_signals(shell: Shell, model: Model) -> None:
    held = held_in_a_check(shell, stubborn=True)
    process = held.process
    assert process.stderr is not None
    for words in ("waiting for running work", "already stopping"):
        process.send_signal(signal.SIGINT)
        while words not in (line := process.stderr.readline()):
            assert line, words
    for _ in range(20):
        process.send_signal(signal.SIGINT)
    # not `communicate`: that loses what was read together with the line above
    told = process.stderr.read()
    assert process.wait(60) == 130, told
    assert "Traceback" not in told
    assert "rolled back what the run wrote" in told
    assert as_it_stands(shell.project) == held.before
    assert held.ends_check()
    (run,) = shell.json("history")["runs"]
    assert run["state"] == "cancelled"
    assert model.asked("corrector") == 0


def test_at_a_terminal_the_gates_stay_on_the_screen_and_the_summary_is_rendered(
    shell: Shell, model: Model
) -> None:
    terminal = shell.open("run", "task", TASK, "--yes", rows=60, columns=80)
    assert terminal.wait_exit() == 0, terminal.text
    last = terminal.text.rpartition("task · fake")[2]
    for words in ("✓ gate 1, plan", "✓ type_check", "✓ gate 5, verification", " • src/tally/lines.py"):
        assert words in last, last
    assert "roll back: tideate rollback" in last
    assert model.asked("planner") == 1


def test_a_project_with_only_tests_starts_after_one_question(shell: Shell, answering: ModelServer) -> None:
    shell.write("Makefile", "test:\n\t@true\n")
    answering.fails("", 401)
    terminal = shell.open("run", "task", TASK)
    for words in ("Only tests are known; continue with them?", "Trust this", "- tests: `make test`", "[y/N]"):
        terminal.wait_for(words)
    terminal.type("y\n")
    assert terminal.wait_exit() == 1
    assert "not trusted" not in terminal.text
    assert len(answering.requests) > 0, "the planner was asked"
    assert "✓ verify tests" in shell.run("doctor").stdout
    answering.requests.clear()
    shell.fails(1, "No command is known for verify.type_check", "run", "task", TASK, "--yes")
    assert answering.requests == []
