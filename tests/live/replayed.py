"""Runs of a workflow in a real project from its recording, as a process."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tideate_core.adapters.recordings import Recording
from tideate_core.engine import EventName

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.shell import Shell
    from tests.live.tasks import LiveTask

__all__ = ["configure", "replay", "run"]

CHECKS = """
[verify]
tests = {tests}
type_check = "off"
lint = "off"
build = "off"
documentation = "off"
"""


def configure(shell: Shell, task: LiveTask, adapter: str) -> None:
    """Lay out the task's tree, configure the adapter, and trust the project."""
    (shell.project / "pyproject.toml").unlink()
    task.lay(shell.project)
    tests = json.dumps([task.python, "-m", "pytest", "-q", "-p", "no:cacheprovider"])
    shell.configure(adapter + CHECKS.format(tests=tests))
    trusted = shell.run("trust", "--yes")
    assert trusted.returncode == 0, trusted.stderr


def run(shell: Shell, task: LiveTask, workflow: str) -> dict[str, Any]:
    """Run a workflow with a user who accepts everything; return the events of `tideate show`.

    `--yes` alone would leave out files that other tools execute, as conftest.py.
    """
    terminal = shell.open("run", workflow, "--", task.request, columns=200)
    assert terminal.answer_each("[y/N", "y\n", 600) == 0, terminal.text
    shown = shell.run("show", "last", "--events", "--json")
    found: dict[str, Any] = json.loads(shown.stdout)
    return found


def replay(shell: Shell, task: LiveTask, recording: Path) -> dict[str, Any]:
    """Replay a workflow's recording; all of its turns must be used, and the hidden tests must pass.

    :param recording: a reduced recording; each turn is given once.
    """
    configure(shell, task, f'adapter = "replay:{recording}"\n')
    shown = run(shell, task, recording.stem)
    used = sum(event["name"] == EventName.MODEL_ANSWERED for event in shown["events"])
    recorded = len(Recording.load(recording).exchanges)
    assert used == recorded, f"{used} of {recorded} recorded turns were used"
    failures = task.failures(shell.project)
    assert not failures, f"{len(failures)} hidden tests fail: {failures[:10]}"
    return shown
