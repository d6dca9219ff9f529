"""Ways in which a repository hides that `src/one.py` is changed and `new.txt` is new."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.harness.project import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["HIDING", "excluded"]


def flagged(flag: str) -> Callable[[Path], object]:
    return lambda root: git(root, "update-index", flag, "src/one.py")


def configured(key: str, value: str) -> Callable[[Path], object]:
    return lambda root: git(root, "config", key, value)


def excluded(root: Path) -> None:
    (root / ".git/info/exclude").write_text("new.txt\n")


def attributed(root: Path) -> None:
    (root / ".git/info/attributes").write_text("*.py -diff\n")


def excluded_by_a_file(root: Path) -> None:
    (root / ".git/rules").write_text("*.txt\n")
    git(root, "config", "core.excludesFile", str(root / ".git/rules"))


def stale(root: Path) -> None:
    """The index has the times and the size of the file that will be changed."""
    git(root, "config", "core.checkStat", "minimal")
    git(root, "config", "core.trustctime", "false")
    os.utime(root / "src" / "one.py", (1_000_000_000, 1_000_000_000))
    git(root, "update-index", "--refresh")


HIDING: list[Callable[[Path], object]] = [
    *(flagged("--assume-unchanged"), flagged("--skip-worktree"), excluded, attributed, excluded_by_a_file),
    *(configured("core.ignoreStat", "true"), configured("core.worktree", "."), stale),
    *(configured("diff.ignoreSubmodules", "all"), configured("diff.context", "0")),
    *(configured("status.showUntrackedFiles", "no"), configured("core.fsmonitor", "true")),
    *(configured("index.skipHash", "true"), configured("core.sparseCheckout", "true")),
]
