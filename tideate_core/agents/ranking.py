"""Which of a project's files a question is about, where a model cannot be shown all of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["nearest_files"]

WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
SHORTEST: Final = 3
"""Letters of a word that counts."""
ASIDE: Final = frozenset(
    {
        "build",
        "dist",
        "fixtures",
        "generated",
        "node_modules",
        "testdata",
        "third_party",
        "vendor",
        "vendored",
    }
)
"""Folders of what is seldom changed by hand."""


def nearest_files(files: Sequence[str], text: str, limit: int) -> list[str]:
    """Return those that a text is most likely about, in the order in which they are given.

    Named ones come first, then those that share most words with it, those that are not `ASIDE`, and those
    nearest to the root.

    :param files: paths with `/`.
    :param limit: how many.
    """
    if len(files) <= limit:
        return list(files)
    words = _words(text)
    common = {path: len(_words(path) & words) for path in files}

    def rank(path: str) -> tuple[bool, int, bool, int]:
        folders = path.split("/")
        named = path in text or (common[path] > 0 and folders[-1] in text)
        return not named, -common[path], not ASIDE.isdisjoint(folders), len(folders)

    chosen = set(sorted(files, key=rank)[:limit])
    return [path for path in files if path in chosen]


def _words(text: str) -> set[str]:
    """Return its words in lower case, those of `snake_case` and `camelCase` each; a plural counts as one."""
    found = (word.lower() for word in WORD.findall(text) if len(word) >= SHORTEST)
    return {word.removesuffix("s") for word in found}
