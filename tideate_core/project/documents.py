"""Read and write files below a project's `.tideate/` atomically, never through a link.

Only regular files without a link on their path count: a link could lead to another project or out of the
project.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.errors import UnusableFile
from tideate_core.project.open_directories import open_directory_below, open_directory_fd
from tideate_core.util.atomic_files import write_atomic, write_atomic_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TIDEATE: Final = ".tideate"
LARGEST: Final = 1024 * 1024
"""Default size limit of a file, in bytes."""
MOST_NAMES: Final = 10_000
"""Most names read from a directory."""

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # O_NONBLOCK: a pipe must not block
_LIST: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_MODE: Final = 0o666
"""Mode of new files, reduced by the umask."""
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

    It is a project's `.tideate/`; without a project, the user's state directory.
    """

    root: Path
    folder: str = TIDEATE
    """Below the root, with `/`; empty for the root itself."""

    def path(self, name: str) -> Path:
        """Return the path of a document, which may not exist."""
        return self.root / self._below(name)

    def read(self, name: str, largest: int = LARGEST) -> bytes:
        """Read a document; see `read_document`."""
        return read_document(self.root, self._below(name), largest)

    def write(self, name: str, content: bytes, *, private: bool = False) -> Path:
        """Write a document and return its path; see `write_document`.

        Documents in the user's state directory are always private.

        :param private: readable only by the user.
        """
        if self.folder:
            mode = _PRIVATE_MODE if private else _NEW_MODE
            return write_document(self.root, self._below(name), content, mode=mode)
        return _write_private(self.path(name), content)

    def names(self, directory: str, most: int = MOST_NAMES) -> list[str]:
        """List a directory of documents; see `list_documents`."""
        return list_documents(self.root, self._below(directory), most)

    def remove(self, name: str) -> None:
        """Remove a document; see `remove_document`."""
        remove_document(self.root, self._below(name))

    def prepare(self, name: str) -> None:
        """Create the directory of a document, to ensure that it can be written later.

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

    :param root: of the project; links on the path to it are followed.
    :param name: relative to the root, with `/`.
    :param largest: size limit in bytes.
    :raises FileNotFoundError: the file does not exist.
    :raises UnusableFile: it is not a regular file, too large or unreadable, or a link is on its path.
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
    """Write a project's file atomically and durably; blocking.

    Missing directories are created; a new `.tideate/` gets a `.gitignore` that leaves only the team's files
    to git.

    :param name: relative to the root, below `.tideate/`, with `/`.
    :param replace: replace an existing file; unless it is private, its owner, mode, access control list and
        attributes stay.
    :param mode: of a new file, reduced by the umask.
    :returns: its path.
    :raises FileExistsError: it exists and must not be replaced.
    :raises UnusableFile: a link is on its path, it is not a regular file, or it cannot be written; nothing
        was written.
    """
    with _place_to_write(root, name) as (directory, last):
        write_atomic_at(directory, last, content, mode=mode, replace=replace, passes_on=mode == _NEW_MODE)
    return root / name


def prepare_document(root: Path, name: str) -> None:
    """Create the directories of a file that will be written later; blocking.

    :raises UnusableFile: a link is on its path, it is not a regular file, or a directory cannot be created.
    """
    with _place_to_write(root, name):
        pass


@contextmanager
def _place_to_write(root: Path, name: str) -> Iterator[tuple[int, str]]:
    """Yield the directory of a file, created if missing, and the file's name in it."""
    *above, last = name.split("/")
    try:
        with open_directory_below(root, above, make=True) as directory:
            with suppress(FileNotFoundError):
                if not stat.S_ISREG(os.stat(last, dir_fd=directory, follow_symlinks=False).st_mode):
                    why = "something else than a regular file is there; remove it"
                    raise UnusableFile(root / name, why, "written")
            yield directory, last
        if above[:1] == [TIDEATE]:
            _write_gitignore(root)
    except FileExistsError:
        raise
    except OSError as error:
        raise UnusableFile(root / name, _reason(error, "written"), "written") from error


def remove_document(root: Path, name: str) -> None:
    """Remove a project's regular file; a missing file or one behind a link is ignored."""
    *above, last = name.split("/")
    with suppress(OSError), open_directory_below(root, above) as directory:
        if stat.S_ISREG(os.stat(last, dir_fd=directory, follow_symlinks=False).st_mode):
            os.unlink(last, dir_fd=directory)


def _write_gitignore(root: Path) -> None:
    """Create a `.gitignore` that leaves only the team's files to git, unless one exists."""
    with open_directory_below(root, [TIDEATE]) as directory:
        try:
            os.stat(".gitignore", dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            with suppress(FileExistsError):
                write_atomic_at(directory, ".gitignore", _IGNORE, mode=_NEW_MODE, replace=False)


def list_documents(root: Path, name: str, most: int = MOST_NAMES) -> list[str]:
    """Return the sorted names in a project's directory; empty if it does not exist.

    :raises UnusableFile: it is unreadable, a link is on its path, or it has more than `most` names.
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
