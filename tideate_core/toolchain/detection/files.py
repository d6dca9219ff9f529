"""A project's files, read as far as they can be: a broken one is another check's matter."""

from __future__ import annotations

import configparser
import json
import os
import tomllib
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["ProjectFiles"]

_LARGEST: Final = 1 << 20
"""Bytes; no project file is larger."""


class ProjectFiles:
    """What stands in the root of a project."""

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


def table(values: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Return a table within tables, empty if there is none."""
    for key in keys:
        found = values.get(key)
        if not isinstance(found, dict):
            return {}
        values = found
    return values
