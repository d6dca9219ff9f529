"""`tideate run` at a terminal: the display and the answers of a person."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import scripted

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell
    from tests.harness.terminal import Terminal

pytestmark = pytest.mark.slow

TWO = """\
def one():
    return 1


def keep():
    return 0


def keep_too():
    return 0


def two():
    return 2
"""
FAILING_EDITOR = """\
#!/bin/sh
here="$(dirname "$0")"
basename "$1" | tr -d '\\n' > "$here/name"
if grep -q 11 "$1"; then sed -i s/11/12/ "$1"; exit 0; fi
sed -i s/10/11/ "$1"
exit 3
"""
"""Fails at first; the next edit continues with its text."""
PLAN = {
    "files": [
        {"action": "create", "path": "new.py", "why": "the new home"},
        {"action": "modify", "path": "a.py", "why": "uses it"},
        {"action": "delete", "path": "old.py", "why": "not needed"},
    ]
}


@pytest.fixture
def refactoring(shell: Shell, answering: ModelServer) -> tuple[Terminal, Path]:
    """A refactoring of two places of one file, at its review."""
    file = shell.write("a.py", TWO)
    answering.answers("what does the code do", "- it *counts*")
    new = TWO.replace("return 1", "return 10").replace("return 2", "return 20")
    answering.answers("Rewrite these lines", f"```python\n{new}```")
    editor = shell.project.parent / "editor.sh"
    editor.write_text(FAILING_EDITOR)
    editor.chmod(0o755)
    shell.env["VISUAL"] = str(editor)
    terminal = shell.open("run", "refactor", "times ten", "--file", "a.py")
    terminal.answer(
        "- it *counts*",
        ("Refactor lines 1-14 of a.py along this analysis? [y/N]", "y"),
        "+    return 20",
        "[y/N/p/c/d]",
    )
    return terminal, file


@pytest.fixture
def planning(shell: Shell, answering: ModelServer) -> Shell:
    """A project and answers for a plan of three files."""
    shell.write("a.py", "x = 1\n")
    shell.write("old.py", "old = 1\n")
    answering.answers("Which files have to be", PLAN)
    answering.answers("Write the new file new.py", "```python\nvalue = 1\n```")
    answering.answers("Change a.py", "```python\nx = 2\n```")
    return shell


def files_of(shell: Shell) -> dict[str, str]:
    return {path.name: path.read_text() for path in shell.project.glob("*.py")}


def test_an_answer_streams_and_is_rendered_at_the_end(shell: Shell, answering: ModelServer) -> None:
    gate = answering.holds("hello", text="streamed **loudly** to the end")
    terminal = shell.open("run", "ask", "hello")
    terminal.wait_for("query")
    terminal.wait_for("│ streamed")
    gate.release()
    terminal.wait_for("✓ query")
    terminal.wait_for("streamed loudly to the end")
    assert terminal.wait_exit() == 0


def test_yes_writes_all_hunks_and_the_steps_and_the_question_stay_on_the_screen(
    refactoring: tuple[Terminal, Path],
) -> None:
    terminal, file = refactoring
    after_the_question = terminal.raw.partition("along this analysis?")[2].partition("refactor · fake")[0]
    assert "\x1b[1A" not in after_the_question, "the cursor went up over the question"
    terminal.type("y\n")
    assert terminal.wait_exit() == 0
    assert file.read_text() == TWO.replace("1\n", "10\n").replace("2\n", "20\n")
    assert "roll back: tideate rollback" in terminal.text
    last = terminal.text.rpartition("refactor · fake")[2]
    for words in ("✓ analyze", "✓ refactor", " s\n"):
        assert words in last


def test_an_unknown_answer_is_explained_and_single_hunks_are_picked(
    refactoring: tuple[Terminal, Path],
) -> None:
    terminal, file = refactoring
    terminal.type("what\n")
    terminal.answer(
        "p pick hunk by hunk",
        ("[y/N/p/c/d]", "p"),
        "+    return 10",
        ("Accept hunk 1/2 of a.py? [y/N/e/b/a/s/q]", "?"),
        "n or Enter reject",
        ("Accept hunk 1/2 of a.py? [y/N/e/b/a/s/q]", "n"),
        "+    return 20",
        ("Accept hunk 2/2 of a.py? [y/N/e/b/a/s/q]", "y"),
    )
    assert terminal.wait_exit() == 0
    assert file.read_text() == TWO.replace("2\n", "20\n")


def test_a_hunk_is_edited_in_an_editor_and_outlives_the_end_of_input(
    shell: Shell, refactoring: tuple[Terminal, Path]
) -> None:
    terminal, file = refactoring
    first, second = (f"Accept hunk {number}/2 of a.py? [y/N/e/b/a/s/q]" for number in (1, 2))
    terminal.type("p\n")
    terminal.answer(
        (first, "e"),
        "your text is kept: e continues with it",
        (first, "e"),
        second,
    )
    terminal.type("\x04")
    assert terminal.wait_exit() == 130
    assert (shell.project.parent / "name").read_text() == "hunk.py"
    assert file.read_text() == TWO
    (left,) = re.findall(r"the run waits; `tideate (resume \w+)` resumes it", terminal.text)
    again = shell.open(*left.split())
    again.answer(
        "accepted before, as you edited it:",
        "+    return 12",
        ("[y/N/p/c/o/d]", "y"),
    )
    assert again.wait_exit() == 0
    assert file.read_text() == TWO.replace("return 1", "return 12").replace("return 2", "return 20")
    run = left.split()[1]
    assert "a.py (1 hunk)" in shell.run("show", run).stdout
    shell.ok("rollback", "--yes", run)
    assert file.read_text() == TWO


def test_a_plan_that_was_left_is_a_table_again_and_is_carried_out(planning: Shell) -> None:
    table = ["1  create  new.py  the new home", "3  delete  old.py  not needed"]
    terminal = planning.open("run", "multi_file", "reorganize")
    terminal.answer(*table, ("Continue with 3 files? [y/N/e/c/numbers]", "q"))
    assert terminal.wait_exit() == 130
    (left,) = re.findall(r"`tideate (resume .*?)`", terminal.text)
    again = planning.open(*left.split())
    again.answer(
        *table,
        ("Continue with 3 files? [y/N/e/c/numbers]", "y"),
        "deleted file",
        ("Apply changes to 3 files? [y/N/p/c/d]", "y"),
    )
    assert again.wait_exit() == 0
    assert files_of(planning) == {"new.py": "value = 1\n", "a.py": "x = 2\n"}


def test_files_are_taken_out_of_a_plan_by_number_included_again_as_text_and_picked(planning: Shell) -> None:
    planning.env["EDITOR"] = "sed -i 's/^# \\(create\\|modify\\)/\\1/'"
    terminal = planning.open("run", "multi_file", "reorganize")
    terminal.answer(
        ("Continue with 3 files? [y/N/e/c/numbers]", "1,2 3"),
        ("Continue with 0 files? [y/N/e/c/numbers]", "y"),
        "no file is left in the plan: e edits it, n declines it",
        ("Continue with 0 files? [y/N/e/c/numbers]", "e"),
        "1  create  new.py  the new home",
        ("Continue with 2 files? [y/N/e/c/numbers]", "y"),
        ("Apply changes to 2 files? [y/N/p/c/d]", "p"),
        ("Create new.py? [y/N/e/b/a/s/q]", "y"),
        ("Accept hunk 1/1 of a.py? [y/N/e/b/a/s/q]", "n"),
    )
    assert terminal.wait_exit() == 0
    assert files_of(planning) == {"new.py": "value = 1\n", "a.py": "x = 1\n", "old.py": "old = 1\n"}


def test_the_model_corrects_a_syntax_error_and_enter_leads_back_to_the_review(
    shell: Shell, answering: ModelServer
) -> None:
    file = shell.write("a.py", "x = 1\n")
    scripted(answering, "def broken(\n")
    answering.answers("accepted of it brings new syntax errors", "```python\nx = 2\n```")
    terminal = shell.open("run", "refactor", "break it", "--file", "a.py")
    terminal.answer(
        ("along this analysis? [y/N]", "y"),
        ("[y/N/p/c/d]", "y"),
        ("Write it anyway? [y/N/f]", ""),
        ("[y/N/p/c/d]", "y"),
        ("Write it anyway? [y/N/f]", "f"),
        "+x = 2",
        ("Revision 2. Apply the change to a.py (+1 -1 lines)? [y/N/p/c/d]", "y"),
    )
    assert terminal.wait_exit() == 0
    assert file.read_text() == "x = 2\n"


def test_an_answer_cannot_steer_the_terminal(shell: Shell, answering: ModelServer) -> None:
    answering.answers(
        "hello", "before\x1b]0;owned\x07\x1b[2Jafter", pieces=["before\x1b]0;owned\x07\x1b[2Jafter"]
    )
    terminal = shell.open("run", "ask", "hello")
    assert terminal.wait_exit() == 0
    assert "\x1b]0;owned" not in terminal.raw
    assert "\x1b[2J" not in terminal.raw
    assert r"before\x1b]0;owned\x07\x1b[2Jafter" in terminal.text


def test_with_stdout_elsewhere_questions_are_still_asked(shell: Shell, answering: ModelServer) -> None:
    file = shell.write("a.py", "x = 1\n")
    scripted(answering, "x = 2\n")
    terminal = shell.open("run", "refactor", "two", "--file", "a.py", stdout=subprocess.PIPE)
    terminal.answer(("[y/N]", "y"), ("[y/N/p/c/d]", "y"))
    assert terminal.wait_exit() == 0
    assert terminal.process.stdout is not None
    assert terminal.process.stdout.read() == b"x = 2\n"
    assert file.read_text() == "x = 2\n"
