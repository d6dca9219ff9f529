"""Store of providers' credentials and keys, in a file that only the user can read, or a keyring.

The file lists all logins; for a login in the keyring it holds only the public part.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import stat
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

from tideate_core.adapters import login_keyring
from tideate_core.config import load_config
from tideate_core.errors import StateError
from tideate_core.project import make_project_state, project_state
from tideate_core.util.atomic_files import write_atomic
from tideate_core.util.private_files import open_private
from tideate_core.util.regular_files import read_bounded
from tideate_core.util.uncancelled import wait_uncancelled

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

T = TypeVar("T")
Login = dict[str, Any]
"""A provider's credentials; `kind` is `key` or `oauth`, and the other keys depend on it."""

FILE: Final = "logins.json"
LARGEST: Final = 1024 * 1024
OTHERS: Final = 0o077
LOCK_LIMIT: Final = 60.0
"""Seconds to wait for another process's write or refresh, which has its own limits."""
LOCK_EVERY: Final = 0.05
IN_KEYRING: Final = "in_keyring"
"""Key, in the file, of a login's name in the keyring."""
PLAIN: Final = ("kind", "changed_at", "expires_at")
"""Keys that the file holds of a login in the keyring."""


class LoginStore:
    """The user's logins; every call reads the file again, because other processes change it.

    Synchronous methods block: on an event loop, call them through `in_thread`.
    """

    def __init__(self) -> None:
        self._stop = threading.Event()
        """Set to end the wait for the lock."""

    @property
    def path(self) -> Path:
        return project_state(None) / FILE

    @property
    def uses_keyring(self) -> bool:
        """True if new logins go to the keyring, by `[login] store` of the user's configuration.

        :raises ConfigError: the configuration cannot be read.
        """
        return load_config(None).config.login.store == "keyring"

    @property
    def place(self) -> str:
        """Location of new logins, for the user.

        :raises ConfigError: the configuration cannot be read.
        :raises StateError: no keyring is usable.
        """
        return login_keyring.name() if self.uses_keyring else f"{self.path}, readable by you only"

    def check(self) -> None:
        """Check that a login can be stored.

        :raises ConfigError: the configuration cannot be read.
        :raises StateError: the file or the keyring is not usable.
        """
        self._load()
        if self.uses_keyring:
            login_keyring.name()

    async def in_thread(self, call: Callable[..., T], *values: Any) -> T:
        """Call a blocking method in a thread; on cancellation it finishes first and keeps no lock."""
        work = asyncio.ensure_future(asyncio.to_thread(call, *values))
        if await wait_uncancelled(work, self._stop.set):
            raise asyncio.CancelledError from work.exception()
        return work.result()

    def get(self, provider: str) -> Login | None:
        """Return a provider's login.

        :raises StateError: the file or the keyring is not usable.
        """
        login = self._load().get(provider)
        return self._whole(provider, login) if login is not None else None

    def all(self) -> dict[str, Login]:
        """Return the logins by provider, without secrets that are in the keyring.

        :raises StateError: the file is not usable.
        """
        return self._load()

    def put(self, provider: str, login: Login) -> None:
        """Store or replace a login, in the configured store.

        :raises ConfigError: the configuration cannot be read.
        :raises StateError: the login cannot be written.
        """
        keyring = self.uses_keyring
        with self._changing() as logins:
            earlier = logins.get(provider, {}).get(IN_KEYRING)
            login = {**login, "changed_at": time.time_ns() // 1_000_000}
            logins[provider] = self._in_keyring(provider, login) if keyring else login
        if earlier and not keyring:
            login_keyring.delete(earlier)

    def move(self) -> list[str]:
        """Move all logins to the configured store; return the providers moved.

        :raises ConfigError: the configuration cannot be read.
        :raises StateError: the file or the keyring is not usable; the remaining logins are unchanged.
        """
        keyring = self.uses_keyring
        with self._changing() as logins:
            elsewhere = {
                provider: login
                for provider, login in logins.items()
                if bool(login.get(IN_KEYRING)) is not keyring
            }
            for provider, login in elsewhere.items():
                whole = self._whole(provider, login)
                logins[provider] = self._in_keyring(provider, whole) if keyring else whole
        if not keyring:
            for login in elsewhere.values():
                login_keyring.delete(login[IN_KEYRING])
        return sorted(elsewhere)

    def remove(self, provider: str) -> bool:
        """Delete a login from either store; return whether it existed.

        :raises StateError: the login cannot be deleted.
        """
        if (login := self._load().get(provider)) is None:
            return False
        if name := login.get(IN_KEYRING):
            login_keyring.delete(str(name))
        with self._changing() as logins:
            return logins.pop(provider, None) is not None

    @asynccontextmanager
    async def refreshing(self, provider: str) -> AsyncIterator[None]:
        """Lock this login for a refresh across processes: a refresh token works once.

        :raises StateError: another process holds the lock for too long.
        """
        name = re.sub(r"[^A-Za-z0-9-]+", "-", provider)
        stop = threading.Event()
        late = f"another process has refreshed the login of {provider} for a minute"
        taking = asyncio.ensure_future(asyncio.to_thread(self._take_lock, f"login-{name}.lock", late, stop))
        cancelled = await wait_uncancelled(taking, stop.set)
        if cancelled and taking.exception() is not None:
            raise asyncio.CancelledError
        lock = taking.result()
        try:
            if cancelled:
                raise asyncio.CancelledError
            yield
        finally:
            os.close(lock)

    def _take_lock(self, name: str, late: str, stop: threading.Event) -> int:
        """Lock a file; return a descriptor, which releases the lock when closed.

        :param late: message after the time limit.
        :param stop: set to end the wait.
        """
        path = make_project_state(None) / name
        try:
            lock = open_private(path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise StateError(f"{path} cannot be used: {error.strerror}") from error
        end = time.monotonic() + LOCK_LIMIT
        try:
            while not _is_taken(lock, path):
                if stop.wait(LOCK_EVERY) or time.monotonic() >= end:
                    raise StateError(late)
        except BaseException:
            os.close(lock)
            raise
        return lock

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Login]]:
        late = f"another process has been writing {self.path} for a minute"
        lock = self._take_lock(f"{FILE}.lock", late, self._stop)
        try:
            logins = self._load()
            yield logins
            content = json.dumps({"version": 1, "logins": logins}, indent=1, sort_keys=True)
            write_atomic(self.path, content.encode())
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
            # not the error's words, which quote the file
            raise StateError(f"{path} is not a file of logins; remove it and log in again") from error
        if not isinstance(logins, dict) or not all(isinstance(one, dict) for one in logins.values()):
            raise StateError(f"{path} is not a file of logins; remove it and log in again")
        return logins

    def _in_keyring(self, provider: str, login: Login) -> Login:
        """Write a login to the keyring; return the part for the file."""
        name = f"{provider} ({self.path})"
        login_keyring.write(name, json.dumps(login, sort_keys=True))
        return {key: login[key] for key in PLAIN if key in login} | {IN_KEYRING: name}

    def _whole(self, provider: str, login: Login) -> Login:
        """Return a login with its secrets.

        :raises StateError: the secrets cannot be read from the keyring.
        """
        if not (name := login.get(IN_KEYRING)):
            return login
        again = f"run `tideate login {provider}` again"
        if (kept := login_keyring.read(str(name))) is None:
            raise StateError(f"the login of {provider} is not in {login_keyring.name()} any more; {again}")
        try:
            found = json.loads(kept)
        except ValueError:
            found = None
        if not isinstance(found, dict):  # not the error's words, which are secret
            raise StateError(f"what {login_keyring.name()} has for {provider} is no login; {again}") from None
        return found


def _is_taken(lock: int, path: Path) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise StateError(f"{path} cannot be locked: {error.strerror}") from error
    return True
