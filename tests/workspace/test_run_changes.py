"""Outside changes recorded for a run are rolled back with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.workspace.project import tree
from tideate_core.errors import OutsideRoot
from tideate_core.workspace import ABSENT, FileChange, FileImage, OutsideChanges, Workspace, read_image

if TYPE_CHECKING:
    from pathlib import Path

    from tests.workspace.project import Editor


async def test_outside_changes_of_every_kind_are_rolled_back(
    root: Path, edited: Workspace, editor: Editor
) -> None:
    (root / "empty").mkdir()
    (root / "empty").chmod(0o750)
    before, was = tree(root), read_image(root / "src/one.py")
    (root / "src/one.py").write_bytes(b"by a formatter\n")
    (root / "made").mkdir()
    (root / "made/new").write_bytes(b"\0new")
    (root / "empty").rmdir()
    (root / "run.sh").chmod(0o700)
    changes = OutsideChanges(
        files={
            "src/one.py": (was, read_image(root / "src/one.py")),
            "made/new": (FileImage(ABSENT), read_image(root / "made/new")),
        },
        modes={"run.sh": (0o751, 0o700)},
        made=["made"],
        removed={"empty": 0o750},
    )
    assert await edited.record_outside_changes(changes, execution_id="run") == ["src/one.py", "made/new"]
    assert editor.disk_checks == [root / "src/one.py", root / "made/new"]
    await edited.rollback("run")
    assert tree(root) == before


async def test_a_path_that_no_workflow_touches_is_not_counted(
    root: Path, private: Path, workspace: Workspace
) -> None:
    image = FileImage.of_file(b"x", 0o644)
    changes = OutsideChanges(files={".git/config": (FileImage(ABSENT), image)})
    with pytest.raises(OutsideRoot):
        await workspace.record_outside_changes(changes, execution_id="run")
    assert not workspace.has_journal("run")
    assert tree(private) == {}


async def test_changes_of_nothing_leave_no_journal(private: Path, workspace: Workspace) -> None:
    assert await workspace.record_outside_changes(OutsideChanges(), execution_id="run") == []
    assert tree(private) == {}


async def test_paths_are_told_in_their_order_with_new_names(root: Path, workspace: Workspace) -> None:
    changes = [
        FileChange("run.sh", "move", None, None, move_to="bin/run.sh"),
        FileChange("src/one.py", "modify", "same", "same"),
        FileChange("new.txt", "create", None, "new"),
    ]
    applied = await workspace.apply(changes, execution_id="run")
    assert applied.paths == ("bin/run.sh", "new.txt")
    assert applied.rebased == ()
    await workspace.revert(applied)
    assert not (root / "bin").exists()


async def test_what_steps_wrote_is_told_by_step(workspace: Workspace) -> None:
    await workspace.of_step("one").apply([FileChange("a", "create", None, "1")], execution_id="run")
    await workspace.of_step("two[0]").apply([FileChange("b", "create", None, "1")], execution_id="run")
    assert await workspace.written_by("run", ["one"]) == ["a"]
    assert await workspace.written_by("run", ["one", "two"]) == ["a", "b"]
    assert await workspace.written_by("run", []) == []
    assert await workspace.written_by("other", ["one"]) == []
