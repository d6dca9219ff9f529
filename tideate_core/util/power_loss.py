"""Files that a power loss may have torn: boots of the system, and syncs of whole file systems."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.util.regular_files import read_bounded

if TYPE_CHECKING:
    from typing import Any

BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_LONGEST: Final = 100


def boot_id() -> str:
    """Return the id of the system's present boot; empty if the system has none."""
    return (read_bounded(BOOT, _LONGEST) or b"").decode().strip()


def sync_file_system(place: Path) -> None:
    """Make all writes so far to the file system of a directory survive a power loss; blocking.

    :raises OSError: the directory cannot be opened, or a write failed.
    """
    import ctypes  # here, because few commands write so much

    handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync: Any = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
        if sync is None:  # not Linux
            os.sync()
        elif sync(handle):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(handle)
