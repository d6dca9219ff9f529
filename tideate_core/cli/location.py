"""Log file of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.errors import ConfigError
from tideate_core.project import state_dir

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["log_to_file"]


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
