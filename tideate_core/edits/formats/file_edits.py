"""Edits of files as an answer states them, and the paths that it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tideate_core.edits.fences import is_fence
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.workspace import Action

__all__ = ["FileEdit", "Part", "Reading", "checked_path", "is_same_file", "path_above", "path_in"]

_LONGEST = 260
_AROUND = " \t*`#:\"'"
_WORDS = ("file:", "path:", "filename:", "filepath:")
_NEVER = frozenset("<>|?*{}()=;,$\\")

Reading: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Lines to search, and the lines that replace them."""


@dataclass(frozen=True, slots=True)
class Part:
    """Lines to find in a file, and their replacement."""

    name: str
    """For messages: ``block 2``, ``hunk 1 of src/a.py``."""
    readings: tuple[Reading, ...]
    """Usually one; several where only the file can tell which line divides old from new."""
    anchors: tuple[str, ...] = ()
    """Lines that stand above the place, the outer one first (``@@ class A`` of a patch)."""
    at_end: bool = False
    """The place is the end of the file."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """An edit of one file, whose text is not known yet."""

    path: str
    """As the answer names it; empty where it names none."""
    action: Action
    parts: tuple[Part, ...] = ()
    text: tuple[str, ...] | None = None
    """The whole new text, of a file that is created or written anew."""
    move_to: str | None = None


def path_in(text: str) -> str:
    """Return the path that a line or a fence's info consists of, empty if it is something else."""
    if len(text) > _LONGEST or "://" in text:
        return ""
    word = text.strip(_AROUND)
    for lead in _WORDS:
        if word.lower().startswith(lead):
            word = word[len(lead) :].strip(_AROUND)
    word = word.rpartition(":")[2] if word.count(":") == 1 and "." in word.rpartition(":")[2] else word
    words = word.split()
    if len(words) == 2 and words[0].isalnum():
        words = words[1:]  # the language before it, as in a fence's info
    if len(words) != 1 or not _NEVER.isdisjoint(words[0]):
        return ""
    name = words[0].rpartition("/")[2]
    known = "." in name.strip(".") or ("/" in words[0] and bool(name))
    return words[0].removeprefix("./") if known and not name.endswith(".") else ""


def path_above(lines: Sequence[str]) -> str:
    """Return the path that the last of these lines names which is not blank; fences may name it too."""
    for line in reversed(lines):
        if not line.strip():
            continue
        path = path_in(line.strip().lstrip("`~") if is_fence(line) else line)
        if path or not is_fence(line):
            return path
    return ""


def checked_path(path: str) -> str:
    """Return a path of an answer, relative to the root.

    :raises UnusableAnswer: it leads elsewhere.
    """
    tidy = path.removeprefix("./")
    if not tidy or tidy.startswith(("/", "~")) or ".." in tidy.split("/") or not tidy.isprintable():
        raise UnusableAnswer(f"{path!r} is not a path of a file of the project; name it relative to its root")
    return tidy


def is_same_file(named: str, path: str) -> bool:
    """Tell whether an answer means `path`: by the same name, or by its end or its whole beginning."""
    one, other = named.removeprefix("./"), path.removeprefix("./")
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")
