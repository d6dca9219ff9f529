"""Policy of real copies for large generated or installed directories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Treatment: TypeAlias = Literal["copied", "linked", "left out"]
"""A linked directory is a symbolic link to the project's own: writes to it change the project."""

DEPENDENCIES: Final = frozenset(
    {".bundle", ".direnv", ".nox", ".tox", ".venv", "bower_components", "env", "node_modules", "venv"}
)
"""Directories of installed dependencies, if git ignores them."""

OUTPUTS: Final = frozenset(
    {
        ".cache",
        ".eggs",
        ".gradle",
        ".mypy_cache",
        ".next",
        ".nuxt",
        ".parcel-cache",
        ".pytest_cache",
        ".ruff_cache",
        ".turbo",
        "__pycache__",
        "build",
        "coverage",
        "dist",
        "htmlcov",
        "out",
        "target",
    }
)
"""Directories of generated files, if git ignores them."""


@dataclass(frozen=True, slots=True)
class CopyPolicy:
    """Treatment of ignored directories by name; all others are copied."""

    dependencies: Treatment = "linked"
    outputs: Treatment = "left out"
    also: Mapping[str, Treatment] | None = None
    """Treatment by name, which takes precedence."""

    def treatment(self, name: str) -> Treatment:
        """Return the treatment of an ignored directory."""
        if self.also is not None and name in self.also:
            return self.also[name]
        if name in DEPENDENCIES:
            return self.dependencies
        return self.outputs if name in OUTPUTS else "copied"

    @classmethod
    def sharing(cls) -> CopyPolicy:
        """Return the policy for copies that share blocks: nothing needs a link."""
        return cls(dependencies="copied", outputs="copied")
