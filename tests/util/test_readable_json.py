"""JSON that streams, shown as a list."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, strategies as st

from tests.support.work import assert_linear
from tideate_core.util.readable_json import ReadableJson

PLAN = {
    "files": [
        {"action": "modify", "path": "src/__init__.py", "why": "the name\nand more"},
        {"action": "move", "path": "a.py", "move_to": "b.py", "why": "", "more": None},
        {"path": "c.py", "why": "new", "action": "create", "lines": [1, 2.5], "sure": True},
    ]
}
PLAN_SHOWN = """files:
- modify `src/__init__.py`: the name
  and more
- move `a.py` → `b.py`
- `c.py`: new create
  lines:
    - 1
    - 2.5
  sure: true
"""
TASK = {
    "objective": 'Say "hello" 😀',
    "steps": [
        {"type": "edit", "description": "Change it.", "files": ["a.py", "b.py"]},
        {"type": "check", "description": "Run it.", "files": []},
    ],
    "rollback_strategy": "git revert",
    "more": {"deep": {"of": "x"}, "none": {}},
}
TASK_SHOWN = """objective: Say "hello" 😀
steps:
- edit: Change it.
  files:
    - `a.py`
    - `b.py`
- check: Run it.
rollback strategy: git revert
more:
  deep:
    of: x
"""


def shown(text: str, size: int = 1 << 20) -> str:
    readable = ReadableJson()
    pieces = [readable.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return "".join([*pieces, readable.end()])


@pytest.mark.parametrize("size", [1, 2, 5, 1 << 20])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(("value", "expected"), [(PLAN, PLAN_SHOWN), (TASK, TASK_SHOWN)])
def test_an_object_is_shown_as_a_list_however_it_is_cut(
    value: object, expected: str, indent: int | None, size: int
) -> None:
    assert shown(json.dumps(value, indent=indent), size) == expected
    assert shown(json.dumps(value, indent=indent, ensure_ascii=False), size) == expected


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('I looked:\n\n```json\n{"a": "b"}\n```\nDone.', "I looked:\n\na: b\nDone."),
        ('{"a": "b"}\n```', "a: b\n\n```"),
        ('```\n{"a": "b"}\n```', "a: b\n"),
        ('{"a": "b"}{"a": "c"}', "a: b\na: c\n"),
        ("plain {x}\n`code` and\n```py\nx = {}\n```\n", "plain {x}\n`code` and\n```py\nx = {}\n```\n"),
    ],
)
def test_what_stands_around_it_is_shown_as_it_is(text: str, expected: str, size: int) -> None:
    assert shown(text, size) == expected


@pytest.mark.parametrize("size", [1, 4, 1 << 20])
@pytest.mark.parametrize(
    "text",
    [
        "{not json}",
        '{"a": yes}',
        "{}",
        '{"files": []}',
        '{"files": [',
        '{"a" "b"}',
        "{" * 3,
        '{"a": null, "b" :',
        "[1, 2]",
        "```",
        "```json\n",
        '{"a": "\\x"}',
        '{"a": ' + "[" * 60,
    ],
)
def test_what_is_no_such_json_is_shown_as_it_is(text: str, size: int) -> None:
    assert shown(text, size) == text


def test_what_goes_wrong_later_is_shown_as_it_is_from_there_on() -> None:
    assert shown('{"a": "b", "c": 12 "d"}', 1) == 'a: b\nc: 12\n"d"}'
    assert shown('{"a": "b", "c" = 1}', 1).endswith("= 1}")


def test_a_text_is_shown_while_it_comes_and_items_as_they_are_there() -> None:
    readable = ReadableJson()
    assert readable.feed('{"files": [{"action": "mod') == "files:\n- mod"
    assert readable.feed('ify", "path": "a.py", "why": "it is \\') == "ify `a.py`: it is "
    assert readable.feed('"old\\"') == '"old"'


def test_half_a_pair_of_escapes_waits_for_its_other_half() -> None:
    readable = ReadableJson()
    assert readable.feed(r'{"a": "x\ud83d') == "a: x"
    assert readable.feed(r"\ude00") == "😀"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)


def texts_of(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in texts_of(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts_of(one)]
    return [value] if isinstance(value, str) else [] if value is None else [json.dumps(value)]


@given(st.dictionaries(st.text(max_size=9), JSON, max_size=4), st.integers(1, 9))
def test_no_text_is_lost_and_none_changes_places(value: dict[str, object], size: int) -> None:
    text = json.dumps(value)
    found, at = shown(text, size), 0
    assert found == shown(text)
    if found == text:
        assert not any(texts_of(value))
        return
    for one in texts_of(value):
        words = re.compile(r"\n *".join(map(re.escape, one.split("\n"))))
        match = words.search(found, at)
        assert match, (one, found)
        at = match.end()


@given(st.text('{}[]",:\\ \nau0`dn', max_size=40), st.integers(1, 9))
def test_any_text_is_shown_the_same_however_it_is_cut(text: str, size: int) -> None:
    assert shown(text, size) == shown(text)


def test_each_piece_costs_what_is_in_it() -> None:
    def text_of(count: int) -> str:
        return json.dumps({"files": PLAN["files"] * count, "text": "x" * 1000 * count})

    assert_linear(text_of, lambda text: shown(text, 7), 20)
