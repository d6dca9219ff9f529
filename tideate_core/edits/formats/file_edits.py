"""Types of the parsed edits of a file, and parsing of the file paths that an answer names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tideate_core.edits.fences import is_fence
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.workspace import Action

_LONGEST = 260
_AROUND = " \t*`#:\"'"
_WORDS = ("file:", "path:", "filename:", "filepath:")
_NEVER = frozenset("<>|?*{}()=;,$\\")

Reading: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Searched lines and their replacement."""


@dataclass(frozen=True, slots=True)
class Part:
    """Searched lines of a file and their replacement."""

    name: str
    """Name in messages: ``block 2``, ``hunk 1 of src/a.py``."""
    readings: tuple[Reading, ...]
    """Usually one; several if only the file can tell which line divides old from new."""
    anchors: tuple[str, ...] = ()
    """Lines above the place, outermost first (``@@ class A`` of a patch)."""
    at_end: bool = False
    """The place is at the end of the file."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """Edit of one file, not yet matched with its text."""

    path: str
    """Path as written in the answer; empty without one."""
    action: Action
    parts: tuple[Part, ...] = ()
    text: tuple[str, ...] | None = None
    """Whole text of a created or rewritten file."""
    move_to: str | None = None


def path_in(text: str) -> str:
    """Return the path that makes up a line or a fence's info string; empty if there is none."""
    if len(text) > _LONGEST or "://" in text:
        return ""
    word = text.strip(_AROUND)
    for lead in _WORDS:
        if word.lower().startswith(lead):
            word = word[len(lead) :].strip(_AROUND)
    word = word.rpartition(":")[2] if word.count(":") == 1 and "." in word.rpartition(":")[2] else word
    words = word.split()
    if len(words) == 2 and words[0].isalnum():
        words = words[1:]  # a language before the path, as in an info string
    if len(words) != 1 or not _NEVER.isdisjoint(words[0]):
        return ""
    name = words[0].rpartition("/")[2]
    known = "." in name.strip(".") or ("/" in words[0] and bool(name))
    return words[0].removeprefix("./") if known and not name.endswith(".") else ""


def path_above(lines: Sequence[str]) -> str:
    """Return the path named by the last non-blank line, which may be a fence."""
    for line in reversed(lines):
        if not line.strip():
            continue
        path = path_in(line.strip().lstrip("`~") if is_fence(line) else line)
        if path or not is_fence(line):
            return path
    return ""


def checked_path(path: str) -> str:
    """Return an answer's path, relative to the root.

    :raises UnusableAnswer: the path is not inside the project.
    """
    tidy = path.removeprefix("./")
    if not tidy or tidy.startswith(("/", "~")) or ".." in tidy.split("/") or not tidy.isprintable():
        raise UnusableAnswer(f"{path!r} is not a path of a file of the project; name it relative to its root")
    return tidy


def is_same_file(named: str, path: str) -> bool:
    """Tell whether an answer's path means `path`: the same name, or one ends with the other."""
    one, other = named.removeprefix("./"), path.removeprefix("./")
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")
