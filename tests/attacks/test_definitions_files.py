"""Definition files crafted to take forever to read, check or use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from tideate_core.engine.step import check_value
from tideate_core.errors import InvalidDefinition, OutputMismatch
from tideate_core.machines.language import parse as parse_machine
from tideate_core.workflows import WorkflowStep
from tideate_core.workflows.parsing import FileFormat, WorkflowParser

if TYPE_CHECKING:
    from tests.attacks.conftest import Listening
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

# what takes time with the square of its input takes far longer
pytestmark = [pytest.mark.bulk, pytest.mark.attack, pytest.mark.slow, pytest.mark.timeout(300)]

"""Of the processor, for one file."""
MB: Final = 1 << 20
STEP: Final = "steps:\n  - id: a\n    task: x\n"
BOMB: Final = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)


def steps(count: int, dependencies: int) -> str:
    """Return a JSON workflow with steps that depend on all earlier ones."""
    made = [
        {
            "id": f"s{n}",
            "task": "x",
            "dependencies": [f"s{n - back - 1}" for back in range(min(n, dependencies))],
        }
        for n in range(count)
    ]
    return json.dumps({"steps": made})


YAML: Final = {
    "aliases of aliases": BOMB + STEP,
    "aliases of aliases in a step": STEP + "    context: &c {a: 1}\n" + BOMB,
    "a mapping in itself": "context: &c\n  again: *c\n" + STEP,
    "a list in itself": "context: {a: &c [*c, *c]}\n" + STEP,
    "merges of merges": "a0: &a0 {x: 1}\n"
    + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], y{n}: 1}}\n" for n in range(1, 60))
    + STEP,
    "10,000 anchors": "".join(f"x{n}: &n{n} 1\n" for n in range(10_000)) + STEP,
    "deep lists": "context: " + "[" * 20_000,
    "deep mappings": "context: " + "{a: " * 20_000,
    "deep indents": "".join(" " * n + "a:\n" for n in range(1_000)),
    "deep dashes": "- " * 50_000,
    "100,000 keys": "".join(f"k{n}: 1\n" for n in range(60_000)) + STEP,
    "one key 50,000 times": "k: 1\n" * 50_000 + STEP,
    "a number of a million digits": "version: " + "9" * 1_000_000 + "\n" + STEP,
    "a number in base 60": "version: " + "59:" * 100_000 + "59\n" + STEP,
    "a large exponent": "version: 1e999999999\n" + STEP,
    "a hexadecimal number of a million digits": "version: 0x" + "f" * 900_000 + "\n" + STEP,
    "a tag of Python": "context: !!python/object/apply:os.system ['touch x']\n" + STEP,
    "a tag of a module": "context: !!python/module:os\n" + STEP,
    "a tag of one's own": "%TAG ! tag:example.net,2000:\n---\ncontext: !x {}\n" + STEP,
    "a binary": "context: !!binary " + "A" * 900_000 + "\n" + STEP,
    "a set": "context: !!set {a, b}\n" + STEP,
    "a date far away": "version: 99999-99-99T99:99:99Z\n" + STEP,
    "10,000 documents": "---\n" * 100_000 + STEP,
    "a comment of 1 MB": "#" * 900_000 + "\n" + STEP,
    "1 MB of quotes": "name: " + "'" * 900_000 + "\n" + STEP,
    "1 MB of escapes": 'name: "' + "\\x41" * 200_000 + '"\n' + STEP,
    "an escape of nothing": 'name: "\\UFFFFFFFF"\n' + STEP,
    "half a surrogate": 'name: "\\ud800"\n' + STEP,
    "1 MB of question marks": "? " * 400_000,
    "1 MB of ampersands": "&" * 900_000,
    "1 MB of a folded text": "name: >\n" + "  a\n\n" * 150_000 + STEP,
    "10,000 directives": "%YAML 1.2\n" * 50_000 + "---\n" + STEP,
    "50 MB": "#" + "x" * 50 * MB + "\n" + STEP,
}
JSON: Final = {
    "deep lists": "[" * 900_000,
    "deep objects": '{"a":' * 180_000,
    "a number of a million digits": '{"version": ' + "9" * 900_000 + "}",
    "a fraction of a million digits": '{"version": 0.' + "9" * 900_000 + "}",
    "a large exponent": '{"version": 1e99999999999}',
    "not a number": '{"version": NaN, "steps": Infinity}',
    "100,000 keys": json.dumps({f"k{n}": 1 for n in range(70_000)}),
    "one key 100,000 times": "{" + ",".join(['"k": 1'] * 100_000) + "}",
    "an open text of 1 MB": '{"name": "' + "a" * 900_000,
    "1 MB of backslashes": '{"name": "' + "\\" * 900_000,
    "50 MB": '{"name": "' + "a" * 50 * MB + '"}',
    "steps without end": steps(5_001, 0),
    "each step waits for 500": steps(400, 390),
    "5,000 steps in a row": steps(5_000, 1),
    "one step waits for itself 10,000 times": json.dumps(
        {"steps": [{"id": "a", "task": "x", "dependencies": ["a"] * 10_000}]}
    ),
    "5,000 steps of one name": json.dumps({"steps": [{"id": "a", "task": "x"}] * 5_000}),
    "5,000 names nearly the same": json.dumps(
        {"steps": [{"id": f"a{n}", "task": "{{ steps.a" + str(n) + "x.result }}"} for n in range(4_000)]}
    ),
    "a task with 60 KB of templates": json.dumps({"steps": [{"id": "a", "task": "{{ a.b }}" * 7_000}]}),
    "1,000 such tasks": json.dumps(
        {"steps": [{"id": f"s{n}", "task": "{{ a" + str(n) + ".b }}" * 80} for n in range(700)]}
    ),
    "conditions without end": json.dumps(
        {"steps": [{"id": "a", "task": "x", "when": " and ".join(["true"] * 20_000)}]}
    ),
}
MACHINES: Final = {
    "100,000 states": "workflow w\n" + "".join(f"state s{n}\n" for n in range(40_000)),
    "1 MB in one line": "workflow " + "a" * 900_000,
    "1 MB of braces": "{" * 900_000,
    "1 MB of quotes": '"' * 900_000,
    "1 MB of arrows": "->" * 450_000,
    "1 MB of line ends": "\n" * 900_000,
    "1 MB of comments": "#\n" * 450_000,
    "escapes without end": 'workflow w\nstate s "' + "\\" * 900_000,
    "controls": "workflow w\x00\x1b]0;x\x07\nstate s\n" * 1_000,
}


def doubled(depth: int) -> dict[str, Any]:
    """Return a schema with references that double at every level."""
    parts: dict[str, Any] = {"d0": {"type": "string"}}
    for n in range(1, depth):
        parts[f"d{n}"] = {"allOf": [{"$ref": f"#/$defs/d{n - 1}"}] * 2}
    return {"$defs": parts, "$ref": f"#/$defs/d{depth - 1}"}


SCHEMAS: Final[dict[str, tuple[dict[str, Any], Any]]] = {
    "it is itself": ({"$ref": "#"}, "x"),
    "it is itself by another name": ({"$anchor": "a", "$ref": "#a"}, "x"),
    "two that are each other": (
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        "x",
    ),
    "references that double": (doubled(40), "x"),
    "a dynamic reference to itself": ({"$dynamicAnchor": "a", "$dynamicRef": "#a"}, "x"),
    "a pattern that never ends": ({"pattern": "^(a+)+$"}, "a" * 40 + "!"),
    "a pattern that never ends, of words": ({"pattern": "(\\w+\\s?)*$"}, "word " * 12 + "!"),
    "a pattern with a backreference": ({"pattern": "(a)\\1"}, "aa"),
    "a pattern that looks ahead": ({"pattern": "(?=a)a"}, "a"),
    "a pattern that counts": ({"pattern": "((a{100}){100}){100}"}, "a" * 1_000),
    "a long pattern": ({"pattern": "a?" * 20_000 + "a" * 20_000}, "a" * 20_000),
    "patterns of names": ({"patternProperties": {"^(a+)+$": {}}}, {"a" * 40 + "!": 1}),
    "patterns of names, none left": (
        {"patternProperties": {"^(a|a)*$": {}}, "additionalProperties": False},
        {"a" * 40 + "!": 1},
    ),
    "unique among many": ({"uniqueItems": True}, [[n] for n in range(20_000)]),
    "unique among many objects": ({"uniqueItems": True}, [{"a": n} for n in range(20_000)]),
    "one of many": ({"enum": [[n] for n in range(20_000)]}, [20_000]),
    "any of many": ({"anyOf": [{"const": n} for n in range(5_000)]}, "x"),
    "any of any": (
        {"$defs": {"a": {"items": {"anyOf": [{"$ref": "#/$defs/a"}] * 3}}}, "$ref": "#/$defs/a"},
        [[[[[[[[[[[[[["x"]]]]]]]]]]]]]],
    ),
    "a wrong kind of everything": ({"properties": 3, "items": "x"}, {"a": 1}),
    "a divisor of nothing": ({"multipleOf": 0}, 3),
    "a divisor that is tiny": ({"multipleOf": 1e-300}, 1e300),
    "a deep value": ({"items": {"$ref": "#"}}, json.loads("[" * 90 + "]" * 90)),
    "another dialect": (
        {"$schema": "http://json-schema.org/draft-03/schema#", "pattern": "(a+)+$"},
        "a" * 40 + "!",
    ),
}


def parsed(text: str, kind: FileFormat) -> bool:
    """Read and check a file; return whether it is a definition."""
    found = WorkflowParser().parse(text, format=kind, name="w", path="w")
    told = [mistake.describe("w") for mistake in found.mistakes]
    assert sum(map(len, told)) < 200_000
    return not told


@pytest.mark.parametrize("name", YAML)
def test_a_file_of_yaml_is_read_or_refused_in_time(name: str) -> None:
    assert not parsed(YAML[name], "yaml") or name in {"a comment of 1 MB", "a date far away"}


@pytest.mark.parametrize("name", JSON)
def test_a_file_of_json_is_read_or_refused_in_time(name: str) -> None:
    assert not parsed(JSON[name], "json") or name == "5,000 steps in a row"


@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_is_read_or_refused_in_time(name: str) -> None:
    assert parse_machine(MACHINES[name]).errors


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_ends_in_time(name: str) -> None:
    schema, value = SCHEMAS[name]
    step = WorkflowStep.model_construct(id="a", output_schema=schema)
    try:
        check_value(step, value)
    except (InvalidDefinition, OutputMismatch) as error:
        assert len(str(error)) < 5_000
    text = json.dumps({"steps": [{"id": "a", "task": "x", "output_schema": schema}]})
    WorkflowParser().parse(text, format="json", name="w", path="w")


@pytest.mark.parametrize("reference", ["{url}/a.json", "{url}/a.json#/x", "file:///etc/passwd", "//{host}/a"])
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef", "$schema", "$id"])
def test_a_schema_fetches_nothing(listening: Listening, reference: str, keyword: str) -> None:
    named = reference.format(url=listening.url, host=listening.url.removeprefix("http://"))
    schema = {keyword: named, "properties": {"a": {"$ref": "b"}}}
    step = WorkflowStep.model_construct(id="a", output_schema=schema)
    with pytest.raises(InvalidDefinition):
        check_value(step, {"a": 1})
    assert listening.connections() == 0


@pytest.mark.parametrize(
    "items", ["range(1000000)|list", "range(100000)", "'x' * 9", "range(99999)|map('string')"]
)
def test_a_loop_over_a_million_items_is_refused_before_it_runs(
    shell: Shell, answering: ModelServer, items: str
) -> None:
    shell.write(
        ".tideate/workflows/loop.yaml",
        f'steps:\n  - id: each\n    for_each: {{items: "{items}"}}\n    task: Say {{{{ item }}}}\n',
    )
    assert shell.run("trust", "--yes").returncode == 0
    done = shell.run("run", "loop", "go", "--yes")
    assert done.returncode in {1, 2}, done.stderr
    assert "loop.yaml:3" in done.stderr or "each" in done.stderr
    assert answering.requests == []
