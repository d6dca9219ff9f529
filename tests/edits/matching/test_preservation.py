"""The file's punctuation is preserved; ambiguous punctuation in new text is never guessed."""

# ruff: noqa: RUF001

from __future__ import annotations

import pytest

from tideate_core.edits.matching.preservation import Quotation, plain, plain_line, with_plain_indent
from tideate_core.errors import UnusableAnswer


def test_what_counts_as_the_same() -> None:
    assert plain("“a” – ‘b’…\u00a0c\u200b") == "\"a\" - 'b'... c"
    assert plain_line("\u00a0 x = 1\u2003") == "x = 1"
    assert with_plain_indent("\u00a0\u00a0x\u00a0y") == "  x\u00a0y"


@pytest.mark.parametrize(
    ("own", "quoted", "new", "becomes"),
    [
        ("say(“a”, 1)", 'say("a", 1)', 'say("a", 2)', "say(“a”, 2)"),
        ("a – b = 1", "a - b = 1", "a - b = 22", "a – b = 22"),
        ("wait… 1", "wait... 1", "wait... 2", "wait… 2"),
        ("x = 'a'", "x = ‘a’", "x = ‘b’", "x = 'b'"),
        ("x = 'a'", "x = ‘a’", "y = ‘a’ or ‘b’", "y = 'a' or 'b'"),
        ("x\u200b = 1", "x = 1", "x = 2", "x\u200b = 2"),
        ("say(“a”)", 'say("a")', "say('b')", "say('b')"),
        ("wait… 1", "wait... 1", "wait.. 1", "wait.. 1"),
    ],
)
def test_what_is_only_repeated_stays_as_the_file_has_it(
    own: str, quoted: str, new: str, becomes: str
) -> None:
    assert Quotation([own], [quoted]).replace_lines(0, 1, [new]) == [becomes]


@pytest.mark.parametrize(
    ("own", "quoted", "new"),
    [
        ("x \u200b\nsay(“a”)", 'x\nsay("a")', 'y\nsay("a")'),
        ("a – b", "a - b", "a - b - c"),
        ("x = 'a' – “b”", "x = ‘a’ – “b”", "z(“c”) = ‘a’ + 1"),
    ],
)
def test_unclear_signs_are_refused(own: str, quoted: str, new: str) -> None:
    with pytest.raises(
        UnusableAnswer, match=r"copy (?:these|the) characters exactly|copy the file's characters"
    ):
        Quotation([own], [quoted]).replace_lines(0, 1, [new])


def test_nothing_in_place_of_lines_is_nothing() -> None:
    assert Quotation(["“a”"], ['"a"']).replace_lines(0, 1, []) == []
