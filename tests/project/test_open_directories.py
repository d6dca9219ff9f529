"""Links placed in a resolved path are not followed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tideate_core.project.open_directories import open_directory, open_directory_fd
from tideate_core.workspace import file_images
from tideate_core.workspace.file_images import ABSENT, FileImage, FileState, read_image, set_mode, write_image

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """Project with a directory that is replaced by a link to an outer one."""
    for name in ("project/src/deep", "outside/deep"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "project/src/one.py").write_bytes(b"mine\n")
    return tmp_path / "project"


def descriptors() -> list[str]:
    return sorted(path.name for path in Path("/dev/fd").iterdir())


def exchange(root: Path) -> None:
    (root / "src").rename(root / "moved")
    (root / "src").symlink_to(root.parent / "outside", target_is_directory=True)


def create(root: Path, name: str = "one.py") -> None:
    path = root / "src" / name
    write_image(path, FileImage.of_file(b"new\n", 0o644), expected=ABSENT, temp=path.with_name("t"))


def create_below(root: Path) -> None:
    create(root, "new/one.py")


def link(root: Path) -> None:
    path = root / "src/link"
    write_image(path, FileImage.of_link(b"x"), expected=ABSENT, temp=path.with_name("t"))


def remove(root: Path) -> None:
    path = root / "src/deep/theirs"
    expected = FileImage.of_file(b"theirs\n", 0o644).state
    write_image(path, FileImage(ABSENT), expected=expected, temp=path.with_name("t"))


def chmod(root: Path) -> None:
    set_mode(root / "src/deep", 0o700)


@pytest.mark.parametrize("change", [create, create_below, link, remove, chmod])
def test_a_directory_that_became_a_link_is_not_gone_through(
    there: Path, change: Callable[[Path], None]
) -> None:
    outside = there.parent / "outside"
    (outside / "deep/theirs").write_bytes(b"theirs\n")
    (outside / "deep").chmod(0o755)
    exchange(there)
    with pytest.raises(NotADirectoryError):
        change(there)
    assert sorted(path.relative_to(outside).as_posix() for path in outside.rglob("*")) == [
        "deep",
        "deep/theirs",
    ]
    assert (outside / "deep").stat().st_mode & 0o777 == 0o755


def test_what_was_opened_before_is_written_where_it_was(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = file_images._refuse_changed

    def exchanged(name: str, directory: int, expected: FileState) -> None:
        real(name, directory, expected)
        exchange(there)

    monkeypatch.setattr(file_images, "_refuse_changed", exchanged)
    path = there / "src/one.py"
    new = FileImage.of_file(b"new\n", 0o644)
    write_image(path, new, expected=read_image(path).state, temp=path.with_name("t"))
    assert (there / "moved/one.py").read_bytes() == b"new\n"
    assert not (there.parent / "outside/one.py").exists()


def test_the_last_name_of_a_mode_may_be_a_link_and_is_left(there: Path) -> None:
    target = there.parent / "outside/theirs"
    target.write_bytes(b"theirs\n")
    target.chmod(0o644)
    (there / "link").symlink_to(target)
    set_mode(there / "link", 0o600)
    assert target.stat().st_mode & 0o777 == 0o644


def test_missing_directories_are_made_where_that_is_wanted(there: Path) -> None:
    with open_directory(there / "a/b", make=True) as directory:
        assert os.path.samestat(os.fstat(directory), (there / "a/b").stat())
    with pytest.raises(FileNotFoundError), open_directory(there / "c"):
        pytest.fail("it is not there")
    assert not (there / "c").exists()


def test_nothing_stays_open(there: Path) -> None:
    before = descriptors()
    with open_directory(there / "src"):
        assert len(descriptors()) == len(before) + 1
    with pytest.raises(NotADirectoryError):
        open_directory_fd(there, ["src", "one.py", "x"])
    with pytest.raises(FileNotFoundError):
        open_directory_fd(there, ["src", "no"])
    assert descriptors() == before
