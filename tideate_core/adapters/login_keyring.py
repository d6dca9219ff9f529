"""Secrets in the system keyring, through the library `keyring`, with actionable errors."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters.libraries import IN_NEOVIM, PIP
from tideate_core.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVICE: Final = "tideate"
OR_A_FILE: Final = 'or set `store = "file"` in `[login]` of your configuration'
REMEDY: Final = f"unlock it, {OR_A_FILE}"


def name() -> str:
    """Return the name of the keyring, for the user.

    :raises StateError: no keyring is usable.
    """
    return f"your keyring ({_backend().name})"


def read(username: str) -> str | None:
    """Return a secret, None without one; blocks while the user unlocks the keyring.

    :raises StateError: the keyring is not usable.
    """
    with _explained("read"):
        found: str | None = _backend().get_password(SERVICE, username)
        return found


def write(username: str, secret: str) -> None:
    """Store or replace a secret; blocks while the user unlocks the keyring.

    :raises StateError: the keyring is not usable.
    """
    backend = _backend()
    try:
        backend.set_password(SERVICE, username, secret)
    except Exception as error:  # noqa: BLE001 as in `_explained`, but its words may be the secret
        raise StateError(f"your keyring cannot be written to ({type(error).__name__}); {REMEDY}") from None


def delete(username: str) -> None:
    """Delete a secret if it exists.

    :raises StateError: the keyring is not usable.
    """
    with _explained("changed"):
        backend = _backend()
        if backend.get_password(SERVICE, username) is not None:
            backend.delete_password(SERVICE, username)


def _backend() -> Any:
    """Return the keyring that the library found, or that the user configured."""
    try:
        import keyring  # late, because few users have it
        from keyring.backends import fail, null
    except ImportError as error:
        raise StateError(
            "logins are kept in your keyring, and the library for that is not installed: install the extra "
            f"`keyring` (`{PIP} install keyring`{IN_NEOVIM.format(extra='keyring')}), {OR_A_FILE}"
        ) from error
    with _explained("opened"):
        backend = keyring.get_keyring()
    if isinstance(backend, fail.Keyring | null.Keyring):
        raise StateError(
            "no keyring can be used here: start one (GNOME Keyring, KWallet; a D-Bus session alone has "
            f"none), see `python -m keyring --list-backends`, {OR_A_FILE}"
        )
    return backend


@contextmanager
def _explained(done: str) -> Iterator[None]:
    try:
        yield
    except StateError:
        raise
    except Exception as error:  # backends raise errors of their own, for example D-Bus's
        words = " ".join(str(error).split())[:200]
        because = f"{type(error).__name__}: {words}" if words else type(error).__name__
        raise StateError(f"your keyring cannot be {done} ({because}); {REMEDY}") from error
