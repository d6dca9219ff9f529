"""A diagnostic as people read it: the place, the line, and a caret under what is meant."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from tideate_core.machines.language.lexer import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tideate_core.machines.language.model import Diagnostic

__all__ = ["explain", "explain_all", "explanations"]

_TAB: Final = "    "
_BEFORE: Final = 60
_SHOWN: Final = 100
_MOST: Final = 100
# controls, surrogates, and what reorders a terminal's text
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def explain(diagnostic: Diagnostic, text: str, label: str) -> str:
    """Write `label:LINE:COL: error: message [code]`, the line, and a caret line under it.

    Of a long line the part around the place is shown.
    """
    return next(explanations([diagnostic], text, label))


def explanations(diagnostics: Iterable[Diagnostic], text: str, label: str) -> Iterator[str]:
    """Explain any number of diagnostics of one text, each when it is asked for; the text is split once."""
    lines = plain_text(text).split("\n")
    if not any(lines):
        lines = []
    for diagnostic in diagnostics:
        yield _explain(diagnostic, lines, label)


def explain_all(diagnostics: Sequence[Diagnostic], text: str, label: str) -> list[str]:
    """Explain many diagnostics of one text; after a hundred, the last item tells how many more there are."""
    told = list(explanations(diagnostics[:_MOST], text, label))
    more = len(diagnostics) - len(told)
    return [*told, f"{label}: and {more} more"] if more else told


def _explain(diagnostic: Diagnostic, lines: list[str], label: str) -> str:
    line, column = diagnostic.position
    message = _UNSAFE.sub("\ufffd", diagnostic.message)
    code = f" [{diagnostic.code}]" if diagnostic.code else ""
    head = f"{label}:{line}:{column}: {diagnostic.severity}: {message}{code}"
    if not 1 <= line <= len(lines):
        return head
    source = lines[line - 1]
    start = max(0, column - 1 - _BEFORE)
    shown = source[start : start + _SHOWN]
    before = "…" if start else ""
    after = "…" if start + _SHOWN < len(source) else ""
    place = column - 1 - start
    lead = before + _visible(shown[:place])
    marked = shown[place : place + diagnostic.length]
    carets = "^" * max(1, _width(_visible(marked)))
    return f"{head}\n  {before}{_visible(shown)}{after}\n  {' ' * _width(lead)}{carets}"


def _visible(text: str) -> str:
    return _UNSAFE.sub("\ufffd", text.replace("\t", _TAB))


def _width(text: str) -> int:
    """The columns of a terminal that the text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
