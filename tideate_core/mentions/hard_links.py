"""Hard links of a project's files: whether all names of a file are in the project.

A file with a name elsewhere, too, may be a private one of the person's, whose name here says nothing of it.
No clone by git has such files; archives, and other users of a shared directory, can make them.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["HardLinks"]

MOST: Final = 200_000
"""Names of a project that are looked at."""


class HardLinks:
    """Tells which files of a project have a name outside of it; the project is walked once, if at all."""

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self._names: Counter[tuple[int, int]] | None = None

    def reason(self, path: Path) -> str:
        """Say in words that a file has a name outside of the project; empty where it has none; blocking."""
        try:
            found = path.stat()
        except OSError:
            return ""  # reading it says why it cannot be read
        if not stat.S_ISREG(found.st_mode) or found.st_nlink < 2:
            return ""
        if self._names is None:
            self._names = Counter(_linked(self._root)) if self._root else Counter()
        if self._names[found.st_dev, found.st_ino] >= found.st_nlink:
            return ""
        return f"{path.name} is a hard link: the same file has a name outside of the project, too"


def _linked(root: Path) -> Iterator[tuple[int, int]]:
    """Yield which file it is of each name of a file that has several."""
    seen = 0
    above = [os.fspath(root)]
    while above:
        try:
            with os.scandir(above.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if seen > MOST:
                        return
                    if entry.is_dir(follow_symlinks=False):
                        above.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        found = entry.stat(follow_symlinks=False)
                        if found.st_nlink > 1:
                            yield found.st_dev, found.st_ino
        except OSError:
            continue  # names there are not counted: then it is asked
