"""List a project's files, without those that git ignores."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.workspace.git import EXCLUDE_PRIVATE, SAFE_GIT, git_environment
from tideate_core.workspace.paths import PROTECTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["list_files"]

_GIT = (*SAFE_GIT, "ls-files", "--cached", "--others", "--exclude-standard", *EXCLUDE_PRIVATE, "-z")
_GIT_TIMEOUT = 10.0
"""Seconds; a walk answers after that."""
_SKIPPED = frozenset({".hg", ".svn", ".tox", ".venv", "__pycache__", "node_modules", "venv"}) | PROTECTED


def list_files(root: Path, limit: int) -> list[str]:
    """Return up to `limit` regular files below the root, relative to it, sorted.

    Ignored files are left out where git knows them; links are in only if they lead to a file inside.
    """
    known = _from_git(root)
    names = _from_walk(root) if known is None else known
    found: list[str] = []
    for name in names:
        if len(found) >= limit:
            break
        if _is_shown(root, name):
            found.append(name)
    return found


def _from_git(root: Path) -> list[str] | None:
    """Return what git lists, None where it lists nothing."""
    try:
        done = subprocess.run(  # noqa: S603
            _GIT, cwd=root, env=git_environment(), capture_output=True, timeout=_GIT_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode or not done.stdout:
        return None
    names = {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}
    return sorted(name for name in names if not _is_protected(name))


def _is_protected(name: str) -> bool:
    # by its text: a clone may bring a hundred thousand of them
    return any(part.casefold() in PROTECTED for part in name.split("/"))


def _from_walk(root: Path) -> Iterator[str]:
    """Walk depth first in sorted order, so that a limit always cuts at the same place."""
    pending = [root]
    while pending:
        entry = pending.pop()
        if not entry.is_symlink() and entry.is_dir():
            pending.extend(sorted(_children(entry), reverse=True))
        else:
            yield entry.relative_to(root).as_posix()


def _children(directory: Path) -> Iterable[Path]:
    try:
        return [child for child in directory.iterdir() if child.name not in _SKIPPED]
    except OSError:  # not readable, or gone meanwhile
        return []


def _is_shown(root: Path, name: str) -> bool:
    if _is_protected(name):
        return False
    path = root / name
    try:
        name.encode("utf-8")
        mode = path.lstat().st_mode
    except (OSError, UnicodeEncodeError):
        return False
    if stat.S_ISLNK(mode):
        real = Path(os.path.realpath(path))
        return real.is_relative_to(root) and real.is_file()
    return stat.S_ISREG(mode)
