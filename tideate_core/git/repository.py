"""A repository that git may look at, and the variables that bind git to it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Repository", "without_repository"]


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository that git may look at."""

    top: Path
    """Its files."""
    git_dir: Path
    """The directory of this worktree: HEAD and the index."""
    common_dir: Path
    """The directory that all worktrees share: objects, branches, config."""

    def variables(self) -> Mapping[str, str]:
        """Return the variables that bind git to this repository; it finds no other one above."""
        above = str(self.top.parent)
        found = {"GIT_CEILING_DIRECTORIES": above, "GIT_WORK_TREE": str(self.top)}
        # a ceiling cannot have a `:` in its name
        return found if ":" not in above else {**found, "GIT_DIR": str(self.git_dir)}


@dataclass(frozen=True, slots=True)
class _Nowhere(Repository):
    """A directory in which git finds no repository, and none around it."""

    def variables(self) -> Mapping[str, str]:
        return {"GIT_DIR": os.devnull}


def without_repository(place: Path) -> Repository:
    """Return a repository that is none, so that git finds no other."""
    return _Nowhere(place, place, place)
