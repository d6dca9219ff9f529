"""A git on PATH that kills the process that started it, or fails, at one of its calls."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.portable.inboxing import Machine

__all__ = ["Shim"]

SCRIPT = """#!/bin/sh
case " $* " in {calls}) ;; *) exec {git} "$@";; esac
count=$(($(cat {place}/count 2>/dev/null || echo 0) + 1))
echo $count >{place}/count
if [ $count -ne {at} ]; then exec {git} "$@"; fi
{action}
"""
ACTIONS = {
    "killed before": "kill -9 $PPID; exit 1",
    "killed after": '{git} "$@"; status=$?; kill -9 $PPID; exit $status',
    "remote gone": "echo 'fatal: unable to access: Could not resolve host' >&2; exit 128",
    "remote gone after": '{git} "$@" >/dev/null 2>&1; echo "fatal: the remote end hung up" >&2; exit 128',
}
NETWORK = "*' push '*|*' fetch '*|*' ls-remote '*"
EVERY = f"{NETWORK}|*' commit-tree '*|*' mktree '*"


class Shim:
    """The calls of git of a machine.

    :param at: number of the call at which something happens, from 1.
    """

    def __init__(self, machine: Machine, at: int, action: str, calls: Literal["network", "every"]) -> None:
        self.place: Path = machine.home / "shim"
        self.place.mkdir(exist_ok=True)
        (self.place / "count").unlink(missing_ok=True)
        git = shutil.which("git", path=machine.env["PATH"].removeprefix(f"{self.place}:"))
        pattern = NETWORK if calls == "network" else EVERY
        told = ACTIONS[action].format(git=git)
        script = self.place / "git"
        script.write_text(SCRIPT.format(calls=pattern, git=git, place=self.place, at=at, action=told))
        script.chmod(0o755)
        machine.env["PATH"] = f"{self.place}:{machine.env['PATH'].removeprefix(f'{self.place}:')}"
        self._machine = machine

    @property
    def reached(self) -> int:
        """Number of calls so far."""
        path = self.place / "count"
        return int(path.read_text()) if path.exists() else 0

    def remove(self) -> None:
        self._machine.env["PATH"] = self._machine.env["PATH"].removeprefix(f"{self.place}:")
