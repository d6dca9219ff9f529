"""Log file of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.project import make_project_state

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["log_to_file"]


def log_to_file() -> Path:
    """Send log records to a private file, so that the terminal shows only what is meant for a person.

    :raises ConfigError: the directory of such files cannot be used.
    """
    from tideate_core.util.log_file import log_to  # here, because few commands log

    path = make_project_state(None) / "shell.log"
    log_to(path)
    return path
