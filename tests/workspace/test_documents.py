"""Text files: decoding, encoding and line ends."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from tideate_core.errors import NotText
from tideate_core.workspace import Document, FileChange, keep_line_ends, with_kept_line_ends

PIECES = st.lists(st.sampled_from(["a", "é", "\r", "\n", "\r\n", "\ufeff", "\u2028", "\f", " "]))


@given(PIECES)
def test_every_text_file_comes_back_byte_for_byte(pieces: list[str]) -> None:
    data = "".join(pieces).encode()
    document = Document.decode(data)
    assert document.encode() == data
    assert document.encode(document.text) == data


@pytest.mark.parametrize(
    ("data", "text", "new", "wanted"),
    [
        (b"\xef\xbb\xbfone\r\ntwo\r\n", "one\ntwo", "one\nnew", b"\xef\xbb\xbfone\r\nnew\r\n"),
        (b"one\r\ntwo\nthree", "one\r\ntwo\nthree", "one\r\n2\nthree", b"one\r\n2\nthree"),
        (b"one\ntwo", "one\ntwo", "one\nthree", b"one\nthree"),
        (b"", "", "one", b"one\n"),
        (b"one\n", "one", "", b""),
    ],
    ids=["BOM and CRLF", "mixed ends", "no last end", "empty", "emptied"],
)
def test_a_new_text_gets_the_style_of_the_file(data: bytes, text: str, new: str, wanted: bytes) -> None:
    document = Document.decode(data)
    assert (document.text, document.encode(new)) == (text, wanted)


@pytest.mark.parametrize("data", [b"a\0b", b"\xff\xfea\0", b"caf\xe9\n", b"\xed\xa0\x80"])
def test_what_is_not_utf8_text_is_refused_by_name(data: bytes) -> None:
    with pytest.raises(NotText, match=r"src/x\.bin"):
        Document.decode(data, "src/x.bin")


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_what_cannot_be_written_as_text_is_refused(text: str) -> None:
    with pytest.raises(NotText):
        Document().encode(text)


MIXED = "".join(f"line {number}\r\n" for number in range(5)) + "x\n"


def edited(data: str, after: str) -> str:
    """Return a file's bytes after an edit with LF line ends."""
    document = Document.decode(data.encode())
    return document.encode(keep_line_ends(document.text, after.removesuffix("\n"))).decode()


@pytest.mark.parametrize(
    ("data", "change"),
    [
        (MIXED, ("line 2", "LINE 2")),
        (MIXED, ("line 4\nx", "LINE 4\nX")),
        (MIXED, ("x\n", "X\n")),
        ("a\nb\r\n", ("b", "B")),
        ("a\rb\rc\r", ("b", "B")),
        ("a\rb\r\nc\nd", ("c", "C")),
        ("a\x0b\r\nb\x85\nc\u2028\x0c\r\n", ("b", "B")),
        ("\r\n\na\r\n\n", ("a", "A")),
    ],
)
def test_a_changed_line_and_all_others_keep_their_ends(data: str, change: tuple[str, str]) -> None:
    answer = re.sub("\r\n|\r", "\n", data)
    assert change[0] in answer
    ends = re.findall("\r\n|\r|\n", data)
    found = edited(data, answer.replace(*change))
    assert re.findall("\r\n|\r|\n", found) == ends
    assert re.sub("\r\n|\r", "\n", found) == answer.replace(*change)


@pytest.mark.parametrize(
    ("data", "answer", "wanted"),
    [
        ("a\r\nb\r\nc\n", "a\nnew\nb\nc\n", "a\r\nnew\r\nb\r\nc\n"),
        ("a\nb\r\nc\n", "new\na\nb\nc\n", "new\na\nb\r\nc\n"),
        ("a\r\nb\nc\n", "new\na\nb\nc\n", "new\r\na\r\nb\nc\n"),
        ("a\r\nb\n", "a\n", "a\r\n"),
        ("a\r\nb\n", "a\nb\nc\n", "a\r\nb\nc\n"),
        ("a\nb\r\n", "a\nb\nc\n", "a\nb\r\nc\r\n"),
        ("a\nb\n", "a\r\nB\r\n", "a\nB\n"),
        ("a\r\nb\r\n", "a\r\nB\r\n", "a\r\nB\r\n"),
        ("progress\r50%\n", "progress\r60%\rdone\n", "progress\r60%\rdone\n"),
    ],
)
def test_new_lines_take_the_ends_around_them(data: str, answer: str, wanted: str) -> None:
    assert edited(data, answer) == wanted


@given(st.lists(st.tuples(st.sampled_from("abc\x0b\x85"), st.sampled_from(["\n", "\r\n", "\r"])), min_size=1))
def test_an_answer_with_the_same_lines_changes_nothing(lines: list[tuple[str, str]]) -> None:
    data = "".join(f"{number}{line}{end}" for number, (line, end) in enumerate(lines))
    assert edited(data, re.sub("\r\n|\r", "\n", data)) == data


def test_bytes_that_are_known_are_not_touched() -> None:
    change = FileChange("a", "modify", "a\r\nb\n", "a\nb\n", exact=True)
    assert with_kept_line_ends(change) is change
