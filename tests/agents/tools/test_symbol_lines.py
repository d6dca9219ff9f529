"""Ranges of definitions in several languages, signatures, and uses of members."""

from __future__ import annotations

import pytest

from tideate_core.agents.tools.symbol_lines import last_lines, may_use_member, signature
from tideate_core.mentions import definitions_in

TEXTS = {
    "a.py": "class A:\n    def f(self):\n        return 1\n\n    def g(self): ...\n",
    "a.go": "package a\n\nfunc f(\n\tx int,\n) int {\n\treturn x\n}\n\nvar g = 1\n",
    "a.rs": "impl A {\n    fn f() {\n        1;\n    }\n    fn g() {}\n}\n",
    "a.ts": "export function f(\n  x: number,\n) {\n  return x;\n}\nexport const g = 1;\n",
    "a.lua": "local function f()\n  return 1\nend\nfunction g() end\n",
    "a.c": "int f(void)\n{\n  return 1;\n}\n\nint g(void) { return 2; }\n",
    "a.rb": "class A\n  def f\n    1\n  end\n  def g; end\nend\n",
    "A.java": "class A {\n  int f() {\n    return 1;\n  }\n  int g() { return 2; }\n}\n",
}


@pytest.mark.parametrize("path", TEXTS)
def test_a_definition_ends_where_its_body_does(path: str) -> None:
    lines = TEXTS[path].split("\n")
    places = {one.name: one.line for one in definitions_in(TEXTS[path], path)}
    (last,) = last_lines(TEXTS[path], path, "f", {places["f"]}).values()
    assert last > places["f"]
    assert lines[last - 1].strip() in ("return 1", "}", "end")
    assert "return" in "".join(lines[places["f"] - 1 : last]) or "1" in lines[last - 2]
    assert last_lines(TEXTS[path], path, "g", {places["g"]}) == {places["g"]: places["g"]}


def test_of_what_is_not_parsed_no_range_is_told() -> None:
    assert last_lines("f()", "a.txt", "f", {1}) == {}
    assert last_lines("def f(): ...\n" * 100_000, "a.py", "f", {1}) == {}


def test_a_long_signature_is_cut() -> None:
    lines = ["def f(", *(f"    parameter_number_{number}: int," for number in range(40)), ") -> None:"]
    told = signature(lines, 1, 42, "f")
    assert told.startswith("def f(parameter_number_0: int, parameter_number_1: int,")
    assert told.endswith("…")
    assert len(told) < 260


@pytest.mark.parametrize(
    ("line", "path", "expected"),
    [
        ("x.decode()", "a.py", True),
        ("f(decode=1)", "a.py", False),
        ("def f(decode: str):", "a.py", False),
        ("x.decoded()", "a.py", False),
        ("from a.decode import b", "a.py", False),
        ("Slot::decode(x)", "a.rs", True),
        ("slot:decode()", "a.lua", True),
        ("decode();", "A.java", True),
    ],
)
def test_a_parameter_is_no_member(line: str, path: str, expected: bool) -> None:
    assert may_use_member(line, path, "decode") is expected
