"""Edits of language servers are applied at their exact positions, in any position encoding."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st

from tideate_core.agents.tools.workspace_edit import (
    DocumentEdit,
    Encoding,
    TextEdit,
    apply_edits,
    parse_workspace_edit,
)
from tideate_core.errors import ToolError

ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)
UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
TEXTS = st.text(st.sampled_from("ab \täß\u0301漢😀👩\u200d\n"), max_size=40)


def position(text: str, at: int, encoding: str) -> dict[str, int]:
    """Return the position of a character, by a simple reference algorithm."""
    codec, width = UNITS[encoding]
    before = text[:at].split("\n")
    return {"line": len(before) - 1, "character": len(before[-1].encode(codec)) // width}


def edit(start: dict[str, int], end: dict[str, int], text: str) -> TextEdit:
    return TextEdit.model_validate({"range": {"start": start, "end": end}, "newText": text})


def at(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


@given(TEXTS, st.lists(st.integers(0, 40), max_size=8), st.sampled_from(ENCODINGS), TEXTS)
def test_ranges_are_replaced_whatever_stands_before_them(
    text: str, cuts: list[int], encoding: Encoding, new: str
) -> None:
    places = sorted({min(cut, len(text)) for cut in cuts})
    spans = list(zip(places[::2], places[1::2], strict=False))
    edits = [edit(position(text, a, encoding), position(text, b, encoding), new) for a, b in spans]
    expected, last = "", 0
    for start, end in spans:
        expected += text[last:start] + new
        last = end
    assert apply_edits(text, edits[::-1], encoding) == expected + text[last:]


def test_insertions_at_one_place_keep_their_order() -> None:
    here = at(0, 1)
    assert apply_edits("ab", [edit(here, here, "1"), edit(here, here, "2")], "utf-16") == "a12b"


@pytest.mark.parametrize("end", [at(2, 0), at(2**31 - 1, 2**31 - 1)])
def test_a_range_behind_the_last_line_ends_with_the_text(end: dict[str, int]) -> None:
    assert apply_edits("a\nb", [edit(at(0, 0), end, "c\n")], "utf-16") == "c"


def test_a_position_behind_a_line_is_its_end() -> None:
    assert apply_edits("ä\nb", [edit(at(0, 99), at(0, 99), "!")], "utf-8") == "ä!\nb"


def test_line_ends_of_other_systems_become_ours() -> None:
    assert apply_edits("a", [edit(at(0, 0), at(0, 1), "x\r\ny\rz")], "utf-16") == "x\ny\nz"


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 1), ("utf-16", 1), ("utf-8", 3)])
def test_a_position_inside_of_a_character_is_refused(encoding: Encoding, character: int) -> None:
    with pytest.raises(ToolError, match="cuts a character of line 1"):
        apply_edits("😀", [edit(at(0, character), at(0, character), "x")], encoding)


def test_edits_that_overlap_are_refused() -> None:
    with pytest.raises(ToolError, match="overlap"):
        apply_edits("abcd", [edit(at(0, 0), at(0, 3), "x"), edit(at(0, 2), at(0, 4), "y")], "utf-16")


def test_a_text_with_line_ends_that_only_servers_see_is_refused() -> None:
    with pytest.raises(ToolError, match="carriage returns"):
        apply_edits("a\rb", [edit(at(0, 0), at(0, 1), "x")], "utf-16")


CHANGE: dict[str, Any] = {"range": {"start": at(0, 0), "end": at(0, 1)}, "newText": "x"}


def test_operations_come_in_the_servers_order_and_count_more_than_changes() -> None:
    text = json.dumps(
        {
            "changes": {"file:///ignored": [CHANGE]},
            "documentChanges": [
                {"kind": "create", "uri": "file:///a", "options": {"ignoreIfExists": True}},
                {"textDocument": {"uri": "file:///a", "version": None}, "edits": [CHANGE]},
                {"kind": "rename", "oldUri": "file:///a", "newUri": "file:///b"},
                {"kind": "delete", "uri": "file:///c"},
            ],
        }
    )
    operations = parse_workspace_edit(text)
    assert [type(one).__name__ for one in operations] == [
        "CreateFile",
        "DocumentEdit",
        "RenameFile",
        "DeleteFile",
    ]


def test_changes_by_file_are_read_where_there_is_nothing_else() -> None:
    (one,) = parse_workspace_edit(json.dumps({"changes": {"file:///a": [CHANGE]}}))
    assert isinstance(one, DocumentEdit)
    assert (one.text_document.uri, one.edits[0].new_text) == ("file:///a", "x")


@pytest.mark.parametrize(
    "wrong",
    [
        "[]",
        "{",
        json.dumps({"changes": {"file:///a": [{"range": CHANGE["range"], "snippet": {"value": "$1"}}]}}),
        json.dumps({"changes": {"file:///a": [{**CHANGE, "range": {"start": at(-1, 0), "end": at(0, 0)}}]}}),
        json.dumps({"documentChanges": [{"kind": "run", "uri": "file:///a"}]}),
    ],
)
def test_an_edit_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(ToolError, match="cannot be used"):
        parse_workspace_edit(wrong)


def test_more_edits_than_anyone_reviews_are_refused() -> None:
    with pytest.raises(ToolError, match="20,001 edits"):
        parse_workspace_edit(json.dumps({"changes": {"file:///a": [CHANGE] * 20_001}}))
