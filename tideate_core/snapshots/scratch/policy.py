"""Policy of real copies for directories that are large, and not the project's own work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DEPENDENCIES", "OUTPUTS", "CopyPolicy", "Treatment"]

Treatment: TypeAlias = Literal["copied", "linked", "left out"]
"""A linked directory is a symbolic link to the project's own: what is written there is written in the
project."""

DEPENDENCIES: Final = frozenset(
    {".bundle", ".direnv", ".nox", ".tox", ".venv", "bower_components", "env", "node_modules", "venv"}
)
"""Directories of what was installed for a project, where git ignores them."""

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
"""Directories of what a project's tools make, where git ignores them."""


@dataclass(frozen=True, slots=True)
class CopyPolicy:
    """Treatment of ignored directories by their names; all others are copied."""

    dependencies: Treatment = "linked"
    outputs: Treatment = "left out"
    also: Mapping[str, Treatment] | None = None
    """By name, before the two others."""

    def treatment(self, name: str) -> Treatment:
        """Return what is done with a directory that git ignores."""
        if self.also is not None and name in self.also:
            return self.also[name]
        if name in DEPENDENCIES:
            return self.dependencies
        return self.outputs if name in OUTPUTS else "copied"

    @classmethod
    def sharing(cls) -> CopyPolicy:
        """Return the policy where copies share their blocks, so that nothing needs to be linked."""
        return cls(dependencies="copied", outputs="copied")
