"""The served root: resolves paths within it, refuses probable secrets, and opens them free of link races.

A path is resolved first; then each directory is opened from its parent, so that a link inserted in between is
not followed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import OutsideRoot
from tideate_core.mcp.servers.schemas import short_repr
from tideate_core.mentions import HardLinks, secret_in, secret_name
from tideate_core.project import open_directory_fd
from tideate_core.workspace import PROTECTED, Root

if TYPE_CHECKING:
    from pathlib import Path

DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_SHORTEST_SECRET: Final = 10
"""Characters of the shortest name that could be a secret."""
_UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)


class ServedRoot:
    """Safe access to the files below a root.

    :param root: an existing absolute directory, without links.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._root = Root(root)

    def resolve(self, path: str) -> str:
        """Resolve a path to one relative to the root, links followed; `.` is the root.

        :raises ToolError: it leads out of the root, or is private.
        """
        try:
            return self._root.relative(self._root.resolve(path))
        except OutsideRoot:
            raise _refused(path) from None

    def entry(self, path: str) -> str:
        """Resolve a path as `resolve` does, without following a link in its last name.

        :raises ToolError: it leads out of the root, or is private.
        """
        try:
            return self._root.relative(self._root.entry(path))
        except OutsideRoot:
            raise _refused(path) from None

    def open_file(self, path: str) -> tuple[int, str, os.stat_result]:
        """Open a regular file for reading; return its descriptor, relative path and status.

        :raises ToolError: there is none, or it cannot be read.
        """
        name = self.resolve(path)
        self.refuse_secret(path, name)
        parent, last = self._parent(path, name)
        try:
            # check before opening: opening a device can have effects
            kind = os.stat(last, dir_fd=parent, follow_symlinks=False).st_mode
            if not stat.S_ISREG(kind):
                raise ToolError(_no_file(path, kind))
            descriptor = os.open(last, _FILE, dir_fd=parent)
        except OSError as error:
            raise _read_failure(path, error) from error
        finally:
            os.close(parent)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise ToolError(_no_file(path, status.st_mode))
        return descriptor, name, status

    def refuse_secret(self, path: str, name: str) -> None:
        """Reject a probable secret, as tools are called by models.

        :param name: from `resolve`.
        :raises ToolError: it is one by its name, or has a hard link outside the root.
        """
        if secret_name(path) or secret_name(name) or HardLinks(self.root).reason(self.root / name):
            raise ToolError(
                f"{short_repr(path)} usually holds secrets, or is the same file as one elsewhere; it is "
                "neither read nor changed here. A person may name it in a prompt with `@file:PATH`"
            )

    def open_directory(self, path: str) -> tuple[int, str]:
        """Open a directory; return its descriptor and relative path.

        :raises ToolError: there is none, or it cannot be read.
        """
        name = self.resolve(path)
        parent, last = self._parent(path, name)
        try:
            return os.open(last, DIRECTORY, dir_fd=parent), name
        except NotADirectoryError:
            raise ToolError(f"{short_repr(path)} is not a directory; `read_text_file` reads a file") from None
        except OSError as error:
            raise _read_failure(path, error) from error
        finally:
            os.close(parent)

    def status(self, path: str) -> tuple[os.stat_result, str, bool]:
        """Return the status of a path, its relative path, and whether it is a link.

        :raises ToolError: the path does not exist.
        """
        name = self.resolve(path)
        parent, last = self._parent(path, name)
        try:
            status = os.stat(last, dir_fd=parent, follow_symlinks=False)
        except OSError as error:
            raise _read_failure(path, error) from error
        finally:
            os.close(parent)
        return status, name, stat.S_ISLNK(status.st_mode) or self.entry(path) != name

    def _parent(self, path: str, name: str) -> tuple[int, str]:
        """Open the parent directory of a resolved path; return its descriptor and the last name."""
        *way, last = name.split("/")
        try:
            return open_directory_fd(self.root, way), last
        except OSError as error:
            raise _read_failure(path, error) from error


def is_private(name: str) -> bool:
    """Tell whether a directory entry must stay hidden; even a name may be a secret."""
    if name[0] == "." and name.casefold() in PROTECTED:
        return True
    if len(name) < _SHORTEST_SECRET:
        return False
    return secret_in(name) != ""


def printable(name: str) -> str:
    """Return a name for display on one line; most names are unchanged."""
    if name.isprintable():
        return name
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), name)


def _read_failure(path: str, error: OSError) -> ToolError:
    """Return the error for a failed read."""
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return ToolError(f"{short_repr(path)} does not exist; `list_directory` shows what does")
    if error.errno == errno.ELOOP:
        return ToolError(f"{short_repr(path)} is a link that leads nowhere")
    return ToolError(f"{short_repr(path)} cannot be read: {error.strerror}")


def _refused(path: str) -> ToolError:
    return ToolError(
        f"{short_repr(path)} is outside the root of this server, leads out of it, or belongs to .git or "
        ".tideate, which it leaves alone; `list_directory` shows what there is"
    )


def _no_file(path: str, mode: int) -> str:
    if stat.S_ISDIR(mode):
        return f"{short_repr(path)} is a directory; `list_directory` lists it"
    return f"{short_repr(path)} is not a regular file, so it is not read"
