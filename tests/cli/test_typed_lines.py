"""Typed messages to a run: delivery, questions, job control, terminal settings; the line editor."""

from __future__ import annotations

import shlex
import signal
from typing import TYPE_CHECKING

import pytest

from tests.harness.shell import COMMAND
from tests.harness.terminal import Terminal
from tideate_core.cli.typed_lines import LineEditor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.harness.model_server import Gate, ModelServer
    from tests.harness.shell import Shell


@pytest.fixture
def working(shell: Shell, server: ModelServer) -> ModelServer:
    """A model that calls tools."""
    shell.use(server, tools=True)
    return server


@pytest.fixture
def job(shell: Shell) -> Iterator[Callable[[str], Terminal]]:
    """Start a command line in a shell with job control that keeps terminal settings."""
    opened: list[Terminal] = []

    def start(line: str) -> Terminal:
        terminal = Terminal(["/bin/dash", "-i"], env={**shell.env, "PS1": "$ "}, cwd=shell.project)
        opened.append(terminal)
        terminal.wait_for("$ ")
        terminal.type(line + "\n")
        return terminal

    yield start
    for terminal in opened:
        terminal.type("\x03")
        terminal.close()


def held_turn(server: ModelServer) -> Gate:
    gate = server.holds("what is in b", text="Let me look.", before_first=True, times=1)
    server.answers("be short", "41")
    return gate


@pytest.mark.slow
def test_a_typed_line_is_read_by_the_next_turn(shell: Shell, working: ModelServer) -> None:
    gate = held_turn(working)
    terminal = shell.open("run", "multi_file", "what is in b?")
    gate.wait_started()
    terminal.type("be shorr\x7ft")
    terminal.wait_for("\u203a be short")
    assert not terminal.is_cooked, "the terminal would show the keys where the view is drawn"
    terminal.type("\n")
    terminal.wait_for("you: be short")
    gate.release()
    working.wait_for_requests(2)
    assert working.requests[1]["messages"][-1]["content"] == "be short"
    terminal.wait_for("the model reads your message: be short")
    terminal.type("\x03")
    assert terminal.wait_exit() == 130
    assert terminal.is_cooked


@pytest.mark.slow
@pytest.mark.parametrize("dumb", [False, True])
def test_a_question_is_not_answered_by_what_was_typed_before_it(
    shell: Shell, answering: ModelServer, *, dumb: bool
) -> None:
    file = shell.write("a.py", "x = 1\n")
    if dumb:
        shell.env["TERM"] = "dumb"
    gate = answering.holds("what does the code do", text="- assigns", before_first=True)
    terminal = shell.open("run", "refactor", "rename", "--file", "a.py")
    gate.wait_started()
    terminal.type("hello\ny")
    terminal.wait_for("not passed on")
    gate.release()
    terminal.wait_for("[y/N]")
    assert terminal.is_cooked, "a question leaves the terminal to the person"
    terminal.type("\n")
    terminal.wait_for("not sent, as the run has ended: y")
    assert terminal.wait_exit() == 3
    assert file.read_text() == "x = 1\n"
    assert len(answering.requests) == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGQUIT])
def test_a_signal_leaves_the_terminal_as_it_was(
    shell: Shell, working: ModelServer, number: signal.Signals
) -> None:
    gate = held_turn(working)
    terminal = shell.open("run", "multi_file", "what is in b?")
    gate.wait_started()
    terminal.type("half")
    terminal.wait_for("\u203a half")
    terminal.process.send_signal(number)
    assert terminal.wait_exit() == (128 + number if number != signal.SIGQUIT else -number)
    assert terminal.is_cooked
    assert "\x1b[?25h" in terminal.raw.rpartition("\x1b[?25l")[2], "the cursor stays hidden"


@pytest.mark.slow
def test_a_stopped_run_leaves_the_terminal_and_goes_on_with_the_line(
    job: Callable[[str], Terminal], working: ModelServer
) -> None:
    gate = held_turn(working)
    terminal = job(shlex.join([*COMMAND, "run", "multi_file", "what is in b?"]))
    gate.wait_started()
    terminal.type("be ")
    terminal.wait_for("\u203a be ")
    terminal.type("\x1a")
    terminal.wait_for("Stopped")
    assert terminal.is_cooked
    terminal.type("fg\n")
    terminal.answer(("\u203a be ", "short"), "you: be short")
    gate.release()
    working.wait_for_requests(2)
    assert working.requests[1]["messages"][-1]["content"] == "be short"


@pytest.mark.slow
def test_a_job_in_the_background_reads_nothing_until_it_is_in_the_foreground(
    job: Callable[[str], Terminal], working: ModelServer
) -> None:
    gate = held_turn(working)
    terminal = job(shlex.join([*COMMAND, "run", "multi_file", "what is in b?"]) + " &")
    gate.wait_started()
    terminal.type("echo $((40 + 2)) there\n")
    terminal.wait_for("42 there")
    assert terminal.is_cooked
    terminal.type("jobs\n")
    terminal.answer(("Running", "fg"), ("fg", "be short"), "you: be short")
    gate.release()
    working.wait_for_requests(2)
    assert working.requests[1]["messages"][-1]["content"] == "be short"


@pytest.mark.slow
def test_stdin_that_is_no_terminal_is_not_read(job: Callable[[str], Terminal], working: ModelServer) -> None:
    gate = working.holds("what is in b", text="41", before_first=True)
    terminal = job(f"echo piped | {shlex.join([*COMMAND, 'run', 'ask', 'what is in b?'])}; echo ended $?")
    gate.wait_started()
    gate.release()
    terminal.wait_for("ended 0")
    assert "you: piped" not in terminal.text


@pytest.mark.parametrize(
    ("typed", "lines", "left"),
    [
        ("keep the name\n", ["keep the name"], ""),
        ("one\rtwo\nthr", ["one", "two"], "thr"),
        ("nane\x7f\x7fme\n", ["name"], ""),
        ("a\x08b", [], "b"),
        ("\x7f\x7fa", [], "a"),
        ("keep the nane\x17name", [], "keep the name"),
        ("all wrong\x15right", [], "right"),
        ("handed over\x04", ["handed over"], ""),
        ("\x1b[A\x1b[1;5Cup\x1bOP\x1bx", [], "up"),
        ("e\u0301\x7fa", [], "a"),
        ("a\tb\x00\x07", [], "a b"),
    ],
)
def test_keys_make_lines(typed: str, lines: list[str], left: str) -> None:
    editor = LineEditor()
    assert editor.feed(typed.encode()) == lines
    assert editor.text == left


def test_what_comes_in_pieces_is_one() -> None:
    editor = LineEditor()
    for byte in "ä\x1b[1;5Cö\n".encode():
        lines = editor.feed(bytes([byte]))
    assert lines == ["äö"]


def test_what_is_no_text_is_left_out() -> None:
    editor = LineEditor()
    assert editor.feed(b"a\xffb\n") == ["ab"]
