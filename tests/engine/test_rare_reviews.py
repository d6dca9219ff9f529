"""Rare inputs of reviews and forks: texts of no file, groups of changes, turns that cannot be repeated."""

from __future__ import annotations

from typing import Any

import pytest

from tideate_core.builtin.review.steps import MOST_NAMED, _left_out
from tideate_core.engine.fork.reuse import _key_of_turn
from tideate_core.engine.review.review import question_about
from tideate_core.engine.review.written import _together
from tideate_core.errors import InvalidInput
from tideate_core.workspace import Difference, FileChange


def changed(path: str, move_to: str | None = None) -> FileChange:
    return FileChange(path, "modify", "1\n", "2\n", move_to)


@pytest.mark.parametrize(("text", "lines"), [("one\n", "1 line"), ("one\ntwo\n", "2 lines")])
def test_the_question_about_a_text_of_no_file_gives_its_length(text: str, lines: str) -> None:
    assert question_about([FileChange("", "create", "", text)]) == f"Open the new text in a buffer ({lines})?"


def test_changes_of_one_place_are_one_group() -> None:
    inner, outer, other = changed("a/b"), changed("a"), changed("x")
    moved, chained = changed("x", "y"), changed("y", "z")
    assert _together([inner, other, outer]) == [[inner, outer], [other]]
    assert _together([moved, inner, chained]) == [[moved, chained], [inner]]
    assert _together([changed("a", "q"), changed("q/r"), changed("a/s")]) == [
        [changed("a", "q"), changed("q/r"), changed("a/s")]
    ]


@pytest.mark.parametrize(
    ("memos", "turn", "words"),
    [
        ({"1.ask:x": {"of": "s[0]"}}, 1, "the items of it have turns of their own"),
        ({"1.ask:x": {"place": 1}}, 2, "there is no turn 2: the model took 1 turn in it"),
        ({"1.ask:x": {"place": 1}, "2.ask:y": {"place": 2}}, 2, "turn 2 of it is one of attempt 2"),
        ({}, 1, "there is no turn 1: the model took no turns in it"),
    ],
)
def test_a_turn_that_cannot_be_repeated_is_refused(memos: dict[str, Any], turn: int, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        _key_of_turn(memos, "it", turn)


def test_a_long_list_of_left_out_paths_is_shortened() -> None:
    difference = Difference()
    difference.left |= {f"f{number:02}": "it is large" for number in range(MOST_NAMED + 2)}
    difference.left["one"] = "it is a directory"
    shortened, whole = sorted(_left_out(difference))
    assert shortened.endswith("f09, and 2 more: it is large")
    assert whole == "one: it is a directory"
