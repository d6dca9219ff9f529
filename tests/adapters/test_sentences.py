"""Streams of whole sentences."""

from __future__ import annotations

import pytest

from tideate_core.adapters.sentences import WholeSentences


def streamed(text: str, *, truncated: bool) -> tuple[str, list[str]]:
    parts: list[str] = []
    sentences = WholeSentences(parts.append, 0)
    for character in text:
        sentences.take(character)
    return sentences.end(text, truncated=truncated), parts


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("One. Two? Thr", "One. Two?"),
        ('He said "no." Then he', 'He said "no."'),
        ("Version 3.11 is ne", "Version 3.11 is ne"),
        ("# List\n- one\n- tw", "# List\n- one"),
        ("One. Two.", "One."),
        ("no end", "no end"),
        ("\n\nno end", "\n\nno end"),
    ],
)
def test_a_truncated_answer_ends_at_its_last_whole_sentence(text: str, whole: str) -> None:
    answer, parts = streamed(text, truncated=True)
    assert answer == whole
    assert "".join(parts).rstrip() == whole.rstrip()


@pytest.mark.parametrize("text", ["One. Two.", "One. Two? Thr", "x = 1\ny", ""])
def test_a_whole_answer_is_unchanged(text: str) -> None:
    answer, parts = streamed(text, truncated=False)
    assert answer == "".join(parts) == text


def test_an_answer_that_cannot_be_cut_off_yet_streams_as_it_comes() -> None:
    parts: list[str] = []
    sentences = WholeSentences(parts.append, 5)
    for part in ("one, two, three", "four"):
        sentences.take(part)
    assert parts == []
    sentences = WholeSentences(parts.append, 100)
    sentences.take("one, two")
    assert parts == ["one, two"]
