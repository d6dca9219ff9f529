"""Namespaces with mounts of their own: start, end, and the view of their files."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import ScratchUnavailable
from tideate_core.process.mount_plan import plan_as_json
from tideate_core.process.namespace_holder import PINNED
from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from tideate_core.process.mount_plan import Mount, Rules

HOLDER: Final = str(Path(__file__).with_name("namespace_holder.py"))
INSTALLED: Final = Path("/usr/local/lib/tideate/namespace-holder")
"""Copy of the holder that may create user namespaces, see docs/understand/security.md."""
_START_WITHIN: Final = 10.0
"""Seconds."""
_END_WITHIN: Final = 10.0
"""Seconds until the namespaces end, with some time for their processes before they are killed."""
SETTINGS: Final = Path("/proc/sys")
SWITCHES: Final = {
    "kernel.apparmor_restrict_unprivileged_userns": "1",
    "kernel.unprivileged_userns_clone": "0",
    "user.max_user_namespaces": "0",
}
"""Settings of distributions that forbid user namespaces."""
_LONGEST_SETTING: Final = 1_000


class Namespaces:
    """User, mount and pid namespace, held by their first process, which ends with this one.

    :param program: parent of that process; it ends after all processes inside.
    """

    def __init__(self, program: subprocess.Popen[bytes]) -> None:
        self.pid = 0
        """Pid of the holder, which is in the namespaces."""
        self.notices: tuple[str, ...] = ()
        """Unsupported parts of the plan: `unshaded` or `processes`."""
        self.report: dict[str, Any] = {}
        """The holder's report, after `close`; empty without rules or if it was killed."""
        self._program = program
        self._holder: int | None = None
        """Descriptor of the holder: its pid may be reused after its end."""

    @classmethod
    def hold(cls, mounts: Iterable[Mount], rules: Rules | None = None) -> Self:
        """Create namespaces with mounts that only processes inside see; blocking, about 30 ms.

        :param rules: for programs inside; None: they keep their rights.
        :raises ScratchUnavailable: the system or a file system does not support it.
        """
        return cls.start().mount(mounts, rules)

    @classmethod
    def start(cls) -> Self:
        """Start the program that will create namespaces, to gain time before `mount`; end it with `close`."""
        program = subprocess.Popen(  # noqa: S603
            [str(INSTALLED)] if _is_current(INSTALLED) else [sys.executable, "-I", "-S", HOLDER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,  # protects it from terminal interrupts
        )
        return cls(program)

    def mount(self, mounts: Iterable[Mount], rules: Rules | None = None) -> Self:
        """Create the namespaces, see `hold`; after an error, the program has ended."""
        try:
            plan = {"mounts": plan_as_json(mounts), "rules": None if rules is None else asdict(rules)}
            self._await_mounts(json.dumps(plan).encode() + b"\n")
        except BaseException:
            self.close()
            raise
        return self

    @property
    def is_there(self) -> bool:
        """True while the namespaces exist."""
        return self._holder is not None and not select.select([self._holder], [], [], 0)[0]

    def view(self, path: Path) -> Path:
        """Return the path of a file in the namespaces for this process."""
        return Path(f"/proc/{self.pid}/root", path.relative_to("/"))

    def close(self) -> None:
        """End all processes in the namespaces, and the mounts with them; blocking."""
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
        said, _ = self._program.communicate()
        self.report = json.loads(said) if said.startswith(b"{") else self.report

    def _await_mounts(self, plan: bytes) -> None:
        assert self._program.stdin is not None and self._program.stdout is not None  # noqa: S101 asked for
        with suppress(BrokenPipeError):  # it did not start
            self._program.stdin.write(plan)
            self._program.stdin.flush()
        ready, _, _ = select.select([self._program.stdout], [], [], _START_WITHIN)
        said = self._program.stdout.readline().decode() if ready else ""
        if said.startswith("mounted "):
            _, pid, *notices = said.split()
            self.pid, self.notices = int(pid), tuple(notices)
            self._holder = os.pidfd_open(self.pid)
            return
        number, _, doing = said.strip().partition(" ")
        if not number.isdigit():
            raise ScratchUnavailable("the process that holds the namespaces does not start")
        raise ScratchUnavailable(f"{doing} ({os.strerror(int(number))}{_switched_off()})")


def open_first_overlay(holder: int) -> int:
    """Return a descriptor of the first overlay in a holder's plan, which outlives the namespaces.

    Programs inside may put links and other directories on the path to it.

    :raises OSError: the holder has ended.
    """
    return os.open(f"/proc/{holder}/fd/{PINNED}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def _is_current(installed: Path) -> bool:
    """Return whether the installed holder equals the holder of this version."""
    size = Path(HOLDER).stat().st_size if installed.exists() else 0
    return size > 0 and read_bounded(installed, size) == read_bounded(Path(HOLDER), size)


def _switched_off() -> str:
    """Describe a system setting that may forbid namespaces; empty if there is none."""
    for name, off in SWITCHES.items():
        value = read_bounded(SETTINGS / name.replace(".", "/"), _LONGEST_SETTING)
        if value is not None and value.decode().strip() == off:
            return f"; sysctl {name} is {off}"
    return ""
