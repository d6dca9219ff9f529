"""Unified diffs are read whatever their numbers say, and nothing of one that may be cut off."""

from __future__ import annotations

import pytest

from tideate_core.edits.parts import FileEdit, Part, Reading
from tideate_core.edits.udiffs import has_diff, parse_diff
from tideate_core.errors import UnusableAnswer

XY: Reading = (("x",), ("y",))


def fenced(text: str) -> str:
    return f"Here:\n```diff\n{text}\n```\nDone."


def modified(path: str, *readings: Reading) -> FileEdit:
    of = f" of {path}" if path else ""
    parts = (Part(f"hunk {number}{of}", (reading,)) for number, reading in enumerate(readings, 1))
    return FileEdit(path, "modify", tuple(parts))


def refused(answer: str) -> str:
    with pytest.raises(UnusableAnswer) as error:
        parse_diff(answer)
    return str(error.value)


@pytest.mark.parametrize(
    "heading", ["@@ -1 +1 @@", "@@ -99,7 +98,3 @@", "@@ -1,1 @@", "@@", "@@ ... @@", "@@ -0,0 +1 @@"]
)
def test_numbers_and_counts_say_nothing(heading: str) -> None:
    assert parse_diff(fenced(f"--- a/f.py\n+++ b/f.py\n{heading}\n-x\n+y")) == [modified("f.py", XY)]


def test_a_heading_may_name_the_line_above() -> None:
    (edit,) = parse_diff(fenced("--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@ def f():\n-x\n+y"))
    assert edit.parts[0].anchors == ("def f():",)


@pytest.mark.parametrize(
    ("header", "path"),
    [
        ("--- a/f.py\n+++ b/f.py", "f.py"),
        ("--- f.py\n+++ f.py", "f.py"),
        ("--- a/f.py\t2024-01-01\n+++ b/f.py\t2024-01-02", "f.py"),
        ("diff --git a/f.py b/f.py\nindex 1..2 100644\n--- a/f.py\n+++ b/f.py", "f.py"),
        ("--- original\n+++ modified", ""),
        ("", ""),
    ],
)
def test_how_a_file_is_named(header: str, path: str) -> None:
    assert parse_diff(fenced(f"{header}\n@@ -1 +1 @@\n-x\n+y".lstrip())) == [modified(path, XY)]


def test_several_files_and_all_that_can_be_done_to_them() -> None:
    text = """diff --git a/one.py b/one.py
--- a/one.py
+++ b/one.py
@@ -1 +1 @@
-x
+y
--- /dev/null
+++ b/new.py
@@ -0,0 +1,2 @@
+a
+b
diff --git a/old.py b/old.py
deleted file mode 100644
--- a/old.py
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/from.py b/to.py
similarity index 100%
rename from from.py
rename to to.py
diff --git a/from2.py b/to2.py
similarity index 90%
rename from from2.py
rename to to2.py
--- a/from2.py
+++ b/to2.py
@@ -1 +1 @@
-x
+y"""
    assert parse_diff(fenced(text)) == [
        modified("one.py", XY),
        FileEdit("new.py", "create", text=("a", "b")),
        FileEdit("old.py", "delete"),
        FileEdit("from.py", "move", move_to="to.py"),
        FileEdit("from2.py", "move", (Part("hunk 1 of from2.py", (XY,)),), move_to="to2.py"),
    ]


def test_a_removed_line_of_dashes_is_not_taken_for_a_header() -> None:
    (edit,) = parse_diff(fenced("--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n z"))
    assert edit.parts[0].readings == ((("-- old", "z"), ("++ new", "z")),)


def test_fences_of_the_text_do_not_end_the_diff() -> None:
    (edit,) = parse_diff(fenced("--- a/a.md\n+++ b/a.md\n@@\n ```\n-x\n+y\n ```"))
    assert edit.parts[0].readings == ((("```", "x", "```"), ("```", "y", "```")),)


def test_the_line_about_the_last_line_end_is_left_out() -> None:
    text = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file"
    assert parse_diff(fenced(text))[0].parts[0].readings == (XY,)


def test_without_a_fence_the_counts_have_to_say_where_it_ends() -> None:
    assert parse_diff("--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@\n-x\n+y\n z") == [
        modified("f.py", (("x", "z"), ("y", "z")))
    ]
    assert "cut off" in refused("--- a/f.py\n+++ b/f.py\n@@ -1,2 +1,2 @@\n-x\n+y")
    assert "cut off" in refused("--- a/f.py\n+++ b/f.py\n@@\n-x\n+y")
    assert "cut off" in refused("--- a/f.py\n+++ b/f.py\n-x\n+y")


def test_a_fence_that_is_not_closed_is_refused() -> None:
    assert "not closed" in refused("```diff\n--- a/f.py\n+++ b/f.py\n@@ -1 +1 @@\n-x\n+y")


def test_a_diff_without_changes_is_refused() -> None:
    assert "changes nothing" in refused(fenced("--- a/f.py\n+++ b/f.py\n@@ -1 +1 @@\n x"))
    assert "no changes" in refused("words")


def test_a_diff_is_told_by_its_header_or_its_heading() -> None:
    assert has_diff("a\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n")
    assert has_diff("@@ -1 +1 @@")
    assert not has_diff("--- \nmade by me\n@property\n@@x")
