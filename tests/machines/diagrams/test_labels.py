"""Width and sanitizing of text in diagrams."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from tideate_core.machines.diagrams.labels import cut, one_line, padded


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\n  b\tc", "a b c"),
        ("red\x1b[31m", "red[31m"),
        ("a\u202eb", "ab"),
        ("☎\ufe0f", "☎"),
        ("é漢", "é漢"),
    ],
)
def test_control_and_format_characters_go(text: str, cleaned: str) -> None:
    assert one_line(text) == cleaned


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("漢字", 3, "漢…"),
        ("a bcd", 3, "a…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_a_text_is_cut_to_its_room(text: str, room: int, shown: str) -> None:
    assert cut(text, room) == shown


def test_a_padded_text_takes_exactly_its_room() -> None:
    assert [cell_len(padded(text, 4)) for text in ("", "漢", "漢字漢", "abcdef")] == [4, 4, 4, 4]
