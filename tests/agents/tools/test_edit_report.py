"""Reports about syntax and Python names are correct; only new problems are reported."""

from __future__ import annotations

import pytest

from tideate_core.agents.staged_files import StagedFiles
from tideate_core.agents.tools.edit_report import (
    LARGEST,
    LONGEST_DIFF,
    MOST_ERRORS,
    check_changes,
    describe_changes,
    new_name_problems,
)
from tideate_core.errors import NotParsed
from tideate_core.gates import new_errors
from tideate_core.mentions import code_language
from tideate_core.workspace import FileChange, language_of

BROKEN = "}{ ((( ]\n\t- : [ %%%\n) fn def ;;; = = <"


async def told(path: str, text: str) -> tuple[str, list[str]]:
    checked = await check_changes(StagedFiles(), [FileChange(path, "create", None, text)])
    return checked.word, checked.lines


@pytest.mark.parametrize(
    "path",
    [
        *("a.py", "a.json", "a.toml", "a.yaml", "a.sh", "a.c", "a.cpp", "a.cs", "a.ex", "a.go", "a.hs"),
        *("a.java", "a.js", "a.kt", "a.lua", "a.php", "a.rb", "a.rs", "a.scala", "a.swift", "a.ts", "a.tsx"),
    ],
)
async def test_syntax_is_told_of_where_it_is_checked(path: str) -> None:
    if code_language(path) or path.endswith(("json", "toml", "yaml")):
        assert new_errors(language_of(path), "", BROKEN), "a language of which it would be told untruly"
    word, errors = await told(path, BROKEN)
    assert word == ""
    assert 0 < len(errors) <= MOST_ERRORS


@pytest.mark.parametrize("path", ["a.md", "a.txt", "a.unknown"])
async def test_nothing_is_told_of_a_syntax_that_is_not_checked(path: str) -> None:
    assert await told(path, BROKEN) == ("", [])


async def test_a_text_that_is_not_checked_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await told("Dockerfile", BROKEN) == ("; syntax not checked: Dockerfile", [])

    def too_long(*_: object) -> None:
        raise NotParsed("it takes too long to parse")

    monkeypatch.setattr("tideate_core.gates.syntax.parse_outside", too_long)
    both = [FileChange("a.lua", "create", None, "local unparsed = 1"), FileChange("b.py", "create", None, "")]
    checked = await check_changes(StagedFiles(), both)
    assert (
        checked.word
        == "; no new syntax errors; undefined and unused names not checked; syntax not checked: a.lua"
    )


async def test_a_text_without_errors_is_said_to_have_none() -> None:
    assert await told("a.py", "x = 1") == ("; no new syntax errors, undefined or unused names", [])
    unchecked = "; no new syntax errors; undefined and unused names not checked"
    assert await told("a.lua", "x = 1") == (unchecked, [])
    assert await told("a.json", "{}") == ("; no new syntax errors", [])


def test_every_hunk_is_shown_with_a_line_around_it_and_the_middle_of_a_long_one_left_out() -> None:
    before = "\n".join(map(str, range(100)))
    after = before.replace("10\n", "ten\n" * 20).replace("50\n51\n", "").replace("99", "end")
    (shown,), all_shown = describe_changes([FileChange("a", "modify", before, after)])
    long = [" 9", "-10", *["+ten"] * 4, "+ […12 lines]", *["+ten"] * 4, " 11"]
    short = ["@@ -50,4 +69,2 @@", " 49", "-50", "-51", " 52", "@@ -99,2 +116,2 @@", " 98", "-99", "+end"]
    assert shown.split("\n") == ["@@ -10,3 +10,22 @@", *long, *short]
    assert not all_shown
    (shown,), all_shown = describe_changes([FileChange("a", "modify", before, after)], [11])
    assert (shown.count("+ten"), all_shown) == (20, True)


def test_only_some_of_very_many_hunks_are_shown() -> None:
    before = "\n".join(map(str, range(2000)))
    after = "\n".join(f"{number}{'x' * (number % 3 == 0)}" for number in range(2000))
    (shown,), all_shown = describe_changes([FileChange("a", "modify", before, after)])
    assert "more lines; read_file shows the file as it is staged]" in shown
    assert (len(shown) < LONGEST_DIFF + 100, all_shown) == (True, False)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("", "import os\n", ["imported, not used now: os (line 1)"]),
        ("", "from a.b import c as d\n", ["imported, not used now: a.b.c as d (line 1)"]),
        ("", "\nx = y + z + y\n", ["undefined now: y (line 2), z (line 2)"]),
        ("x = y\n", "a = 1\nx = y + y\n", []),
        ("import os\n", "x = 1\nimport os\n", []),
        ("import os\nos.sep\n", "import os\n", ["imported, not used now: os (line 1)"]),
        ("", "__all__ = ['gone']\n", ["undefined now: gone (line 1)"]),
        ("", "def f():\n    x += 1\n", ["undefined now: x (line 2)"]),
        ("", "import os  # noqa: F401\nfrom a import b as b\n", []),
        ("", "from a import *\nx = y\n", []),
        ("def (", "x = y\n", None),
        ("", "x = y (\n", None),
        ("", "x = '\\d'\n", []),
        ("", "\0", None),
        ("", "(" * 5_000 + ")" * 5_000, None),
        ("", "x" + ".a" * 20_000, None),
    ],
)
def test_an_edit_reports_its_new_problems(before: str, after: str, told: list[str] | None) -> None:
    assert new_name_problems("src/a.py", before, after) == told


def test_many_names_are_counted() -> None:
    (told,) = new_name_problems("a.py", "", "\n".join(f"name{number}" for number in range(30))) or []
    assert told.endswith("name9 (line 10) and 20 more")


def test_packages_import_for_others_and_other_files_are_not_looked_at() -> None:
    text = "from a import b\nc\n"
    assert new_name_problems("src/__init__.py", "", text) == ["undefined now: c (line 2)"]
    for path, more in (("src/a.pyi", ""), ("a.lua", ""), ("a.py", "#" * LARGEST)):
        assert new_name_problems(path, "", text + more) is None
