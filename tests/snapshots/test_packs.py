"""A pack returns its contents or reports damage."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tideate_core.errors import WorkspaceError
from tideate_core.snapshots.packs import Packs, PackWriter, compress_contents, digest

if TYPE_CHECKING:
    from pathlib import Path

CONTENTS = [b"", b"one", os.urandom(5000), b"\0" * 100_000]


def packed(directory: Path, *frames: list[tuple[str, bytes]]) -> Path:
    writer = PackWriter(directory)
    for frame in frames:
        writer.add(compress_contents(frame))
    assert writer.close()
    (path,) = directory.iterdir()
    return path


def hashed(contents: list[bytes]) -> list[tuple[str, bytes]]:
    return [(digest(data), data) for data in contents]


def test_contents_come_back(tmp_path: Path) -> None:
    packed(tmp_path, hashed(CONTENTS[:2]), hashed(CONTENTS[2:]))
    packs = Packs(tmp_path)
    assert [packs.read(digest(data)) for data in CONTENTS] == CONTENTS
    assert digest(b"another") not in packs


def test_a_pack_without_contents_is_not_written(tmp_path: Path) -> None:
    assert not PackWriter(tmp_path).close()
    assert list(tmp_path.iterdir()) == []


def test_an_aborted_pack_leaves_nothing(tmp_path: Path) -> None:
    writer = PackWriter(tmp_path)
    writer.add(compress_contents(hashed(CONTENTS)))
    writer.abort()
    assert list(tmp_path.iterdir()) == []


def test_another_content_than_the_one_that_was_asked_for_is_never_given(tmp_path: Path) -> None:
    packed(tmp_path, [(digest(b"wanted"), b"others")])
    with pytest.raises(WorkspaceError, match="a digest does not match"):
        Packs(tmp_path).read(digest(b"wanted"))


@pytest.mark.parametrize("keep", [0, 10, 100, -1, -60])
def test_a_pack_that_is_cut_off_counts_as_not_there(tmp_path: Path, keep: int) -> None:
    path = packed(tmp_path, hashed(CONTENTS))
    path.write_bytes(path.read_bytes()[:keep])
    packs = Packs(tmp_path)
    assert digest(b"one") not in packs
    assert [str(path) in words for words in packs.damaged] == [True]
    with pytest.raises(WorkspaceError, match="is damaged"):
        packs.read(digest(b"one"))


def test_an_index_with_a_changed_byte_counts_as_not_there(tmp_path: Path) -> None:
    path = packed(tmp_path, hashed(CONTENTS))
    data = bytearray(path.read_bytes())
    data[-80] ^= 1
    path.write_bytes(data)
    assert "its index does not match its digest" in Packs(tmp_path).damaged[0]
