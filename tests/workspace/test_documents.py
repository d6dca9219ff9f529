from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from tideate_core.errors import NotText
from tideate_core.workspace import Document

PIECES = st.lists(st.sampled_from(["a", "é", "\r", "\n", "\r\n", "\ufeff", "\u2028", "\f", " "]))


@given(PIECES)
def test_every_text_file_comes_back_byte_for_byte(pieces: list[str]) -> None:
    data = "".join(pieces).encode()
    document = Document.decode(data)
    assert document.encode() == data
    assert document.encode(document.text) == data


def test_windows_line_ends_are_kept_for_new_lines() -> None:
    document = Document.decode(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert document.text == "one\ntwo"
    assert document.encode("one\nnew\ntwo") == b"\xef\xbb\xbfone\r\nnew\r\ntwo\r\n"


def test_mixed_line_ends_stay_in_their_lines() -> None:
    document = Document.decode(b"one\r\ntwo\nthree")
    assert (document.text, document.newline) == ("one\r\ntwo\nthree", "\n")
    assert document.encode("one\r\n2\nthree") == b"one\r\n2\nthree"


def test_a_missing_last_line_end_stays_missing() -> None:
    assert Document.decode(b"one\ntwo").encode("one\nthree") == b"one\nthree"


def test_a_text_in_an_empty_file_ends_with_a_line_end() -> None:
    assert Document.decode(b"").encode("one") == b"one\n"


def test_an_emptied_file_is_empty() -> None:
    assert Document.decode(b"one\n").encode("") == b""


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfea\0", b"caf\xe9\n", b"\xed\xa0\x80"])
def test_what_is_not_utf8_text_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(NotText, match=r"src/x\.bin"):
        Document.decode(data, "src/x.bin")


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_what_cannot_be_written_as_text_is_refused(text: str) -> None:
    with pytest.raises(NotText):
        Document().encode(text)
