"""An answer's format is detected by its marks, regardless of the requested one."""

from __future__ import annotations

import pytest

from tideate_core.edits.formats.detection import read_edits, read_files
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
