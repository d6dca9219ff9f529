"""Killed at any moment, a run can be taken back, and a rollback can be gone on with."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.workspace.project import tree
from tests.workspace.test_apply import EVERYTHING
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

CHILD = """
import asyncio, os, pathlib, signal, sys
from tests.workspace.test_apply import EVERYTHING
from tideate_core.workspace import Workspace

work, root, private, kill_at = sys.argv[1:]
left = int(kill_at)

def counted(real):
    def call(*args, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **named)
    return call

workspace = Workspace(pathlib.Path(root), private=pathlib.Path(private))
for name in ("open", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir", "symlink", "fchmod"):
    setattr(os, name, counted(getattr(os, name)))
asyncio.run(
    workspace.apply(EVERYTHING, execution_id="run") if work == "apply" else workspace.rollback("run")
)
"""
REPOSITORY = Path(__file__).parents[2]


def killed(work: str, root: Path, private: Path, *, step: int) -> Iterator[int]:
    """Do the work again and again, killed ever later; ends with the first time that it comes through."""
    moment = 1
    while True:
        command = [sys.executable, "-c", CHILD, work, str(root), str(private), str(moment)]
        done = subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True, text=True)
        if done.returncode == 0:
            return
        assert done.returncode == -signal.SIGKILL, done.stderr
        yield moment
        moment += step


async def test_an_apply_killed_at_any_moment_is_taken_back(root: Path, private: Path) -> None:
    before = tree(root)
    half_done = 0
    for _ in killed("apply", root, private, step=3):
        half_done += tree(root) != before
        await Workspace(root, private=private).rollback("run")
        assert tree(root) == before
    assert half_done > 2
    assert tree(root) != before


async def test_a_rollback_killed_at_any_moment_goes_on_where_it_stopped(
    root: Path, private: Path, workspace: Workspace
) -> None:
    before = tree(root)
    await workspace.apply(EVERYTHING, execution_id="run")
    after = tree(root)
    half_done = 0
    for _ in killed("rollback", root, private, step=3):
        half_done += tree(root) not in (before, after)
        await workspace.rollback("run")
        assert tree(root) == before
        forget(private)
        await workspace.apply(EVERYTHING, execution_id="run")
        assert tree(root) == after
    assert half_done > 2
    assert tree(root) == before


def forget(private: Path) -> None:
    for path in sorted((private / "journal").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
