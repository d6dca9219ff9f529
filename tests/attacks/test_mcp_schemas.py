"""A hostile MCP server with schemas that take time, memory or an address, and invalid results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.hostile import bounded, connected, said
from tests.harness.hostile_web import web
from tideate_core.errors import InvalidAnswer, ToolError
from tideate_core.mcp.client.tools import Tool, ToolResult, check_arguments, check_result

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.bulk, pytest.mark.attack, pytest.mark.slow]

DEEP: dict[str, Any] = {"type": "string"}
for _ in range(80):
    DEEP = {"type": "object", "properties": {"a": DEEP}}


def doubling(word: str) -> dict[str, Any]:
    """A schema that doubles its work at each of 40 levels."""
    levels = {f"l{n}": {word: [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(40)}
    return {"$ref": "#/$defs/l0", "$defs": {**levels, "l40": {"type": "object"}}}


BOMBS: dict[str, dict[str, Any]] = {
    "itself": {"$ref": "#"},
    "two that name each other": {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    },
    "itself, dynamically": {"$dynamicAnchor": "a", "$dynamicRef": "#a"},
    "itself, in an earlier draft": {
        "$schema": "https://json-schema.org/draft/2019-09/schema",
        "$recursiveAnchor": True,
        "$recursiveRef": "#",
    },
    "all of": doubling("allOf"),
    "any of": {**doubling("anyOf"), "not": {"$ref": "#/$defs/l0"}},
    "one of": doubling("oneOf"),
    "not not": {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"not": {"not": {"allOf": [{"$ref": "#/$defs/a"}] * 2}}}},
    },
    "if": {"if": {"$ref": "#"}, "then": {"$ref": "#"}},
    "unevaluated": {"unevaluatedProperties": False, "allOf": [doubling("allOf")]},
    "unevaluated, and itself": {"unevaluatedProperties": False, "$ref": "#"},
    "backtracking": {"properties": {"text": {"pattern": "^(a+)+$"}}},
    "backtracking twice": {"properties": {"text": {"pattern": "(a|a)*(a|aa)*b"}}},
    "backtracking look-ahead": {"properties": {"text": {"pattern": "(?=(a+)+$)b"}}},
    "backtracking reference": {"properties": {"text": {"pattern": r"^(a*)*\1b$"}}},
    "backtracking names": {"propertyNames": {"pattern": "^(a+)+$"}},
    "backtracking names of patterns": {"patternProperties": {"^(a+)+$": {}}, "additionalProperties": False},
    "backtracking in an earlier draft": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"text": {"pattern": "^(a+)+$"}},
    },
    "huge repetitions": {"properties": {"text": {"pattern": "((a{1,1000}){1,1000}){1,1000}b"}}},
    "many repetitions": {
        "properties": {"text": {"allOf": [{"pattern": f"(a{{0,900}}x?){{{n}}}b"} for n in range(1000)]}}
    },
    "a long pattern": {"properties": {"text": {"pattern": "(a?){0,9}" * 20_000}}},
    "a pattern of brackets": {"properties": {"text": {"pattern": "(" * 5_000 + ")" * 5_000}}},
    "a pattern that is none": {"properties": {"text": {"pattern": "(("}}},
    "a pattern that is a number": {"properties": {"text": {"pattern": 5}}},
    "deep": DEEP,
    "wide": {"required": [f"n{n}" for n in range(20_000)]},
    "many names that are near": {
        "properties": {f"tex{n}" * 10: {} for n in range(3_000)},
        "additionalProperties": False,
    },
    "of a number": {"properties": {"number": {"multipleOf": 1e-300}}},
    "by nothing": {"properties": {"number": {"multipleOf": 0}}},
    "no type": {"type": "nothing"},
    "no keyword": {"properties": {"text": {"minLength": "a"}}},
    "another language": {"$schema": "http://example.invalid/schema#", "$ref": "#"},
}
GIVEN = {"text": "a" * 3_000 + "!", "number": 1e300, "a" * 40 + "!": 1, "a": {"a": {}}}


def act(**schemas: Any) -> Tool:
    return Tool("evil", "act", **schemas)


@pytest.mark.parametrize("kind", BOMBS)
def test_a_schema_of_arguments_takes_no_time(kind: str) -> None:
    with bounded():
        try:
            check_arguments(act(input_schema=BOMBS[kind]), GIVEN)
        except ToolError as error:
            assert len(str(error)) < 5_000


@pytest.mark.parametrize("kind", BOMBS)
def test_a_schema_of_results_takes_no_time(kind: str) -> None:
    with bounded():
        try:
            check_result(act(output_schema=BOMBS[kind]), GIVEN)
        except ToolError as error:
            assert len(str(error)) < 5_000


LARGE: dict[str, tuple[dict[str, Any], Any]] = {
    "unique": ({"properties": {"a": {"uniqueItems": True}}}, [{"n": n} for n in range(30_000)]),
    "unique lists": ({"properties": {"a": {"uniqueItems": True}}}, [[n, {}] for n in range(30_000)]),
    "one of many": ({"properties": {"a": {"items": {"enum": list(range(10_000))}}}}, [-1] * 50_000),
    "contains": ({"properties": {"a": {"contains": {"contains": {}}}}}, [[0] * 300] * 300),
    "patterns": ({"properties": {"a": {"items": {"pattern": "(a|b|c){0,50}d"}}}}, ["a" * 900] * 5_000),
    "a long text": ({"properties": {"a": {"pattern": "(.{0,90}x){9}y"}}}, "ab" * 1_000_000),
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_large_result_against_its_own_schema_takes_no_time(kind: str) -> None:
    schema, value = LARGE[kind]
    with bounded():
        try:
            check_result(act(output_schema=schema), {"a": value})
        except InvalidAnswer as error:
            assert len(str(error)) < 5_000


async def called(folder: Path, behaviour: str = "", limit: float = 60, **say: Any) -> ToolResult | ToolError:
    async with connected(folder, behaviour, **say) as client:
        try:
            return await client.call("evil", "act", {"text": "a"}, timeout=limit)
        except ToolError as error:
            return error


@pytest.mark.parametrize("kind", ["backtracking", "all of", "itself"])
async def test_over_a_connection_neither_does(kind: str, tmp_path: Path) -> None:
    shape = {"type": "object", **BOMBS[kind]}
    tool = {"name": "act", "inputSchema": {"type": "object"}, "outputSchema": shape}
    result = {"content": [], "structuredContent": {"text": "a" * 50 + "!"}}
    with bounded():
        outcome = await called(tmp_path, tools=[tool], result=result)
    assert isinstance(outcome, ToolResult | InvalidAnswer)


async def test_a_result_that_does_not_fit_its_schema_is_an_error(tmp_path: Path) -> None:
    shape = {"type": "object", "properties": {"n": {"type": "integer"}}}
    tool = {"name": "act", "inputSchema": {"type": "object"}, "outputSchema": shape}
    wrong = await called(
        tmp_path / "a", tools=[tool], result={"content": [], "structuredContent": {"n": "x"}}
    )
    assert isinstance(wrong, InvalidAnswer)
    none = await called(tmp_path / "b", tools=[tool], result={"content": []})
    assert isinstance(none, InvalidAnswer)


REFERENCES = (
    "$ref",
    "$dynamicRef",
    "$schema",
    "$id",
    "format",
    "contentMediaType",
    "icon",
    "link",
    "embedded",
)


@pytest.mark.parametrize("way", REFERENCES)
async def test_no_address_that_a_server_names_is_visited(way: str, tmp_path: Path) -> None:
    with web() as it:
        await _name(f"{it.url}/schema.json", way, tmp_path)
    assert it.asked == []


async def _name(address: str, way: str, folder: Path) -> None:
    """Name an address in the schema or the result of a tool."""
    shape: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}
    tool: dict[str, Any] = {"name": "act", "inputSchema": shape}
    parts: list[dict[str, Any]] = []
    if way in ("$ref", "$dynamicRef"):
        shape["properties"]["text"] = {way: address}
        tool["outputSchema"] = {"type": "object", "properties": {"text": {way: address}}}
    elif way in ("$schema", "$id"):
        shape[way] = address
        tool["outputSchema"] = {
            "type": "object",
            way: address,
            "properties": {"text": {"$ref": "other.json"}},
        }
    elif way in ("format", "contentMediaType"):
        shape["properties"]["text"] = {
            "format": "uri",
            "contentMediaType": address,
            "contentSchema": {"$ref": address},
        }
    elif way == "icon":
        tool["icons"] = [{"src": address, "mimeType": "image/png"}]
    elif way == "link":
        parts = [{"type": "resource_link", "uri": address, "name": "x"}]
    else:
        parts = [{"type": "resource", "resource": {"uri": address, "text": "x"}}]
    await called(folder, tools=[tool], result={"content": parts, "structuredContent": {"text": "a"}})


@pytest.mark.parametrize("way", ["link", "embedded", "schema"])
async def test_no_file_that_a_server_names_is_read(way: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"const": "the secret"}')
    tool: dict[str, Any] = {"name": "act", "inputSchema": {"type": "object"}}
    parts: list[dict[str, Any]] = []
    if way == "schema":
        tool["inputSchema"] = {"type": "object", "properties": {"text": {"$ref": secret.as_uri()}}}
    elif way == "link":
        parts = [{"type": "resource_link", "uri": secret.as_uri(), "name": "x"}]
    else:
        parts = [{"type": "resource", "resource": {"uri": secret.as_uri(), "text": "x"}}]
    outcome = await called(tmp_path, tools=[tool], result={"content": parts})
    assert "the secret" not in str(outcome)
    assert "the secret" not in "\n".join(said(tmp_path))


RAW: dict[str, bytes] = {
    "not a number": b'{"content":[],"structuredContent":{"a":NaN}}',
    "infinity": b'{"content":[],"structuredContent":{"a":[-Infinity]}}',
    "overflow": b'{"content":[],"structuredContent":{"a":1e999}}',
    "ten thousand digits": b'{"content":[],"structuredContent":{"a":' + b"1" * 10_000 + b"}}",
    "half a character": b'{"content":[],"structuredContent":{"a":"\\ud800"}}',
    "half a character in a text": b'{"content":[{"type":"text","text":"\\udfff"}]}',
    "half a character in a name": b'{"content":[],"structuredContent":{"\\ud800":1}}',
    "no UTF-8": b'{"content":[{"type":"text","text":"\xff\xfe"}]}',
    "200 levels": b'{"content":[],"structuredContent":{"a":' + b"[" * 190 + b"]" * 190 + b"}}",
    "twice": b'{"content":[],"structuredContent":{"a":1,"a":2}}',
    "an unknown part": b'{"content":[{"type":"command","run":"rm"}]}',
    "no content": b'{"text":"a"}',
    "a list": b"[]",
    "null": b"null",
    "a text": b'"done"',
    "a text in parts": b'{"content":"done"}',
    "an error that is text": b'{"content":[],"isError":"no"}',
    "an image that is none": b'{"content":[{"type":"image","data":"\\u001b[2J","mimeType":"\\u001b[2J"}]}',
    "audio": b'{"content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]}',
    "a large image": b'{"content":[{"type":"image","data":"'
    + b"A" * 6_000_000
    + b'","mimeType":"image/png"}]}',
    "odd meta": b'{"content":[],"_meta":{"progressToken":[],"io.modelcontextprotocol/x":null}}',
}


@pytest.mark.parametrize("kind", RAW)
async def test_a_result_is_json_or_an_error(kind: str, tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(b'{"jsonrpc":"2.0","id":ID,"result":' + RAW[kind] + b"}")
    with bounded():
        outcome = await called(tmp_path, "raw result", 0.3)
    if isinstance(outcome, ToolResult):
        text = json.dumps(outcome.value, allow_nan=False, ensure_ascii=False)
        assert json.loads(text.encode()) == outcome.value
    assert len(str(outcome)) < 5_000
