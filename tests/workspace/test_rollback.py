"""Rollback of a whole run, by hash; no failure destroys the only copy of a file."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.workspace.project import (
    BY_HAND,
    LONG,
    NAME,
    WANTED,
    TextFile,
    apply_changes,
    change_by_hand,
    deleting,
    edit,
    moving,
    tree,
)
from tests.workspace.test_transaction import EVERYTHING, GOOD
from tideate_core.errors import RollbackConflict, WorkspaceError
from tideate_core.workspace import RollbackResult, Workspace, file_images, rollback

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


async def test_a_file_that_is_saved_in_the_last_moment_is_looked_at_again(
    workspace: Workspace, long: TextFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    await apply_changes(workspace, edit(NAME, LONG, WANTED))
    saved: list[bool] = []

    def save_first(*args: object, **named: object) -> None:
        if not saved:
            change_by_hand(long)
        saved.append(True)
        file_images.write_image(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(rollback, "write_image", save_first)
    assert await workspace.rollback_best_effort("run") == RollbackResult([], [NAME], [])
    assert (long.text, len(saved)) == (BY_HAND, 2)


@pytest.mark.parametrize("broken", [NAME, "src/one.py"])
async def test_a_file_that_cannot_be_written_is_said_and_the_next_try_goes_on(
    root: Path, workspace: Workspace, long: TextFile, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    one = TextFile(root / "src/one.py")
    before = {NAME: BY_HAND, "src/one.py": one.text}
    await apply_changes(workspace, edit(NAME, LONG, WANTED), GOOD)
    change_by_hand(long)
    stuck = (root / broken).read_bytes()

    def full(path: Path, *args: object, **named: object) -> None:
        if path == root / broken:
            raise OSError(28, "No space left on device")
        file_images.write_image(path, *args, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(rollback, "write_image", full)
        with pytest.raises(WorkspaceError, match="No space left"):
            await workspace.rollback_best_effort("run")
    assert (root / broken).read_bytes() == stuck
    (other,) = before.keys() - {broken}
    assert (root / other).read_text() == before[other], "one file that cannot be written kept another from it"
    assert await workspace.rollback_best_effort("run") == RollbackResult(["src/one.py"], [NAME], [])
    assert {NAME: long.text, "src/one.py": one.text} == before


async def test_the_only_copy_of_a_moved_file_is_never_removed(
    root: Path, workspace: Workspace, long: TextFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = moving(NAME, "other/long.py", LONG, LONG)
    await apply_changes(workspace, moved, GOOD)
    there = TextFile(root / "other/long.py")
    change_by_hand(there)

    def full(path: Path, *args: object, **named: object) -> None:
        if path == long.path:
            raise OSError(28, "No space left on device")
        file_images.write_image(path, *args, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(rollback, "write_image", full)
        with pytest.raises(WorkspaceError, match="No space left"):
            await workspace.rollback_best_effort("run")
    assert there.text == BY_HAND, "the person's lines are nowhere"
    await workspace.rollback_best_effort("run")
    assert long.text == BY_HAND
    assert not there.path.exists()
