"""Stored changes are restored exactly, and only for the text they were made for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tideate_core.builtin.task.changes import as_json, name_of, read_back
from tideate_core.errors import EditConflict
from tideate_core.workspace import FileChange, Workspace

if TYPE_CHECKING:
    from pathlib import Path

LONG = "\n".join(f"line {number}" for number in range(2000))
CHANGES = {
    "create": FileChange("new.py", "create", None, "x = 1"),
    "modify": FileChange("long.txt", "modify", LONG, LONG.replace("line 7\n", "line seven\n")),
    "typed": FileChange("run", "create", None, "x = 1", filetype="python"),
    "delete": FileChange("gone.txt", "delete", "going", None),
    "move": FileChange("old.txt", "move", "moving", "moved", move_to="dir/new.txt"),
    "rename": FileChange("old.txt", "move", "moving", "moving", move_to="dir/new.txt"),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    root = tmp_path / "project"
    root.mkdir()
    for name, text in {"long.txt": LONG, "gone.txt": "going", "old.txt": "moving"}.items():
        (root / name).write_text(text)
    return Workspace(root, private=tmp_path / "private")


@pytest.mark.parametrize("kind", CHANGES)
async def test_what_is_read_back_is_what_was_kept(workspace: Workspace, kind: str) -> None:
    kept = json.loads(json.dumps(as_json(CHANGES[kind])))
    assert await read_back(workspace, [kept], {}) == [CHANGES[kind]]


def test_a_small_change_of_a_large_file_is_small() -> None:
    assert len(json.dumps(as_json(CHANGES["modify"]))) < 400


@pytest.mark.parametrize("kind", ["modify", "delete", "move", "rename"])
async def test_a_file_that_was_changed_since_is_refused(workspace: Workspace, kind: str) -> None:
    change = CHANGES[kind]
    assert workspace.root is not None
    path = workspace.root / change.path
    path.write_text(path.read_text() + "\nmine")
    with pytest.raises(EditConflict, match=change.path):
        await read_back(workspace, [as_json(change)], {})
    assert path.read_text().endswith("mine")


def test_a_moved_file_is_called_by_its_new_name() -> None:
    assert [name_of(CHANGES[kind]) for kind in ("move", "delete")] == ["dir/new.txt", "gone.txt"]


async def test_a_deletion_needs_no_text_to_be_restored(workspace: Workspace) -> None:
    shape = {"path": "gone.bin", "action": "delete", "digest": None}
    assert await read_back(workspace, [shape], {}) == [FileChange("gone.bin", "delete", None, None)]
