"""Modes of the private state, and of the project's files, after real commands under several umasks."""

from __future__ import annotations

import signal
import stat
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import LOOP, REFACTOR, SHORT
from tests.support.modes import UMASKS, umask, wider_than_private

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell
    from tests.support.model_server import ModelServer

pytestmark = pytest.mark.slow


def run(shell: Shell, *arguments: str) -> str:
    """Run a command of its own process, which has this one's umask."""
    process = shell.start(*arguments, forked=False)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    return stdout


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", UMASKS, ids=oct)
def test_all_of_the_state_is_the_persons_alone(shell: Shell, answering: ModelServer, mask: int) -> None:
    shell.write("a.py", LOOP)
    shell.env["TIDEATE_RECORD"] = str(shell.home / "state/tideate/recorded/answers.jsonl")
    answering.answers("what does the code do", "- it adds up")
    answering.answers("Rewrite these lines", f"```python\n{SHORT}```")
    answering.answers("say much", "m" * 20_000)
    with umask(mask):
        run(shell, "run", "ask", "say much")
        run(shell, "snapshot", "create")
        run(shell, *REFACTOR)
        (rolled,) = [line.split()[0] for line in run(shell, "rollback").splitlines() if "a.py" in line]
        run(shell, "rollback", "--yes", rolled)
        gate = answering.holds("wait for it")
        process = shell.start("run", "ask", "wait for it", forked=False)
        gate.wait_started()
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        gate.release()
        terminal = shell.open("run", "refactor", "shorten", "--file", "a.py", forked=False)
        terminal.wait_for("[y/N]")
        assert wider_than_private(shell.home / "state") == []
        terminal.type("\x03")
        assert terminal.wait_exit() == 130
    assert wider_than_private(shell.home / "state") == []
    assert {path.name for path in shell.state.iterdir()} >= {"tideate.db", "journal", "snapshots", "objects"}


@pytest.mark.parametrize("mask", UMASKS, ids=oct)
def test_files_of_the_project_have_the_modes_of_the_persons_umask(
    shell: Shell, answering: ModelServer, mask: int
) -> None:
    plan = {"files": [{"action": "create", "path": "new.py", "why": "wanted"}]}
    answering.answers("Which files have to be", plan)
    answering.answers("Write the new file new.py", "```python\nvalue = 1\n```")
    with umask(mask):
        run(shell, "run", "multi_file", "a new file", "--yes")
    assert mode(shell.project / "new.py") == 0o666 & ~mask


def test_a_state_that_others_could_read_is_taken_from_them(shell: Shell, answering: ModelServer) -> None:
    """As earlier versions made it."""
    answering.answers("hi", "hello")
    run(shell, "run", "ask", "hi")
    top = shell.home / "state/tideate"
    for path in (top, *top.rglob("*")):
        path.chmod(0o775 if path.is_dir() else 0o664)
    assert "ask" in run(shell, "history")
    assert mode(top) == 0o775, "looking changed it"
    run(shell, "run", "ask", "hi")
    assert wider_than_private(top) == []
