"""Limits of captured output, and live lines."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tideate_core.process.output import LineReader, OutputCapture, strip_control_sequences


def told(*pieces: bytes, longest: int = 100) -> list[tuple[str, bool]]:
    reader = LineReader("stdout", longest)
    lines = [line for piece in pieces for line in reader.feed(piece)]
    lines += reader.feed(b"", last=True)
    return [(line.text, line.ended) for line in lines]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\x1b[31mred\x1b[0m b", "ared b"),
        ("\x1b]0;title\x07x\x1b]8;;http://a\x1b\\link", "xlink"),
        ("10%\r50%\r100%\nnext\r\n", "100%\nnext\n"),
        ("bell\x07 tab\t nul\0 del\x7f", "bell tab\t nul del"),
        ("a\u202eb\u2066c", "abc"),
        ("\x1b", ""),
        ("\x1b[12", ""),
        ("plain Übergröße ✓", "plain Übergröße ✓"),
    ],
)
def test_a_text_is_as_a_terminal_leaves_it(text: str, seen: str) -> None:
    assert strip_control_sequences(text) == seen


def test_bytes_that_are_no_text_are_replaced() -> None:
    capture = OutputCapture(100)
    capture.feed(b"a\xffb\xc3")
    assert capture.output().text == "a\ufffdb\ufffd"
    assert told(b"a\xff\n") == [("a\ufffd", True)]


def test_a_character_cut_between_two_pieces_is_whole() -> None:
    assert told("é".encode()[:1], "é\n".encode()[1:]) == [("é", True)]


def test_what_is_overwritten_is_told_as_it_stands() -> None:
    assert told(b"10%\r20%\r30%", b"\r40", b"%\r", b"done\nnext\n") == [
        ("20%", False),
        ("30%", False),
        ("done", True),
        ("next", True),
    ]


def test_a_line_end_of_two_characters_may_come_in_two_pieces() -> None:
    assert told(b"one\r", b"\ntwo\r\n") == [("one", True), ("two", True)]


def test_a_last_line_without_an_end_is_told() -> None:
    assert told(b"one\ntw", b"o") == [("one", True), ("two", True)]


def test_a_line_that_is_too_long_says_how_much_is_missing() -> None:
    assert told(b"x" * 60, b"y" * 60, b"\nnext\n", longest=100) == [
        ("x" * 60 + "y" * 40 + " [… 20 characters left out]", True),
        ("next", True),
    ]


def test_within_its_bound_output_is_whole() -> None:
    capture = OutputCapture(10)
    for piece in (b"abc", b"defg", b"hij"):
        capture.feed(piece)
    output = capture.output()
    assert (output.text, output.size, output.cut) == ("abcdefghij", 10, 0)


def test_no_more_is_held_than_is_kept() -> None:
    capture = OutputCapture(1000)
    for _ in range(5000):
        capture.feed(b"x" * 100)
    assert sum(map(len, capture._tail)) <= 600


@given(st.lists(st.binary(max_size=40)), st.integers(2, 60))
def test_what_is_kept_and_what_is_cut_are_all_of_it(pieces: list[bytes], limit: int) -> None:
    capture = OutputCapture(limit)
    for piece in pieces:
        capture.feed(piece)
    whole = b"".join(pieces)
    output = capture.output()
    assert output.size == len(whole)
    if output.cut == 0:
        assert output.text == strip_control_sequences(whole.decode(errors="replace"))
    else:
        assert len(whole) > limit // 2 * 2
        assert 0 < len(whole) - output.cut <= limit
        assert f"[… {output.cut:,} bytes left out …]" in output.text


@given(st.lists(st.binary(max_size=40)))
def test_lines_are_the_same_however_the_output_comes_in_pieces(pieces: list[bytes]) -> None:
    ended = [text for text, whole in told(*pieces, longest=10_000) if whole]
    assert ended == [text for text, whole in told(b"".join(pieces), longest=10_000) if whole]
