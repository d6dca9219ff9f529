"""New syntax errors of an edit are found, and old ones ignored."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

from tideate_core.gates import SyntaxProblem, new_errors
from tideate_core.gates.syntax import _GRAMMARS, _STRICT, _tree_problems
from tideate_core.workspace import language_of

GOOD_AND_BAD = {
    "python": (
        "def f():\n    return 1\n",
        ["def f(:\n", "def f():\nreturn 1\n", "if a:\n  b\n c\n", "return 1", "x = 'a"],
    ),
    "json": ('{"a": [1, 2]}', ['{"a": [1, 2}', '{"a": 1,}', "{'a': 1}"]),
    "jsonc": ('// c\n{"a": 1}', ['{"a": [1, 2}', '{"a" 1}']),
    "toml": ('[a]\nb = "c"\n', ["[a\n", "a = \n", "a = 1\na = 2\n"]),
    "yaml": ("a:\n  - b: !Ref c\n---\nd: 1\n", ["a: [1\n", "a: b: c\n", "a:\n\t- b\n", "a: *missing\n"]),
    "xml": ('<?xml version="1.0"?><a b="c">&amp;&unknown;</a>', ["<a><b></a>", "<a b=c/>", "<a>&</a>", "<a"]),
    "javascript": (
        "const f = async (a) => { await a?.b; };\n",
        ["function f({ return 1 }", "function f() {\n", "let = ;"],
    ),
    "typescript": (
        "const a: Record<string, number> = {};\n",
        ["let a: = 1;", "function f(): void {", "interface A {"],
    ),
    "tsx": (
        "const a = <div onClick={() => f()}>{x}</div>;",
        ["const a = <div>{x</div>;", "const a = <div>;"],
    ),
    "go": (
        "package main\n\nfunc f() int { return 1 }\n",
        ["package main\nfunc f( int { return 1 }\n", "package main\nfunc f() {"],
    ),
    "rust": ("fn f<'a>(x: &'a str) -> i32 { 1 }", ["fn f( -> i32 { 1 }", "fn f() -> i32 { 1 ", "let x = ;"]),
    "java": (
        "class A { int f() { return 1; } }",
        ["class A { int f() { return 1 } }", "class A { int f() { }"],
    ),
    "c": (
        "int f(void) { return 1; }",
        ["int f(void { return 1; }", "int f(void) { return 1 }", "int f(void) {"],
    ),
    "cpp": (
        "template <class T> T f(T a) { return a; }",
        ["int f( { return 1; }", "int f() { return 1 }", "class A {"],
    ),
    "lua": (
        "local x <const> = 1\nfor i = 1, 2 do f(i) end\n",
        ["local x = = 1\n", "function f()\n  return 1\n", "if a then"],
    ),
    "ruby": ("def f(a)\n  a.map { |x| x }\nend\n", ["def f(\n  1\nend\n", "def f\n  1\n", "class A"]),
    "bash": (
        'if [ -f a ]; then echo "$a"; fi\n',
        ["if true; then echo a\n", "for x in a; do echo $x\n", "echo $(ls\n"],
    ),
    "html": ("<!doctype html><div><p>a<br></p></div>", ["<div><p>a</div></b>", "<div <p>"]),
    "css": ("a:hover { color: red; }\n", ["a { color: red; ", "a { color }} b"]),
    "php": ("<?php function f() { return 1; } ?>", ["<?php echo (1; ?>", "<?php function f() {"]),
    "kotlin": ("fun f(): Int = 1\n", ["fun f( = 1\n", "fun f() {\n"]),
    "swift": ("func f() -> Int { 1 }", ["func f( -> Int { 1 }", "func f() -> Int {"]),
    "scala": ("object A { def f = 1 }", ["object A { def f( = 1 }", "object A {"]),
    "csharp": ("class A { int F() { return 1; } }", ["class A { int F() { return 1 } }", "class A {"]),
    "elixir": ("def f do\n  1\nend\n", ["def f do 1", "def f( do 1 end"]),
    "haskell": ("f x = x + 1\n", ["f x = (1\n", "f = = \n"]),
    "nix": ("{ a = 1; }", ["{ a = 1 }", "{ a = ; "]),
    "hcl": ('a "b" {\n  c = 1\n}\n', ["a = = 1\n", "a {\n"]),
    "solidity": ("contract A { uint a; }", ["contract A { ", "contract { function"]),
}


def test_every_language_with_a_parser_has_examples() -> None:
    assert set(GOOD_AND_BAD) == set(_STRICT) | set(_GRAMMARS)


@pytest.mark.parametrize("language", GOOD_AND_BAD)
def test_good_text_has_no_errors(language: str) -> None:
    good, _ = GOOD_AND_BAD[language]
    assert new_errors(language, "", good) == []
    if language in _GRAMMARS and language != "yaml":
        assert _tree_problems(language, good) == []


@pytest.mark.parametrize(
    ("language", "bad"), [(name, bad) for name, (_, bads) in GOOD_AND_BAD.items() for bad in bads]
)
def test_bad_text_has_errors(language: str, bad: str) -> None:
    good, _ = GOOD_AND_BAD[language]
    found = new_errors(language, good, bad)
    assert found
    assert all(
        problem.message and 1 <= problem.line <= bad.count("\n") + 1 and problem.column >= 1
        for problem in found
    )


@pytest.mark.parametrize("language", _GRAMMARS)
def test_every_grammar_sees_its_bad_texts(language: str) -> None:
    bads = GOOD_AND_BAD[language][1]
    assert any(_tree_problems(language, bad) for bad in bads)


@pytest.mark.parametrize("language", GOOD_AND_BAD)
def test_errors_that_were_there_do_not_count_wherever_they_move(language: str) -> None:
    for bad in GOOD_AND_BAD[language][1]:
        assert new_errors(language, bad, bad) == []


BROKEN = "def a(:\n    pass\n\n\ndef b():\n    return 1\n"


def test_an_old_error_may_move() -> None:
    assert new_errors("python", BROKEN, "import os\n\n" + BROKEN) == []
    lua = "local a = = 1\nlocal b = 2\n"
    assert new_errors("lua", lua, "-- a comment\n" + lua) == []


def test_an_old_error_does_not_hide_a_new_one() -> None:
    assert new_errors("python", BROKEN, BROKEN.replace("return 1", "return (1"))
    assert new_errors("python", BROKEN, BROKEN.replace("a(:", "a():")) == []
    lua = "local a = = 1\nlocal b = 2\n"
    assert new_errors("lua", lua, lua.replace("b = 2", "b = = 2"))


def test_the_same_error_a_second_time_is_new() -> None:
    line = "local a = = 1\n"
    assert len(new_errors("lua", line, line * 2)) == 1


def test_a_problem_says_where_and_what() -> None:
    assert new_errors("python", "", "x = 1\nif x\n    pass\n") == [
        SyntaxProblem(2, 5, "expected ':'", "if x")
    ]
    assert new_errors("java", "", "class A {\n  int a = 1\n}") == [
        SyntaxProblem(2, 12, "missing ';'", "int a = 1")
    ]
    assert str(SyntaxProblem(2, 5, "expected ':'", "if x")) == "line 2: expected ':' in 'if x'"


def test_a_language_may_be_given_by_path_or_filetype() -> None:
    for name in ("python", "py", "a/b.py", "typescriptreact", "sh"):
        assert new_errors(name, "", "(((")


def test_what_has_no_parser_has_no_errors() -> None:
    for name in ("", "gleam", "notes.txt", "markdown", "vim", "sql"):
        assert new_errors(name, "", "((( {{{") == []


NOTEBOOK = '{\n "cells": [\n  {"source": ["a\\n"]}\n ]\n}\n'
BY_CONTENT = {
    "json": (NOTEBOOK, NOTEBOOK.replace('"a\\n"', '"a\\n" "b"')),
    "json of one line": ('[{"a": 1}]', '[{"a": 1]'),
    "json with comments": ('{\n  // kept\n  "a": 1\n}\n', '{\n  // kept\n  "a" 1\n}\n'),
    "json by lines": ('{"a": 1}\n{"a": 2}\n', '{"a": 1}\n{"a": 2\n'),
    "xml": ('<?xml version="1.0"?>\n<p>\n  <a/>\n</p>\n', '<?xml version="1.0"?>\n<p>\n  <a>\n</p>\n'),
    "yaml": ("%YAML 1.2\n---\na: [1]\n", "%YAML 1.2\n---\na: [1\n"),
}
NAMES = ("n.ipynb", "x.code-workspace", "data", "a.unknown", "")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", BY_CONTENT)
def test_an_existing_text_is_checked_by_its_content_whatever_it_is_called(name: str, kind: str) -> None:
    before, after = BY_CONTENT[kind]
    assert new_errors(name, before, before + "\n") == []
    if kind == "json" or not language_of(name):
        assert new_errors(name, before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": {{ name }}}', '{"a": {{ name '),
        ("{% if a %}\n<a>\n{% endif %}", "{% if a %}\n<a"),
        ("[section]\na = 1\n", "[section\na = 1\n"),
        ("<p>one<br>two", "<p>one<br two"),
        ("--- a\n+++ b\n", "--- a\n+++ [b\n"),
        ("", "{ not finished"),
        ("<div>plain</div>", "<div>{{ name }}"),
        ("<div>plain</div>", "<div><br>text</div>"),
        ("---\ntitle: a\n---\n", "---\ntitle: a\n---\n# Text: [1\n"),
        ('{"a": 1}', '{"a": {{ one }}'),
        ("[1, 2]", "1. [one]\n2. {two"),
        ('<?xml version="1.0"?><a/>', '<?xml version="1.0"?><% if a %><a>'),
    ],
)
def test_a_text_that_only_looks_like_one_is_left_alone(before: str, after: str) -> None:
    assert new_errors("a.unknown", before, after) == []


def test_code_with_warnings_is_good() -> None:
    assert new_errors("python", "", "x = '\\d'\nassert (x, 'y')\n") == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "x = " + "(" * 3000),
        ("python", "x = " + "-" * 100_000 + "1"),
        ("python", "a\0b"),
        ("json", "[" * 100_000),
    ],
)
def test_text_that_overwhelms_a_parser_is_an_error(language: str, text: str) -> None:
    assert new_errors(language, "", text)


def test_empty_texts_are_good() -> None:
    for language in GOOD_AND_BAD:
        assert new_errors(language, GOOD_AND_BAD[language][0], "") == []


@given(st.sampled_from(sorted(GOOD_AND_BAD)), st.text(max_size=60))
def test_any_text_is_parsed_and_is_not_new_to_itself(language: str, text: str) -> None:
    new_errors(language, "", text)
    assert new_errors(language, text, text) == []


def test_parsers_are_loaded_when_they_are_needed() -> None:
    code = "import sys, tideate_core.gates; print({'ast_grep_py', 'ruamel.yaml'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_text_that_is_checked_again_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse(text: str) -> list[SyntaxProblem]:
        parsed.append(text)
        return [SyntaxProblem(1, 1, "no", text)] if "(" in text else []

    monkeypatch.setitem(_STRICT, "python", parse)
    before, after = "before = 'checked three times'", "after = 'checked three times' ("
    found = [new_errors(name, before, after) for name in ("python", "a.py", "python")]
    assert found == [[SyntaxProblem(1, 1, "no", after)]] * 3
    assert parsed == [after, before]


COMMENTED = '{\n  // one\n  "a": [1, 2,], /* two, ] */\n  "b": "x,]//",\n}\n'
PLAIN = '{\n  "a": [1, 2],\n  "b": "x,]//"\n}\n'


@pytest.mark.parametrize(
    "name",
    [
        *(
            "tsconfig.json",
            "tsconfig.base.json",
            "packages/a/tsconfig.build.json",
            "jsconfig.json",
            "a.jsonc",
        ),
        *(".vscode/settings.json", "a/.vscode/launch.json", ".eslintrc", ".eslintrc.json", ".babelrc"),
        *(".babelrc.json", "devcontainer.json", ".devcontainer/devcontainer.json", ".devcontainer.json"),
        *(".devcontainer/python/devcontainer.json", ".swcrc", ".jshintrc", "a.code-workspace", "deno.json"),
        *("api-extractor.json", "turbo.json", "wrangler.json", ".zed/settings.json", "pyrightconfig.json"),
    ],
)
def test_json_that_tools_read_with_comments_may_have_them_and_last_commas(name: str) -> None:
    assert new_errors(name, PLAIN, COMMENTED) == []
    assert new_errors(name, "", COMMENTED) == []
    assert new_errors(name, COMMENTED, COMMENTED.replace("1, 2,", "1, 2, 3,")) == []
    for broken in ("[1, 2,,]", "[,]", "[1 2]", "[1, 2", '{"c" 1}', '{"c":,}'):
        assert new_errors(name, PLAIN, PLAIN.replace("[1, 2]", broken)), broken
        assert new_errors(name, COMMENTED, COMMENTED.replace("[1, 2,]", broken)), broken


@pytest.mark.parametrize("name", ["package.json", "data.json", "a.webmanifest", "composer.json"])
def test_plain_json_gets_no_comment_and_no_last_comma_but_keeps_those_it_has(name: str) -> None:
    assert new_errors(name, PLAIN, COMMENTED)
    assert new_errors(name, PLAIN, PLAIN.replace("2]", "2,]"))
    assert new_errors(name, COMMENTED, COMMENTED.replace("1, 2,", "1, 2, 3,")) == []
    assert new_errors(name, COMMENTED, COMMENTED.replace("[1, 2,]", "[1 2]"))


def test_an_editors_filetype_does_not_forbid_the_comments_of_a_tool() -> None:
    assert language_of("a/.vscode/tasks.json", "json") == "jsonc"
    assert language_of("a/tasks.json", "json") == "json"


def test_last_commas_are_found_in_one_pass() -> None:
    text = '{"a": [' + ",/*" * 200_000
    assert new_errors("tsconfig.json", "{}", text)
