"""Overlay mounted at a project's own path in a namespace: support check, mount."""

from __future__ import annotations

import errno
import os
import re
import select
import signal
import subprocess
import sys
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import ScratchUnavailable
from tideate_core.snapshots.scratch.foreign_paths import outside_git
from tideate_core.util.private_files import make_private_directory
from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self


HOLDER: Final = str(Path(__file__).with_name("holder.py"))
_START_WITHIN: Final = 10.0
"""Seconds."""
_END_WITHIN: Final = 10.0
"""Seconds; processes in the namespace have three of them before they are killed."""
SETTINGS: Final = Path("/proc/sys")
SWITCHES: Final = {
    "kernel.apparmor_restrict_unprivileged_userns": "1",
    "kernel.unprivileged_userns_clone": "0",
    "user.max_user_namespaces": "0",
}
"""Settings of distributions that forbid user namespaces."""
_LOOKED_AT: Final = 1_000
"""Names at the top of a project that are checked."""
_ATTRIBUTE: Final = "user.tideate"
_OCTAL: Final = re.compile(rb"\\([0-7]{3})")


class Overlay:
    """Mounted overlay: namespaces held by their first process, which ends with this one.

    :param root: of the project; programs in the scratch copy see it at the same path.
    :param program: parent of that process; it ends after all processes inside.
    :param upper: directory of the changes.
    """

    kind: Final = "overlay"
    notices: tuple[str, ...] = ()

    def __init__(self, root: Path, program: subprocess.Popen[bytes], upper: Path) -> None:
        self.root = root
        self.namespace = 0
        """Pid of the holder, which is in the namespaces."""
        self._upper = upper
        self._program = program
        self._holder: int | None = None
        """Descriptor of the holder: its pid may be reused after its end."""

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
        upper, *_ = layers = _make_layers(root, place)
        check_attributes(upper)
        arguments = [root, root, *layers]
        if (git := outside_git(root)) is not None:
            check_overlay(git, place)
            make_private_directory(place / "git", exist_ok=False)
            arguments += [git, git, *_make_layers(git, place / "git")]
        program = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", HOLDER, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,  # protects it from terminal interrupts
        )
        overlay = cls(root, program, upper)
        try:
            overlay._await_mount()
        except BaseException:
            overlay.close()
            raise
        return overlay

    @property
    def is_there(self) -> bool:
        """True while the namespaces exist."""
        return self._holder is not None and not select.select([self._holder], [], [], 0)[0]

    @property
    def view(self) -> Path:
        """Root as this process sees it."""
        return Path(f"/proc/{self.namespace}/root", self.root.relative_to("/"))

    def environment(self, environment: Mapping[str, str]) -> Mapping[str, str]:
        # the project's directory is a mount point, and git has to look beyond it
        return {**environment, "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1"}

    def close(self) -> None:
        """End all processes in the namespaces, and the mount with them; blocking."""
        try:
            self._program.communicate(timeout=_END_WITHIN)
        except subprocess.TimeoutExpired:  # one of the two processes was stopped
            self._program.kill()
        if self._holder is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._holder, signal.SIGKILL)
            # ready when the kernel has killed all other processes inside
            select.select([self._holder], [], [], _END_WITHIN)
            os.close(self._holder)
            self._holder = None
        self._program.communicate()

    def _await_mount(self) -> None:
        assert self._program.stdout is not None  # noqa: S101 it was asked for
        ready, _, _ = select.select([self._program.stdout], [], [], _START_WITHIN)
        said = self._program.stdout.readline().decode() if ready else ""
        if said.startswith("mounted "):
            self.namespace = int(said.split()[1])
            self._holder = os.pidfd_open(self.namespace)
            return
        number, _, doing = said.strip().partition(" ")
        if not number.isdigit():
            raise ScratchUnavailable("the process that mounts an overlay does not start")
        raise ScratchUnavailable(f"{doing} ({os.strerror(int(number))}{_switched_off()})")


def _make_layers(lower: Path, place: Path) -> tuple[Path, Path]:
    """Create the upper and the work directory of an overlay."""
    upper, work = place / "upper", place / "work"
    for directory in (upper, work):
        make_private_directory(directory, exist_ok=False)
    upper.chmod(lower.stat().st_mode & 0o7777)
    return upper, work


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
    """Reject a directory whose files cannot have attributes.

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


def _switched_off() -> str:
    """Describe the setting that may be the reason; empty if none."""
    for name, off in SWITCHES.items():
        value = read_bounded(SETTINGS / name.replace(".", "/"), _LOOKED_AT)
        if value is not None and value.decode().strip() == off:
            return f"; sysctl {name} is {off}"
    return ""


def _mounts_below(root: Path) -> list[str]:
    prefix = os.fsencode(root).rstrip(b"/") + b"/"
    try:
        lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError as error:
        raise ScratchUnavailable("/proc is not mounted") from error
    places = (_OCTAL.sub(lambda found: bytes([int(found[1], 8)]), line.split(b" ")[4]) for line in lines)
    return [os.fsdecode(place) for place in places if place.startswith(prefix)]
