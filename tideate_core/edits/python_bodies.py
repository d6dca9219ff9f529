"""Python's ``...``: a body that is meant, or one that a model left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tideate_core.edits.indent import indent_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["is_meant_ellipsis"]

_NAMED = re.compile(r"^\s*(?:async\s+)?(?:def|class)\s+(?P<name>\w+)")
_MEANS_STUB = re.compile(r"\b(?:overload|abstractmethod|abstractproperty)\b")
_STUB_CLASS = re.compile(r"^\s*class\s+\w+.*\bProtocol\b")
_ONE_LINER = re.compile(r":\s*\.\.\.$")


def is_meant_ellipsis(code: Sequence[str], number: int, known: Sequence[str]) -> bool:
    """Whether the ``...`` on a line is the whole body of a block whose body the original did not have.

    New functions, overloads, abstract methods and protocols may have it; a function that the original
    defines with a body may not become one by being left out.
    """
    header = number if _ONE_LINER.search(code[number]) else _header_of(code, number)
    if header is None:
        return False
    if _is_stub(code, header):
        return True
    name = _NAMED.match(code[header])
    if name is None:
        first = code[header].strip()
        return not any(line.strip() == first for line in known)
    return not _has_body(known, name["name"])


def _header_of(code: Sequence[str], number: int) -> int | None:
    """Return the line that opens the block of which the ellipsis is all there is."""
    width = _width(code[number])
    after = next((line for line in code[number + 1 :] if line.strip()), None)
    if after is not None and _width(after) >= width:
        return None
    inside: list[str] = []
    for index in range(number - 1, -1, -1):
        line = code[index]
        if line.strip() and _width(line) < width and not line.strip().startswith("#"):
            ends_header = line.split("#")[0].rstrip().endswith(":")
            return _start_of_header(code, index) if ends_header and _only_docstring(inside) else None
        inside.insert(0, line)
    return None


def _start_of_header(code: Sequence[str], end: int) -> int:
    """Return the first line of a signature that goes over several."""
    width = _width(code[end])
    if not code[end].strip().startswith(")"):
        return end
    return next((i for i in range(end - 1, -1, -1) if code[i].strip() and _width(code[i]) <= width), end)


def _only_docstring(lines: list[str]) -> bool:
    text = "\n".join(line for line in lines if not line.strip().startswith("#")).strip()
    return (
        not text
        or re.fullmatch(r'[rR]?(?:"""(?:(?!""").)*"""|"[^"\n]*"|\'\'\'.*\'\'\')', text, re.DOTALL) is not None
    )


def _is_stub(code: Sequence[str], header: int) -> bool:
    width = _width(code[header])
    for line in reversed(code[:header]):
        if line.strip().startswith("@") and _width(line) == width:
            if _MEANS_STUB.search(line):
                return True
        else:
            break
    enclosing = next((line for line in reversed(code[:header]) if line.strip() and _width(line) < width), "")
    return _STUB_CLASS.match(enclosing) is not None


def _has_body(known: Sequence[str], name: str) -> bool:
    """Whether the original defines the name, with more than an ellipsis in it."""
    for number, line in enumerate(known):
        found = _NAMED.match(line)
        if found is None or found["name"] != name or _ONE_LINER.search(line):
            continue
        width = _width(line)
        body = []
        for inner in known[number + 1 :]:
            if inner.strip() and _width(inner) <= width and not inner.strip().startswith(")"):
                break
            body.append(inner.strip())
        # of a stub whose signature goes over several lines the ellipsis stands behind its last one
        if not any(text == "..." or (text.startswith(")") and _ONE_LINER.search(text)) for text in body):
            return True
    return False


def _width(line: str) -> int:
    return len(indent_of(line).expandtabs(4))
