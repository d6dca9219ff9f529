"""Which of the private files that are kept with projects are the person's own.

A project may come from anybody, and its `.tideate` with it. So a database has random names, and the person's
state directory knows one of a database that this person's tideate made, or that the person trusted. A record
of what a run changed has a seal, made with a key that never leaves the state directory.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import tempfile
import time
from typing import TYPE_CHECKING, Final

from tideate_core.project import real, state_dir

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["forget", "is_known", "new_name", "remember", "seal", "stores_dir"]

_NAME: Final = re.compile(r"[0-9a-f]{32}")
_KEY_BYTES: Final = 32


def stores_dir() -> Path:
    """Return the directory with a file for each database that is known; it may not exist yet."""
    return state_dir() / "stores"


def new_name() -> str:
    """Return a name for a database that nobody can guess: 32 hexadecimal digits."""
    return secrets.token_hex(16)


def remember(name: str, path: Path) -> None:
    """Know a database by this name from now on; durable when this returns.

    :param path: where it is now; only told, since a project may be moved.
    :raises OSError: it cannot be written down.
    """
    content = {"path": str(real(path)), "at": time.time_ns() // 1_000_000}
    # a file for each: processes that make databases at once need no lock
    _write(stores_dir() / name, json.dumps(content).encode("utf-8", "surrogateescape"))


def is_known(name: object) -> bool:
    """Tell whether a name that a database has is one of this person's.

    :param name: as it was read: from a database that may be anybody's.
    """
    return isinstance(name, str) and _NAME.fullmatch(name) is not None and (stores_dir() / name).is_file()


def forget(name: str) -> bool:
    """Know a database no longer by this name; return False where it was not known.

    :raises OSError: it cannot be forgotten.
    """
    if not is_known(name):
        return False
    (stores_dir() / name).unlink(missing_ok=True)
    return True


def seal(content: bytes) -> str:
    """Return the seal that only this person can set on a content.

    :raises OSError: the key cannot be read or made.
    """
    return hmac.new(_key(), content, hashlib.sha256).hexdigest()


def _key() -> bytes:
    path = state_dir() / "journal.key"
    if not path.exists():
        _write(path, secrets.token_bytes(_KEY_BYTES), keep=True)
    return path.read_bytes()


def _write(path: Path, content: bytes, *, keep: bool = False) -> None:
    """Write a file for nobody but its owner, whole or not at all.

    :param keep: one that is there by now stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if keep:
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
        else:
            os.rename(draft, path)  # noqa: PTH104
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(draft)  # noqa: PTH107
    _fsync(path.parent)


def _fsync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
