"""Keys: from the environment or from a command, held in memory only."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from contextlib import suppress
from dataclasses import dataclass

from tideate_core.errors import AuthenticationFailed

__all__ = ["KeySource"]

COMMAND_TIMEOUT = 60.0
"""Seconds for a key command: a password manager may ask the person to unlock it."""


@dataclass(frozen=True, slots=True)
class KeySource:
    """Where an adapter's key comes from."""

    adapter: str
    env: str | None = None
    command: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.env:
            return f"${self.env}"
        return f"`{shlex.join(self.command)}`" if self.command else ""

    async def key(self) -> str | None:
        """Return the key, None if this adapter needs none.

        :raises AuthenticationFailed: the variable is empty, or the command failed or printed nothing.
        """
        if self.env:
            return self._from_environment(self.env)
        return await self._from_command() if self.command else None

    def _from_environment(self, variable: str) -> str:
        key = os.environ.get(variable, "").strip()
        if not key:
            raise self._failed(f"${variable} is not set; export it before you start the editor or the shell")
        return key

    async def _from_command(self) -> str:
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise self._failed(f"the key command {self} cannot be run: {error.strerror}") from error
        try:
            async with asyncio.timeout(COMMAND_TIMEOUT):
                output, errors = await process.communicate()
        except TimeoutError:
            raise self._failed(f"the key command {self} took longer than {COMMAND_TIMEOUT:.0f} s") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode != 0:
            last = errors.decode(errors="replace").strip().rpartition("\n")[2][:300]
            raise self._failed(f"the key command {self} ended with status {process.returncode}: {last}")
        key = output.decode(errors="replace").strip().partition("\n")[0].strip()
        if not key:
            raise self._failed(f"the key command {self} printed nothing")
        return key

    def _failed(self, what: str) -> AuthenticationFailed:
        return AuthenticationFailed(f"adapter {self.adapter!r}: {what}")
