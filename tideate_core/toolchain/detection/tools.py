"""Checks, the tools that run them, and the project files that name the tools."""

from __future__ import annotations

import configparser
import json
import os
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["Check", "ProjectFiles", "ProjectTools", "Tool", "table"]

_LARGEST: Final = 1 << 20
"""Bytes; no project file is larger."""


class Check(StrEnum):
    """Kinds of checks of a project, in the order in which they run."""

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
    """The project's own text that `argv` runs: a script of package.json, a Makefile."""
    template: tuple[str, ...] = ()
    """The configured command, where it says where the tests to run go; `argv` runs all of them."""
    names_paths: bool = False
    """The configured command says itself which of the project's files it is for."""

    @property
    def meaning(self) -> str:
        """The text that is trusted with this command: another text is another command."""
        return json.dumps([list(self.template or self.argv), self.recipe], ensure_ascii=False)


class ProjectFiles:
    """Files in the root of a project, read as far as they can be: a broken one is another check's matter."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def has(self, *names: str) -> str:
        """Return the first of these that is there, empty if none is."""
        return next((name for name in names if (self.root / name).exists()), "")

    def text(self, name: str) -> str:
        """Return a file's text, empty if it cannot be read."""
        path = self.root / name
        try:
            # a named pipe would keep us waiting
            if not path.is_file() or path.stat().st_size > _LARGEST:
                return ""
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    @cached_property
    def pyproject(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text("pyproject.toml"))
        except (tomllib.TOMLDecodeError, RecursionError):
            return {}

    @cached_property
    def package(self) -> dict[str, Any]:
        """Return package.json."""
        try:
            found = json.loads(self.text("package.json") or "{}")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    @cached_property
    def scripts(self) -> dict[str, str]:
        """Return the scripts of package.json."""
        return {name: text for name, text in table(self.package, "scripts").items() if isinstance(text, str)}

    def sections(self, name: str) -> set[str]:
        """Return the names of the sections of an INI file."""
        parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
        try:
            parser.read_string(self.text(name))
        except configparser.Error:
            return set()
        return set(parser.sections())

    def tool(self, name: str) -> dict[str, Any] | None:
        """Return `[tool.NAME]` of pyproject.toml, None if there is none."""
        found = table(self.pyproject, "tool").get(name)
        return found if isinstance(found, dict) else None

    def runnable(self, name: str) -> bool:
        """Tell whether a path from the root is a program."""
        path = self.root / name
        return path.is_file() and os.access(path, os.X_OK)


class ProjectTools:
    """Tools of one kind of project; the subclasses say of which.

    :param environment: whose PATH is looked through.
    """

    def __init__(self, files: ProjectFiles, environment: Mapping[str, str]) -> None:
        self._files = files
        self._environment = environment

    def applies(self) -> bool:
        """Tell whether the project is of this kind."""
        raise NotImplementedError

    def find(self) -> Iterator[Tool]:
        """Yield the tools, the better one of a check first."""
        raise NotImplementedError

    def clean(self) -> Tool | None:
        """Return the command that removes what the build made."""
        return None


def table(values: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return a table within tables, empty if there is none."""
    for key in keys:
        found = values.get(key)
        if not isinstance(found, dict):
            return {}
        values = found
    return values
