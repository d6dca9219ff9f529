"""An outline lists all definitions of a file with line numbers."""

from __future__ import annotations

import pytest

from tideate_core.mentions.symbols import _KINDS, outline

SOURCES = {
    "a.py": ("class A:\n    async def f(self):\n        pass\n\n\n@d\ndef g(): ...\n", "class A: f g"),
    "a.ts": ("export interface I { x: 1 }\nabstract class A { m(): void {} }\nfunction f() {}\n", "I A m f"),
    "a.js": ("class A { m() {} }\nexport default function f() {}\n", "A m f"),
    "a.go": ("package a\ntype T struct{}\nfunc (t T) M() {}\nfunc F() {}\n", "T M F"),
    "a.rs": ("struct S;\nimpl S { fn m() {} }\ntrait T {}\nfn f() {}\n", "struct impl m T f"),
    "A.java": ("class A {\n  A() {}\n  void m() {}\n}\n", "A void"),
    "a.c": ("struct s { int a; };\nint f(struct s x) { return 1; }\n", "struct f"),
    "a.cpp": ("namespace n {\nclass A { void m() {} };\n}\n", "namespace A"),
    "a.lua": ("local function f() end\nfunction M.g() end\n", "f M.g"),
    "a.rb": ("module M\n  class A\n    def m; end\n  end\nend\n", "M A m"),
    "a.php": ("<?php\nclass A { function m() {} }\nfunction f() {}\n", "A f"),
    "a.cs": ("namespace N {\n  class A { void M() {} }\n}\n", "N A"),
    "a.kt": ("class A {\n  fun m() {}\n}\nobject O {}\n", "A m O"),
    "a.swift": ("struct S {\n  func m() {}\n}\n", "S m"),
    "a.scala": ("object O {\n  def m = 1\n}\n", "O m"),
    "a.sh": ("f() { :; }\nfunction g { :; }\n", "f g"),
    "a.sol": ("contract A {\n  function m() public {}\n}\n", "A m"),
    "a.md": ("# A\n\n## B\n", "A B"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_language_has_its_outline(name: str) -> None:
    text, words = SOURCES[name]
    told = "\n".join(outline(text, name))
    assert [word for word in words.split() if word not in told] == []


@pytest.mark.parametrize("language", _KINDS)
def test_every_kind_is_one_that_the_grammar_has(language: str) -> None:
    # a kind that it lacks raises
    assert outline("", "", language) == []


def test_an_outline_is_indented_and_numbered() -> None:
    text = "class A:\n    def f(self):\n        def inner(): ...\n\n    def g(self): ...\n"
    assert outline(text, "a.py") == [
        "1: class A:",
        "2:   def f(self):",
        "3:     def inner(): ...",
        "5:   def g(self): ...",
    ]


def test_an_outline_knows_lines_behind_characters_of_any_width() -> None:
    assert outline("x = '😀é'\ndef f(): ...\n", "a.py") == [
        "1: x = '😀é'",
        "2: def f(): ...",
    ]


def test_an_outline_names_the_constants_of_a_file_and_not_those_of_a_class_or_function() -> None:
    text = "WORDS = {\n    'a': 1,\n}\n\nclass A:\n    b = 1\n\ndef f():\n    c = 2\n\nLAST: int = 3\n"
    assert outline(text, "a.py") == ["1: WORDS = {", "5: class A:", "8: def f():", "11: LAST: int = 3"]
    assert outline("export const words = {\n  a: 1,\n}\n", "a.ts") == ["1: export const words = {"]


def test_a_type_that_is_only_named_defines_nothing() -> None:
    assert outline("struct s *x;\n", "a.c") == []
