"""File images: concurrent writes in one host are serialized."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.workspace import file_images
from tideate_core.workspace.file_images import ABSENT, FileImage, FileState, read_image, write_image

if TYPE_CHECKING:
    import pytest

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
