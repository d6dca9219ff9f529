"""Read an adapter's API key from an environment variable or a command; keep it only in memory."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tideate_core.errors import AuthenticationFailed

COMMAND_TIMEOUT = 60.0
"""Seconds for a key command: a password manager may ask the user to unlock it."""
KILL_LIMIT = 2.0
"""Seconds to wait for a killed command, whose children may keep its pipes open."""


@dataclass(frozen=True, slots=True)
class KeySource:
    """Source of an adapter's key: an environment variable or a command."""

    adapter: str
    env: str | None = None
    command: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.env:
            return f"${self.env}"
        return f"`{shlex.join(self.command)}`" if self.command else ""

    async def key(self) -> str | None:
        """Return the key, None if the adapter needs none.

        :raises AuthenticationFailed: the variable is empty, the command failed or printed nothing, or the
            key cannot be sent.
        """
        if self.env:
            return self._from_environment(self.env)
        return await self._from_command() if self.command else None

    def _from_environment(self, variable: str) -> str:
        key = os.environ.get(variable, "").strip()
        if not key:
            raise self._failed(f"${variable} is not set; export it before you start the editor or the shell")
        return self._printable(key)

    async def _from_command(self) -> str:
        status, output, errors = await self._run_command()
        if status != 0:
            last = errors.decode(errors="replace").strip().rpartition("\n")[2][:300]
            raise self._failed(f"the key command {self} ended with status {status}: {last}")
        key = output.decode(errors="replace").strip().partition("\n")[0].strip()
        if not key:
            raise self._failed(f"the key command {self} printed nothing")
        return self._printable(key)

    async def _run_command(self) -> tuple[int | None, bytes, bytes]:
        # in this process's group, so that a signal to the host's group ends the command, too
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", str(Path(__file__).with_name("end_with_parent.py")), str(os.getpid())),
            *self.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT):
                output, errors = await process.communicate()
        except TimeoutError:
            raise self._failed(f"the key command {self} took longer than {COMMAND_TIMEOUT:.0f} s") from None
        finally:
            if process.returncode is None:
                _kill_tree(process.pid)
                with suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), KILL_LIMIT)
        return process.returncode, output, errors

    def _printable(self, key: str) -> str:
        # the HTTP library rejects other characters in a header, and its error quotes the key
        if key.isascii() and key.isprintable():
            return key
        raise self._failed(
            f"the key from {self} is more than one line or has characters that are not printable ASCII; "
            "it cannot be sent in a header"
        )

    def _failed(self, what: str) -> AuthenticationFailed:
        return AuthenticationFailed(f"adapter {self.adapter!r}: {what}")


def _kill_tree(pid: int) -> None:
    """Kill a process with its descendants; without Linux's /proc, only the process."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)  # it starts no more children during the search
        with suppress(OSError):
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                for child in children.read_text().split():
                    _kill_tree(int(child))
        os.kill(pid, signal.SIGKILL)
