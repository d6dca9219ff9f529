"""Globs over paths: `*`, `?`, `[…]`, `{a,b}`, and `**` for any number of folders."""

from __future__ import annotations

import re
from fnmatch import translate
from typing import TYPE_CHECKING, Final

from tideate_core.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["glob_filter"]

LONGEST: Final = 500
"""Characters of a glob."""
MOST: Final = 64
"""Globs that the braces of one may stand for."""
_BRACES: Final = re.compile(r"\{([^{}]*)\}")
_WILD: Final = frozenset("*?[")
_BELOW: Final = re.compile(r"(?!)")
"""At the end: the path, or whatever is below it."""


def glob_filter(glob: str) -> Callable[[str], bool]:
    """Return a function that tells whether a path fits.

    A glob without `/` is about names at any depth, another one about the whole path from the root. Of a
    folder that is named without a star all files fit. Its time is bounded for any glob.

    :param glob: with `/`; one that begins with `./` or `/` is meant from the root.
    :raises ToolError: it is none.
    """
    if not glob.strip() or len(glob) > LONGEST:
        raise ToolError(f"a glob has 1 to {LONGEST} characters, as `src/**/*.py`")
    choices = [_segments(one) for one in _without_braces(glob)]
    return lambda path: any(_fits(choice, path.split("/")) for choice in choices)


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
            raise ToolError(f"the braces stand for more than {MOST} globs; use fewer")
    return done


def _segments(glob: str) -> list[re.Pattern[str] | None]:
    """Return a pattern for each name of a path, None for any number of names."""
    plain = glob.removeprefix("./")
    names = [name for name in plain.split("/") if name and name != "."]
    if not names:
        return [None]
    if "/" not in plain.rstrip("/"):
        names = ["**", *names]
    # every pattern of fnmatch is atomic in its stars: none takes time beyond its length
    segments = [None if name == "**" else re.compile(translate(name)) for name in names]
    return segments if _WILD.intersection(names[-1]) else [*segments, _BELOW]


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
