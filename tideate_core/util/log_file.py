"""Private log file of this process; a failing disk is reported once, in one line."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.util.private_files import open_private

if TYPE_CHECKING:
    from io import TextIOWrapper


class _LogFile(logging.FileHandler):
    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", delay=True)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self._told = False

    def _open(self) -> TextIOWrapper:
        descriptor = open_private(Path(self.baseFilename), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        return os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace")

    def emit(self, record: logging.LogRecord) -> None:
        try:
            super().emit(record)
        except OSError:  # the file cannot be opened
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 logging's name
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
        elif not self._told and sys.stderr is not None:
            self._told = True
            sys.stderr.write(
                f"warning: the log {self.baseFilename} cannot be written: {error.strerror or error}\n"
            )


def log_to(path: Path, level: str = "WARNING") -> None:
    """Write this process's log records to a file, opened at the first record.

    :param level: lowest level of the records.
    """
    logging.basicConfig(level=level.upper(), handlers=[_LogFile(path)])
