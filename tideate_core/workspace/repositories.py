"""What git takes for a repository, whatever its name is: in one it runs what that configures."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from tideate_core.errors import EditConflict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["holds_repository", "refuse_in_repositories", "refuse_new_repositories"]

_HEAD: Final = "head"
_PARTS: Final = ({_HEAD, "objects", "refs"}, {_HEAD, "commondir"})
"""What makes a directory one, or a linked one, in lower case: some file systems ignore it."""
_NAMES: Final = frozenset().union(*_PARTS)


def holds_repository(directory: Path) -> bool:
    """Whether git would take a directory for a repository's own."""
    return _makes_one({name for name in _NAMES if _has(directory, name)})


def refuse_in_repositories(place: Path, root: Path | None) -> None:
    """Refuse a path in what git keeps under another name than `.git`, as a bare repository.

    :raises EditConflict: it is.
    """
    for directory in (place, *place.parents):
        if directory.is_dir() and holds_repository(directory):
            raise EditConflict(
                f"{directory.name} is a git repository's own directory; nothing is changed in it"
            )
        if directory == root:
            return


def refuse_new_repositories(places: Iterable[Path], root: Path | None) -> None:
    """Refuse new paths with which a directory would become a repository.

    :raises EditConflict: one would.
    """
    coming: dict[Path, set[str]] = {}
    for place in places:
        path = place
        while path != root and path != path.parent:
            if (name := path.name.casefold()) in _NAMES:
                coming.setdefault(path.parent, set()).add(name)
            path = path.parent
    for directory, names in coming.items():
        there = {name for name in _NAMES if _has(directory, name)}
        if _makes_one(there | names) and not _makes_one(there):
            raise EditConflict(
                f"with it {directory.name} would be a git repository, in which git runs what it configures; "
                "nothing was written. A person has to make one, with `git init`"
            )


def _makes_one(names: set[str]) -> bool:
    return any(parts <= names for parts in _PARTS)


def _has(directory: Path, name: str) -> bool:
    return os.path.lexists(directory / (name.upper() if name == _HEAD else name))
