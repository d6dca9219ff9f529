"""Globs over paths: `*`, `?`, `[…]`, `{a,b}`, and `**` for any number of folders.

They come from models and from files that anyone may have written: the time of any is bounded.
"""

from __future__ import annotations

import re
from contextlib import suppress
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["fits_any", "glob_filter", "is_pattern", "split_patterns"]

LONGEST: Final = 500
"""Characters of a glob."""
MOST: Final = 64
"""Globs that the braces of one may stand for."""
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_WILD: Final = frozenset("*?[")
_BELOW: Final = re.compile(r"(?!)")
"""At the end: the path, or whatever is below it."""


@lru_cache(maxsize=256)
def glob_filter(glob: str) -> Callable[[str], bool]:
    """Return a function that tells whether a path fits.

    A glob without `/` is about names at any depth, another one about the whole path from the root. Of a
    folder that is named without a star, or with a `/` behind it, all files fit.

    :param glob: with `/`; one that begins with `./` or `/` is meant from the root.
    :raises ValueError: it is none; says why.
    """
    if not glob.strip() or len(glob) > LONGEST:
        raise ValueError(f"a glob has 1 to {LONGEST} characters, as `src/**/*.py`")
    choices = [_segments(one) for one in _without_braces(glob)]
    return lambda path: any(_fits(choice, path.split("/")) for choice in choices)


def fits_any(patterns: Iterable[str], path: str) -> bool:
    """Tell whether a path fits one of the patterns; what is no glob fits nothing.

    :param path: relative to the root, with `/`.
    """
    for pattern in patterns:
        with suppress(ValueError):
            if glob_filter(pattern)(path):
                return True
    return False


def is_pattern(path: str) -> bool:
    """Tell a pattern from the path of one file."""
    return any(sign in path for sign in "*?[{")


def split_patterns(text: str) -> tuple[str, ...]:
    """Return the patterns of a text, separated by commas that are in no braces."""
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


def _segments(glob: str) -> list[re.Pattern[str] | None]:
    """Return a pattern for each name of a path, None for any number of names."""
    plain = glob.removeprefix("./")
    names = [name for name in plain.split("/") if name and name != "."]
    if not names:
        return [None]
    if "/" not in plain.rstrip("/"):
        names = ["**", *names]
    # `src/**.ts` is meant for all of them below `src`
    names = [one for name in names for one in (["**", name] if "**" in name and name != "**" else [name])]
    # every pattern of fnmatch is atomic in its stars: none takes time beyond its length
    segments = [None if name == "**" else re.compile(translate(name)) for name in names]
    ends_there = _WILD.intersection(names[-1]) and not glob.endswith("/")
    return segments if ends_there else [*segments, _BELOW]


def _fits(segments: Sequence[re.Pattern[str] | None], names: Sequence[str]) -> bool:
    # the places in `names` that the segments so far may lead to
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
