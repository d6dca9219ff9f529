"""Deceptive texts are shown completely, in a terminal and in the editor."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.harness.hidden import HIDDEN, LOOKALIKES, original, unseen
from tests.harness.work import assert_linear
from tideate_core.util.escaping import label, shortened_runs, visible, visible_json

if TYPE_CHECKING:
    from tests.harness.editor import EditorFactory


pytestmark = pytest.mark.attack

ALL = HIDDEN | LOOKALIKES
# ruff: noqa: RUF001
HONEST = [
    "plain text, ünïcödé, 日本語, 한국어",
    "Привет, а потом с ним и о нём",
    "отчёт.txt",
    "Ελληνικά και άλλα",
    "ภาษาไทย กินข้าว",
    "می\u200cخواهم",
    "\u26a0\ufe0f careful, 1\ufe0f\u20e3 first, \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "2010\u20132020 \u2014 \u201cquoted\u201d, 5\xb5m, x\xb2, \u0394x",
]
LOOKED_AT = [
    range(1, 0x700),
    range(0x700, 0x1300, 3),
    range(0x1390, 0x1400),
    range(0x1670, 0x1690),
    range(0x1700, 0x1900),
    range(0x1A80, 0x3100),
    range(0x3150, 0xA400, 97),
    range(0xA4C0, 0xA800),
    range(0xAB00, 0xAC00),
    range(0xAC00, 0xD800, 101),
    range(0xE000, 0xF8F0, 89),
    range(0xF8F0, 0x1_0010),
    range(0x1_3420, 0x1_3460),
    range(0x1_BC90, 0x1_BCB0),
    range(0x1_D150, 0x1_D180),
    range(0x1_D3F0, 0x1_D810),
    range(0x1_EFF0, 0x1_FB10, 5),
    range(0x2_0000, 0x3_0000, 997),
    range(0xD_FFF0, 0xE_1010, 7),
    range(0xE_FFF0, 0x11_0000, 1013),
]
"""Whole where the tables have something, with gaps elsewhere."""
LUA = """
local visible = require('tideate.ui.text.escaping')
return vim.tbl_map(function(text) return { visible.text(text), visible.name(text) } end, ...)
"""


@pytest.mark.parametrize("name", ALL)
def test_a_name_is_shown_so_that_it_is_told_from_every_other(name: str) -> None:
    shown = label(ALL[name])
    assert shown.isascii() or name == "pile of Thai marks" or "\U0001f642" in shown
    assert original(shown) == ALL[name]


@pytest.mark.parametrize("name", ALL)
def test_an_argument_is_shown_as_json_of_the_same_value(name: str) -> None:
    shown = visible_json({"key": ALL[name], ALL[name]: [1]})
    assert json.loads(shown) == {"key": ALL[name], ALL[name]: [1]}
    assert not unseen(shown.replace("\n", ""))
    assert ALL[name] not in shown


@pytest.mark.parametrize("text", HONEST)
def test_what_people_write_in_their_languages_is_left_as_it_is(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize("name", ["a\\nb", "a\nb", "a\\\nb", "a\\\\nb", "\\u202e", "\u202e"])
def test_a_backslash_in_a_name_is_told_from_an_escape(name: str) -> None:
    others = {"a\\nb", "a\nb", "a\\\nb", "a\\\\nb", "\\u202e", "\u202e"} - {name}
    assert label(name) not in {label(other) for other in others}
    assert original(label(name)) == name


@pytest.mark.slow
def test_the_editor_shows_each_character_as_the_terminal_does(start_editor: EditorFactory) -> None:
    """Between letters, beside a Cyrillic letter and alone."""
    editor = start_editor()
    codes = [code for part in LOOKED_AT for code in part]
    texts = [f"x{chr(code)}y \u0434{chr(code)} {chr(code)}" for code in codes] + [*ALL.values(), *HONEST]
    texts = [text for text in texts if "\ud800" not in text]
    answered = zip(texts, editor.lua(LUA, texts), strict=True)
    differ = [(text, found) for text, found in answered if found != [visible(text), label(text)]]
    assert not differ[:5], len(differ)


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["a", "\x1b", "\u200b", "\u0430a ", " ", "\u0e49", '"\\'])
def test_a_long_text_takes_work_that_grows_with_it(piece: str) -> None:
    def show(text: str) -> None:
        visible_json([shortened_runs(visible(text))])

    assert_linear(lambda size: piece * size, show, 1_000)
    show(piece * (500_000 // len(piece)))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls" + " " * 5000 + "; rm -rf /", r"ls \x20{5000} ; rm -rf /"),
        ("ls" + "\t" * 5000 + "; rm -rf /", r"ls \t{5000} ; rm -rf /"),
        ("ls" + "\n" * 200 + "; rm -rf /", "ls\n\\n{200}\n; rm -rf /"),
    ],
)
def test_blanks_do_not_push_away_what_follows(text: str, shown: str) -> None:
    assert shortened_runs(text) == shown
