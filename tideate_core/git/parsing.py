"""Parse git's machine-readable output: NUL-separated names, status, name-status lists, commits."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

COMMIT_FIELDS: Final = "%H%x00%P%x00%an%x00%ae%x00%aI%x00%B"
"""Log format of a `Commit`."""
_COUNT: Final = COMMIT_FIELDS.count("%x00") + 1
_FIELDS_BEFORE_PATH: Final = {"1 ": 8, "2 ": 9, "u ": 10}
"""Fields before the path in a line of `status --porcelain=v2`: ordinary, renamed and unmerged entries."""


@dataclass(frozen=True, slots=True)
class StatusEntry:
    """A file that differs from the last commit."""

    path: str
    """Decoded by `os.fsdecode`: bytes that are not UTF-8 are surrogates."""
    index: str
    """A letter as in `git status --short`; `.` if nothing is staged."""
    worktree: str
    original: str | None = None
    """The path before a rename or copy."""
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
    """None if HEAD is detached."""
    upstream: str | None = None
    ahead: int | None = None
    behind: int | None = None
    entries: list[StatusEntry] = field(default_factory=list)
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
    """ISO 8601 with a time zone."""
    message: str


def printable_text(raw: bytes) -> str:
    """Decode output for display; bytes that are not UTF-8 become `\\xff`."""
    return raw.decode("utf-8", "backslashreplace")


def printable_path(path: str) -> str:
    """Return a path for display; see `printable_text`."""
    return path if path.isascii() else printable_text(os.fsencode(path))


def split_names(output: bytes) -> list[str]:
    """Split NUL-separated names."""
    return [os.fsdecode(name) for name in output.split(b"\0") if name]


def join_names(names: Iterable[str]) -> bytes:
    """Return names with a NUL after each, for git's standard input."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def parse_name_status(output: bytes) -> list[tuple[str, tuple[str, ...]]]:
    """Parse `--name-status -z` into kind letters and paths; a rename or copy has the old and the new path."""
    fields = iter(split_names(output))
    return [
        (kind[0], (next(fields), next(fields)) if kind[0] in "RC" else (next(fields),)) for kind in fields
    ]


def parse_attribute(output: bytes) -> list[tuple[str, str]]:
    """Parse `check-attr -z` for one attribute into paths and values."""
    fields = printable_text(output).split("\0")
    return list(zip(fields[::3], fields[2::3], strict=False))


def parse_status(raw: bytes) -> Status:
    """Parse `git status --porcelain=v2 --branch -z`."""
    found = Status()
    parts = iter(os.fsdecode(raw).split("\0"))
    for part in parts:
        kind = part[:2]
        if kind == "# ":
            _add_header(found, printable_path(part[2:]))
        elif kind in ("? ", "! "):
            found.entries.append(StatusEntry(part[2:], kind[0], kind[0]))
        elif kind in _FIELDS_BEFORE_PATH:
            fields = part.split(" ", _FIELDS_BEFORE_PATH[kind])
            original = next(parts) if kind == "2 " else None
            is_submodule = kind != "u " and fields[2][0] == "S"
            found.entries.append(StatusEntry(fields[-1], fields[1][0], fields[1][1], original, is_submodule))
    return found


def parse_commits(raw: bytes) -> Iterator[Commit]:
    """Parse commits in `COMMIT_FIELDS`, each followed by a NUL."""
    fields = printable_text(raw).split("\0")
    for start in range(0, len(fields) - _COUNT + 1, _COUNT):
        yield _commit(fields[start : start + _COUNT])


def parse_commit(raw: bytes) -> tuple[Commit, bytes]:
    """Parse one commit in `COMMIT_FIELDS` followed by a NUL; return it and the remaining output."""
    *fields, rest = raw.split(b"\0", _COUNT)
    return _commit([printable_text(part) for part in fields]), rest


def _commit(fields: list[str]) -> Commit:
    commit, parents, author, email, date, message = fields
    return Commit(commit, tuple(parents.split()), author, email, date, message.rstrip("\n"))


def _add_header(found: Status, line: str) -> None:
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
