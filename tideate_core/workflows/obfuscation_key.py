"""Key that obfuscates a workflow's state names: created at first use, rejected if others can read it."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from tideate_core.errors import ConfigError
from tideate_core.util.atomic_files import write_atomic_at
from tideate_core.util.private_files import make_private_directory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY_BYTES = 32
KEY_FILE = "workflow.key"
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a named pipe must not block


def key_file(private: Path) -> Path:
    """Return the path of the key in a private directory; the file may not exist."""
    return private / "keys" / KEY_FILE


def workflow_key(private: Path) -> bytes:
    """Return the key for obfuscated names, created at first use.

    Two processes that start at once get the same key.

    :param private: a project's private directory; the key is its `keys/workflow.key`.
    :raises ConfigError: the key cannot be read or created, or others could read or replace it.
    """
    path = key_file(private)
    directory = path.parent
    try:
        with _opened_directory(directory) as folder:
            key = _read(folder, path)
            if key is None:
                _make(folder)
                key = _read(folder, path)
    except OSError as error:
        raise ConfigError(f"{path}, the key of obfuscated names, cannot be used: {error.strerror}") from error
    if key is None:
        raise ConfigError(f"{path} was removed while it was made; try again")
    return key


@contextmanager
def _opened_directory(directory: Path) -> Iterator[int]:
    """Open `keys/`, created if missing; later calls use the checked directory, not its path."""
    with suppress(FileExistsError):
        make_private_directory(directory)
    if directory.is_symlink():
        raise ConfigError(f"{directory} is a link; keys are kept only in a directory of their own: remove it")
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if stat.S_IMODE(os.fstat(folder).st_mode) & 0o022:
            raise ConfigError(f"others may write to {directory} and so replace keys; `chmod 700 {directory}`")
        yield folder
    finally:
        os.close(folder)


def _read(folder: int, path: Path) -> bytes | None:
    try:
        # before opening: only the link's own status shows that it is a link
        if stat.S_ISLNK(os.stat(KEY_FILE, dir_fd=folder, follow_symlinks=False).st_mode):
            raise ConfigError(f"{path} is a link; a key is read only from its own file: remove it")
        with open(KEY_FILE, "rb", opener=lambda name, _: os.open(name, READ_FLAGS, dir_fd=folder)) as file:
            _check_mode(os.fstat(file.fileno()).st_mode, path)
            key = file.read(KEY_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(key) != KEY_BYTES:
        raise ConfigError(
            f"{path} is damaged: a key has {KEY_BYTES} bytes; copy it from a backup, "
            "or remove it and a new key is made (all tokens change)"
        )
    return key


def _check_mode(mode: int, path: Path) -> None:
    if not stat.S_ISREG(mode):
        raise ConfigError(f"{path} is not a regular file; remove it and a new key is made")
    if stat.S_IMODE(mode) & 0o077:
        raise ConfigError(
            f"others can read {path} and so read the obfuscated names: `chmod 600 {path}` if nobody did, "
            "otherwise remove it and a new key is made (all tokens change)"
        )


def _make(folder: int) -> None:
    """Create a key; the first process to link the file wins, and none reads a partial key."""
    with suppress(FileExistsError):
        write_atomic_at(folder, KEY_FILE, secrets.token_bytes(KEY_BYTES), replace=False)
    # a .gitignore in a parent directory may not cover keys
    with suppress(FileExistsError):
        write_atomic_at(folder, ".gitignore", b"*\n", replace=False)
    os.fsync(folder)  # including a key just created by another process
