"""Project roots."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.project import config_dir, expand_home, find_root

if TYPE_CHECKING:
    from pathlib import Path


def make(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.mark.parametrize(
    "name", ["~$report.txt", "~nobody-has-this-name", "~nobody-has-this-name/x", "a~", ""]
)
def test_a_home_of_nobody_stays_as_it_is(home: Path, name: str) -> None:
    assert str(expand_home(name)) == (name or ".")
    assert find_root(home / name) == find_root(home)
    assert expand_home("~/x") == home / "x"


# the root


@pytest.mark.parametrize("marker", [".tideate/x", ".git/HEAD", "pyproject.toml", "package.json", "go.mod"])
def test_the_nearest_ancestor_with_a_marker_is_the_root(home: Path, marker: str) -> None:
    make(home / "outer/.git/HEAD")
    make(home / "outer/inner" / marker)
    file = make(home / "outer/inner/src/deep/file.py")
    assert find_root(file) == home / "outer/inner"
    assert find_root(file.parent) == home / "outer/inner"
    assert find_root(home / "outer/other.py") == home / "outer"


def test_a_stray_project_file_does_not_make_the_home_directory_a_project(home: Path) -> None:
    make(home / "package.json")
    assert find_root(home / "notes/today.txt") is None
    make(home / ".git/HEAD")
    assert find_root(home / "notes/today.txt") == home


@pytest.mark.parametrize(
    ("file", "root"),
    [("tree/a/b", "tree"), ("project/new/dir/file.rs", "project"), ("notes/today.txt", None)],
)
def test_a_worktree_has_new_files_and_other_directories_have_no_root(
    home: Path, file: str, root: str | None
) -> None:
    make(home / "tree/.git").write_text("gitdir: elsewhere\n")
    make(home / "project/Cargo.toml")
    assert find_root(home / file) == (None if root is None else home / root)


def test_a_link_into_a_project_belongs_to_it(home: Path) -> None:
    make(home / "project/pyproject.toml")
    target = make(home / "project/src/a.py")
    (home / "elsewhere").mkdir()
    (home / "elsewhere/a.py").symlink_to(target)
    assert find_root(home / "elsewhere/a.py") == home / "project"


# directories


def test_the_configuration_follows_xdg(home: Path) -> None:
    assert config_dir() == home / "config/tideate"


def test_a_directory_that_may_not_be_looked_into_is_no_project(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = make(home / "project/.tideate/x").parent

    def stat(path: os.PathLike[str], **options: Any) -> os.stat_result:
        if str(path).startswith(f"{closed}/"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real_stat(path, **options)

    real_stat = os.stat
    monkeypatch.setattr(os, "stat", stat)
    assert find_root(closed / "config.toml") == home / "project"
