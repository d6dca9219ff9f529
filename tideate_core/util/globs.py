"""Path globs: `*`, `?`, `[…]`, `{a,b}`, and `**` for any number of folders.

Patterns come from models and untrusted files: matching time is bounded.
"""

from __future__ import annotations

import re
from contextlib import suppress
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

LONGEST: Final = 500
"""Characters of a glob."""
MOST: Final = 64
"""Most globs after brace expansion."""
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_WILD: Final = frozenset("*?[")
_BELOW: Final = re.compile(r"(?!)")
"""Matches the path itself and everything below it."""


@lru_cache(maxsize=256)
def glob_filter(glob: str, *, anchored: bool = False) -> Callable[[str], bool]:
    """Return a predicate for paths that match a glob.

    A glob without `/` matches names at any depth, any other the whole path from the root. A folder named
    without a wildcard, or with a trailing `/`, matches all files in it.

    :param glob: with `/`; a leading `./` or `/` means the root.
    :param anchored: every glob matches the whole path, and a folder without its files.
    :raises ValueError: the glob is invalid; the message says why.
    """
    if not glob.strip() or len(glob) > LONGEST:
        raise ValueError(f"a glob has 1 to {LONGEST} characters, as `src/**/*.py`")
    choices = [_segments(one, anchored) for one in _without_braces(glob)]
    return lambda path: any(_fits(choice, path.split("/")) for choice in choices)


def fits_any(patterns: Iterable[str], path: str) -> bool:
    """Return whether a path matches one of the patterns; invalid globs match nothing.

    :param path: relative to the root, with `/`.
    """
    for pattern in patterns:
        with suppress(ValueError):
            if glob_filter(pattern)(path):
                return True
    return False


def is_pattern(path: str) -> bool:
    """Return whether a text is a pattern rather than the path of one file."""
    return any(sign in path for sign in "*?[{")


def split_patterns(text: str) -> tuple[str, ...]:
    """Split patterns at commas outside of braces."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "{") - (character == "}" and depth > 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return tuple(one for part in parts if (one := part.strip().strip("\"'").strip()))


def _without_braces(glob: str) -> list[str]:
    done, pending = list[str](), [glob]
    while pending:
        one = pending.pop()
        found = _BRACES.search(one)
        if found is None:
            done.append(one)
            continue
        parts = found[1].split(",")
        pending += [f"{one[: found.start()]}{part}{one[found.end() :]}" for part in parts]
        if len(done) + len(pending) > MOST:
            raise ValueError(f"the braces stand for more than {MOST} globs; use fewer")
    return done


def _segments(glob: str, anchored: bool) -> list[re.Pattern[str] | None]:
    """Return one pattern per path name; None matches any number of names."""
    plain = glob.removeprefix("./")
    names = [name for name in plain.split("/") if name and name != "."]
    if not names:
        return [None]
    if not anchored and "/" not in plain.rstrip("/"):
        names = ["**", *names]
    # `src/**.ts` means all of them below `src`
    names = [one for name in names for one in (["**", name] if "**" in name and name != "**" else [name])]
    if names[-1] == "**":
        names.append("*")  # the folder itself does not match
    # fnmatch's patterns are atomic in their stars: matching time is linear
    segments = [None if name == "**" else re.compile(translate(name)) for name in names]
    ends_there = anchored or (_WILD.intersection(names[-1]) and not glob.endswith("/"))
    return segments if ends_there else [*segments, _BELOW]


def _fits(segments: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    # positions in `names` that the segments so far can reach
    places = {0}
    for segment in segments:
        if not places:
            return False
        if segment is _BELOW:
            return True
        if segment is None:
            places = set(range(min(places), len(names) + 1))
        else:
            places = {at + 1 for at in places if at < len(names) and segment.match(names[at])}
    return len(names) in places
