"""Location of an earlier run's lines in a changed text."""

from __future__ import annotations

import pytest

from tideate_core.adapters import Conversation
from tideate_core.builtin.buffer_workflows import find_lines
from tideate_core.workflows import BufferContext, EarlierRun, RunContext

TEXT = "a\nb\nc\nd\ne"
AT = (1, 3)
"""Range of `b` and `c`."""


def find(now: str, written: str | None) -> tuple[int, int] | None:
    context = RunContext(buffer=BufferContext(text=TEXT))
    earlier = EarlierRun("0" * 32, "refactor", "tidy", Conversation(""), (), context, {})
    return find_lines(earlier, AT, written, now.split("\n"))


@pytest.mark.parametrize(
    ("now", "written", "place"),
    [
        (TEXT, None, (1, 3)),
        ("a\nB\nC\nC2\nd\ne", "B\nC\nC2", (1, 4)),
        ("a\nB, as the person wrote it\nd\ne", "B\nC\nC2", (1, 2)),
        ("a\nd\ne", "", (1, 1)),
        ("new\na\nb\nc\nd\ne", None, (2, 4)),
        ("new\na\nB\nC\nd\ne!", "B\nC", (2, 4)),
        ("new\nB\nC\nB\nC\nlast", "B\nC", None),
        ("new\na\nB\nC changed\nd\ne!", "B\nC", None),
        ("new\na\nd\ne!", "", None),
        ("", "B", None),
        ("a", "B", None),
    ],
)
def test_lines_are_found_where_exactly_one_place_fits(
    now: str, written: str | None, place: tuple[int, int] | None
) -> None:
    assert find(now, written) == place
