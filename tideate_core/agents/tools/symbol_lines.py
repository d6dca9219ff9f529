"""Lines of symbols for a model: ranges and signatures of definitions, and possible uses of a member."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import NotParsed
from tideate_core.process import parse_outside

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

LARGEST: Final = 1_000_000
"""Characters of a text that is parsed; longer texts have no ranges."""
MOST_LINES: Final = 12
"""Lines of a signature that are joined."""
LONGEST: Final = 240
"""Characters of a signature."""
_BODY: Final = re.compile(
    r"(?:.*_)?(?:module|program|source|file|chunk|unit|block|body|list|declarations|statements|document)(?:_statement)?"
)
"""Kinds of nodes that contain definitions and begin with the first of them."""
_QUALIFIED: Final = frozenset({"python", "javascript", "typescript", "tsx", "lua", "go", "rust"})
"""Languages in which a use of a member names its object."""


def last_lines(text: str, path: str, name: str, firsts: Collection[int]) -> dict[int, int]:
    """Return the last lines of definitions by their first lines (all from 1), if they are found.

    Empty for a text that takes too long to parse.

    :param name: name of the defined symbol.
    """
    from tideate_core.mentions import code_language

    language = code_language(path)
    if not language or len(text) > LARGEST:
        return {}
    try:
        spans = parse_outside(f"{__name__}:spans_around", text, language, name)
    except NotParsed:
        return {}
    found: dict[int, int] = {}
    for first, last in spans:
        if first in firsts:
            found.setdefault(first, last)
    return found


def spans_around(text: str, language: str, name: str) -> list[tuple[int, int]]:
    """Return the first and last lines of nodes around each use of a name; for the parser process."""
    from ast_grep_py import SgRoot

    found: dict[tuple[int, int], None] = {}
    for node in SgRoot(text, language).root().find_all(regex=f"^{re.escape(name)}$"):
        found.update(dict.fromkeys(_spans(node)))
    return list(found)


def _spans(node: Any) -> list[tuple[int, int]]:
    """Return first and last lines of the nodes around a name, up to the enclosing body, outermost first."""
    spans = []
    while node is not None and (parent := node.parent()) is not None and not _BODY.fullmatch(node.kind()):
        place = node.range()
        # some grammars include the line end in the node
        last = place.end.line + (1 if place.end.column or place.end.line == place.start.line else 0)
        spans.append((place.start.line + 1, last))
        node = parent
    return spans[::-1]


def signature(lines: Sequence[str], first: int, last: int, name: str) -> str:
    """Return the line of a definition; joined with more if its name or a closing bracket is missing.

    :param first: number of the line, from 1.
    :param last: number of the definition's last line.
    """
    parts: list[str] = []
    opened = 0
    for line in lines[first - 1 : min(last, first - 1 + MOST_LINES)]:
        parts.append(line.strip())
        opened += sum(map(line.count, "([")) - sum(map(line.count, ")]"))
        if opened <= 0 and any(name in part for part in parts):
            break
    joined = re.sub(r",? ([)\]])", r"\1", re.sub(r"([(\[]) ", r"\1", " ".join(parts)))
    if len(parts) == 1 or len(joined) <= LONGEST:
        return joined if len(parts) > 1 else parts[0]
    return f"{joined[:LONGEST]}…"


def may_use_member(line: str, path: str, name: str) -> bool:
    """Return whether a line may use a member of a name, not a parameter, keyword or module of that name."""
    from tideate_core.mentions import code_language

    language = code_language(path)
    if language not in _QUALIFIED:
        return True
    if language == "python" and line.lstrip().startswith(("from ", "import ")):
        return False
    return re.search(rf"(?:\.\s*|->\s*|::\s*|(?<=\w):){re.escape(name)}(?![\w$])", line) is not None
