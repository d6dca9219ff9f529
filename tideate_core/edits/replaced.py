"""A text after an edit, and how its places were found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["Placed", "Replaced", "Step"]

Step: TypeAlias = Literal["exact", "trailing blanks", "indentation", "punctuation"]
"""How a place was found: exactly, or by ignoring what it says and all before it."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a part was found, and how."""

    name: str
    line: int
    """The first line that it changes, 1-based, in the text as it was."""
    step: Step

    def __str__(self) -> str:
        how = "exactly" if self.step == "exact" else f"by ignoring {self.step}"
        return f"{self.name} was found at line {self.line} {how}"


@dataclass(frozen=True, slots=True)
class Replaced:
    """A text after all parts, and where each of them stood, in the answer's order."""

    lines: list[str]
    places: list[Placed]
    notes: list[str] = field(default_factory=list)
    """What else a person may want to know, in sentences without a full stop."""
