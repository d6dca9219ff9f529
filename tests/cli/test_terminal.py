"""`tideate run` as a person at a terminal sees and answers it."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell
    from tests.support.model_server import ModelServer
    from tests.support.terminal import Terminal

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
"""Ends with a failure at first, and goes on with what it had left then."""
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
    terminal.wait_for("- it *counts*")
    terminal.wait_for("Refactor lines 1-14 of a.py along this analysis? [y/N]")
    terminal.type("y\n")
    terminal.wait_for("+    return 20")
    terminal.wait_for("[y/N/p/c/d]")
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


def test_steps_show_their_state_and_time(refactoring: tuple[Terminal, Path]) -> None:
    terminal, _ = refactoring
    terminal.type("y\n")
    assert terminal.wait_exit() == 0
    last = terminal.text.rpartition("refactor · fake")[2]
    assert "✓ analyze" in last
    assert "✓ refactor" in last
    assert " s\n" in last


def test_yes_writes_all_hunks(refactoring: tuple[Terminal, Path]) -> None:
    terminal, file = refactoring
    terminal.type("y\n")
    assert terminal.wait_exit() == 0
    assert file.read_text() == TWO.replace("1\n", "10\n").replace("2\n", "20\n")
    assert "roll back: tideate rollback" in terminal.text


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [("n\n", 3, "declined"), ("\n", 3, "declined"), ("q\n", 130, "tideate resume")],
)
def test_anything_but_yes_changes_nothing(
    refactoring: tuple[Terminal, Path], answer: str, status: int, words: str
) -> None:
    terminal, file = refactoring
    terminal.type(answer)
    assert terminal.wait_exit() == status
    assert file.read_text() == TWO
    assert words in terminal.text


def test_ctrl_d_changes_nothing_and_leaves_the_run_with_what_was_picked(
    shell: Shell, answering: ModelServer, refactoring: tuple[Terminal, Path]
) -> None:
    terminal, file = refactoring
    requests = len(answering.requests)
    terminal.type("p\n")
    terminal.wait_for("Accept hunk 1/2 of a.py?")
    terminal.type("y\n")
    terminal.wait_for("Accept hunk 2/2 of a.py?")
    terminal.type("\x04")
    assert terminal.wait_exit() == 130
    assert file.read_text() == TWO
    (left,) = re.findall(r"the run waits; `tideate (resume \w+)` resumes it", terminal.text)
    assert "declined" not in terminal.text
    again = shell.open(*left.split())
    again.wait_for("2 hunks: 1 accepted, 1 open")
    again.wait_for("1 hunk decided before, at the terminal; o forgets that")
    again.wait_for("[y/N/p/c/o/d]")
    again.type("p\n")
    again.wait_for("Accept hunk 2/2 of a.py?")
    again.type("n\n")
    assert again.wait_exit() == 0
    assert file.read_text() == TWO.replace("1\n", "10\n")
    assert len(answering.requests) == requests, "the model is not asked again"


def test_q_goes_back_from_the_hunks_without_what_was_picked(refactoring: tuple[Terminal, Path]) -> None:
    terminal, file = refactoring
    for answer, question in (
        ("p", "Accept hunk 1/2 of a.py? [y/N/e/b/a/s/q]"),
        ("?", "Accept hunk 1/2 of a.py? [y/N/e/b/a/s/q]"),
        ("n", "Accept hunk 2/2 of a.py? [y/N/e/b/a/s/q]"),
        ("q", "[y/N/p/c/d]"),
        ("y", ""),
    ):
        terminal.type(f"{answer}\n")
        terminal.wait_for(question) if question else None
    assert terminal.wait_exit() == 0
    assert "n or Enter reject" in terminal.text
    assert file.read_text() == TWO.replace("1\n", "10\n").replace("2\n", "20\n")


def test_what_was_asked_stays_on_the_screen(refactoring: tuple[Terminal, Path]) -> None:
    terminal, _ = refactoring
    after_the_question = terminal.raw.partition("along this analysis?")[2].partition("refactor · fake")[0]
    assert "\x1b[1A" not in after_the_question, "the cursor went up over the question"


def test_an_unknown_answer_is_explained_and_asked_again(refactoring: tuple[Terminal, Path]) -> None:
    terminal, file = refactoring
    terminal.type("what\n")
    terminal.wait_for("p pick hunk by hunk")
    terminal.wait_for("[y/N/p/c/d]")
    terminal.type("n\n")
    assert terminal.wait_exit() == 3
    assert file.read_text() == TWO


def test_single_hunks_are_picked(refactoring: tuple[Terminal, Path]) -> None:
    terminal, file = refactoring
    terminal.type("p\n")
    terminal.wait_for("+    return 10")
    terminal.wait_for("Accept hunk 1/2 of a.py?")
    terminal.wait_for("]")
    terminal.type("n\n")
    terminal.wait_for("+    return 20")
    terminal.wait_for("Accept hunk 2/2 of a.py? [y/N/e/b/a/s/q]")
    terminal.type("y\n")
    assert terminal.wait_exit() == 0
    assert file.read_text() == TWO.replace("2\n", "20\n")


def test_a_hunk_is_edited_in_an_editor_and_outlives_the_end_of_input(
    shell: Shell, refactoring: tuple[Terminal, Path]
) -> None:
    terminal, file = refactoring
    terminal.type("p\n")
    terminal.wait_for("Accept hunk 1/2 of a.py? [y/N/e/b/a/s/q]")
    terminal.type("e\n")
    terminal.wait_for("what you typed is kept: e continues with it")
    terminal.wait_for("Accept hunk 1/2 of a.py? [y/N/e/b/a/s/q]")
    terminal.type("e\n")
    terminal.wait_for("Accept hunk 2/2 of a.py? [y/N/e/b/a/s/q]")
    terminal.type("\x04")
    assert terminal.wait_exit() == 130
    assert (shell.project.parent / "name").read_text() == "hunk.py"
    assert file.read_text() == TWO
    (left,) = re.findall(r"the run waits; `tideate (resume \w+)` resumes it", terminal.text)
    again = shell.open(*left.split())
    again.wait_for("accepted before, as you edited it:")
    again.wait_for("+    return 12")
    again.wait_for("[y/N/p/c/o/d]")
    again.type("y\n")
    assert again.wait_exit() == 0
    assert file.read_text() == TWO.replace("return 1", "return 12").replace("return 2", "return 20")
    run = left.split()[1]
    assert "a.py (1 hunk)" in shell.run("show", run).stdout
    assert shell.run("rollback", "--yes", run).returncode == 0
    assert file.read_text() == TWO


def test_picking_no_hunk_declines(refactoring: tuple[Terminal, Path]) -> None:
    terminal, file = refactoring
    terminal.type("p\n")
    terminal.wait_for("Accept hunk 1/2 of a.py? [y/N/e/b/a/s/q]")
    terminal.type("s\n")
    assert terminal.wait_exit() == 3
    assert file.read_text() == TWO


def test_a_plan_is_a_table_and_is_carried_out(planning: Shell) -> None:
    terminal = planning.open("run", "multi_file", "reorganize")
    terminal.wait_for("1  create  new.py  the new home")
    terminal.wait_for("3  delete  old.py  not needed")
    terminal.wait_for("Continue with 3 files? [y/N/e/c/numbers]")
    terminal.type("y\n")
    terminal.wait_for("deleted file")
    terminal.wait_for("Apply changes to 3 files? [y/N/p/c/d]")
    terminal.type("y\n")
    assert terminal.wait_exit() == 0
    assert files_of(planning) == {"new.py": "value = 1\n", "a.py": "x = 2\n"}


def test_files_are_taken_out_of_a_plan_by_number(planning: Shell) -> None:
    terminal = planning.open("run", "multi_file", "reorganize")
    terminal.wait_for("Continue with 3 files? [y/N/e/c/numbers]")
    terminal.type("1 3\n")
    terminal.wait_for("Continue with 1 file? [y/N/e/c/numbers]")
    terminal.type("y\n")
    terminal.wait_for("[y/N/p/c/d]")
    terminal.type("y\n")
    assert terminal.wait_exit() == 0
    assert files_of(planning) == {"a.py": "x = 2\n", "old.py": "old = 1\n"}


def test_a_plan_without_files_is_neither_accepted_nor_declined(planning: Shell) -> None:
    terminal = planning.open("run", "multi_file", "reorganize")
    terminal.wait_for("Continue with 3 files? [y/N/e/c/numbers]")
    terminal.type("1,2,3\n")
    terminal.wait_for("Continue with 0 files? [y/N/e/c/numbers]")
    terminal.type("y\n")
    terminal.wait_for("no file is left in the plan: e edits it, n declines it")
    terminal.wait_for("Continue with 0 files? [y/N/e/c/numbers]")
    terminal.type("q\n")
    assert terminal.wait_exit() == 130
    (left,) = re.findall(r"`tideate (resume .*?)`", terminal.text)
    again = planning.open(*left.split())
    again.wait_for("Continue with 3 files? [y/N/e/c/numbers]")


@pytest.mark.parametrize("key", ["n", "q", ""])
def test_a_gate_is_answered_no_at_once(shell: Shell, answering: ModelServer, key: str) -> None:
    file = shell.write("a.py", "x = 1\n")
    answering.answers("what does the code do", "- assigns")
    terminal = shell.open("run", "refactor", "break it", "--file", "a.py")
    terminal.wait_for("along this analysis? [y/N]")
    terminal.type(f"{key}\n")
    assert terminal.wait_exit() == 3
    assert "tideate resume" not in terminal.text
    assert file.read_text() == "x = 1\n"


def test_a_plan_is_edited_as_text(planning: Shell) -> None:
    planning.env["EDITOR"] = "sed -i -e '/old.py/d' -e 's/create new.py/create lib.py/'"
    terminal = planning.open("run", "multi_file", "reorganize")
    terminal.wait_for("Continue with 3 files? [y/N/e/c/numbers]")
    terminal.type("e\n")
    terminal.wait_for("1  create  lib.py  the new home")
    terminal.wait_for("Continue with 2 files? [y/N/e/c/numbers]")
    terminal.type("n\n")
    assert terminal.wait_exit() == 3


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("no-such-editor", "no-such-editor cannot be started"),
        ("false", "ended with status 1"),
        ("sed -i s/create/invent/", "line 5: 'invent' is not an action"),
    ],
)
def test_a_failed_edit_keeps_the_plan(planning: Shell, editor: str, words: str) -> None:
    planning.env["EDITOR"] = editor
    terminal = planning.open("run", "multi_file", "reorganize")
    terminal.wait_for("Continue with 3 files? [y/N/e/c/numbers]")
    terminal.type("e\n")
    terminal.wait_for(words)
    terminal.wait_for("Continue with 3 files? [y/N/e/c/numbers]")
    terminal.type("n\n")
    assert terminal.wait_exit() == 3


LONG = "of the first one, and of nothing else at all in this whole file"


def test_reasons_go_to_the_model_and_each_round_shows_only_what_differs(
    refactoring: tuple[Terminal, Path], answering: ModelServer
) -> None:
    terminal, file = refactoring
    reasons = ["eleven in the first function", f"twelve {LONG}", f"the number thirteen, not twelve, {LONG}"]
    for number, why in zip((11, 12, 13), reasons, strict=True):
        new = TWO.replace("return 1", f"return {number}").replace("return 2", "return 20")
        answering.answers(why, f"```python\n{new}```")
    for answers, question in (("bx", "Accept hunk 1/2"), ("y", "Accept hunk 2/2")):
        terminal.type("p\n") if question.endswith("1/2") else None
        terminal.wait_for(f"{question} of a.py? [y/N/e/b/a/s/q]")
        terminal.type(f"{answers[0]}\n")
        if answers == "bx":
            terminal.wait_for("Because?")
            terminal.type(f"{reasons[0]}\n")
    for number, why in zip((11, 12), reasons[1:], strict=True):
        shown = next_round(terminal, number)
        assert f"+    return {number}" in shown
        assert "return 20" not in shown
        terminal.type("p\n")
        terminal.wait_for("Accept hunk 1/2 of a.py? [y/N/e/b/a/s/q]")
        terminal.type("b\n")
        terminal.wait_for("Because?")
        terminal.type(f"{why}\n")
    assert "+    return 13" in next_round(terminal, 13)
    assert file.read_text() == TWO
    terminal.type("y\n")
    assert terminal.wait_exit() == 0
    assert file.read_text() == TWO.replace("return 1", "return 13").replace("return 2", "return 20")


def next_round(terminal: Terminal, number: int) -> str:
    """Return what a round shows that begins with this number."""
    terminal.wait_for(f"return {number}")
    terminal.wait_for("2 hunks: 1 accepted, 1 open")
    terminal.wait_for("[y/N/p/c/d]")
    return terminal.text.rpartition("diff --git")[2]


@pytest.mark.parametrize("picked", [True, False], ids=["p", "c"])
def test_comments_that_nobody_answered_go_with_the_next_answer(
    refactoring: tuple[Terminal, Path], answering: ModelServer, picked: bool
) -> None:
    terminal, file = refactoring
    reason, more = "eleven in the first function", f"and twelve in the second, {LONG}"
    new = TWO.replace("return 1", "return 11").replace("return 2", "return 12")
    answering.fails(reason, 400, times=1)
    answering.answers(reason if picked else more, f"```python\n{new}```")
    last = ("Accept hunk 2/2 of a.py? [y/N/e/b/a/s/q]", "y") if picked else ("What is to change?", more)
    terminal.type("p\n")
    for question, answer in (
        ("Accept hunk 1/2 of a.py? [y/N/e/b/a/s/q]", "b"),
        ("Because?", reason),
        ("Accept hunk 2/2 of a.py? [y/N/e/b/a/s/q]", "s"),
        (f"you said: {reason}", ""),
        ("[y/N/p/c/r/d]", "p" if picked else "c"),
        last,
        ("+    return 11", ""),
        ("Revision 2.", ""),
        ("[y/N/p/c/d]", "n"),
    ):
        terminal.wait_for(question)
        terminal.type(f"{answer}\n" if answer else "")
    assert terminal.wait_exit() == 3
    asked = answering.requests[-1]["messages"][-1]["content"]
    assert reason in asked
    assert (more in asked) is not picked
    assert file.read_text() == TWO


def test_what_is_to_change_is_said_of_all(refactoring: tuple[Terminal, Path], answering: ModelServer) -> None:
    terminal, file = refactoring
    answering.answers(LONG, f"```python\n{TWO.replace('return 1', 'return 15')}```")
    terminal.type("c\n")
    terminal.wait_for("What is to change?")
    terminal.type(f"{LONG}\n")
    terminal.wait_for("+    return 15")
    terminal.wait_for("Revision 2.")
    terminal.wait_for("[y/N/p/c/d]")
    terminal.type("y\n")
    assert terminal.wait_exit() == 0
    assert file.read_text() == TWO.replace("return 1", "return 15")


def test_the_model_corrects_a_syntax_error(shell: Shell, answering: ModelServer) -> None:
    file = shell.write("a.py", "x = 1\n")
    answering.answers("what does the code do", "- assigns")
    answering.answers("Rewrite these lines", "```python\ndef broken(\n```")
    answering.answers("accepted of it brings new syntax errors", "```python\nx = 2\n```")
    terminal = shell.open("run", "refactor", "break it", "--file", "a.py")
    for question, answer in (
        ("along this analysis? [y/N]", "y"),
        ("[y/N/p/c/d]", "y"),
        ("Write it anyway? [y/N/f]", "f"),
        ("+x = 2", ""),
        ("Revision 2. Apply the change to a.py (+1 -1 lines)? [y/N/p/c/d]", "y"),
    ):
        terminal.wait_for(question)
        terminal.type(f"{answer}\n" if answer else "")
    assert terminal.wait_exit() == 0
    assert file.read_text() == "x = 2\n"


def test_whole_files_are_picked(planning: Shell) -> None:
    terminal = planning.open("run", "multi_file", "reorganize")
    terminal.wait_for("Continue with 3 files? [y/N/e/c/numbers]")
    terminal.type("y\n")
    terminal.wait_for("Apply changes to 3 files? [y/N/p/c/d]")
    terminal.type("p\n")
    for question, answer in (
        ("Create new.py? [y/N/e", "y"),
        ("Accept hunk 1/1 of a.py? [y/N/e", "n"),
        ("Delete old.py? [y/N", "n"),
    ):
        terminal.wait_for(f"{question}/b/a/s/q]")
        terminal.type(f"{answer}\n")
    assert terminal.wait_exit() == 0
    assert files_of(planning) == {"new.py": "value = 1\n", "a.py": "x = 1\n", "old.py": "old = 1\n"}


@pytest.mark.parametrize(("answer", "status", "text"), [("\n", 3, "x = 1\n"), ("y\n", 0, "def broken(\n")])
def test_new_syntax_errors_need_an_override_or_lead_back_to_the_review(
    shell: Shell, answering: ModelServer, answer: str, status: int, text: str
) -> None:
    file = shell.write("a.py", "x = 1\n")
    answering.answers("what does the code do", "- assigns")
    answering.answers("Rewrite these lines", "```python\ndef broken(\n```")
    terminal = shell.open("run", "refactor", "break it", "--file", "a.py")
    terminal.wait_for("[y/N]")
    terminal.type("y\n")
    terminal.wait_for("[y/N/p/c/d]")
    terminal.type("y\n")
    terminal.wait_for("Write it anyway? [y/N/f]")
    terminal.type(answer)
    if status:
        terminal.wait_for("[y/N/p/c/d]")
        terminal.type("n\n")
    assert terminal.wait_exit() == status
    assert file.read_text() == text


def test_keys_typed_before_a_question_do_not_answer_it(shell: Shell, answering: ModelServer) -> None:
    file = shell.write("a.py", "x = 1\n")
    gate = answering.holds("what does the code do", text="- it assigns")
    terminal = shell.open("run", "refactor", "rename", "--file", "a.py")
    gate.wait_started()
    terminal.type("y\n")
    gate.release()
    terminal.wait_for("[y/N]")
    terminal.type("n\n")
    assert terminal.wait_exit() == 3
    assert file.read_text() == "x = 1\n"
    assert len(answering.requests) == 1


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
    answering.answers("what does the code do", "- assigns")
    answering.answers("Rewrite these lines", "```python\nx = 2\n```")
    terminal = shell.open("run", "refactor", "two", "--file", "a.py", stdout=subprocess.PIPE)
    for keys in ("[y/N]", "[y/N/p/c/d]"):
        terminal.wait_for(keys)
        terminal.type("y\n")
    assert terminal.wait_exit() == 0
    assert terminal.process.stdout is not None
    assert terminal.process.stdout.read() == b"x = 2\n"
    assert file.read_text() == "x = 2\n"
