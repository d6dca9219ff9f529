"""Marks and order of reviewed changes."""

from __future__ import annotations

import pytest

from tideate_core.engine.review.marks import fold_of, in_order, marks_of
from tideate_core.workspace import ABSENT, FileChange, FileImage, FileState, Hunk


def edit(path: str, before: str, after: str) -> FileChange:
    return FileChange(path, "modify", before, after)


@pytest.mark.parametrize(
    ("change", "marks"),
    [
        (edit("a.py", "1", "2"), []),
        (edit("tests/test_a.py", "assert a\nassert b", "assert a"), ["1 fewer assertion"]),
        (edit("tests/test_a.py", "assert a", "assert a\nassert b"), []),
        (edit("a_test.go", "f()", "t.Skip()\nf()"), ["skips tests"]),
        (edit("a.test.ts", "it('a', f)", "it.only('a', f)"), ["skips tests"]),
        (FileChange("tests/test_a.py", "delete", "assert a", None), ["1 fewer assertion"]),
        (edit("sub/Cargo.lock", "1", "2"), ["lock file"]),
        (edit("package-lock.json", "1", "2"), ["lock file"]),
        (
            FileChange("a", "modify", "1", "2", parts=(Hunk(0, ("1",), ("2",), conflict=True),)),
            ["1 conflict"],
        ),
        (FileChange("a", "delete", "1", None, conflict=True), ["conflict"]),
    ],
)
def test_a_change_that_deserves_a_look_is_marked(change: FileChange, marks: list[str]) -> None:
    assert marks_of(change) == marks


@pytest.mark.parametrize(
    ("path", "before", "after", "folded"),
    [
        ("a.c", "f( a,b );", "f(a, b);\n", True),
        ("a.c", "if(a)\nb();\nc();", "if (a)\n  b();\n  c();", True),
        ("a.py", "if a:\n    b\nc", "if a:\n    b\n    c", False),
        ("a.py", "x = f(1,2)", "x = f(1, 2)", True),
        ("a.py", "x = 'a  b'", "x = 'a b'", False),
        ("a.lua", "return x", "returnx", False),
        ("a.lua", "a - -b", "a --b", False),
        ("a.js", "return\nx", "return x", False),
        ("a.sh", "a=b", "a = b", False),
        ("a.yaml", "- a", "-  a", False),
        ("a.md", "a  \nb", "a\nb", False),
        ("a.py", "a", "b", False),
    ],
)
def test_only_white_space_without_a_meaning_is_formatting(
    path: str, before: str, after: str, folded: bool
) -> None:
    assert fold_of(edit(path, before, after)) == ("formatting" if folded else None)


def test_a_move_without_an_edit_is_folded() -> None:
    moved = FileChange("a", "move", "1", "1", move_to="b")
    assert fold_of(moved) == "moved"
    assert fold_of(FileChange("a", "move", "1", "2", move_to="b")) is None
    both = FileImage.of_file(b"1", 0o644), FileImage.of_file(b"1", 0o755)
    assert fold_of(FileChange("a", "move", "1", "1", move_to="b", images=both)) is None


def test_conflicts_and_deletions_are_first_and_changes_of_form_last() -> None:
    link, file = FileImage.of_link(b"x"), FileImage.of_file(b"\0", 0o644)
    modes = FileImage(FileState("file", "", 0o644)), FileImage(FileState("file", "", 0o755))
    changes = [
        edit("ordinary", "1", "2"),
        edit("form.c", "f( a )", "f(a)"),
        FileChange("moved", "move", "1", "1", move_to="there"),
        edit("a.lock", "1", "2"),
        edit("tests/test_a.py", "assert a", ""),
        FileChange("binary", "create", None, None, images=(FileImage(ABSENT), file)),
        FileChange("link", "modify", None, None, images=(file, link)),
        FileChange("mode", "modify", None, None, images=modes),
        edit("Makefile", "1", "2"),
        FileChange("deleted", "delete", "1", None),
        FileChange("conflict", "create", None, "1", conflict=True),
    ]
    expected = ["conflict", "deleted", "Makefile", "mode", "link", "binary", "tests/test_a.py", "a.lock"]
    assert [one.path for one in in_order(changes, {"Makefile"})] == [
        *expected,
        "ordinary",
        "moved",
        "form.c",
    ]
