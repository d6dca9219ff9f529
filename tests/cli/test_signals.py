"""Signals to commands and runs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import LOOP, SHORT, killed, only_run, refactored, shouting
from tests.mcp.client.conftest import BARE

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


def started(shell: Shell, number: signal.Signals, *arguments: str) -> subprocess.Popen[str]:
    before = signal.signal(number, signal.SIG_DFL)  # this test may itself run under nohup
    try:
        return shell.start(*arguments)
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGINT, "cancelled"), (signal.SIGTERM, "interrupted")],
)
def test_only_ctrl_c_cancels_what_streams_and_any_signal_ends_the_request(
    shell: Shell, answering: ModelServer, number: signal.Signals, reason: str
) -> None:
    gate = answering.holds("wait for it", times=1)
    process = started(shell, number, "run", "ask", "wait for it", "--json")
    gate.wait_started()
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    gate.wait_disconnected()
    assert process.returncode == 128 + number, stderr
    assert json.loads(stdout)["reason"] == reason
    assert "Traceback" not in stderr
    answering.wait_idle()
    assert shell.brood.gone(within=60), shell.brood.commands()
    assert only_run(shell)["resumable"] is (reason == "interrupted")
    if reason == "interrupted":
        answering.answers("wait for it", "it came")
        assert shell.run("resume", only_run(shell)["execution_id"]).stdout == "it came\n"


def test_a_signal_ends_a_program_that_runs_and_not_the_run(shell: Shell) -> None:
    command = json.dumps([sys.executable, str(BARE), str(shell.project)])
    shell.configure(f"[mcp.servers.bare]\ncommand = {command}\n")
    shell.write(
        "flow.yaml", "steps: [{id: first, tool: {server: bare, name: work, arguments: {seconds: 600}}}]\n"
    )
    shell.ok("trust", "--yes", "flow.yaml")
    terminal = shell.open("run", "flow.yaml", "--yes")
    terminal.wait_for("halfway")
    terminal.process.send_signal(signal.SIGHUP)
    assert terminal.wait_exit() == 128 + signal.SIGHUP
    assert "resumes it" in terminal.text
    assert shell.brood.gone(within=60), shell.brood.commands()
    assert only_run(shell)["resumable"]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM], ids=["closed", "SIGTERM"])
def test_a_review_that_is_left_by_a_signal_waits_with_its_decisions(
    shell: Shell, answering: ModelServer, number: signal.Signals
) -> None:
    terminal, lines, loud = shouting(shell, answering, forked=False)
    if number == signal.SIGHUP:
        terminal.hang_up()
    else:
        terminal.process.send_signal(number)
    assert terminal.wait_exit() == 128 + number
    asked_before = len(answering.requests)
    again = shell.open("resume", only_run(shell)["execution_id"])
    again.answer("1 hunk decided before, at the terminal", ("[y/N/p/c/o/d]", "y"))
    assert again.wait_exit() == 0
    assert shell.read("a.txt") == "\n".join([*lines[:5], *loud[5:], ""])
    assert len(answering.requests) == asked_before


def test_a_run_goes_on_where_nobody_reads_what_it_says(shell: Shell, answering: ModelServer) -> None:
    file = shell.write("a.py", LOOP)
    answering.answers("what does the code do", "- it adds up")
    gate = answering.holds("Rewrite these lines", text=f"```python\n{SHORT}```")
    process = shell.start("run", "refactor", "shorten", "--file", "a.py", "--yes", forked=False)
    gate.wait_started()
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    gate.release()
    process.wait(60)
    assert (only_run(shell)["state"], file.read_text()) == ("completed", SHORT)


def hooked(
    shell: Shell, code: str, *words: str, number: signal.Signals = signal.SIGINT
) -> subprocess.CompletedProcess[str]:
    """Run a command by Python code, with the default handlers of SIGINT and the signal."""
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        env=shell.env,
        cwd=shell.project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: [signal.signal(one, signal.SIG_DFL) for one in {number, signal.SIGINT}],
    )


@pytest.mark.parametrize("words", [["history"], ["run", "ask", "x"]])
def test_ctrl_c_at_any_time_shows_no_traceback(
    shell: Shell, answering: ModelServer, words: list[str]
) -> None:
    """Interrupted at the import of the nth module: independent of time."""
    answering.answers("x", "y")
    code = (
        "import os, signal, sys\n"
        "at, sys.argv[1:] = int(sys.argv[1]), sys.argv[2:]\n"
        "def hook(event, _):\n"
        "    global at\n"
        "    if event == 'import':\n"
        "        at -= 1\n"
        "        if at == 0: os.kill(os.getpid(), signal.SIGINT)\n"
        "from tideate_core.entry import main\n"
        "sys.addaudithook(hook)\n"
        "main()\n"
    )
    for at in (1, 5, 20, 100, 400, 600):
        done = hooked(shell, code, str(at), *words)
        assert done.returncode in (0, 2, 130), (at, done.stderr)
        assert "Traceback" not in done.stderr, at
        assert "KeyboardInterrupt" not in done.stderr, at


def test_nothing_is_imported_before_ctrl_c_is_taken() -> None:
    code = (
        "import sys\n"
        "before = {*sys.modules}\n"
        "import tideate_core.entry\n"
        "print(*sorted({*sys.modules} - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tideate_core", "tideate_core.entry"]


def signalled(
    shell: Shell, number: signal.Signals, event: str, file: str, *words: str
) -> subprocess.CompletedProcess[str]:
    """Run a command with a signal at the first audit event of a file; wait until it is handled."""
    code = (
        "import os, signal, sys, time\n"
        "left = True\n"
        "def hook(event, given):\n"
        "    global left\n"
        f"    if left and event == {event!r} and any(str(one).endswith({file!r}) for one in given[:2]):\n"
        "        left = False\n"
        "        before = signal.getsignal(signal.SIGINT)\n"
        f"        os.kill(os.getpid(), {int(number)})\n"
        "        while signal.getsignal(signal.SIGINT) == before: time.sleep(0.001)\n"
        "from tideate_core.entry import main\n"
        "sys.addaudithook(hook)\n"
        "main()\n"
    )
    return hooked(shell, code, *words, number=number)


@pytest.mark.parametrize(
    ("command", "number", "event"),
    [
        ("rollback", signal.SIGINT, "open"),
        ("rollback", signal.SIGINT, "os.rename"),
        ("restore", signal.SIGTERM, "os.rename"),
    ],
)
def test_a_signal_cancels_before_files_are_written_and_later_waits_for_their_end(
    shell: Shell, answering: ModelServer, command: str, number: signal.Signals, event: str
) -> None:
    file = shell.write("a.py", LOOP)
    kept = shell.run("snapshot", "create").stdout.strip()
    run = refactored(shell, answering)
    assert file.read_text() == SHORT
    words = ["rollback", run] if command == "rollback" else ["snapshot", "restore", kept]
    done = signalled(shell, number, event, "a.py", *words, "--yes")
    if event == "open":
        assert (done.returncode, file.read_text(), done.stderr) == (128 + number, SHORT, "")
        return
    assert (done.returncode, file.read_text()) == (0, LOOP), done.stderr
    assert "finishes writing first; Ctrl-C again quits at once" in done.stderr.replace("\n", " ")
    assert "restored: a.py" in done.stderr


@pytest.mark.parametrize(
    ("number", "event", "file", "state"),
    [
        (signal.SIGHUP, "sqlite3.connect", "", "interrupted"),
        (signal.SIGINT, "os.rename", "run-summary.json", "cancelled"),
    ],
)
def test_a_signal_stops_the_cancellation_of_an_abandoned_run_before_its_writes_only(
    shell: Shell, answering: ModelServer, number: signal.Signals, event: str, file: str, state: str
) -> None:
    run = killed(shell, answering)["execution_id"]
    done = signalled(shell, number, event, file, "cancel", run)
    assert done.returncode == (0 if state == "cancelled" else 128 + number), done.stderr
    assert ("finishes writing first" in done.stderr) is (state == "cancelled")
    assert only_run(shell)["state"] == state


def test_ctrl_c_at_the_terminal_cancels_while_streaming(shell: Shell, answering: ModelServer) -> None:
    gate = answering.holds("wait for it", text="streaming is visible")
    terminal = shell.open("run", "ask", "wait for it")
    gate.wait_started()
    terminal.wait_for("streaming")
    terminal.type("\x03")
    assert terminal.wait_exit() == 130
    gate.wait_disconnected()
    assert "cancelled" in terminal.text
    assert "\x1b[?25h" in terminal.raw.rpartition("\x1b[?25l")[2], "the cursor stays hidden"
    assert shell.brood.gone(within=60), shell.brood.commands()


def test_a_background_job_that_ignores_hangups_goes_on(shell: Shell, answering: ModelServer) -> None:
    gate = answering.holds("wait for it", text="held to the end")
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = shell.start("run", "ask", "wait for it", forked=False)
    finally:
        signal.signal(signal.SIGHUP, before)
    gate.wait_started()
    process.send_signal(signal.SIGHUP)
    gate.release()
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (0, "held to the end\n"), stderr
