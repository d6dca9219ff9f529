"""Irregular files are rejected without waiting."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from collections.abc import Callable

DESCRIPTORS: Final = Path("/proc/self/fd")


def test_a_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"four")
    assert read_bounded(tmp_path / "a", 4) == b"four"
    assert read_bounded(tmp_path / "a", 3) is None
    assert read_bounded(tmp_path / "none", 3) is None


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "make",
    [os.mkfifo, os.mkdir, lambda path: path.symlink_to("real")],
    ids=["pipe", "directory", "link"],
)
def test_what_is_no_regular_file_is_none_and_no_descriptor_stays_open(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    (tmp_path / "real").write_bytes(b"x")
    make(tmp_path / "odd")
    before = len(list(DESCRIPTORS.iterdir()))
    for _ in range(5):
        assert read_bounded(tmp_path / "odd", 10) is None
    assert len(list(DESCRIPTORS.iterdir())) == before
