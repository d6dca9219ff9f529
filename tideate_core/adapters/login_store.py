"""Store of logins: credentials and keys of providers, in a file that only the person can read."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import stat
import time
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import StateError
from tideate_core.project import make_project_state, project_state
from tideate_core.util.atomic_files import write_atomic
from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

__all__ = ["Login", "LoginStore"]

Login = dict[str, Any]
"""What is kept of one provider: `kind` is `key` or `oauth`, the rest belongs to the kind."""

FILE: Final = "logins.json"
LARGEST: Final = 1024 * 1024
OTHERS: Final = 0o077
LOCK_LIMIT: Final = 60.0
"""Seconds that a process waits for another one's refresh, which has time limits of its own."""
LOCK_EVERY: Final = 0.05


class LoginStore:
    """The logins of a person; every call reads the file anew, as other processes change it."""

    @property
    def path(self) -> Path:
        return project_state(None) / FILE

    def get(self, provider: str) -> Login | None:
        """Return the login of a provider.

        :raises StateError: the file cannot be used.
        """
        return self._load().get(provider)

    def all(self) -> dict[str, Login]:
        """Return the logins by provider.

        :raises StateError: the file cannot be used.
        """
        return self._load()

    def put(self, provider: str, login: Login) -> None:
        """Keep a login, in place of an earlier one.

        :raises StateError: it cannot be written.
        """
        with self._changing() as logins:
            logins[provider] = {**login, "changed_at": time.time_ns() // 1_000_000}

    def remove(self, provider: str) -> bool:
        """Delete a login; tells whether there was one.

        :raises StateError: it cannot be written.
        """
        if provider not in self._load():
            return False
        with self._changing() as logins:
            return logins.pop(provider, None) is not None

    @asynccontextmanager
    async def refreshing(self, provider: str) -> AsyncIterator[None]:
        """Be the only process that refreshes this login: its token can be used once.

        :raises StateError: another process does so for too long.
        """
        name = re.sub(r"[^A-Za-z0-9-]+", "-", provider)
        lock = self._open_lock(f"login-{name}.lock")
        try:
            await _take(lock, provider)
            yield
        finally:
            os.close(lock)

    def _open_lock(self, name: str) -> int:
        path = make_project_state(None) / name
        try:
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StateError(f"{path} cannot be used: {error.strerror}") from error

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Login]]:
        lock = self._open_lock(f"{FILE}.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            logins = self._load()
            yield logins
            content = json.dumps({"version": 1, "logins": logins}, indent=1, sort_keys=True)
            write_atomic(self.path, content.encode(), mode=0o600)
        except OSError as error:
            raise StateError(f"{self.path} cannot be written: {error.strerror}") from error
        finally:
            os.close(lock)

    def _load(self) -> dict[str, Login]:
        path = self.path
        try:
            found = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise StateError(f"{path} cannot be read: {error.strerror}") from error
        if stat.S_ISREG(found.st_mode) and (found.st_mode & OTHERS or found.st_uid != os.geteuid()):
            raise StateError(f"others can read {path}, which has keys: `chmod 600 {path}`, or log in again")
        content = read_bounded(path, LARGEST)
        try:
            logins = json.loads(content or b"")["logins"]
        except (ValueError, KeyError, TypeError) as error:
            # not its words: they quote the file
            raise StateError(f"{path} is not a file of logins; remove it and log in again") from error
        if not isinstance(logins, dict) or not all(isinstance(one, dict) for one in logins.values()):
            raise StateError(f"{path} is not a file of logins; remove it and log in again")
        return logins


async def _take(lock: int, provider: str) -> None:
    try:
        async with asyncio.timeout(LOCK_LIMIT):
            while not _is_taken(lock):  # noqa: ASYNC110 another process has it
                await asyncio.sleep(LOCK_EVERY)
    except TimeoutError as error:
        raise StateError(f"another process has refreshed the login of {provider} for a minute") from error


def _is_taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
