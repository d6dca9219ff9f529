# ruff: noqa: E501 - messages stand as they are told
"""Random texts and values: a definition, or mistakes with positions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tideate_core.workflows.json_reader import read_json
from tideate_core.workflows.parsing import FileFormat, WorkflowParser
from tideate_core.workflows.yaml_reader import PARSER_SLIPS, read_yaml

if TYPE_CHECKING:
    from tideate_core.workflows.mistakes import Located


SCALARS = st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | st.text(st.characters(codec="utf-8"), max_size=12)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=8), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@pytest.mark.slow
@given(VALUES, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_json_is_read_as_the_standard_library_reads_it(
    given_value: Any, indent: Any, ascii_only: bool
) -> None:
    text = json.dumps(given_value, indent=indent, ensure_ascii=ascii_only)
    root, problems = read_json(text)
    assert root is not None
    assert not problems
    assert root.value == json.loads(text)
    check_places(root, text)


def check_places(node: Located, text: str) -> None:
    """Each value stands where it is said to stand."""
    assert json.loads(text[node.start : node.end]) == node.value
    if isinstance(node.items, dict):
        for key, item in node.items.items():
            start, end = node.keys[key]
            assert json.loads(text[start:end]) == key
            check_places(item, text)
    elif node.items is not None:
        for item in node.items:
            check_places(item, text)


PIECES = st.sampled_from(
    [
        *("steps:", "\n", "\n  ", "\n    ", "- ", "id: ", "a", "b", ": ", "task: ", "{{ steps.a.result }}", "'", '"'),
        *("[", "]", "{", "}", ", ", "&x ", "*x", "<<: ", "!!int ", "!x ", "|", ">", "# c", "---", "%YAML", "\t", "?"),
        *("dependencies: ", "when: ", "for_each: ", "{{", "}}", "{%", "agent: ", "\\", "1", "null", "\r", "😀", "\ufeff"),
        *("output_schema: ", "{type: object}", "inputs: ", "workflow: ", "tool: ", "\x00", "\x85", "\u2028", "@", "`"),
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=60)
RELAXED = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])


@RELAXED
@given(TEXTS, st.sampled_from(["yaml", "json"]))
def test_any_text_gives_a_definition_or_mistakes_with_their_places(text: str, kind: FileFormat) -> None:
    parsed = WorkflowParser().parse(text, format=kind, name="w")
    lines = text.count("\n") + text.count("\r") + 1
    assert (parsed.definition is None) == any(m.severity == "error" for m in parsed.mistakes)
    for mistake in parsed.mistakes:
        assert 1 <= mistake.line <= mistake.end_line <= lines
        assert mistake.column >= 1
        assert (mistake.line, mistake.column) <= (mistake.end_line, mistake.end_column)
        assert mistake.message


@RELAXED
@given(st.binary(max_size=60))
def test_any_bytes_give_a_definition_or_mistakes(data: bytes) -> None:
    parsed = WorkflowParser().parse(data, format="yaml", name="w")
    assert parsed.definition is not None or parsed.mistakes


@pytest.mark.slow
@RELAXED
@given(VALUES, st.sampled_from([None, 2]))
def test_yaml_is_read_as_ruamel_reads_it(given_value: Any, indent: int | None) -> None:
    text = json.dumps(given_value, indent=indent, ensure_ascii=False)
    root, problems = read_yaml(text)
    try:
        expected = YAML(typ="safe", pure=True).load(text)
    except YAMLError:  # not every character that JSON may have
        assert problems
    else:
        assert not problems
        assert root is not None
        assert root.value == expected


@pytest.mark.slow
@RELAXED
@given(TEXTS)
def test_a_text_is_yaml_where_ruamel_reads_it(text: str) -> None:
    root, problems = read_yaml(text)
    try:
        yaml = YAML(typ="safe", pure=True)
        yaml.composer.warn_double_anchors = False
        yaml.compose(text)
    except (YAMLError, *PARSER_SLIPS):
        assert root is None
    assert problems or root is not None


KEYS = ["id", "name", "agent", "agentId", "task", "handler", "tool", "workflow", "machine", "dependencies", "when",
        "for_each", "forEach", "retries", "timeout", "output_schema", "confirm", "oops"]  # fmt: skip
STEP = st.dictionaries(st.sampled_from(KEYS), VALUES | st.sampled_from(["a", "b", ["a"], "{{ steps.a.result }}", {"items": "x"}]), max_size=6)  # fmt: skip
ROOT_KEYS = ["name", "id", "inputs", "context", "needs", "concurrency", "version", "metadata", "title"]


@pytest.mark.slow
@RELAXED
@given(
    st.dictionaries(st.sampled_from(ROOT_KEYS), VALUES, max_size=3),
    VALUES | st.lists(STEP | VALUES, max_size=4),
)
def test_any_values_give_a_definition_or_mistakes_in_words(root: dict[str, Any], steps: Any) -> None:
    parsed = WorkflowParser().parse(json.dumps({**root, "steps": steps}), format="json", name="w")
    for mistake in parsed.mistakes:
        words = f"{mistake.message} {mistake.hint}".lower()
        assert not any(
            jargon in words for jargon in ("input should", "pydantic", "valid string", "model_", "nonetype")
        )
