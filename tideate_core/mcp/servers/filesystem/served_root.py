"""The served root: resolve paths within it and open them without following links.

A path is resolved first, and each directory on the resolved way is opened from the one above it: a link that
somebody puts there in between is not followed.
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
from tideate_core.project import open_directory_fd
from tideate_core.workspace import PROTECTED, Root

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DIRECTORY", "ServedRoot", "is_private", "printable"]

DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_SHORTEST_SECRET: Final = 10
"""Characters."""
_UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)
_ABSOLUTE: Final = re.compile(r"(?<![\w./~-])/[^\s'\":,;]{1,4096}")


class ServedRoot:
    """The files below a root.

    :param root: an existing absolute directory, without links.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._root = Root(root)

    def resolve(self, path: str) -> str:
        """Return what a path names, relative to the root, links followed; `.` is the root.

        :raises ToolError: it leads out of the root, or is private.
        """
        try:
            return self._root.relative(self._root.resolve(path))
        except OutsideRoot:
            raise _refused(path) from None

    def entry(self, path: str) -> str:
        """Like `resolve`, without following the last name.

        :raises ToolError: it leads out of the root, or is private.
        """
        try:
            return self._root.relative(self._root.entry(path))
        except OutsideRoot:
            raise _refused(path) from None

    def open_file(self, path: str) -> tuple[int, str, os.stat_result]:
        """Open a regular file for reading; gives its descriptor, its name and its state.

        :raises ToolError: there is none, or it cannot be read.
        """
        name = self.resolve(path)
        self.refuse_secret(path, name)
        parent, last = self._parent(path, name)
        try:
            # not opened to find out: a device may do something then
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
        """Refuse a file that usually holds secrets: who calls a tool is a model.

        :param name: from `resolve`.
        :raises ToolError: it is one, by its name or because it has a name outside of the root, too.
        """
        from tideate_core.mentions import HardLinks, secret_name

        if secret_name(path) or secret_name(name) or HardLinks(self.root).reason(self.root / name):
            raise ToolError(
                f"{short_repr(path)} usually holds secrets, or is the same file as one elsewhere; it is "
                "neither read nor changed here. A person may name it in a prompt with `@file:PATH`"
            )

    def open_directory(self, path: str) -> tuple[int, str]:
        """Open a directory; gives its descriptor and its name.

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
        """Return the state of what a path names, its name, and whether the path is a link to it.

        :raises ToolError: there is nothing.
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

    def describe_error(self, error: Exception) -> str:
        """Return an error of ours without the root's path and without any outside of it."""
        text = str(error).replace(f"{self.root}/", "")
        return _ABSOLUTE.sub(lambda found: "." if found[0] == str(self.root) else "(a path outside)", text)

    def _parent(self, path: str, name: str) -> tuple[int, str]:
        """Open the directory that a resolved name stands in."""
        *way, last = name.split("/")
        try:
            return open_directory_fd(self.root, way), last
        except OSError as error:
            raise _read_failure(path, error) from error


def is_private(name: str) -> bool:
    """Tell if an entry of a directory is neither shown nor read: its name may be a secret."""
    if name[0] == "." and name.casefold() in PROTECTED:
        return True
    if len(name) < _SHORTEST_SECRET:
        return False
    from tideate_core.mentions import secret_in

    return secret_in(name) != ""


def printable(name: str) -> str:
    """Return a name as it can be shown on one line, and sent; nearly always itself."""
    return name if name.isprintable() else _UNSEEN.sub(_escaped, name)


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def _read_failure(path: str, error: OSError) -> ToolError:
    """Return the words for what the system refuses."""
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
