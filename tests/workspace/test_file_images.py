"""File images: reads of what other programs change, and concurrent writes in one host."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.workspace import file_images
from tideate_core.workspace.file_images import ABSENT, FileImage, FileState, read_image, write_image

if TYPE_CHECKING:
    from pathlib import Path

    from tests.workspace.project import TextFile


def test_nobody_of_this_process_comes_between_the_look_at_a_file_and_its_replacement(
    long: TextFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, held = file_images._refuse_changed, list[bool]()

    def looked(name: str, directory: int, expected: FileState) -> None:
        real(name, directory, expected)
        held.append(file_images._replacing.locked())

    monkeypatch.setattr(file_images, "_refuse_changed", looked)
    found, temp = read_image(long.path), long.path.with_name("temp")
    write_image(long.path, FileImage.of_file(b"new", 0o600), expected=found.state, temp=temp)
    write_image(
        long.path,
        FileImage(ABSENT),
        expected=read_image(long.path).state,
        temp=temp,
    )
    assert held == [True, True]
    assert not file_images._replacing.locked()


def test_a_pipe_put_in_a_file_s_place_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, real = tmp_path / "file", os.open
    file.write_text("1")

    def opening(path: Any, flags: int, **options: Any) -> int:
        file.unlink()
        os.mkfifo(file)
        assert flags & os.O_NONBLOCK, "it would wait for a writer"
        return real(path, flags, **options)

    monkeypatch.setattr(os, "open", opening)
    assert read_image(file).state == FileState("other")


def test_a_file_that_grows_over_the_limit_is_not_read_whole(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("12345")
    assert read_image(tmp_path / "file", largest=5).data == b"12345"
    with pytest.raises(OSError, match="too large"):
        read_image(tmp_path / "file", largest=4)
