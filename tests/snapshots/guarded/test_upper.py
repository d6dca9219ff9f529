"""Changes in an upper layer, read without a mount."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tideate_core.snapshots.guarded.base import read_bounded_image
from tideate_core.snapshots.guarded.ignoring import IgnoredNames
from tideate_core.snapshots.guarded.layers import names_in_layers
from tideate_core.snapshots.guarded.upper import changed_in_upper

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.snapshots.guarded.difference import Found


@pytest.fixture
def upper(tmp_path: Path) -> Path:
    upper = tmp_path / "upper"
    upper.mkdir()
    return upper


def changes(upper: Path, lower: Path) -> Iterator[Found]:
    def below(directory: str) -> list[str]:
        return [f"{directory}/{name}" for name in sorted(names_in_layers([str(lower)], directory))]

    with IgnoredNames(lower, upper) as names:
        yield from changed_in_upper(upper, below, names)


def found(upper: Path, lower: Path) -> list[tuple[str, bool]]:
    """Return paths and whether they exist."""
    return [(one.path, one.where is not None) for one in changes(upper, lower)]


def test_a_whiteout_is_a_device_or_has_an_attribute(upper: Path, root: Path) -> None:
    os.mknod(upper / "run.sh", stat.S_IFCHR, os.makedev(0, 0))
    (upper / "logo.png").touch()
    os.setxattr(upper / "logo.png", "user.overlay.whiteout", b"y")
    (upper / "empty.txt").touch()
    assert found(upper, root) == [("empty.txt", True), ("logo.png", False), ("run.sh", False)]


def test_an_opaque_directory_hides_all_that_is_below_it(upper: Path, root: Path) -> None:
    (upper / "src/deep").mkdir(parents=True)
    (upper / "src/new").touch()
    os.setxattr(upper / "src", "user.overlay.opaque", b"y")
    assert found(upper, root) == [
        ("src", True),
        ("src/deep", True),
        ("src/new", True),
        ("src/one.py", False),
        ("src/deep/two.txt", False),
    ]


def test_a_merged_directory_hides_nothing(upper: Path, root: Path) -> None:
    (upper / "src/deep").mkdir(parents=True)
    os.setxattr(upper / "src", "user.overlay.opaque", b"x")  # only marks that whiteouts have attributes
    assert found(upper, root) == [("src", True), ("src/deep", True)]


def test_an_ignored_directory_is_named_and_not_entered(upper: Path, root: Path) -> None:
    (upper / "node_modules/pad").mkdir(parents=True)
    (upper / "src/__pycache__").mkdir(parents=True)
    (upper / "src/__pycache__/one.pyc").touch()
    assert found(upper, root) == [("node_modules", True), ("src", True), ("src/__pycache__", True)]


def test_a_directory_that_cannot_be_read_is_named(
    upper: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (upper / "locked").mkdir()
    real = os.scandir

    def scandir(handle: int) -> object:  # the superuser may read all files
        if Path(f"/proc/self/fd/{handle}").readlink() == upper / "locked":
            raise PermissionError(13, "Permission denied")
        return real(handle)

    monkeypatch.setattr(os, "scandir", scandir)
    problems = [one.problem for one in changes(upper, root)]
    assert problems == ["", "cannot be read: Permission denied"]


def test_a_link_put_in_a_directory_s_place_meanwhile_is_not_followed(
    upper: Path, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").touch()
    (upper / "d").mkdir()
    seen = []
    for one in changes(upper, root):
        seen.append(one.path)
        if one.path == "d":
            (upper / "d").rmdir()
            (upper / "d").symlink_to(tmp_path / "outside")
    assert seen == ["d"]
    assert read_bounded_image(upper / "d/secret").state.kind == "absent"
