"""New undefined names and unused imports in edited Python files."""

from __future__ import annotations

import ast
import re
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["new_name_problems"]

LARGEST: Final = 500_000
"""Characters of a text that is checked, which takes about a fifth of a second."""
MOST_NAMES: Final = 10
"""Names of one kind listed in a result."""
_KINDS: Final = {
    "UndefinedName": "undefined now",
    "UndefinedLocal": "undefined now",
    "UndefinedExport": "undefined now",
    "UnusedImport": "imported, not used now",
}
"""Classes of reported pyflakes messages, with the words for them."""
_ASIDE: Final = re.compile(r"#\s*noqa\b|\b(\w+)\s+as\s+\1\b", re.IGNORECASE)
"""Lines that linters skip, and imports that re-export a name; they are deliberate."""


def new_name_problems(path: str, before: str, after: str) -> list[str]:
    """Return new undefined names and unused imports, one line for each kind.

    Empty if either text is not Python, or is too long.

    :param path: path of the file.
    :param before: the text before the run's first edit; empty for a new file.
    """
    if not path.endswith(".py") or max(len(before), len(after)) > LARGEST:
        return []
    had, has = _problems(before), _problems(after)
    if had is None or has is None:
        return []
    new: dict[str, list[str]] = {}
    for (kind, name), line in has.items():
        # a package's `__init__` imports names for others
        if (kind, name) not in had and not (kind == "UnusedImport" and path.endswith("__init__.py")):
            new.setdefault(_KINDS[kind], []).append(f"{name} (line {line})")
    return [f"{told}: {_some(names)}" for told, names in new.items()]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{', '.join(names[:MOST_NAMES])}{more}"


@lru_cache(maxsize=16)
def _problems(text: str) -> Mapping[tuple[str, str], int] | None:
    """Return the first line of each problem, by kind and name; None if the text cannot be parsed."""
    if not text.strip():
        return {}
    from pyflakes.checker import Checker

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        messages = Checker(tree).messages
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # reported as a syntax error
    lines = text.split("\n")
    found: dict[tuple[str, str], int] = {}
    for message in sorted(messages, key=lambda one: (one.lineno, one.col)):
        kind = type(message).__name__
        if kind in _KINDS and not _ASIDE.search(lines[message.lineno - 1]):
            found.setdefault((kind, str(message.message_args[0])), message.lineno)
    return found
