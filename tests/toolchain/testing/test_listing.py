"""Files of a project are read with bounds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tideate_core.toolchain.testing.listing import read_bounded

if TYPE_CHECKING:
    from pathlib import Path


def test_only_a_regular_file_of_a_bounded_size_is_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    assert read_bounded(tmp_path / "file", 5) == b"12345"
    assert read_bounded(tmp_path / "file", 4) is None
    assert [read_bounded(tmp_path / name, 99) for name in ("link", "pipe", "", "none")] == [None] * 4
