"""Overlay mounted at a project's own path in a namespace: support check, mount."""

from __future__ import annotations

import errno
import os
import re
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import ScratchUnavailable
from tideate_core.process import Namespaces, Overlay as Layers, Proc
from tideate_core.snapshots.scratch.foreign_paths import outside_git
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self


_LOOKED_AT: Final = 1_000
"""Names at the top of a project that are checked."""
_ATTRIBUTE: Final = "user.tideate"
_OCTAL: Final = re.compile(rb"\\([0-7]{3})")


class Overlay:
    """Mounted overlay: namespaces held by their first process, which ends with this one.

    :param root: of the project; programs in the scratch copy see it at the same path.
    """

    kind: Final = "overlay"
    notices: tuple[str, ...] = ()

    def __init__(self, root: Path, held: Namespaces) -> None:
        self.root = root
        self._held = held

    @classmethod
    def mount(cls, root: Path, place: Path) -> Self:
        """Mount an overlay over a project, visible only in its namespace; blocking, about 30 ms.

        A git directory elsewhere, as of a worktree, gets an overlay, too, so that commits stay inside.

        :param root: of the project, real.
        :param place: an empty directory for the changes.
        :raises ScratchUnavailable: the system or the file systems do not support it.
        :raises OSError: the place cannot be used.
        """
        check_overlay(root, place)
        layers = _make_layers(root, place)
        check_attributes(layers.upper)
        mounts = [layers]
        if (git := outside_git(root)) is not None:
            check_overlay(git, place)
            make_private_directory(place / "git", exist_ok=False)
            mounts.append(_make_layers(git, place / "git"))
        return cls(root, Namespaces.hold([*mounts, Proc()]))

    @property
    def namespace(self) -> int:
        """Pid of the first process in the namespaces."""
        return self._held.pid

    @property
    def is_there(self) -> bool:
        """True while the namespaces exist."""
        return self._held.is_there

    @property
    def view(self) -> Path:
        """Root as this process sees it."""
        return self._held.view(self.root)

    def environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        # the project's directory is a mount point, and git has to look beyond it
        return {**environment, "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1"}

    def close(self) -> None:
        """End all processes in the namespaces, and the mount with them; blocking."""
        self._held.close()


def _make_layers(lower: Path, place: Path) -> Layers:
    """Create the upper and the work directory of an overlay at the lower directory's own path."""
    upper, work = place / "upper", place / "work"
    for directory in (upper, work):
        make_private_directory(directory, exist_ok=False)
    upper.chmod(lower.stat().st_mode & 0o7777)
    return Layers(place=lower, lowers=(lower,), upper=upper, work=work)


def check_overlay(root: Path, place: Path) -> None:
    """Reject projects that an overlay would not represent correctly; blocking.

    :param place: directory of the changes, or a parent of it.
    :raises ScratchUnavailable: an overlay is unsuitable.
    """
    if sys.platform != "linux":
        raise ScratchUnavailable("an overlay needs Linux")
    if place.is_relative_to(root):
        raise ScratchUnavailable(f"the private state {place} is below {root}")
    if mounts := _mounts_below(root):
        raise ScratchUnavailable(f"{mounts[0]} is mounted below {root}, and an overlay would hide it")
    if os.geteuid() and (path := _in_another_group(root)):
        raise ScratchUnavailable(f"{path} is in another group than yours, and could not be written in there")


def check_attributes(directory: Path) -> None:
    """Check that files in a directory can have attributes.

    :raises ScratchUnavailable: the file system lacks them.
    """
    try:
        os.setxattr(directory, _ATTRIBUTE, b"1")
        os.removexattr(directory, _ATTRIBUTE)
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.EPERM):
            raise
        raise ScratchUnavailable(f"the file system of {directory} has no attributes of users") from error


def _in_another_group(root: Path) -> str | None:
    """Return a top-level path that the user may write only through a supplementary group.

    A user namespace of an ordinary user has one group.
    """
    others = set(os.getgroups()) - {os.getegid()}
    with os.scandir(root) as entries:
        top = islice(entries, _LOOKED_AT)
        found = [
            (str(root), root.stat()),
            *((entry.path, entry.stat(follow_symlinks=False)) for entry in top),
        ]
    return next((path for path, status in found if status.st_gid in others), None)


def _mounts_below(root: Path) -> list[str]:
    prefix = os.fsencode(root).rstrip(b"/") + b"/"
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError as error:
        raise ScratchUnavailable("/proc is not mounted") from error
    places = (_OCTAL.sub(lambda found: bytes([int(found[1], 8)]), line.split(b" ")[4]) for line in lines)
    return [os.fsdecode(place) for place in places if place.startswith(prefix)]
