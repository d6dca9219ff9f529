"""Private files under any umask; only regular files are opened."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.harness.modes import UMASKS, umask, wider_than_private
from tideate_core.util.private_files import make_private_directory, open_private, tighten
from tideate_core.util.regular_files import check_regular, open_regular, read_regular

if TYPE_CHECKING:
    from collections.abc import Callable

WRITE: Final = os.O_WRONLY | os.O_CREAT
pytestmark = pytest.mark.timeout(60)


def bind(path: Path) -> None:
    before = Path.cwd()
    os.chdir(path.parent)  # the path of a socket is limited to about 100 bytes
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


ODD: Final[dict[str, Callable[[Path], None]]] = {
    "a named pipe": os.mkfifo,
    "a socket": bind,
    "a directory": os.mkdir,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a dangling link": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("mask", UMASKS)
def test_directories_and_files_are_the_persons_alone(tmp_path: Path, mask: int) -> None:
    with umask(mask):
        make_private_directory(tmp_path / "a/b/c")
        os.close(open_private(tmp_path / "a/b/c/file", WRITE))
    assert wider_than_private(tmp_path / "a") == []
    assert stat.S_IMODE((tmp_path / "a/b/c").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "a/b/c/file").stat().st_mode) == 0o600


def test_directories_that_are_there_keep_their_modes(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine").chmod(0o755)
    make_private_directory(tmp_path / "mine/new")
    make_private_directory(tmp_path / "mine")
    assert stat.S_IMODE((tmp_path / "mine").stat().st_mode) == 0o755
    with pytest.raises(FileExistsError):
        make_private_directory(tmp_path / "mine", exist_ok=False)
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_private_directory(tmp_path / "file")


def test_a_file_is_taken_from_others_when_it_is_written_and_not_when_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("text")
    file.chmod(0o666)
    os.close(open_private(file, os.O_RDONLY))
    assert stat.S_IMODE(file.stat().st_mode) == 0o666
    os.close(open_private(file, os.O_WRONLY | os.O_APPEND))
    assert (stat.S_IMODE(file.stat().st_mode), file.read_text()) == (0o600, "text")


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("text")
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(OSError, match="it is a link, not a regular file"):
        open_private(tmp_path / "link", WRITE)
    tighten(tmp_path / "link")
    assert read_regular(tmp_path / "link") == b"text"


@pytest.mark.parametrize("kind", ODD)
def test_nothing_else_is_waited_for_or_opened(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "odd"
    ODD[kind](path)
    for opens in (
        lambda: open_regular(path),
        lambda: open_regular(path, os.O_WRONLY | os.O_CREAT),
        lambda: read_regular(path),
        lambda: check_regular(path),
    ):
        with pytest.raises(OSError, match=kind) as refused:
            opens()
        assert not isinstance(refused.value, FileNotFoundError)
        assert refused.value.filename == str(path)
    with pytest.raises(OSError, match="it is a"):
        open_private(path, WRITE)
    assert not (tmp_path / "nowhere").exists()


def test_a_name_that_nothing_has_is_free(tmp_path: Path) -> None:
    check_regular(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none")
