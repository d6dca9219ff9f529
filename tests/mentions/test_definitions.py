"""Names defined and used in files, by syntax."""

from __future__ import annotations

import pytest

from tests.mentions.test_symbols import SOURCES
from tideate_core.mentions.definitions import (
    Definition,
    definitions_in,
    may_define,
    places_of_name,
)

NAMES = {
    "a.py": ["A", "A.f", "g"],
    "a.ts": ["I", "A", "A.m", "f"],
    "a.js": ["A", "A.m", "f"],
    "a.go": ["T", "M", "F"],
    "a.rs": ["S", "S", "S.m", "T", "f"],
    "A.java": ["A", "A.A", "A.m"],
    "a.c": ["s", "f"],
    "a.cpp": ["n", "n.A", "A.m"],
    "a.lua": ["f", "g"],
    "a.rb": ["M", "M.A", "A.m"],
    "a.php": ["A", "A.m", "f"],
    "a.cs": ["N", "N.A", "A.M"],
    "a.kt": ["A", "A.m", "O"],
    "a.swift": ["S", "S.m"],
    "a.scala": ["O", "O.m"],
    "a.sh": ["f", "g"],
    "a.sol": ["A", "A.m"],
    "a.md": [],
}


def names_of(text: str, path: str) -> list[str]:
    return [f"{one.container}.{one.name}".lstrip(".") for one in definitions_in(text, path)]


@pytest.mark.parametrize("path", SOURCES)
def test_every_language_has_its_names(path: str) -> None:
    text = SOURCES[path][0]
    assert names_of(text, path) == NAMES[path]
    assert all(may_define(text, path, name.rpartition(".")[2]) for name in NAMES[path])


@pytest.mark.parametrize(
    ("path", "text", "names"),
    [
        ("a.py", "X = 1\nclass A:\n    y = 2\n    def f(self):\n        z = 1\nA.q = 3\n", "X A A.y A.f"),
        ("a.ts", "export const a = () => 1, b = 2;\nfunction f() { const c = 1 }\n", "a b f"),
        ("a.go", "package a\nconst X = 1\nvar (\n Y = 2\n)\ntype (\n A struct{}\n B int\n)\n", "X Y A B"),
        ("a.rs", "const X: u8 = 1;\nstatic Y: u8 = 1;\ntype T = u8;\n", "X Y T"),
        ("a.c", "#define LIMIT 3\nchar **f(void) { return 0; }\n", "LIMIT f"),
    ],
)  # fmt: skip
def test_values_outside_of_functions_are_definitions(path: str, text: str, names: str) -> None:
    assert names_of(text, path) == names.split()
    assert all(may_define(text, path, name.rpartition(".")[2]) for name in names.split())


def test_a_definition_has_its_line() -> None:
    assert definitions_in("\n@d\ndef f(): ...\n", "a.py") == [Definition("f", 3, 3)]


@pytest.mark.parametrize(("path", "text"), [("a.txt", "def f(): ..."), ("a.py", "x = 1\n" * 200_000)])
def test_what_is_no_code_or_too_long_defines_nothing(path: str, text: str) -> None:
    assert definitions_in(text, path) == []


def test_a_name_is_used_in_code_and_not_in_comments_and_strings() -> None:
    text = "def f(x):\n    # f\n    'f'\n    return f(1) + a.f\nprint(f'{f}')\nff = 1\n"
    assert places_of_name(text, "a.py", "f") == [1, 4, 5]
    assert places_of_name("say f\nff\n", "a.txt", "f") == [1]
    assert places_of_name("x.f(1)\n// f\n", "a.ts", "f") == [1]


@pytest.mark.parametrize("text", ["x.f(1)", "# f\n", "fx = 1", "def ff(): f()"])
def test_what_only_uses_a_name_does_not_define_it(text: str) -> None:
    assert not may_define(text, "a.py", "f")
