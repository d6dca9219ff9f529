from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.workspace.project import apply_changes, creating, moving
from tideate_core.errors import OutsideRoot
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "path",
    [
        "../secret",
        "src/../../secret",
        "/etc/passwd",
        "out/secret",
        "link",
        "dangling",
        "chain",
        "",
        "a\0b",
        ".git/config",
        ".GIT/config",
        "vendor/.git/hooks/x",
        "src/../.git/config",
        ".tideate/config.toml",
        "to_git/config",
    ],
)
async def test_what_leaves_the_project_or_is_private_is_never_touched(
    root: Path, workspace: Workspace, path: str
) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (root.parent / "secret").write_text("secret")
    (root / "out").symlink_to(outside)
    (root / "link").symlink_to("../secret")
    (root / "dangling").symlink_to("../nothing")
    (root / "chain").symlink_to("link")
    (root / ".git").mkdir()
    (root / "to_git").symlink_to(".git")
    with pytest.raises(OutsideRoot):
        workspace.resolve(path)
    with pytest.raises(OutsideRoot):
        await workspace.read(path)
    with pytest.raises(OutsideRoot):
        await apply_changes(workspace, creating(path, "x"))
    with pytest.raises(OutsideRoot):
        move = moving("src/one.py", path)
        await apply_changes(workspace, move)
    assert {file.read_text() for file in (outside / "secret", root.parent / "secret")} == {"secret"}
    assert (root / "src/one.py").exists()
    assert not (root.parent / "nothing").exists()


def test_a_directory_whose_name_begins_like_the_root_is_outside(root: Path, workspace: Workspace) -> None:
    evil = root.with_name(root.name + "-evil")
    evil.mkdir()
    with pytest.raises(OutsideRoot):
        workspace.resolve(evil / "x")


def test_paths_inside_are_followed_to_where_they_lead(root: Path, workspace: Workspace) -> None:
    (root / "alias.py").symlink_to("src/one.py")
    one = (root / "src/one.py").resolve()
    for path in ("src/one.py", "src/../src/one.py", "alias.py", str(root / "src/one.py")):
        assert workspace.resolve(path) == one


def test_a_root_behind_a_link_takes_paths_of_both_names(root: Path, private: Path) -> None:
    alias = root.with_name("alias")
    alias.symlink_to(root)
    workspace = Workspace(alias, private=private)
    assert workspace.resolve(alias / "run.sh") == workspace.resolve(root.resolve() / "run.sh")


async def test_without_a_project_no_file_is_touched(private: Path) -> None:
    workspace = Workspace(None, private=private)
    with pytest.raises(OutsideRoot, match="no project"):
        await workspace.read("/etc/hostname")
    assert await workspace.list() == []
