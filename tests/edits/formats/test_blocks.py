"""Search/replace blocks of weak models are parsed; incomplete ones are rejected."""

from __future__ import annotations

import pytest

from tests.edits.search_replace import LINES, apply_blocks, block, refused


def test_fences_and_words_around_blocks_are_left_out() -> None:
    answer = f"Sure:\n```python\n{block('        return 1', '        return 3')}\n```\nDone."
    assert apply_blocks(LINES, answer).lines[2] == "        return 3"


@pytest.mark.parametrize(
    ("opening", "divider", "closing"),
    [
        ("<<<<<<<", "=======", ">>>>>>>"),
        ("<<<<<< ORIGINAL", "======", ">>>>>> UPDATED"),
        ("<<<<<<<SEARCH", "=======", ">>>>>>>REPLACE"),
    ],
)
def test_markers_that_weak_models_write(opening: str, divider: str, closing: str) -> None:
    answer = f"{opening}\n        return 1\n{divider}\n        return 3\n{closing}"
    assert apply_blocks(LINES, answer).lines[2] == "        return 3"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("return 3", "no search/replace block"),
        ("<<<<<<< SEARCH\na\n=======\nb", "cut off"),
        ("<<<<<<< SEARCH\na\n>>>>>>> REPLACE", "no ======= line"),
        ("<<<<<<< SEARCH\na\n=======\nb\n<<<<<<< SEARCH\n", "does not end"),
        (block("", "x"), "no lines to search"),
        (block("        return 1", "        # ... rest of the code ..."), "left out"),
    ],
)
def test_unusable_blocks_have_a_reason(answer: str, reason: str) -> None:
    assert reason in refused(answer)


def test_a_text_may_hold_lines_like_the_divider() -> None:
    lines = ["Title", "=======", "text"]
    answer = block("Title\n=======\ntext", "Name\n=======\ntext")
    assert apply_blocks(lines, answer).lines == ["Name", "=======", "text"]


def test_a_block_whose_divider_cannot_be_told_is_refused() -> None:
    reason = refused(block("Title\n=======\ntext", "new"), ["Title", "=======", "text"])
    assert "several ======= lines" in reason
