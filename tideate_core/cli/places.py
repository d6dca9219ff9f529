"""Which project a command is about."""

from __future__ import annotations

from pathlib import Path

from tideate_core.errors import ConfigError
from tideate_core.project import find_root, real

__all__ = ["locate"]


def locate(root: str | None) -> Path | None:
    """Return the root that was named, else the one around the working directory, else None.

    :raises ConfigError: the named one is no directory.
    """
    if root is None:
        return find_root(Path.cwd())
    path = real(Path(root).expanduser())
    if not path.is_dir():
        raise ConfigError(f"--root {root}: no such directory")
    return path
