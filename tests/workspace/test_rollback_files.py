"""Restored files, modes, links and directories; no failure destroys the only copy."""

from __future__ import annotations

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
    edit,
    moving,
)
from tests.workspace.test_transaction import GOOD
from tideate_core.errors import WorkspaceError
from tideate_core.workspace import RollbackResult, Workspace, file_images, rollback_files

if TYPE_CHECKING:
    from pathlib import Path


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

    monkeypatch.setattr(rollback_files, "write_image", save_first)
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
        patch.setattr(rollback_files, "write_image", full)
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
        patch.setattr(rollback_files, "write_image", full)
        with pytest.raises(WorkspaceError, match="No space left"):
            await workspace.rollback_best_effort("run")
    assert there.text == BY_HAND, "the person's lines are nowhere"
    await workspace.rollback_best_effort("run")
    assert long.text == BY_HAND
    assert not there.path.exists()
