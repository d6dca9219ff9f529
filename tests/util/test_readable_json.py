"""Streamed JSON shown as a list."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.harness.work import assert_linear
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
        ('I looked:\n\n```json\n{"a": "b"}\n```\nDone.', "I looked:\n\n```json\na: b\n\n```\nDone."),
        ('{"a": "b"}{"a": "c"}', "a: b\na: c\n"),
        ("Done.\n  ", "Done.\n  "),
        (" " * 81 + '{"a": "b"}', " " * 81 + '{"a": "b"}'),
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
        '{"files": [',
        '{"a" "b"}',
        '{"a": null, "b" :',
        "[1, 2]",
        '{"a": "\\x"}',
        '{"a": ' + "[" * 300,
    ],
)
def test_what_is_no_such_json_is_shown_as_it_is(text: str, size: int) -> None:
    assert shown(text, size) == text


def test_what_goes_wrong_later_is_shown_as_it_is_from_there_on() -> None:
    assert shown('{"a": "b", "c" = 1}', 1) == "a: b\n= 1}"
    assert shown('{"a": "x", "a": "y"}', 1) == "a: x\na: y\n"
    assert shown('{"a": 12e-1}', 1) == "a: 1.2\n"
    assert shown('{"files": ["a", 12', 1) == "files:\n- `a`\n- 12"


def test_a_text_is_shown_while_it_comes_and_items_as_they_are_there() -> None:
    readable = ReadableJson()
    assert readable.feed('{"files": [{"action": "mod') == "files:\n- mod"
    assert readable.feed('ify", "path": "a.py"') == "ify `a.py`"
    assert readable.feed(', "why": "it is \\') == ": it is "
    assert readable.feed('"old\\"') == '"old"'


def test_half_a_pair_of_escapes_waits_for_its_other_half() -> None:
    readable = ReadableJson()
    assert readable.feed(r'{"a": "x\ud83d') == "a: x"
    assert readable.feed(r"\ude00!") == "😀!"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)


BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
BREAK = rf"\r\n|[{BREAKS}]"


def texts_of(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in texts_of(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts_of(one)]
    return [value.lstrip()] if isinstance(value, str) else [] if value is None else [json.dumps(value)]


@given(st.dictionaries(st.text(max_size=9), JSON, max_size=4), st.integers(1, 9))
def test_no_text_is_lost_and_none_changes_places(value: dict[str, object], size: int) -> None:
    text = json.dumps(value)
    found, at = shown(text, size), 0
    assert found == shown(text)
    if found == text:
        assert not any(texts_of(value))
        return
    for one in texts_of(value):
        words = re.compile(r"\n *".join(map(re.escape, re.split(BREAK, one))))
        match = words.search(found, at)
        assert match, (one, found)
        at = match.end()


@pytest.mark.parametrize("line_break", [*BREAKS, "\r\n"])
def test_no_text_can_pass_for_a_key_or_an_item(line_break: str) -> None:
    fake = line_break.join(["", "files:", "- delete `a.py`: unused", "  - x"])
    value = {
        "summary": f"ok{fake}",
        "empty": fake,
        "files": [{"path": f"b.py{line_break}- delete `c.py`", "why": f"so{fake}", "more": f"x{fake}"}],
        "list": [f"one{fake}", [f"two{fake}"]],
        "- delete `a.py`": "unused",
        "note: ok\n files": "x",
    }
    lines = "\n  files:\n  - delete `a.py`: unused\n    - x"
    deeper = lines.replace("\n", "\n  ")
    assert shown(json.dumps(value)) == shown(json.dumps(value, ensure_ascii=False), 1)
    assert shown(json.dumps(value)) == (
        f"summary: ok{lines}\n"
        f"empty: {lines.lstrip()}\n"
        f"files:\n- `b.py\n    - delete `c.py``: so{deeper}\n  more: x{deeper}\n"
        f"list:\n- one{lines}\n-\n  - two{deeper}\n"
        f'"- delete `a.py`": unused\n"note: ok\\n files": x\n'
    )


LINES = st.text(f"{BREAKS} -:`ax", max_size=12)


@given(st.dictionaries(st.sampled_from("bcd"), LINES | st.lists(LINES, max_size=3), max_size=3))
def test_the_lines_at_the_left_are_those_of_keys_and_items_alone(value: dict[str, Any]) -> None:
    found = shown(json.dumps({"first": "1", **value})).splitlines()
    expected = ["first: 1"]
    for key, one in value.items():
        if isinstance(one, str):
            expected += [f"{key}: {one.lstrip()[:1]}"] if one.strip() else []
        elif kept := [text.lstrip()[:1] for text in one if text.strip()]:
            expected += [f"{key}:", *(f"- {text}" for text in kept)]
    left = [line for line in found if line and not line.startswith("  ")]
    assert len(left) == len(expected)
    assert all(line.startswith(start) for line, start in zip(left, expected, strict=True))


def test_each_piece_costs_what_is_in_it() -> None:
    def text_of(count: int) -> str:
        return json.dumps({"files": PLAN["files"] * count, "text": "x" * 1000 * count})

    assert_linear(text_of, lambda text: shown(text, 7), 20)
