"""Fences are parsed as in CommonMark, and quoted by longer fences."""

from __future__ import annotations

import pytest

from tideate_core.edits.fences import enclosing_block, fence_for, fenced_blocks, is_fence, split_at_fences


@pytest.mark.parametrize(
    ("texts", "fence"),
    [((), "```"), (("a `b` ``c``",), "```"), (("x\n```\n", "y"), "````"), (("```", "a ````` b"), "``````")],
)
def test_a_fence_is_longer_than_any_in_the_texts(texts: tuple[str, ...], fence: str) -> None:
    assert fence_for(*texts) == fence


@pytest.mark.parametrize(
    ("line", "is_one"),
    [("```", True), ("  ~~~~ python", True), ("``", False), ("```a`b```", False), ("x ```", False)],
)
def test_a_fence_is_a_line_of_its_own(line: str, is_one: bool) -> None:
    assert is_fence(line) is is_one


def test_a_block_ends_at_a_fence_as_long_as_its_first_or_with_the_text() -> None:
    one, other = fenced_blocks(["````md", "```", "````", "words", "~~~", "last"])
    assert (one.info, one.lines, one.start, one.end, one.closed) == ("md", ("```",), 0, 3, True)
    assert (other.lines, other.closed) == (("last",), False)


def test_a_block_in_a_list_loses_the_indentation_of_its_fence() -> None:
    (block,) = fenced_blocks(["- so:", "  ```", "  a", "    b", " c", "  ```"])
    assert block.lines == ("a", "  b", "c")


def test_a_block_around_others_is_certain_if_each_of_them_names_a_language() -> None:
    nesting = enclosing_block(["```md", "```sh", "ls", "```", "```"])
    assert nesting is not None and nesting.certain
    assert nesting.block.lines == ("```sh", "ls", "```")
    doubtful = enclosing_block(["```", "a", "```", "words", "```", "b", "```"])
    assert doubtful is not None and not doubtful.certain
    assert enclosing_block(["```", "a", "```", "```"]) is None


def test_a_deeper_fence_belongs_to_the_lines_of_a_diff() -> None:
    lines = ["words", "```diff", " ```", "-x", "```", "end"]
    assert split_at_fences(lines) == [(["words"], False), ([" ```", "-x"], True), (["end"], False)]
