"""Locate the project that a command is about, and its log file."""

from __future__ import annotations

from pathlib import Path

from tideate_core.errors import ConfigError
from tideate_core.project import find_root, real_path, state_dir

__all__ = ["locate", "log_to_file"]


def locate(root: str | None) -> Path | None:
    """Return the root that was named, else the one around the working directory, else None.

    :raises ConfigError: the named one is no directory.
    """
    if root is None:
        return find_root(Path.cwd())
    path = real_path(Path(root).expanduser())
    if not path.is_dir():
        raise ConfigError(f"--root {root}: no such directory")
    return path


def log_to_file() -> Path:
    """Send log records to a private file, so that the terminal shows only what is meant for a person.

    :raises ConfigError: the directory of such files cannot be used.
    """
    import logging  # here, because few commands log

    path = state_dir() / "shell.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"{path.parent} cannot be made: {error.strerror}; let XDG_STATE_HOME name a directory of yours"
        ) from error
    handler = logging.FileHandler(path, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    return path
