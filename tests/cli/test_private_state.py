"""Private state: file modes under several umasks, and odd files in its place."""

from __future__ import annotations

import os
import signal
import stat
from typing import TYPE_CHECKING, Final

import pytest

from tests.cli.interrupted import LOOP, REFACTOR, scripted
from tests.harness.modes import UMASKS, umask, wider_than_private

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell


pytestmark = pytest.mark.slow


def run(shell: Shell, *arguments: str) -> str:
    """Run a command in a new process, which inherits the umask."""
    process = shell.start(*arguments, forked=False)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 0, stderr
    return stdout


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", [UMASKS[0], UMASKS[-1]], ids=oct)
def test_all_of_the_state_is_the_persons_alone(shell: Shell, answering: ModelServer, mask: int) -> None:
    shell.write("a.py", LOOP)
    shell.env["TIDEATE_RECORD"] = str(shell.home / "state/tideate/recorded/answers.jsonl")
    scripted(answering)
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


def test_files_of_the_project_have_the_modes_of_the_persons_umask(
    shell: Shell, answering: ModelServer
) -> None:
    for mask in UMASKS:
        name = f"{mask:o}.py"
        plan = {"files": [{"action": "create", "path": name, "why": "wanted"}]}
        answering.answers("Which files have to be", plan, times=1)
        answering.answers(f"Write the new file {name}", "```python\nvalue = 1\n```")
        with umask(mask):
            run(shell, "run", "multi_file", "a new file", "--yes")
        assert mode(shell.project / name) == 0o666 & ~mask


def test_a_state_that_others_can_read_is_made_private(shell: Shell, answering: ModelServer) -> None:
    answering.answers("hi", "hello")
    run(shell, "run", "ask", "hi")
    top = shell.home / "state/tideate"
    for path in (top, *top.rglob("*")):
        path.chmod(0o775 if path.is_dir() else 0o664)
    assert "ask" in run(shell, "history")
    assert mode(top) == 0o775, "looking changed it"
    run(shell, "run", "ask", "hi")
    assert wider_than_private(top) == []


KINDS: Final[dict[str, Callable[[Path], None]]] = {
    "a named pipe": os.mkfifo,
    "a directory": os.mkdir,
    "a dangling link": lambda path: path.symlink_to("nowhere"),
}
COMMANDS: Final = {
    "config/tideate/config.toml": ["list"],
    "{state}/tideate.db": ["history"],
    "{state}/tideate.db-wal": ["run", "ask", "hi"],
    "{state}/snapshots/lock": ["snapshot", "create"],
    "{state}/trust.json": ["trust", "--yes"],
    "{state}/trust.json.lock": ["trust", "--yes"],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COMMANDS)
def test_it_is_named_and_not_waited_for(shell: Shell, answering: ModelServer, name: str, kind: str) -> None:
    answering.answers("hi", "hello")
    shell.write(".tideate/workflows/w.yaml", "name: w\nsteps:\n  - id: a\n    task: hi\n")
    shell.run("run", "ask", "hi")
    shell.run("snapshot", "create")
    path = shell.home / name.format(state=shell.state)
    path.unlink(missing_ok=True)
    KINDS[kind](path)
    done = shell.run(*COMMANDS[name])
    assert done.returncode in (1, 2), done.stdout
    assert str(path) in done.stderr.replace("\n", "")
    assert "Traceback" not in done.stderr
    assert not (path.parent / "nowhere").exists()
