"""Images of files are written one after another within a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.workspace.test_rollback_planner import long
from tideate_core.workspace import files

if TYPE_CHECKING:
    import pytest

    from tests.workspace.project import TextFile

__all__ = ["long"]


def test_nobody_of_this_process_comes_between_the_look_at_a_file_and_its_replacement(
    long: TextFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, held = files._refuse_changed, list[bool]()

    def looked(name: str, directory: int, expected: files.FileState) -> None:
        real(name, directory, expected)
        held.append(files._replacing.locked())

    monkeypatch.setattr(files, "_refuse_changed", looked)
    found, temp = files.read_image(long.path), long.path.with_name("temp")
    files.write_image(long.path, files.FileImage.of_file(b"new", 0o600), expected=found.state, temp=temp)
    files.write_image(
        long.path, files.FileImage(files.ABSENT), expected=files.read_image(long.path).state, temp=temp
    )
    assert held == [True, True]
    assert not files._replacing.locked()
