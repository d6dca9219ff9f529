"""What an unquoted text of YAML is: YAML 1.2's core schema, without what JSON cannot say."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from tideate_core.workflows.json_reader import LARGEST_INTEGER

__all__ = ["Resolved", "is_of_tag", "resolved"]

NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
TRUE: Final = frozenset({"true", "True", "TRUE"})
FALSE: Final = frozenset({"false", "False", "FALSE"})
INTEGER: Final = re.compile(r"([-+]?)(?:0o([0-7]+)|0x([0-9a-fA-F]+)|([0-9]+))", re.ASCII)
REAL: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
NO_NUMBER: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
MOST_DIGITS: Final = 24
"""Longer ones are never converted: it takes long."""
QUOTES: Final = "put it in quotes if it is a text"


class Resolved(NamedTuple):
    """A value, and why it cannot be kept if it cannot."""

    value: Any
    problem: str = ""
    hint: str = ""


def resolved(text: str) -> Resolved:
    """Return what a text is; times, dates and versions stay texts."""
    if text in NULL:
        return Resolved(None)
    if text in TRUE or text in FALSE:
        return Resolved(text in TRUE)
    if text[0].isalpha():
        return Resolved(text)
    if match := INTEGER.fullmatch(text):
        return _whole(match)
    if REAL.fullmatch(text) and abs(real := float(text)) != float("inf"):
        return Resolved(real)
    if REAL.fullmatch(text) or NO_NUMBER.fullmatch(text):
        return Resolved(0, f"{text[:40]} is no number that can be kept", QUOTES)
    return Resolved(text)


def is_of_tag(value: Any, tag: str | None) -> bool:
    """Tell whether a value is what `!!int`, `!!float`, `!!bool` or `!!null` says."""
    match tag:
        case "null":
            return value is None
        case "bool":
            return isinstance(value, bool)
        case "int":
            return isinstance(value, int) and not isinstance(value, bool)
        case "float":
            return isinstance(value, int | float) and not isinstance(value, bool)
    return False


def _whole(match: re.Match[str]) -> Resolved:
    sign, octal, hexadecimal, decimal = match.groups()
    digits = octal or hexadecimal or decimal
    if len(digits) <= MOST_DIGITS:
        whole = int(digits, 8 if octal else 16 if hexadecimal else 10)
        if whole <= LARGEST_INTEGER:
            return Resolved(-whole if sign == "-" else whole)
    return Resolved(0, "the number is too large", QUOTES)
