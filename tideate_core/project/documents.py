"""Read and write files below a project's `.tideate/` atomically, never through a link.

Only regular files count, without a link on their way from the root: a link could lead to another project's
file, or out of the project altogether.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.errors import UnusableFile
from tideate_core.project.open_directories import open_directory_below, open_directory_fd
from tideate_core.util.atomic_files import write_atomic, write_atomic_at

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "MOST_NAMES",
    "Documents",
    "list_documents",
    "prepare_document",
    "read_document",
    "remove_document",
    "write_document",
]

TIDEATE: Final = ".tideate"
LARGEST: Final = 1024 * 1024
"""Bytes of a file where nobody says otherwise."""
MOST_NAMES: Final = 10_000
"""Names of a directory that are looked at."""

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe must not block
_LIST: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_MODE: Final = 0o666
"""Of files, less the bits of the person's umask."""
_PRIVATE_MODE: Final = 0o600
_IGNORE: Final = b"""# what belongs to the team; everything else here is made by tideate
*
!/config.toml
!/context.json
!/workflow.schema.json
!/workflows/
!/workflows/**
!/agents/
!/agents/**
!/prompts/
!/prompts/**
"""
_LINKS: Final = frozenset({errno.ELOOP, errno.ENOTDIR})


@dataclass(frozen=True, slots=True)
class Documents:
    """Directory of the files that tideate shares with people and other tools.

    `.tideate/` of a project; the person's state where there is none.
    """

    root: Path
    folder: str = TIDEATE
    """Below the root, with `/`; empty is the root itself."""

    def path(self, name: str) -> Path:
        """Return where a document is; it may not exist."""
        return self.root / self._below(name)

    def read(self, name: str, largest: int = LARGEST) -> bytes:
        """Return a document's content; see `read_document`."""
        return read_document(self.root, self._below(name), largest)

    def write(self, name: str, content: bytes, *, private: bool = False) -> Path:
        """Make a document hold this, and return its path; see `write_document`.

        In the person's state it is private, as all there.

        :param private: only the person can read it.
        """
        if self.folder:
            mode = _PRIVATE_MODE if private else _NEW_MODE
            return write_document(self.root, self._below(name), content, mode=mode)
        return _write_private(self.path(name), content)

    def names(self, directory: str, most: int = MOST_NAMES) -> list[str]:
        """Return the names in a directory of documents; see `list_documents`."""
        return list_documents(self.root, self._below(directory), most)

    def remove(self, name: str) -> None:
        """Remove a document; see `remove_document`."""
        remove_document(self.root, self._below(name))

    def prepare(self, name: str) -> None:
        """Make the directory of a document, to be sure that it can be written later.

        :raises UnusableFile: it cannot be written.
        """
        prepare_document(self.root, self._below(name))

    def _below(self, name: str) -> str:
        return f"{self.folder}/{name}" if self.folder else name


def _write_private(path: Path, content: bytes) -> Path:
    try:
        write_atomic(path, content)
    except OSError as error:
        raise UnusableFile(path, _reason(error, "written"), "written") from error
    return path


def read_document(root: Path, name: str, largest: int = LARGEST) -> bytes:
    """Return the content of a project's file.

    :param root: of the project; links on the way to it are followed.
    :param name: relative to the root, with `/`.
    :param largest: bytes that it may have.
    :raises FileNotFoundError: there is none.
    :raises UnusableFile: it is no regular file, too large, cannot be read, or a link is on its way.
    """
    path = root / name
    *above, last = name.split("/")
    try:
        way = open_directory_fd(root, above)
        try:
            descriptor = os.open(last, _READ, dir_fd=way)
        finally:
            os.close(way)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UnusableFile(path, "it is not a regular file")
            content = file.read(largest + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnusableFile(path, _reason(error)) from error
    if len(content) > largest:
        raise UnusableFile(path, f"it is larger than {largest // 1024} KiB")
    return content


def write_document(
    root: Path, name: str, content: bytes, *, replace: bool = True, mode: int = _NEW_MODE
) -> Path:
    """Make a project's file hold this, whole or not at all, also after a crash; blocking.

    Directories are made where they are missing; a new `.tideate/` gets a `.gitignore` that leaves only the
    team's files to git.

    :param name: relative to the root, below `.tideate/`, with `/`.
    :param replace: replace an existing file; unless it is private, its owner, mode, access control list and
        attributes stay.
    :param mode: of a new file, less the bits of the person's umask.
    :returns: its path.
    :raises FileExistsError: it is there and not to be replaced.
    :raises UnusableFile: a link is on its way, something else than a regular file is there, or it cannot be
        written; nothing was written.
    """
    path = root / name
    *above, last = name.split("/")
    try:
        with open_directory_below(root, above, make=True) as directory:
            _refuse_odd(last, directory, path)
            write_atomic_at(directory, last, content, mode=mode, replace=replace, passes_on=mode == _NEW_MODE)
        if above[:1] == [TIDEATE]:
            _write_gitignore(root)
    except FileExistsError:
        raise
    except OSError as error:
        raise UnusableFile(path, _reason(error, "written"), "written") from error
    return path


def prepare_document(root: Path, name: str) -> None:
    """Make the directories of a project's file that will be written; blocking.

    :raises UnusableFile: a link is on its way, something else than a regular file is there, or a directory
        cannot be made.
    """
    *above, last = name.split("/")
    try:
        with open_directory_below(root, above, make=True) as directory:
            _refuse_odd(last, directory, root / name)
        if above[:1] == [TIDEATE]:
            _write_gitignore(root)
    except OSError as error:
        raise UnusableFile(root / name, _reason(error, "written"), "written") from error


def remove_document(root: Path, name: str) -> None:
    """Remove a project's regular file that no link leads to; nothing happens where there is none."""
    *above, last = name.split("/")
    with suppress(OSError), open_directory_below(root, above) as directory:
        if stat.S_ISREG(os.stat(last, dir_fd=directory, follow_symlinks=False).st_mode):
            os.unlink(last, dir_fd=directory)


def _refuse_odd(name: str, directory: int, path: Path) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise UnusableFile(path, "something else than a regular file is there; remove it", "written")


def _write_gitignore(root: Path) -> None:
    """Leave only the team's files to git, unless the person has a `.gitignore` there."""
    with open_directory_below(root, [TIDEATE]) as directory:
        try:
            os.stat(".gitignore", dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            with suppress(FileExistsError):
                write_atomic_at(directory, ".gitignore", _IGNORE, mode=_NEW_MODE, replace=False)


def list_documents(root: Path, name: str, most: int = MOST_NAMES) -> list[str]:
    """Return the names in a project's directory, sorted; none where there is no such directory.

    :raises UnusableFile: it cannot be read, a link is on its way, or it has more than `most`.
    """
    try:
        way = open_directory_fd(root, name.split("/")[:-1])
        try:
            directory = os.open(name.rpartition("/")[2], _LIST, dir_fd=way)
        finally:
            os.close(way)
        try:
            return sorted(_names(directory, root / name, most))
        finally:
            os.close(directory)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UnusableFile(root / name, _reason(error)) from error


def _names(directory: int, path: Path, most: int) -> list[str]:
    names: list[str] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if len(names) == most:
                raise UnusableFile(path, f"it has more than {most:,} names")
            names.append(entry.name)
    return names


def _reason(error: OSError, done: str = "read") -> str:
    if error.errno in _LINKS:
        return "it is a link, or there is a link on the way to it; put the file itself there"
    if error.errno in (errno.ENXIO, errno.EISDIR):
        return "it is not a regular file"
    return f"it cannot be {done}: {error.strerror}"
