"""Retired words and question words in names, prose and documents."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scripts.words import GLOSSARY, ROOT, WORDS, Retired, check, is_sorted, retired_words, spelled

ROW = "| `take … back`, `crew` | roll back | everywhere | `lua/` `take the keys back` (ours) |"
HELD = Retired(("held",), "open directories", "bare names")
BACK = Retired(("take … back",), "roll back", "everywhere", ("old/", "take the keys back"))
NUMBERED = Retired(("document N", "REQ-…"), "the requirement", "prose")
MODULE = '"""A module."""\n'


def lines(path: str, text: str, *retired: Retired) -> list[int]:
    return [found.line for found in check(path, text, retired)]


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("a/b.py", f'{MODULE}def f():\n    """Take\n    it back."""\n', 3),
        ("a/b.py", f"{MODULE}# take\n# a run back\n", 2),
        ("a/b.py", f'{MODULE}say(f"{{name}}: cannot take back {{count}} files")\n', 2),
        ("a/b.py", f"{MODULE}class TakeBack:\n    pass\n", 2),
        ("a/b.py", f"{MODULE}async def _take_back():\n    pass\n", 2),
        ("a/b.py", f'{MODULE}Parameter(name="--take-back")\n', 2),
        ("a/take_back.py", MODULE, 1),
        ("a/b.lua", "local M = {}\nfunction M.take_back()\nend\n", 2),
        ("a/b.lua", "--- Take\n--- it back.\n", 1),
        ("a/b.lua", "say('take back')\n", 1),
        ("README.md", "one\n\nYou can take\nit back.\n", 3),
    ],
)
def test_a_retired_word_is_found_in_prose_and_in_names(path: str, text: str, line: int) -> None:
    assert lines(path, text, BACK) == [line]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a/b.py", f'{MODULE}row["take_back"] = mistake_background\n'),
        ("a/b.py", f'{MODULE}"""It takes care to go back."""\n'),
        ("a/b.py", f"{MODULE}# take the keys back\n"),
        ("old/b.py", f"{MODULE}# take back\n"),
        ("a/b.md", "Take one, two, three steps back."),
    ],
)
def test_keys_allowed_phrases_and_other_words_are_not(path: str, text: str) -> None:
    assert lines(path, text, BACK) == []


def test_a_word_may_be_retired_as_a_whole_name_only() -> None:
    text = f"{MODULE}# it is held\ndef held():\n    pass\ndef held_runs():\n    pass\n"
    assert lines("a/b.py", text, HELD) == [3]


def test_a_requirement_is_not_named_by_a_number() -> None:
    text = "As document 4 and REQ-WORK-003 say,\nby a document of 4 pages.\n"
    assert lines("a.md", text, NUMBERED) == [1, 1]


@pytest.mark.parametrize("first", ["What a run does.", "Where files are.", "whether it runs", "How it ends."])
def test_a_docstring_does_not_begin_with_a_question_word(first: str) -> None:
    text = f'"""{first}"""\nclass A:\n    """{first}"""\n    def f(self):\n        """{first}"""\n'
    assert lines("tideate_core/a.py", text) == [1, 3, 5]
    assert lines("tests/a.py", text) == []


def test_a_module_has_a_headline() -> None:
    assert [found.rule for found in check("tideate_core/a.py", "x = 1\n", [])] == ["headline: missing"]
    assert lines("tideate_core/a.py", '"""The whatever of a run."""\nx: int\n"""What it counts."""\n') == []


def test_the_words_of_a_name_are_those_of_its_writing() -> None:
    assert {spelled(name).lower() for name in ("TakenBack", "_taken_back", "--taken-back")} == {"taken back"}


def test_the_table_is_read_from_the_document() -> None:
    head = "## Retired words\n\n| Retired | Say instead | Where | Allowed |\n|---|---|---|---|\n"
    allowed = ("lua/", "take the keys back")
    assert retired_words(head + ROW) == [Retired(("take … back", "crew"), "roll back", "everywhere", allowed)]
    with pytest.raises(ValueError, match="cannot be read"):
        retired_words(head + ROW.replace("everywhere", "here"))


def test_the_table_can_be_read_and_the_glossary_is_in_order() -> None:
    assert len(retired_words(WORDS.read_text("utf-8"))) > 10
    glossary = GLOSSARY.read_text("utf-8")
    assert is_sorted(glossary)
    assert "Retired" not in glossary


@pytest.mark.parametrize(
    ("path", "found"), [("docs/a.md", [1]), ("README.md", [1]), ("a/b.md", []), ("a/b.py", [])]
)
def test_a_word_may_be_retired_in_documents_only(path: str, found: list[int]) -> None:
    text = f"{MODULE}# the room\n" if path.endswith(".py") else "The room.\n"
    assert lines(path, text, Retired(("room",), "package", "documents")) == found


@pytest.mark.slow
def test_a_violation_makes_the_check_fail() -> None:
    command = [sys.executable, "-m", "scripts.words"]
    good = subprocess.run(
        [*command, "scripts/words.py"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    bad = subprocess.run(
        [*command, "tests/test_words.py"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (good.returncode, good.stdout) == (0, "")
    assert bad.returncode == 1
    assert bad.stdout.startswith("tests/test_words.py:")
    assert ": retired word: take … back: " in bad.stdout
