"""Finder of the processes that a test started, by a mark in their environment; ends exactly these."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import uuid
from pathlib import Path

__all__ = ["Brood"]

MARK = "TIDEATE_TEST_BROOD"
MEASURING = "COVERAGE_PROCESS_CONFIG"
"""What `make coverage` tells the processes that are started under it."""


class Brood:
    """All processes that inherit this brood's environment, however deep and whoever adopted them.

    :param mark: a variable that only they have, with its value.
    """

    def __init__(self, mark: str = "") -> None:
        self._mark = mark or f"{MARK}={uuid.uuid4().hex}"

    def environment(self) -> dict[str, str]:
        """The environment that marks a process; its children inherit it."""
        name, value = self._mark.split("=", 1)
        measured = {MEASURING: os.environ[MEASURING]} if MEASURING in os.environ else {}
        return {name: value, **measured}

    def pids(self) -> set[int]:
        """The living members. Zombies are dead: whoever started them has only not asked yet."""
        wanted = self._mark.encode()
        found = set()
        for folder in Path("/proc").glob("[0-9]*"):
            # a process may end between the listing and the look
            with contextlib.suppress(OSError):
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.add(int(folder.name))
        return found

    def gone(self, within: float) -> bool:
        """Wait until no member lives, at most `within` seconds."""
        end = time.monotonic() + within
        while self.pids():
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def commands(self) -> list[str]:
        """The command lines of the living, for a message."""
        lines = []
        for pid in sorted(self.pids()):
            with contextlib.suppress(OSError):
                argv = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
                lines.append(f"{pid}: {argv.decode(errors='replace').strip()}")
        return lines

    def kill(self) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
