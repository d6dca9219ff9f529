"""Parse git's machine-readable output, in which NUL ends each field."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "COMMIT_FIELDS",
    "Commit",
    "Entry",
    "Status",
    "parse_commits",
    "parse_status",
    "printable_path",
    "text_of",
]

COMMIT_FIELDS: Final = "%H%x00%P%x00%an%x00%ae%x00%aI%x00%B"
_COUNT: Final = COMMIT_FIELDS.count("%x00") + 1

_ORDINARY: Final = 8
_RENAMED: Final = 9
_UNMERGED: Final = 10


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that is not as in the last commit."""

    path: str
    """With surrogates where it is no UTF-8, as `os.fsdecode` gives it."""
    index: str
    """A letter as in `git status --short`; `.` where nothing is staged."""
    worktree: str
    original: str | None = None
    """Its path before it was renamed or copied."""
    submodule: bool = False

    @property
    def staged(self) -> bool:
        return self.index not in ".?!"

    @property
    def unmerged(self) -> bool:
        return "U" in (self.index, self.worktree) or self.index + self.worktree in ("AA", "DD")


@dataclass(slots=True)
class Status:
    """Output of `git status --porcelain=v2 --branch -z`."""

    commit: str | None = None
    branch: str | None = None
    """None where HEAD is on no branch."""
    upstream: str | None = None
    ahead: int | None = None
    behind: int | None = None
    entries: list[Entry] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    """Notes on files that are not listed or compared."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit without its changes."""

    commit: str
    parents: tuple[str, ...]
    author: str
    email: str
    date: str
    """ISO 8601 with a zone."""
    message: str


def text_of(raw: bytes) -> str:
    """Return text that can be sent: bytes that are no UTF-8 are shown as `\\xff`."""
    return raw.decode("utf-8", "backslashreplace")


def printable_path(path: str) -> str:
    """Return a path as it can be sent; see `text_of`."""
    return path if path.isascii() else text_of(os.fsencode(path))


def parse_status(raw: bytes) -> Status:
    """Read the status; paths are as the system has them, whatever their bytes are."""
    found = Status()
    parts = iter(os.fsdecode(raw).split("\0"))
    for part in parts:
        kind = part[:2]
        if kind == "# ":
            _header(found, printable_path(part[2:]))
        elif kind == "1 ":
            found.entries.append(_ordinary(part.split(" ", _ORDINARY)))
        elif kind == "2 ":
            found.entries.append(_renamed(part.split(" ", _RENAMED), next(parts)))
        elif kind == "u ":
            fields = part.split(" ", _UNMERGED)
            found.entries.append(Entry(fields[_UNMERGED], fields[1][0], fields[1][1]))
        elif kind in ("? ", "! "):
            found.entries.append(Entry(part[2:], kind[0], kind[0]))
    return found


def parse_commits(raw: bytes) -> Iterator[Commit]:
    """Read commits in `COMMIT_FIELDS`, each with a NUL behind it."""
    fields = text_of(raw).split("\0")
    for start in range(0, len(fields) - _COUNT + 1, _COUNT):
        yield _commit(fields[start : start + _COUNT])


def parse_commit(raw: bytes) -> tuple[Commit, bytes]:
    """Read one commit in `COMMIT_FIELDS` with a NUL behind it; returns it and what follows."""
    *fields, rest = raw.split(b"\0", _COUNT)
    return _commit([text_of(part) for part in fields]), rest


def _commit(fields: list[str]) -> Commit:
    commit, parents, author, email, date, message = fields
    return Commit(commit, tuple(parents.split()), author, email, date, message.rstrip("\n"))


def _header(found: Status, line: str) -> None:
    key, _, value = line.partition(" ")
    if key == "branch.oid":
        found.commit = None if value == "(initial)" else value
    elif key == "branch.head":
        found.branch = None if value == "(detached)" else value
    elif key == "branch.upstream":
        found.upstream = value
    elif key == "branch.ab":
        ahead, _, behind = value.partition(" ")
        found.ahead, found.behind = abs(int(ahead)), abs(int(behind))


def _ordinary(fields: list[str]) -> Entry:
    return Entry(fields[_ORDINARY], fields[1][0], fields[1][1], submodule=fields[2][0] == "S")


def _renamed(fields: list[str], original: str) -> Entry:
    return Entry(fields[_RENAMED], fields[1][0], fields[1][1], original, submodule=fields[2][0] == "S")
