"""Where new lines go: their indentation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tideate_core.edits.indent import first_indent, in_style_of, indent_of, shift, unit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["fit_to_place"]

_OPENS = re.compile(r"(?:[:{(\[]|=>|->|\b(?:then|do|begin|of)|\bfunction\b.*\)|^\s*def\b.*)\s*$")
_CLOSES = re.compile(r"^\s*(?:[})\]]|</|(?:end|fi|done|esac|else|elif|elseif|catch|except|finally|until)\b)")


def fit_to_place(code: Sequence[str], lines: Sequence[str], at: int) -> list[str]:
    """Indent new code for its place before line `at` (0-based), by the lines around it.

    Code that comes indented stays as it is.
    """
    plain = in_style_of([line.rstrip("\r") for line in code], lines)
    if not first_indent(plain):
        plain = shift(plain, "", _indent_at(lines, at))
    crlf = [line for line in lines if line] and all(line.endswith("\r") for line in lines)
    return [f"{line}\r" for line in plain] if crlf else plain


def _indent_at(lines: Sequence[str], at: int) -> str:
    above = next((line for line in reversed(lines[:at]) if line.strip()), "")
    below = next((line for line in lines[at:] if line.strip()), None)
    opens = _OPENS.search(above.split("#")[0].rstrip()) is not None
    if below is not None and not _CLOSES.match(below):
        deeper = len(indent_of(below)) > len(indent_of(above))
        return indent_of(below) if deeper or not opens else indent_of(above) + _level(lines)
    if opens:
        return indent_of(above) + _level(lines)
    apart = at > 0 and not lines[at - 1].strip()
    return "" if below is None and apart else indent_of(above)


def _level(lines: Sequence[str]) -> str:
    tabs = any(line.startswith("\t") for line in lines)
    return "\t" if tabs else " " * unit_of(lines)
