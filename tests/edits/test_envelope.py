"""The form of an answer is told by its marks, whichever was asked for."""

from __future__ import annotations

import pytest

from tideate_core.edits.envelope import read_edits, read_files
from tideate_core.edits.naming import checked_path, is_same_file, path_above, path_in
from tideate_core.errors import UnusableAnswer

BLOCK = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"
DIFF = "```diff\n@@ -1 +1 @@\n-x\n+y\n```"
PATCH = "*** Begin Patch\n*** Update File: a.py\n-x\n+y\n*** End Patch"
CODE = "```python\ny\n```"


@pytest.mark.parametrize("answer", [BLOCK, DIFF, PATCH])
def test_each_form_gives_the_same_part(answer: str) -> None:
    (edit,) = read_edits(answer)
    assert edit.parts[0].readings == ((("x",), ("y",)),)


def test_a_text_in_no_form_has_no_edits() -> None:
    assert read_edits(CODE) == []


def test_marks_that_the_text_has_itself_tell_nothing() -> None:
    assert read_edits(BLOCK, known=f"docs\n{BLOCK}") == []


def test_a_whole_text_beside_a_diff_is_the_answer() -> None:
    assert read_edits(f"{DIFF}\n{CODE}", language="python") == []
    assert read_edits(f"{DIFF}\n{CODE}", language="lua")


def test_blocks_belong_to_the_file_named_above_them() -> None:
    answer = f"src/a.py\n```python\n{BLOCK}\n```\n\n{BLOCK}\n**b.py**:\n{BLOCK}\n```lua c/d.lua\n{BLOCK}\n```"
    edits = read_edits(answer)
    assert [(edit.path, len(edit.parts)) for edit in edits] == [("src/a.py", 2), ("b.py", 1), ("c/d.lua", 1)]


def test_whole_files_are_named_above_their_fence_or_in_it() -> None:
    answer = "a.py\n```python\nx\n```\nand\n```python:src/b.py\ny\n```\n### `c.md`\n````\n```\nz\n```\n````"
    assert [(edit.path, edit.text) for edit in read_files(answer)] == [
        ("a.py", ("x",)),
        ("src/b.py", ("y",)),
        ("c.md", ("```", "z", "```")),
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("a.py\n```\nx", "not closed"),
        ("words\n```\nx\n```", "names no file"),
        ("words", "no edit of a file"),
    ],
)
def test_whole_files_that_cannot_be_used_have_a_reason(answer: str, reason: str) -> None:
    with pytest.raises(UnusableAnswer, match=reason):
        read_files(answer)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("src/a.py", "src/a.py"),
        ("### `./a.py`", "a.py"),
        ("**File: a.py**", "a.py"),
        ("python src/a.py", "src/a.py"),
        ("python:src/a.py", "src/a.py"),
        ("Makefile", ""),
        ("etc/Makefile", "etc/Makefile"),
        ("Here is the change:", ""),
        ("Done.", ""),
        ("x = a.b()", ""),
        ("https://example.org/a.py", ""),
        ("x" * 400 + ".py", ""),
    ],
)
def test_what_names_a_file(line: str, path: str) -> None:
    assert path_in(line) == path


def test_only_the_line_next_above_names_a_file() -> None:
    assert path_above(["a.py", "some words"]) == ""
    assert path_above(["a.py", "", "```python"]) == "a.py"


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../b", "~/x", "", "a\nb"])
def test_paths_that_lead_elsewhere_are_refused(path: str) -> None:
    with pytest.raises(UnusableAnswer, match="no path of a file of the project"):
        checked_path(path)


def test_a_file_may_be_named_by_its_end() -> None:
    assert is_same_file("a.py", "src/a.py")
    assert is_same_file("project/src/a.py", "./src/a.py")
    assert not is_same_file("ba.py", "a.py")
