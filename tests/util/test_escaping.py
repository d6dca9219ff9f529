"""Untrusted texts are displayed without control effects, hidden parts or look-alikes."""

from __future__ import annotations

import json

import pytest

from tideate_core.util.escaping import escape, label, one_line, shortened_runs, visible, visible_json


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        ("\n", r"\n"),
        ("\x1b", r"\x1b"),
        ("\u202e", r"\u202e"),
        ("\U000e0041", r"\U000e0041"),
        ("\udcff", r"\xff"),
    ],
)
def test_a_character_is_written_by_its_number(character: str, shown: str) -> None:
    assert escape(character) == shown


@pytest.mark.parametrize(
    "text", ["plain\n\ttext", "größer, naïve", "Привет, мир", "日本語", "👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3"]
)
def test_what_people_write_stays(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm\x1b[2K", r"rm\x1b[2K"),
        ("a\u202eb", r"a\u202eb"),
        ("p\u0430ypal", r"p\u0430ypal"),
        ("x\u200by", r"x\u200by"),
    ],
)
def test_what_a_screen_would_obey_or_a_reader_mistake_is_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_quotation_begins_no_line_of_ours() -> None:
    assert one_line("a\nApply? yes") == r"a\nApply? yes"
    assert shortened_runs("a" + "\n" * 200 + "b") == "a\n\\n{200}\nb"
    assert shortened_runs("a" + "\n" * 24 + "b") == "a" + "\n" * 24 + "b"


def test_a_backslash_of_a_name_is_told_from_an_escape() -> None:
    assert label("a\nb") == r"a\nb"
    assert label(r"a\nb") == r"a\\nb"


def test_json_keeps_its_value() -> None:
    value = {"k\u202e": ["\x1b", "p\u0430y", "ok"]}
    text = visible_json(value)
    assert text.isascii()
    assert json.loads(text) == value
