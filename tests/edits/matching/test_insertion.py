"""Property: new code is placed by its kind for any cursor, and nothing else changes."""

from __future__ import annotations

import ast
from typing import Final

import pytest

from tideate_core.edits import insertion_of

PYTHON: Final = '''\
"""Module."""
import os


def first(a):
    """Text
at the margin.
    """
    if a:
        return 1
    return 2


class Shop:
    """A shop."""

    limit = 1

    def total(self):
        return 1

    @property
    def name(self):
        return "x"


def last():
    return 3
'''
LUA: Final = """\
local M = {}

local function first(a)
  if a then
    return 1
  end
  return 2
end

function M.last()
  return 3
end

return M
"""
JAVASCRIPT: Final = """\
import fs from 'fs';

function first(a) {
  if (a) {
    return 1;
  }
  return 2;
}

const arrow = () => {
  return 3;
};

class Shop {
  limit = 1;

  total() {
    return 1;
  }

  name() {
    return 'x';
  }
}

export function last() {
  return 4;
}
"""
TEXTS: Final = {
    "python": PYTHON.splitlines(),
    "lua": LUA.splitlines(),
    "javascript": JAVASCRIPT.splitlines(),
}
CODE: Final[dict[str, dict[str, str]]] = {
    "python": {
        "def": "def new(a):\n    return a",
        "async def": "async def new(a):\n    return a",
        "class": "class New:\n    pass",
        "decorator": "@cache\ndef new():\n    return 1",
        "several": "# two of them\ndef new():\n    return 1\n\n\ndef other():\n    return 2",
    },
    "lua": {
        "local function": "local function new()\n  return 1\nend",
        "function": "function M.new()\n  return 1\nend",
        "assignment": "M.new = function()\n  return 1\nend",
    },
    "javascript": {
        "function": "function new1() {\n  return 1;\n}",
        "export": "export const new1 = () => {\n  return 1;\n};",
        "class": "class New {\n}",
    },
}
METHODS: Final = {
    "python": ["def new(self):\n    return 1", "@staticmethod\ndef new():\n    return 1"],
    "javascript": ["new1(a) {\n  return a;\n}", "get new1() {\n  return 1;\n}"],
}
NEXT: Final = {"python": "def last():", "javascript": "export function last() {"}
"""The line after the class and the blank lines below it."""
STATEMENTS: Final = {
    "python": ["x = 1", "import json", "# a comment", "for i in x:\n    print(i)"],
    "lua": ["local x = 1", "local json = require('json')", "-- a comment"],
    "javascript": ["let x = 1;", "import json from 'json';", "// a comment"],
}


def inserted(code: str, lines: list[str], at: int, language: str) -> tuple[list[str], list[str]]:
    """Return the new text and the inserted lines."""
    found = insertion_of(code.split("\n"), lines, at, language)
    return [*lines[: found.at], *found.lines, *lines[found.at :]], found.lines


@pytest.mark.parametrize(
    ("language", "kind"), [(language, kind) for language, kinds in CODE.items() for kind in kinds]
)
def test_a_definition_stands_beside_the_others_and_apart_from_them(language: str, kind: str) -> None:
    code, lines = CODE[language][kind], TEXTS[language]
    apart = 2 if language == "python" else 1
    for at in range(len(lines) + 1):
        text, new = inserted(code, lines, at, language)
        filled = [line for line in new if line.strip()]
        assert filled == [line for line in code.split("\n") if line.strip()], f"line {at}: not at the margin"
        start = text.index(filled[0])
        whole = code.split("\n")
        end = start + len(whole)
        assert text[start:end] == whole
        assert text[max(start - apart, 0) : start] == [""] * min(apart, start), f"line {at}: above"
        assert end == len(text) or text[end : end + apart] == [""] * apart, f"line {at}: below"
        if language == "python":
            names = [node.name for node in ast.parse("\n".join(text)).body if hasattr(node, "name")]
            assert {"first", "Shop", "last"} < set(names)
            assert "at the margin." in text
        rest = text[:start] + text[end:]
        assert [line for line in rest if line.strip()] == [line for line in lines if line.strip()]


@pytest.mark.parametrize("language", METHODS)
def test_a_method_stands_in_the_class_beside_the_others(language: str) -> None:
    lines = TEXTS[language]
    indent = "    " if language == "python" else "  "
    first = next(row for row, line in enumerate(lines) if line.startswith("class Shop"))
    after = lines.index(NEXT[language])
    for code in METHODS[language]:
        for at in range(first + 1, after + 1):
            text, new = inserted(code, lines, at, language)
            filled = [line for line in new if line.strip()]
            assert filled == [indent + line for line in code.split("\n")], f"line {at}"
            start = text.index(filled[0])
            assert first < start < text.index(NEXT[language]), f"line {at}"
            above, below = text[start - 1], text[start + len(filled)]
            assert above == "" or above.endswith("{"), f"line {at}"
            assert below in ("", "}"), f"line {at}"
            if language == "python":
                module = ast.parse("\n".join(text))
                shop = next(node for node in module.body if isinstance(node, ast.ClassDef))
                assert [getattr(node, "name", "") for node in shop.body].count("new") == 1
                assert ast.get_docstring(shop) == "A shop."
            rest = [line for line in text if line.strip() and line not in filled]
            assert rest == [line for line in lines if line.strip() and line not in filled], f"line {at}"


@pytest.mark.parametrize("language", STATEMENTS)
def test_a_statement_stands_at_the_cursor(language: str) -> None:
    lines = TEXTS[language]
    for code in STATEMENTS[language]:
        for at in range(len(lines) + 1):
            found = insertion_of(code.split("\n"), lines, at, language)
            assert (found.at, len(found.lines)) == (at, len(code.split("\n")))


@pytest.mark.parametrize("language", TEXTS)
@pytest.mark.parametrize("lines", [[""], ["", ""]], ids=["empty", "one line end"])
def test_an_empty_text_gets_the_code_alone(language: str, lines: list[str]) -> None:
    for code in CODE[language].values():
        found = insertion_of(code.split("\n"), lines, 1, language)
        assert (found.at, found.lines) == (1, code.split("\n"))


def test_a_line_of_blanks_that_is_replaced_is_none_that_keeps_apart() -> None:
    lines = ["def f():", "    return 1", "    "]
    found = insertion_of(["def g():", "    return 2"], lines, 3, "python", 1)
    assert (found.at, found.lines) == (3, ["", "", "def g():", "    return 2"])


def test_carriage_returns_are_those_of_the_file() -> None:
    lines = ["def f():\r", "    return 1\r"]
    found = insertion_of(["def g():", "    return 2"], lines, 2, "python")
    assert found.lines == ["\r", "\r", "def g():\r", "    return 2\r"]
