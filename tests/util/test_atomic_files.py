"""Atomic writes leave a complete file or none, and no temporary files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.util.atomic_files import atomic_writer, write_atomic, write_atomic_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def full(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


def test_a_file_of_an_open_directory_is_replaced(tmp_path: Path, directory: int) -> None:
    for content in (b"one", b"two"):
        write_atomic_at(directory, "a", content)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"two")]
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_there_is_kept_if_it_is_not_to_be_replaced(tmp_path: Path, directory: int) -> None:
    write_atomic_at(directory, "a", b"one", replace=False)
    with pytest.raises(FileExistsError):
        write_atomic_at(directory, "a", b"two", replace=False)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"one")]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path, directory: int) -> None:
    (tmp_path / "target").write_bytes(b"theirs")
    (tmp_path / "a").symlink_to("target")
    write_atomic_at(directory, "a", b"mine")
    assert (tmp_path / "target").read_bytes() == b"theirs"
    assert not (tmp_path / "a").is_symlink()


def test_a_write_that_fails_leaves_the_file_as_it_was(
    tmp_path: Path, directory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"one")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomic_at(directory, "a", b"two")
    with pytest.raises(OSError, match="No space"):
        write_atomic(tmp_path / "a", b"two")
    with pytest.raises(OSError, match="No space"), atomic_writer(tmp_path / "a") as file:
        file.write(b"two")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"one")]


def test_what_need_not_wait_for_the_disk_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", full)
    with atomic_writer(tmp_path / "a", to_disk=False) as file:
        file.write(b"one")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a", b"one")]
