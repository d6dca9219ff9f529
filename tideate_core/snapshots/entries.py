"""Snapshot entries, one per path, and helpers for their paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from tideate_core.errors import OutsideRoot
from tideate_core.workspace import PROTECTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NEVER: Final = PROTECTED | {".hg", ".jj", ".svn"}
"""Names excluded from every snapshot, at any depth: version control data."""


class Entry(NamedTuple):
    """Entry of one path. Fields that do not apply to a directory or link are 0 or empty."""

    path: str
    """Relative to the root, with ``/``; bytes that are not UTF-8 are lone surrogates."""
    kind: str
    """``file``, ``link`` or ``directory``."""
    mode: int
    """Permission bits of a file or directory."""
    size: int
    """Bytes of a file."""
    hash: str
    """blake3 of a file's bytes, in hex; empty until they are read."""
    target: str
    """Target of a link, as written."""
    metadata: str = ""
    """Owner and attributes of a file as JSON; empty if they are those of a new file."""

    def holds_same_as(self, other: Entry) -> bool:
        """Return whether two entries are equal except for permissions."""
        return (self.kind, self.hash, self.target) == (other.kind, other.hash, other.target)


class Below:
    """Set of paths, including everything below them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(paths)

    def find(self, path: str) -> str | None:
        """Return the member that a path equals or is below, or None."""
        if not self._paths:
            return None
        return next((one for one in (path, *above(path)) if one in self._paths), None)

    def __contains__(self, path: str) -> bool:
        return self.find(path) is not None


def above(path: str) -> Iterator[str]:
    """Yield the parent directories of a path, the innermost first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def checked_path(path: str) -> str:
    """Validate a path of a manifest.

    :raises OutsideRoot: it leaves the root or is protected.
    """
    for part in path.split("/"):
        if part in ("", ".", "..") or "\0" in part or part.casefold() in NEVER:
            raise OutsideRoot(
                f"{path!r} of the snapshot is not a path that may be written; nothing was restored"
            )
    return path
