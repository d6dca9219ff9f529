"""Entries of a snapshot: one path each, and what holds for paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tideate_core.errors import OutsideRoot
from tideate_core.workspace import PROTECTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["NEVER", "Below", "Entry", "above", "checked_path"]

NEVER: Final = PROTECTED | {".hg", ".jj", ".svn"}
"""Names that are in no snapshot, at any depth: the history of a project has its own tools."""


class Entry(NamedTuple):
    """One path. Of directories and links only what is named for them is kept; the rest is 0 or empty."""

    path: str
    """Relative to the root, with ``/``; bytes that are no UTF-8 as lone surrogates."""
    kind: str
    """``file``, ``link`` or ``directory``."""
    mode: int
    """Permission bits of a file or directory."""
    size: int
    """Bytes of a file."""
    hash: str
    """blake3 of a file's bytes, in hex; empty until they were read."""
    target: str
    """Target of a link, as it is written there."""
    metadata: str = ""
    """Owner and attributes of a file as JSON, if they are not those that a new file gets."""

    def holds_same_as(self, other: Entry) -> bool:
        """Tell whether both are the same but for permissions."""
        return (self.kind, self.hash, self.target) == (other.kind, other.hash, other.target)


class Below:
    """Paths, and everything below them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(paths)

    def find(self, path: str) -> str | None:
        """Return the one that a path is or is below of."""
        if not self._paths:
            return None
        return next((one for one in (path, *above(path)) if one in self._paths), None)

    def __contains__(self, path: str) -> bool:
        return self.find(path) is not None


def above(path: str) -> Iterator[str]:
    """Return the directories that a path is in, the innermost first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def checked_path(path: str) -> str:
    """Return a path that a manifest names.

    :raises OutsideRoot: it leaves the root, or is never written.
    """
    for part in path.split("/"):
        if part in ("", ".", "..") or "\0" in part or part.casefold() in NEVER:
            raise OutsideRoot(
                f"{path!r} of the snapshot is not a path that may be written; nothing was restored"
            )
    return path
