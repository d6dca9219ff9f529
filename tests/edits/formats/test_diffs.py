"""Diffs and patches are parsed despite wrong numbers; truncated ones are rejected."""

from __future__ import annotations

import pytest

from tideate_core.edits.formats.diffs import has_diff, has_patch, parse_diff, parse_patch
from tideate_core.edits.formats.file_edits import FileEdit, Part, Reading
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


WHOLE = """I will change it.
*** Begin Patch
*** Update File: src/a.py
@@ class A:
@@     def f(self):
         x = 1
-        return x
+        return x + 1
@@
-last
+the last
*** End of File
*** Add File: new.txt
+one
+
+two
*** Delete File: old.txt
*** Update File: b.py
*** Move to: c.py
*** Update File: d.py
*** Move to: e.py
@@
-a
+b
*** End Patch
Done.
"""


def refused_patch(answer: str) -> str:
    with pytest.raises(UnusableAnswer) as error:
        parse_patch(answer)
    return str(error.value)


def test_all_that_a_patch_can_say_is_read() -> None:
    assert parse_patch(WHOLE) == [
        FileEdit(
            "src/a.py",
            "modify",
            (
                Part(
                    "hunk 1 of src/a.py",
                    ((("        x = 1", "        return x"), ("        x = 1", "        return x + 1")),),
                    ("class A:", "def f(self):"),
                ),
                Part("hunk 2 of src/a.py", ((("last",), ("the last",)),), at_end=True),
            ),
        ),
        FileEdit("new.txt", "create", text=("one", "", "two")),
        FileEdit("old.txt", "delete"),
        FileEdit("b.py", "move", move_to="c.py"),
        FileEdit("d.py", "move", (Part("hunk 1 of d.py", ((("a",), ("b",)),)),), move_to="e.py"),
    ]


def test_the_first_hunk_needs_no_heading() -> None:
    (edit,) = parse_patch("*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch")
    assert edit.parts[0].readings == ((("x",), ("y",)),)


def test_an_empty_line_is_a_blank_line_of_the_file() -> None:
    (edit,) = parse_patch("*** Begin Patch\n*** Update File: a\n@@\n x\n\n-y\n\n@@\n-z\n \n*** End Patch")
    assert [part.readings[0] for part in edit.parts] == [
        (("x", "", "y", ""), ("x", "", "")),
        (("z", ""), ("",)),
    ]


def test_a_line_without_a_sign_is_context() -> None:
    (edit,) = parse_patch("*** Begin Patch\n*** Update File: a\ndef f():\n-    x\n+    y\n*** End Patch")
    assert edit.parts[0].readings == ((("def f():", "    x"), ("def f():", "    y")),)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("*** Begin Patch\n*** Update File: a\n-x\n+y\n", "cut off"),
        ("*** Begin Patch\n*** End Patch", "names no file"),
        ("*** Begin Patch\n*** Update File: a\n x\n*** End Patch", "changes nothing in a"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "changes nothing in a"),
        ("*** Begin Patch\n*** Add File: a\n+x\ny\n*** End Patch", "'y' does not begin with +"),
        ("*** Begin Patch\n*** Delete File: a\n-x\n*** End Patch", "deletes a and also has lines"),
    ],
)
def test_unusable_patches_have_a_reason(answer: str, reason: str) -> None:
    assert reason in refused_patch(answer)


def test_a_patch_is_told_by_its_marks_at_the_beginning_of_a_line() -> None:
    assert has_patch("x\n*** Update File: a\n")
    assert not has_patch("write `*** Begin Patch` first\n    *** Begin Patch")
