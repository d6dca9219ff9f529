"""Helper that applies search/replace blocks to lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.edits.formats.blocks import parse_blocks
from tideate_core.edits.matching.replacement import apply_parts
from tideate_core.errors import UnusableAnswer

if TYPE_CHECKING:
    from tideate_core.edits.matching.replacement import Replacement

__all__ = ["LINES", "apply_blocks", "block", "refused"]

LINES = ["class A:", "    def f(self):", "        return 1", "", "    def g(self):", "        return 2  "]


def apply_blocks(lines: list[str], answer: str, *, language: str = "") -> Replacement:
    (edit,) = parse_blocks(answer)
    return apply_parts(lines, edit.parts, language=language)


def block(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE"


def refused(answer: str, lines: list[str] = LINES) -> str:
    with pytest.raises(UnusableAnswer) as error:
        apply_blocks(lines, answer, language="python")
    return str(error.value)
