"""Keys of a terminal that edits no lines, made lines."""

from __future__ import annotations

import pytest

from tideate_core.cli.line_editor import LineEditor


@pytest.mark.parametrize(
    ("typed", "lines", "left"),
    [
        ("keep the name\n", ["keep the name"], ""),
        ("one\rtwo\nthr", ["one", "two"], "thr"),
        ("nane\x7f\x7fme\n", ["name"], ""),
        ("a\x08b", [], "b"),
        ("\x7f\x7fa", [], "a"),
        ("keep the nane\x17name", [], "keep the name"),
        ("all wrong\x15right", [], "right"),
        ("handed over\x04", ["handed over"], ""),
        ("\x1b[A\x1b[1;5Cup\x1bOP\x1bx", [], "up"),
        ("e\u0301\x7fa", [], "a"),
        ("a\tb\x00\x07", [], "a b"),
    ],
)
def test_keys_make_lines(typed: str, lines: list[str], left: str) -> None:
    editor = LineEditor()
    assert editor.feed(typed.encode()) == lines
    assert editor.text == left


def test_what_comes_in_pieces_is_one() -> None:
    editor = LineEditor()
    for byte in "ä\x1b[1;5Cö\n".encode():
        lines = editor.feed(bytes([byte]))
    assert lines == ["äö"]


def test_what_is_no_text_is_left_out() -> None:
    editor = LineEditor()
    assert editor.feed(b"a\xffb\n") == ["ab"]
