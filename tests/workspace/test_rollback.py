"""Rollback of a whole run, by hash."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.workspace.project import apply_changes, deleting, edit, tree
from tests.workspace.test_transaction import EVERYTHING, GOOD
from tideate_core.errors import RollbackConflict
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


async def test_a_whole_run_is_rolled_back_byte_for_byte_by_another_process(
    root: Path, private: Path, workspace: Workspace
) -> None:
    (root / "alias").symlink_to("run.sh")
    before = tree(root)
    await apply_changes(workspace, GOOD)
    await apply_changes(workspace, *EVERYTHING[1:], deleting("alias"))
    again = edit("src/one.py", GOOD.after, "once more")
    await apply_changes(workspace, again)
    restored = await Workspace(root, private=private).rollback("run")
    assert tree(root) == before
    assert await workspace.rollback("run") == []
    assert tree(root) == before
    assert sorted(restored) == [
        "alias", "bin/run", "deep/er/new.py", "logo.png", "run.sh", "src/one.py",
    ]  # fmt: skip


def become_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def become_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("dos.txt")


def become_link_out(path: Path) -> None:
    shutil.move(path, path.parent.parent)
    path.symlink_to(f"../{path.name}")


CHANGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a modified file": (
        lambda root: (root / "src/one.py").write_text("mine"),
        "src/one.py (changed where the run wrote)",
    ),
    "a created file": (
        lambda root: (root / "deep/er/new.py").write_text("x = 1\ny = 2\n\nz = 3\n"),
        "deep/er/new.py (created by the run and changed since)",
    ),
    "a deleted file made anew": (
        lambda root: (root / "logo.png").write_text("mine"),
        "logo.png (another file was created there since)",
    ),
    "a moved file": (
        lambda root: (root / "bin/run").write_text("mine"),
        "bin/run (changed where the run wrote)",
    ),
    "a moved file made anew where it was": (
        lambda root: (root / "run.sh").write_text("mine"),
        "run.sh (another file was created there since)",
    ),
    "a modified file deleted": (lambda root: (root / "src/one.py").unlink(), "src/one.py (deleted since)"),
    "a created file now a directory": (
        lambda root: become_directory(root / "deep/er/new.py"),
        "deep/er/new.py (another file was created there since)",
    ),
    "a modified file now a link": (
        lambda root: become_link(root / "src/one.py"),
        "src/one.py (another file was created there since)",
    ),
    "a directory now a link out": (
        lambda root: become_link_out(root / "src"),
        "src/one.py (a link leads out of the project there)",
    ),
}


@pytest.mark.parametrize(("change", "name"), CHANGES.values(), ids=CHANGES.keys())
async def test_what_the_user_changed_since_stops_the_rollback_by_name(
    root: Path, workspace: Workspace, change: Callable[[Path], object], name: str
) -> None:
    await apply_changes(workspace, *EVERYTHING)
    change(root)
    before = tree(root.parent)
    with pytest.raises(RollbackConflict, match=f"nothing was restored: {re.escape(name)}$"):
        await workspace.rollback("run")
    assert tree(root.parent) == before


async def test_what_the_user_restored_or_added_elsewhere_is_left(root: Path, workspace: Workspace) -> None:
    await apply_changes(workspace, *EVERYTHING)
    (root / "src/one.py").write_text("a = 1\nb = 2\nc = 3\n")
    (root / "deep/er/mine.py").write_text("mine")
    assert "src/one.py" not in await workspace.rollback("run")
    assert tree(root)["deep/er/mine.py"][2] == b"mine"
    assert "deep/er/new.py" not in tree(root)


async def test_a_mode_the_user_gave_since_is_kept(root: Path, workspace: Workspace) -> None:
    await apply_changes(workspace, GOOD)
    (root / "src/one.py").chmod(0o600)
    await workspace.rollback("run")
    assert tree(root)["src/one.py"] == ("file", 0o600, b"a = 1\nb = 2\nc = 3\n")
