"""Comparison of entries, and validation of manifest paths."""

from __future__ import annotations

import pytest

from tideate_core.errors import OutsideRoot
from tideate_core.snapshots.entries import Below, Entry, above, checked_path


def test_permissions_alone_make_no_other_content() -> None:
    one = Entry("a", "file", 0o644, 3, "hash", "")
    assert one.holds_same_as(one._replace(mode=0o755, path="b"))
    assert not one.holds_same_as(one._replace(hash="other"))
    assert not one.holds_same_as(one._replace(kind="link", target="x"))


def test_a_path_is_below_what_it_is_in_and_not_below_a_name_that_begins_alike() -> None:
    below = Below(["src", "a/b"])
    assert below.find("src/deep/one.py") == "src"
    assert below.find("a/b") == "a/b"
    assert "srcs/one.py" not in below
    assert "a" not in below
    assert "src" not in Below([])


def test_the_directories_above_come_from_the_inside() -> None:
    assert list(above("a/b/c")) == ["a/b", "a"]
    assert list(above("a")) == []


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../a", "a/../b", "./a", "a//b", ".GIT/config", "a/.tideate/b", ".hg/x", "a\0b"],
)
def test_a_path_that_leaves_the_root_or_is_never_written_is_refused(path: str) -> None:
    with pytest.raises(OutsideRoot, match="nothing was restored"):
        checked_path(path)


def test_any_other_path_is_as_it_is() -> None:
    assert checked_path("src/.gitignore") == "src/.gitignore"
