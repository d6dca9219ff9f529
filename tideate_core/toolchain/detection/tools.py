"""What a project's check is, and what runs it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Check", "Tool"]


class Check(StrEnum):
    """What a project can be checked by, in the order in which it is."""

    TYPE_CHECK = "type_check"
    LINT = "lint"
    TESTS = "tests"
    BUILD = "build"
    DOCUMENTATION = "documentation"


@dataclass(frozen=True, slots=True)
class Tool:
    """A command that runs a check."""

    check: Check
    name: str
    """Of the program whose output it is, as `parse_failures` knows it: `mypy`, `npm`, `make`."""
    argv: tuple[str, ...]
    """A program with a slash is a path from the project's root."""
    reason: str
    """Why this one, for a person: ``pyproject.toml has [tool.mypy]; from .venv``."""
    recipe: str = ""
    """What the project's own file makes of `argv`: a script of package.json, a Makefile."""

    @property
    def meaning(self) -> str:
        """What a person trusts who trusts this command: another text is another command."""
        return json.dumps([list(self.argv), self.recipe], ensure_ascii=False)
