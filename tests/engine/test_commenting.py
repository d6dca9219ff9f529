"""Comments on plans and documents: parsed answers, and lines changed by a revision."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tideate_core.engine.review.written import CommentRounds, PlaceComment, changed_lines, follow_renames
from tideate_core.errors import InvalidInput
from tideate_core.workflows import Decision


def rounds(*, possible: bool = True) -> CommentRounds:
    step: Any = SimpleNamespace(revisions=1, notice=lambda _words, level="info": None)
    return CommentRounds(step, possible=possible)


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("a\nb\nc", "a\nb\nc", []),
        ("a\nb\nc", "a\nB\nc", [2]),
        ("a\nb\nc", "new\na\nb\nC", [1, 4]),
        ("a\nb\nc\nd", "b\nc\nD\ne", [3, 4]),
        ("", "a\nb", [1, 2]),
    ],
)
def test_the_lines_of_a_revision_that_differ(before: str, after: str, changed: list[int]) -> None:
    assert changed_lines(before, after) == changed


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"comments": "x"}, "the comments cannot be read: comments: "),
        ({"comments": [{"line": "1", "text": "x"}]}, "the comments cannot be read: comments.0.line: "),
        ({"comments": [{"line": 1}]}, "the comments cannot be read: comments.0.text: field required"),
        ({"comments": [{"text": " \n"}]}, "the comments are empty"),
    ],
)
def test_comments_that_say_nothing_are_refused(value: Any, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        rounds().read(Decision(False, value))


@pytest.mark.parametrize("value", [None, "x", {"text": "x"}, {"comments": []}])
def test_an_answer_without_comments_has_none(value: Any) -> None:
    assert rounds().read(Decision(False, value)) == []


def test_comments_where_nobody_can_answer_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no more revisions are possible"):
        rounds(possible=False).read(Decision(False, {"comments": [{"text": "x"}]}))


@pytest.mark.parametrize(
    ("comment", "words"),
    [
        (PlaceComment(text="x"), "x"),
        (PlaceComment(text="x", line=2), 'on "two": x'),
        (PlaceComment(text="x", path="a.py"), "on a.py: x"),
    ],
)
def test_a_comment_names_the_line_that_it_is_on(comment: PlaceComment, words: str) -> None:
    assert comment.words("one\n  two\n") == words


@pytest.mark.parametrize("line", [0, -1, 4])
def test_a_comment_on_no_line_is_refused(line: int) -> None:
    with pytest.raises(InvalidInput, match=f"a comment on line {line}, and the text has 3 lines"):
        PlaceComment(text="x", line=line).words("one\ntwo\n")


async def test_a_round_that_was_answered_is_counted() -> None:
    asked = rounds()

    async def made() -> str:
        return "a plan"

    said = asked.read(Decision(False, {"comments": [{"line": 1, "text": "x"}]}))
    assert asked.question("Go on?") == "Go on?"
    assert await asked.revise(said, made) == "a plan"
    asked.changed = [3]
    assert asked.payload == {"revisable": False, "revision": 2, "changed": [3]}
    assert asked.question("Go on?") == "Revision 2. Go on?"


async def test_a_round_that_failed_is_not_counted_and_keeps_what_was_said() -> None:
    asked = rounds()

    async def fails() -> str:
        raise InvalidInput("no plan")

    said = asked.read(Decision(False, {"comments": [{"line": 1, "text": "x"}]}))
    assert await asked.revise(said, fails) is None
    told = "the model could not revise it, and the question is open again: no plan"
    comments = [{"line": 1, "text": "x"}]
    assert asked.payload == {"revisable": True, "comments": comments, "warnings": [told]}


@pytest.mark.parametrize(
    ("now", "path"),
    [
        ("a b c", "b"),
        ("a x c", "x"),
        ("c a", "b"),
        ("x b y", "b"),
        ("a x c b", "b"),
        ("x c b", "b"),
        ("x y z", "b"),
        ("a +x c", "x"),
        ("a +b x", "b"),
        ("x c d b", "b"),
    ],
)
def test_a_comment_goes_along_with_a_file_that_gets_another_name(now: str, path: str) -> None:
    def plan(names: str) -> list[dict[str, str]]:
        return [
            {"action": "create" if one[0] == "+" else "modify", "path": one.lstrip("+")}
            for one in names.split()
        ]

    said = [PlaceComment(path="b", text="?"), PlaceComment(text="!")]
    followed = follow_renames(said, plan("b c d" if "d" in now else "a b c"), plan(now))
    assert followed == [PlaceComment(path=path, text="?"), PlaceComment(text="!")]
