"""Base of a guarded copy: the state of the project when the copy was made or last updated."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.project import open_directory_fd
from tideate_core.snapshots.entries import above
from tideate_core.snapshots.guarded.layers import find_in_layers, names_in_layers
from tideate_core.snapshots.guarded.record import Kept
from tideate_core.snapshots.limits import MIB
from tideate_core.workspace import ABSENT, FileImage, FileState, read_image, read_image_nofollow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

LARGEST: Final = 64 * MIB
"""Bytes of a file that is compared."""
LARGEST_HASHED: Final = 4096 * MIB
"""Bytes of a file in the copy whose state is known."""
UNKNOWN: Final = FileState("other", "unknown")
"""State of a file that a program made unreadable or huge; it equals no wanted state."""
_GONE: Final = Kept("absent")
_DIGEST_SIZE: Final = 20
"""Bytes, as in a `FileState`."""
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class TooLarge(Exception):
    """A file is larger than `LARGEST`."""


def state_at(path: Path | str, directory: int | None = None, largest: int | None = None) -> FileState:
    """Return the state of a path without its content in memory, following no link; blocking.

    :param directory: descriptor that the path is relative to.
    :param largest: bytes of a file.
    :raises OSError: it cannot be read.
    :raises TooLarge: it has more bytes.
    """
    try:
        found = os.stat(path, dir_fd=directory, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISDIR(found.st_mode):
        return FileState("directory", mode=mode)
    if not stat.S_ISREG(found.st_mode):
        return read_image(path, directory).state
    made, size = hashlib.blake2b(digest_size=_DIGEST_SIZE), 0
    with os.fdopen(os.open(path, _READ, dir_fd=directory), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):  # replaced meanwhile
            return FileState("other")
        while largest is None or max(size, status.st_size) <= largest:
            if not (data := file.read(MIB)):
                return FileState("file", made.hexdigest(), mode)
            made.update(data)
            size += len(data)
    raise TooLarge


def state_in_copy(name: str, directory: int) -> FileState:
    """Return the state of a path that a running program may change; blocking."""
    try:
        return state_at(name, directory, LARGEST_HASHED)
    except (PermissionError, TooLarge):
        return UNKNOWN
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.ENOENT):  # replaced meanwhile
            return UNKNOWN
        raise


def state_within(view: Path, path: str) -> FileState:
    """Return the state of a path below a root, following no link on the way; blocking.

    :raises OSError: it cannot be read.
    """
    *way, name = path.split("/")
    try:
        directory = open_directory_fd(view, way)
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except PermissionError:
        return UNKNOWN
    try:
        return state_in_copy(name, directory)
    finally:
        os.close(directory)


def state_of(kept: Kept, contents: Path) -> FileState:
    """Return the state of a kept path; blocking.

    :param contents: directory of the contents of files.
    :raises OSError: the content cannot be read.
    """
    if kept.kind == "file":
        return replace(state_at(contents / kept.content), mode=kept.mode)
    if kept.kind == "link":
        return FileImage.of_link(os.fsencode(kept.content)).state
    return FileState(kept.kind, mode=kept.mode)


class Base:
    """Images of the base, which later changes in the project do not affect.

    :param layers: layers of the copy except the program's own, the uppermost first.
    :param kept: paths that updates changed.
    :param contents: directory with the contents of these paths.
    """

    def __init__(self, layers: Sequence[Path], kept: Mapping[str, Kept], contents: Path) -> None:
        self._layers = [str(layer) for layer in layers]
        self._kept = kept
        self._contents = contents

    @property
    def is_of_layers(self) -> bool:
        """True if no update changed a path."""
        return not self._kept

    def image(self, path: str) -> FileImage:
        """Return the image of a path; a directory has the kind `directory`; blocking.

        :raises OSError: it cannot be read.
        :raises TooLarge: it is too large.
        """
        kept = self._find_kept(path)
        if kept is None:
            where = find_in_layers(self._layers, path)
            return FileImage(ABSENT) if where is None else read_bounded_image(Path(where))
        if kept.kind == "file":
            image = read_bounded_image(self._contents / kept.content)
            return FileImage.of_file(image.data, kept.mode, image.metadata)
        if kept.kind == "link":
            return FileImage.of_link(os.fsencode(kept.content))
        return FileImage(FileState(kept.kind))

    def state(self, path: str) -> FileState:
        """Return the state of a path of any size; blocking.

        :raises OSError: it cannot be read.
        """
        kept = self._find_kept(path)
        if kept is not None:
            return state_of(kept, self._contents)
        where = find_in_layers(self._layers, path)
        return ABSENT if where is None else state_at(where)

    def directory_mode(self, path: str) -> int | None:
        """Return the permission bits of a directory, or None."""
        kept = self._find_kept(path)
        if kept is not None:
            return kept.mode if kept.kind == "directory" else None
        where = find_in_layers(self._layers, path)
        mode = 0 if where is None else os.lstat(where).st_mode
        return stat.S_IMODE(mode) if stat.S_ISDIR(mode) else None

    def below(self, path: str) -> Iterator[str]:
        """Yield the paths directly in a directory.

        :raises OSError: it cannot be read.
        """
        prefix = f"{path}/" if path else ""
        names = {prefix + name for name in names_in_layers(self._layers, path)}
        names |= {one for one in self._kept if one.rpartition("/")[0] == path}
        return (one for one in sorted(names) if self._exists(one))

    def _exists(self, path: str) -> bool:
        kept = self._find_kept(path)
        return kept is not _GONE and (kept is None or kept.kind != "absent")

    def _find_kept(self, path: str) -> Kept | None:
        """Return the state of a path if updates changed the path or a directory above it."""
        if not self._kept:
            return None
        if (kept := self._kept.get(path)) is not None:
            return kept
        hidden = any(
            (one := self._kept.get(way)) is not None and one.kind != "directory" for way in above(path)
        )
        return _GONE if hidden else None


def lstat(path: Path) -> os.stat_result | None:
    """Return the status of a path without following it, or None if it does not exist."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_bounded_image(path: Path) -> FileImage:
    """Read the image of a path; follow no link, because a running program may plant links.

    :raises OSError: it cannot be read.
    :raises TooLarge: it is too large.
    """
    if (found := lstat(path)) is not None and found.st_size > LARGEST:
        raise TooLarge
    return read_image_nofollow(path, LARGEST)
