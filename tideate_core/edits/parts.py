"""What a model wants of files, as its answer says it: places to find and what is to stand there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tideate_core.workspace import Action

__all__ = ["FileEdit", "Part", "Reading"]

Reading: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Lines to search, and the lines that replace them."""


@dataclass(frozen=True, slots=True)
class Part:
    """One place of a file and what is to stand there."""

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
    """What is wanted of one file; its text is not known yet."""

    path: str
    """As the answer names it; empty where it names none."""
    action: Action
    parts: tuple[Part, ...] = ()
    text: tuple[str, ...] | None = None
    """The whole new text, of a file that is created or written anew."""
    move_to: str | None = None
