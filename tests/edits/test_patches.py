"""Patches between `*** Begin Patch` and `*** End Patch` are read, and nothing of an incomplete one."""

from __future__ import annotations

import pytest

from tideate_core.edits.parts import FileEdit, Part
from tideate_core.edits.patches import has_patch, parse_patch
from tideate_core.errors import UnusableAnswer

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


def refused(answer: str) -> str:
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
    assert reason in refused(answer)


def test_a_patch_is_told_by_its_marks_at_the_beginning_of_a_line() -> None:
    assert has_patch("x\n*** Update File: a\n")
    assert not has_patch("write `*** Begin Patch` first\n    *** Begin Patch")
