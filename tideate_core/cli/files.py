"""Writes the files that a person names on the command line: whole, or not at all."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from tideate_core.errors import WorkspaceError

__all__ = ["write_text"]


def write_text(path: Path, text: str) -> None:
    """Write a file's content at once; an existing file keeps its mode, and a link leads to the same file.

    :raises WorkspaceError: it cannot be written; it is as it was.
    """
    target = path.resolve()
    try:
        mode = _mode(target)
        descriptor, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, mode)
                file.write(text.encode())
                file.flush()
                os.fsync(descriptor)
            Path(draft).replace(target)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise WorkspaceError(f"{path} cannot be written: {error.strerror}") from error


def _mode(target: Path) -> int:
    if target.exists():
        if not target.is_file():
            raise WorkspaceError(f"{target} is no regular file")
        if not os.access(target, os.W_OK):
            raise PermissionError(13, "it is read-only")
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
