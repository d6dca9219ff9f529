"""Parsing of `.tideate/context.json`, and the positions of errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from tideate_core.errors import ConfigError
from tideate_core.mentions.mapping import LARGEST, Target, parse_context_map, read_context_map

if TYPE_CHECKING:
    from pathlib import Path


def write(root: Path, content: str | bytes) -> None:
    path = root / ".tideate" / "context.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def test_without_the_file_there_are_no_names(root: Path, tmp_path: Path) -> None:
    assert read_context_map(root) == {}
    assert read_context_map(tmp_path / "nowhere") == {}
    assert read_context_map(None) == {}


def test_names_stand_for_paths_and_texts_in_their_order(root: Path) -> None:
    write(root, '{"version": "1.0.0", "mappings": {"@B": "b.md#x", "@A": {"text": "short"}}}')
    found = read_context_map(root)
    assert list(found.items()) == [("@B", Target("b.md#x")), ("@A", Target(text="short"))]


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        ("", "1:1", "Expecting value"),
        ('{"version": "1.0.0",\n "mappings": {"@A": "a",}}', "2:25", "property name"),
        ('{\n  // names\n  "mappings": {}}', "2:3", "property name"),
        ('{"mappings": {"@A": \'a\'}}', "1:21", "Expecting value"),
        ('{"mappings": {"@A": "a"\n "@B": "b"}}', "2:2", "Expecting ',' delimiter"),
        ("[]", "1:1", "this is not an object"),
        (json.dumps({"mappings": {f"@N{n}": "a" for n in range(1_001)}}), "1:2", "at most 1,000"),
        ('{"mapings": {}}', "1:2", "did you mean 'mappings'"),
        ('{"version": "2.0.0"}', "1:2", "update tideate"),
        ('{"version": 1}', "1:2", "the version 1 is not known"),
        ('{"mappings": [{"a": 1}, {"a": 2}]}', "1:2", "`mappings` is not an object"),
        ('{"mappings": {\n  "Api": "a.md"}}', "2:3", 'write "@Api"'),
        ('{"mappings": {"@my api": "a.md"}}', "1:15", 'write "@my_api"'),
        ('{"mappings": {"@diff": "a.md"}}', "1:15", "is built in"),
        ('{"mappings": {"@A":\n    7}}', "1:15", "neither a path nor a text"),
        ('{"mappings": {"@A": {"file": "a"}}}', "1:15", "neither a path nor a text"),
        ('{"mappings": {"@A": ""}}', "1:15", "neither a path nor a text"),
        ('{"mappings": {"@A": "a",\n "@A": "b"}}', "1:15", "given twice"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_to_do(
    root: Path, content: str, place: str, words: str
) -> None:
    write(root, content)
    with pytest.raises(ConfigError, match=words) as caught:
        read_context_map(root)
    assert str(caught.value).startswith(f".tideate/context.json:{place}: ")


def test_a_file_that_is_no_utf8_is_told_with_its_place(root: Path) -> None:
    write(root, b'{\n "a\xff": 1}')
    with pytest.raises(ConfigError, match=r"context\.json:2:4: not UTF-8"):
        read_context_map(root)


def test_a_byte_order_mark_is_no_mistake(root: Path) -> None:
    write(root, b'\xef\xbb\xbf{"mappings": {"@A": "a"}}')
    assert list(read_context_map(root)) == ["@A"]


def test_a_link_out_of_the_project_is_not_read(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text('{"mappings": {"@A": "a"}}')
    (root / ".tideate" / "context.json").symlink_to(outside)
    with pytest.raises(ConfigError, match="it is a link, or there is a link"):
        read_context_map(root)


def test_a_file_that_is_far_too_large_is_not_read(root: Path) -> None:
    write(root, " " * (LARGEST + 1))
    with pytest.raises(ConfigError, match="larger than"):
        read_context_map(root)


def test_a_directory_in_its_place_is_told(root: Path) -> None:
    (root / ".tideate" / "context.json").mkdir()
    with pytest.raises(ConfigError, match="it is not a regular file"):
        read_context_map(root)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(["version", "mappings", "@A", "x"]), JSON, max_size=4))
def test_any_json_is_read_or_refused_with_a_place(value: dict[str, object]) -> None:
    try:
        parse_context_map(json.dumps(value, indent=1))
    except ConfigError as error:
        assert str(error).startswith(".tideate/context.json:")


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        parse_context_map(text)
    except ConfigError as error:
        assert str(error).startswith(".tideate/context.json:")
