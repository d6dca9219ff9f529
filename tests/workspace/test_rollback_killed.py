"""A rollback killed at any moment has the same result when it is repeated."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.workspace.killed import forget
from tests.workspace.project import (
    LONG,
    NAME,
    WANTED,
    TextFile,
    apply_changes,
    change_by_hand,
    edit,
    moving,
    tree,
)
from tests.workspace.test_transaction import EVERYTHING
from tideate_core.workspace import RollbackResult, Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.workspace.killed import Killed

pytestmark = pytest.mark.slow

MOVED = "src/moved.py"


async def written(root: Path, private: Path) -> None:
    """Write twice to one file in a run, then change three of the files by hand."""
    workspace = Workspace(root, private=private)
    changes = [*EVERYTHING, edit(NAME, LONG, WANTED), moving(MOVED, "m.py", LONG, WANTED)]
    await apply_changes(workspace, *changes)
    again = WANTED.replace("line 18", "eighteen")
    await apply_changes(workspace, edit(NAME, WANTED, again))
    change_by_hand(TextFile(root / NAME))
    change_by_hand(TextFile(root / "m.py"))
    TextFile(root / "src/one.py").write("mine\n")


def rewritten(root: Path, original: dict[str, bytes]) -> None:
    for name, data in original.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(data)
    (root / "m.py").unlink(missing_ok=True)


async def test_killed_at_any_moment_it_comes_to_the_same_end(
    root: Path, private: Path, killed: Killed
) -> None:
    for name in (NAME, MOVED):
        TextFile(root / name).write(LONG + "\n")
    original = {name: content for name, (kind, _, content) in tree(root).items() if kind == "file"}
    modes = {name: mode for name, (kind, mode, _) in tree(root).items() if kind == "file"}
    await written(root, private)
    begun = tree(root)
    done = await Workspace(root, private=private).rollback_best_effort("run")
    end = tree(root)
    assert (sorted(done.merged), done.left) == ([NAME, MOVED], ["src/one.py"])
    half_done = 0
    for moment in count(1, 4):
        rewritten(root, original)
        for name, mode in modes.items():
            (root / name).chmod(mode)
        forget(private)
        await written(root, private)
        assert tree(root) == begun
        if not killed.at(moment, "roll back what is unchanged"):
            break
        half_done += tree(root) not in (begun, end)
        again = await Workspace(root, private=private).rollback_best_effort("run")
        assert tree(root) == end
        assert told(again) == told(done)
    assert half_done > 3


def told(done: RollbackResult) -> tuple[list[str], list[str], list[str]]:
    return sorted(done.restored), sorted(done.merged), sorted(done.left)
