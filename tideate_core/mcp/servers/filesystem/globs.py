"""Globs over paths: `*`, `**`, `?`, `[a-z]`, `{a,b}`. The time for a path is bounded for any glob."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mcp.server.mcpserver.exceptions import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["excluding", "matching"]

ALTERNATIVES: Final = 64
_WILD: Final = re.compile(r"[*?\[{\\]")
_BRACES: Final = re.compile(r"\{([^{}]*,[^{}]*)\}")
_SPECIAL: Final = re.compile(r"[][\\^&~|]")
_TOKEN: Final = re.compile(r"\*+|\?|\[[!^]?\]?[^\]]*\]|\\.|.", re.DOTALL)


def matching(pattern: str) -> Callable[[str], object]:
    """Return what tells whether a path fits a glob as a whole.

    :raises ToolError: it cannot be one.
    """
    if pattern.startswith("/"):
        raise ToolError(
            "the pattern is compared with paths relative to `path`: leave out the `/` it begins with"
        )
    return _compiled([pattern])


def excluding(patterns: Sequence[str]) -> Callable[[str], object] | None:
    """Return what tells whether a path is left out; None if nothing is.

    :raises ToolError: one of them cannot be a glob.
    """
    every: list[str] = []
    for pattern in patterns:
        bare = pattern.strip("/")
        every.append(bare)
        if not _WILD.search(bare):
            every.append(f"**/{bare}")
    return _compiled(every) if every else None


def _compiled(patterns: Iterable[str]) -> Callable[[str], object]:
    alternatives = [one for pattern in patterns for one in _alternatives(pattern)]
    try:
        return re.compile("|".join(map(_expression, alternatives)), re.DOTALL).fullmatch
    except re.error as error:
        raise ToolError(f"the pattern is no glob: {error.msg}") from None


def _alternatives(pattern: str) -> list[str]:
    """Write `a{b,c}` out as `ab` and `ac`."""
    done, todo = list[str](), [pattern]
    while todo:
        one = todo.pop()
        braces = _BRACES.search(one)
        if braces is None:
            done.append(one)
        else:
            todo += [
                f"{one[: braces.start()]}{choice}{one[braces.end() :]}" for choice in braces[1].split(",")
            ]
        if len(done) + len(todo) > ALTERNATIVES:
            raise ToolError(
                f"the pattern has more than {ALTERNATIVES} alternatives in braces: search in parts"
            )
    return done


def _expression(pattern: str) -> str:
    """Return a glob as a regular expression in which what may repeat never has to be tried in two ways.

    Of the parts between `**`, each but the last is taken where it fits first: a later place would only leave
    less for those that follow.
    """
    runs: list[list[str]] = [[]]
    for segment in pattern.removeprefix("./").strip("/").split("/"):
        if segment != "**":
            runs[-1].append(_segment(segment))
        elif len(runs) == 1 or runs[-1]:
            runs.append([])
    if len(runs) == 1:
        return "/".join(runs[0])
    first, *middle, last = ["/".join(run) for run in runs]
    expression = f"{first}/" if first else ""
    expression += "".join(f"(?>(?:[^/]+/)*?{run}/)" for run in middle)
    return expression + (f"(?:[^/]+/)*?{last}" if last else ".+")


def _segment(segment: str) -> str:
    """Return a part between two slashes. A star takes as little as fits, but for the last one."""
    pieces: list[str] = [""]
    for token in _TOKEN.findall(segment):
        if token[0] == "*":
            pieces.append("")
        elif token[0] == "?":
            pieces[-1] += "[^/]"
        elif token[0] == "[" and len(token) > 2:
            pieces[-1] += _class(token)
        else:
            pieces[-1] += re.escape(token[1:] if token[0] == "\\" and len(token) > 1 else token)
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    if not any(pieces):
        return "[^/]+"
    between = "".join(f"(?>[^/]*?{piece})" for piece in middle if piece)
    return f"(?>{first}{between}[^/]*{last}(?=/|\\Z))"


def _class(token: str) -> str:
    inner = token[1:-1]
    sign = "^" if inner[0] in "!^" and len(inner) > 1 else ""
    inner = inner[1:] if sign else inner
    return f"(?!/)[{sign}{_SPECIAL.sub(_escaped, inner)}]"


def _escaped(found: re.Match[str]) -> str:
    return f"\\{found[0]}"
