"""Files, links and directories that replace each other: applied, rolled back, refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.workspace.kinds import KINDS, creating_image, deleting_image, lay_kinds
from tests.workspace.project import apply_changes, creating, moving, tree
from tideate_core.errors import EditConflict, RollbackConflict
from tideate_core.workspace import ABSENT, FileChange, FileImage, OutsideChanges, Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.workspace.project import Tree

GONE = FileImage(ABSENT)
EMPTY = FileImage.of_file(b"", 0)


@pytest.fixture
def before(root: Path) -> Tree:
    lay_kinds(root)
    return tree(root)


def without(found: Tree, *tops: str) -> Tree:
    return {path: entry for path, entry in found.items() if path.split("/")[0] not in tops}


async def test_every_change_of_kind_is_made_and_rolled_back(
    root: Path, workspace: Workspace, before: Tree
) -> None:
    await apply_changes(workspace, *KINDS)
    now = {path: (kind, data) for path, (kind, _, data) in tree(root).items()}
    assert {path: entry for path, entry in now.items() if path[0] in "ldkmt"} == {
        "l": ("directory", b""),
        "l/deep": ("directory", b""),
        "l/deep/y": ("file", b"y\n"),
        "l/x": ("file", b"old\n"),
        "d": ("file", b"file\n"),
        "k": ("link", b"src"),
        "m": ("directory", b""),
        "m/x": ("file", b"m\n"),
        "t": ("directory", b""),
        "t/inner": ("file", b"\xe9\0\n"),
        "logo.png": ("file", b"\x89PNG\x00\x01"),
    }
    await workspace.rollback("run")
    assert tree(root) == before


async def test_rolled_back_through_several_applies_each_path_has_its_first_kind(
    root: Path, workspace: Workspace, before: Tree
) -> None:
    old = FileImage.of_file(b"old\n", 0o644)
    new = FileImage.of_file(b"new\n", 0o644)
    there = deleting_image("l", old)
    below = creating_image("l/x", new)
    await apply_changes(workspace, there, below)
    back = deleting_image("l/x", new)
    again = creating_image("l", new)
    await apply_changes(workspace, again, back)
    assert (root / "l").read_bytes() == b"new\n"
    await workspace.rollback("run")
    assert tree(root) == before


async def test_a_new_directory_below_a_link_that_goes_is_not_the_one_that_the_link_leads_to(
    root: Path, workspace: Workspace
) -> None:
    (root / "src/b").mkdir()
    (root / "m").symlink_to("src")
    before = tree(root)
    link = deleting_image("m", FileImage.of_link(b"src"))
    file = creating_image("m/b/x", FileImage.of_file(b"x\n", 0o644))
    await apply_changes(workspace, file, link)
    assert (tree(root)["m/b/x"][2], tree(root)["src/b"][0]) == (b"x\n", "directory")
    assert "src/b/x" not in tree(root)
    await workspace.rollback("run")
    assert tree(root) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (creating("l/x", "x"), "l is a file, so nothing can be below it"),
        (
            creating_image("k/x/y", EMPTY),
            "k/x is a file",
        ),
        (
            creating_image("m/x", EMPTY),
            "m is a symbolic link",
        ),
        (
            creating_image("d", EMPTY),
            "d is a directory with d/sub/z in it",
        ),
    ],
)
async def test_a_path_of_another_kind_that_stays_is_refused_by_name(
    root: Path, workspace: Workspace, before: Tree, change: FileChange, said: str
) -> None:
    with pytest.raises(EditConflict, match=said):
        await apply_changes(workspace, change)
    assert tree(root) == before


async def test_a_repository_in_the_way_is_named_and_stays(root: Path, workspace: Workspace) -> None:
    (root / "sub/.git").mkdir(parents=True)
    change = creating_image("sub", EMPTY)
    with pytest.raises(EditConflict, match=r"sub is a directory with sub/\.git in it"):
        await apply_changes(workspace, change)
    assert (root / "sub/.git").is_dir()


@pytest.mark.parametrize(
    ("path", "why"), [("l/mine", "l (a directory is there now with l/mine in it)"), ("d", "d")]
)
async def test_a_persons_file_in_the_way_stops_a_rollback_by_name(
    root: Path, workspace: Workspace, before: Tree, path: str, why: str
) -> None:
    await apply_changes(workspace, *KINDS)
    (root / path).write_text("mine\n")
    now = tree(root)
    with pytest.raises(RollbackConflict) as refused:
        await workspace.rollback("run")
    assert why in str(refused.value)
    assert tree(root) == now
    done = await workspace.rollback_best_effort("run")
    top = path.split("/")[0]
    assert any(name.startswith(top) for name in done.left)
    assert without(tree(root), top) == without(before, top)
    assert {name: entry for name, entry in tree(root).items() if name.split("/")[0] == top} == {
        name: entry for name, entry in now.items() if name.split("/")[0] == top
    }


async def test_a_moved_file_that_a_person_changed_is_not_lost_on_its_way_back(
    root: Path, private: Path
) -> None:
    (root / "t").write_text("one\ntwo\n")
    workspace = Workspace(root, private=private)
    await apply_changes(workspace, moving("t", "t/inner", "one\ntwo", "one\ntwo"))
    (root / "t/inner").write_text("one\ntwo\nmine\n")
    with pytest.raises(RollbackConflict, match="t/inner"):
        await workspace.rollback("run")
    assert (root / "t/inner").read_text() == "one\ntwo\nmine\n"


async def test_outside_changes_of_kind_are_rolled_back(root: Path, workspace: Workspace) -> None:
    (root / "l").write_bytes(b"old\n")
    (root / "l").chmod(0o644)
    before = tree(root)
    old = FileImage.of_file(b"old\n", 0o644)
    (root / "l").unlink()
    (root / "l").mkdir()
    (root / "l/x").write_bytes(b"x\n")
    directory = FileImage(FileImage(ABSENT).state)
    changes = OutsideChanges(
        {"l": (old, directory), "l/x": (GONE, FileImage.of_file(b"x\n", 0o644))}, made=["l"]
    )
    await workspace.record_outside_changes(changes, execution_id="run")
    await workspace.rollback("run")
    assert tree(root) == before
