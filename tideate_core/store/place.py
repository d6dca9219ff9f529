"""Whether the database that is open is still the one that others find."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Place"]


class Place:
    """Where an open database is; a file that was deleted can be written on, and nobody would ever read it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._identity = self._look()

    @property
    def is_there(self) -> bool:
        """The file is the one that was opened."""
        return self._look() == self._identity

    def require(self) -> None:
        """:raises StoreError: the file was deleted, moved or replaced."""
        if not self.is_there:
            raise StoreError(
                f"{self._path} was deleted or replaced while a run was written to it; what is not in the file"
                " that is there now is lost, start the run again"
            )

    def _look(self) -> tuple[int, int] | None:
        # never opened: closing it would drop SQLite's locks
        try:
            status = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status.st_dev, status.st_ino
