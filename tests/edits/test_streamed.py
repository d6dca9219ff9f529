"""Hunks of a streaming answer."""

from __future__ import annotations

from itertools import accumulate

import pytest

from tideate_core.edits import streamed_hunks
from tideate_core.workspace import apply_hunks

TEXT = ["import math", "", "def area(r):", "    x = math.pi * r", "    return x * r", "", "print(area(2))"]


def steps(answer: str, lines: list[str], start: int, end: int) -> list[list[str] | None]:
    """Return the distinct texts while the answer grows by single characters."""
    seen: list[list[str] | None] = []
    for prefix in accumulate(answer):
        hunks = streamed_hunks(prefix, lines, start, end)
        text = None if hunks is None else apply_hunks(lines, hunks)
        if not seen or seen[-1] != text:
            seen.append(text)
    return seen


def test_lines_change_one_by_one_and_later_lines_stay() -> None:
    answer = "Here:\n\n```python\ndef area(r):\n    x = 3 * r\n    y = 1\n    return x * r\n```\nDone.\n"
    head, tail = TEXT[:3], TEXT[5:]
    assert steps(answer, TEXT, 2, 5) == [
        None,
        TEXT,
        [*head, "    x = 3 * r", "    return x * r", *tail],
        [*head, "    x = 3 * r", "    y = 1", *tail],
        [*head, "    x = 3 * r", "    y = 1", "    return x * r", *tail],
    ]


def test_lines_are_removed_when_the_answer_is_past_them() -> None:
    assert steps("```\ndef area(r):\n    return r\n```\n", TEXT, 2, 5)[-2:] == [
        [*TEXT[:3], "    return r", *TEXT[4:]],
        [*TEXT[:3], "    return r", *TEXT[5:]],
    ]


@pytest.mark.parametrize(
    ("lines", "start", "end", "answer", "wanted"),
    [
        (TEXT, 3, 4, "x = 3 * r", [*TEXT[:3], "    x = 3 * r", *TEXT[4:]]),
        (TEXT, 2, 6, "def area(r):\n    return r", [*TEXT[:3], "    return r", *TEXT[5:]]),
        (TEXT, 2, 5, "import math\n\ndef area(r):\n    return r", [*TEXT[:3], "    return r", *TEXT[5:]]),
        ([""], 0, 1, "x = 1", ["x = 1"]),
        (["a", "    ", "b"], 1, 2, "x = 1\ny = 2", ["a", "x = 1", "y = 2", "b"]),
        (["if a:", "", "    b"], 2, 2, "x = 1", ["if a:", "", "    x = 1", "    b"]),
        (["a\r", "b\r"], 0, 2, "a\nc", ["a\r", "c\r"]),
    ],
    ids=["indented", "blank edges", "repeated neighbours", "empty", "blank", "insertion", "line ends"],
)
def test_the_last_comparison_has_the_whole_edit(
    lines: list[str], start: int, end: int, answer: str, wanted: list[str]
) -> None:
    assert steps(f"```python\n{answer}\n```\n", lines, start, end)[-1] == wanted


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "No code yet\n",
        "<think>\n```\nx\n```\n",
        "```\n@@ -1 +1 @@\n-a\n+b\n```\n",
        "```\n<<<<<<< SEARCH\na\n",
    ],
)
def test_answers_without_code_are_not_shown(answer: str) -> None:
    assert steps(answer, TEXT, 2, 5) in ([], [None])
