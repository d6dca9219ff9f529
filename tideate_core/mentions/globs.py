"""Patterns of paths as rules files have them: `**/*.ts`, `src/{api,web}/**`, several separated by commas.

They come from files that anyone may have written: how long one takes is bounded, whatever is in it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["fits_any", "is_pattern", "split_patterns"]

LONGEST: Final = 300
"""Characters of a pattern; a longer one fits nothing."""
MOST: Final = 64
"""Patterns that the braces of one stand for, at most; those beyond fit nothing."""
ANY: Final = "**"


def split_patterns(text: str) -> tuple[str, ...]:
    """Return the patterns of a text, separated by commas that are in no braces."""
    return tuple(one for part in _split(text) if (one := part.strip().strip("\"'").strip()))


def is_pattern(path: str) -> bool:
    """Tell a pattern from the path of one file."""
    return any(sign in path for sign in "*?[{")


def fits_any(patterns: Iterable[str], path: str) -> bool:
    """Tell whether a path fits one of the patterns.

    A pattern without a slash fits a name in any directory; `**` stands for any number of directories.

    :param path: relative to the root, with ``/``.
    """
    names = path.split("/")
    return any(
        _fits(_parts(one), names)
        for pattern in patterns
        if len(pattern) <= LONGEST
        for one in _expanded(pattern)
    )


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character == "{") - (character == "}" and depth > 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _expanded(pattern: str) -> list[str]:
    """Return what the braces of a pattern stand for; one that does not end is a character."""
    done: list[str] = []
    waiting = [pattern]
    while waiting and len(done) + len(waiting) <= MOST:
        one = waiting.pop()
        braces = _innermost(one)
        if braces is None:
            done.append(one)
            continue
        start, end = braces
        waiting += [one[:start] + choice + one[end + 1 :] for choice in one[start + 1 : end].split(",")]
    return [*done, *(one for one in waiting if _innermost(one) is None)][:MOST]


def _innermost(pattern: str) -> tuple[int, int] | None:
    end = pattern.find("}")
    start = pattern.rfind("{", 0, end) if end >= 0 else -1
    return None if start < 0 else (start, end)


def _parts(pattern: str) -> list[str]:
    """Return the names and `**` of a pattern."""
    anchored = "/" in pattern.rstrip("/")
    names = [name for name in pattern.split("/") if name not in ("", ".")]
    parts = [] if anchored else [ANY]
    for name in names:
        # `src/**.ts` is meant for all of them below `src`
        parts += [ANY, name.replace(ANY, "*")] if ANY in name and name != ANY else [name]
    return [*parts, ANY] if pattern.endswith("/") else parts


def _fits(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Tell whether the names of a path fit: in steps, so that many `**` take no longer than few."""
    reached = _with_skipped({0}, parts)
    for name in names:
        after = set()
        for at in reached:
            if at < len(parts) and parts[at] == ANY:
                after.add(at)
            elif at < len(parts) and fnmatchcase(name, parts[at]):
                after.add(at + 1)
        reached = _with_skipped(after, parts)
    return len(parts) in reached


def _with_skipped(reached: set[int], parts: Sequence[str]) -> set[int]:
    """Add the places behind each `**` that is reached: it may stand for nothing."""
    waiting = list(reached)
    while waiting:
        at = waiting.pop()
        if at < len(parts) and parts[at] == ANY and at + 1 not in reached:
            reached.add(at + 1)
            waiting.append(at + 1)
    return reached
