"""An answer becomes the changes of all its files, or an error."""

from __future__ import annotations

import pytest

from tideate_core.edits.resolve import resolve_files, resolve_part, resolve_text
from tideate_core.errors import UnusableAnswer

FILES = {
    "a.py": "import os\n\n\ndef f():\n    return 1",
    "b.md": "# Title\n\nSome words.",
    "old.txt": "old",
}


def block(search: str, new: str) -> str:
    return f"<<<<<<< SEARCH\n{search}\n=======\n{new}\n>>>>>>> REPLACE"


def patch(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def refused(answer: str) -> str:
    with pytest.raises(UnusableAnswer) as error:
        resolve_files(answer, FILES.get)
    return str(error.value)


def test_a_patch_of_several_files() -> None:
    answer = patch(
        "*** Update File: a.py",
        "@@ def f():",
        "-    return 1",
        "+    return 2",
        "*** Add File: c.py",
        "+x = 1",
        "*** Delete File: old.txt",
        "*** Update File: b.md",
        "*** Move to: doc/b.md",
        "@@",
        "-Some words.",
        "+More words.",
    )
    done = resolve_files(answer, FILES.get)
    assert [(c.path, c.action, c.after, c.move_to) for c in done.changes] == [
        ("a.py", "modify", "import os\n\n\ndef f():\n    return 2", None),
        ("c.py", "create", "x = 1", None),
        ("old.txt", "delete", None, None),
        ("b.md", "move", "# Title\n\nMore words.", "doc/b.md"),
    ]
    assert [str(place) for place in done.places] == [
        "hunk 1 of a.py was found at line 5 exactly",
        "hunk 1 of b.md was found at line 3 exactly",
    ]
    assert all(change.before == FILES.get(change.path) for change in done.changes)


def test_whole_files_with_a_new_one() -> None:
    answer = "a.py\n```python\nimport os\n\n\ndef f():\n    return 3\n```\nnew.py\n```python\ny = 1\n```"
    changes = resolve_files(answer, FILES.get).changes
    assert [(c.path, c.action, c.after) for c in changes] == [
        ("a.py", "modify", "import os\n\n\ndef f():\n    return 3"),
        ("new.py", "create", "y = 1"),
    ]


def test_two_sections_of_one_file_are_one_change() -> None:
    answer = patch(
        "*** Update File: a.py", "-import os", "+import sys", "*** Update File: ./a.py", "-    return 1"
    )
    (change,) = resolve_files(answer, FILES.get).changes
    assert change.after == "import sys\n\n\ndef f():"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (patch("*** Update File: a.py", "-nothing", "+x"), "a.py: hunk 1 of a.py: its lines"),
        (patch("*** Update File: no.py", "-x", "+y"), "no.py: there is no such file"),
        (patch("*** Add File: a.py", "+y"), "a.py: it exists already"),
        (patch("*** Add File: n.py", "+# ... rest of the code ..."), "left out"),
        (patch("*** Delete File: no.py"), "no such file"),
        (patch("*** Update File: ../x", "-x", "+y"), "not a path of a file"),
        (patch("*** Delete File: a.py", "*** Update File: a.py", "-import os"), "two edits of a.py"),
        (
            patch("*** Update File: b.md", "*** Move to: n.md", "*** Add File: n.md", "+x"),
            "n.md is named by two",
        ),
        (patch("*** Update File: b.md", "*** Move to: /n.md"), "not a path of a file"),
        ("a.py\n```\nx = 1\n```\nmore\n```\ny\n```", "names no file"),
        ("words", "no edit of a file"),
    ],
)
def test_one_mistake_refuses_all(answer: str, reason: str) -> None:
    first = patch("*** Update File: b.md", "-Some words.", "+Other words.")
    assert reason in refused(answer)
    if answer.startswith("*** Begin") and "b.md" not in answer:
        both = answer.replace("*** Begin Patch\n", first.removesuffix("*** End Patch"), 1)
        assert reason in refused(both)


def test_one_file_takes_any_form() -> None:
    before = FILES["a.py"]
    after = before.replace("return 1", "return 2")
    answers = [
        block("    return 1", "    return 2"),
        f"src/a.py\n{block('    return 1', '    return 2')}",
        patch("*** Update File: src/a.py", "-    return 1", "+    return 2"),
        "```diff\n--- a/src/a.py\n+++ b/src/a.py\n@@ -9 +9 @@\n-    return 1\n+    return 2\n```",
        f"src/a.py\n```python\n{after}\n```",
        f"```\n{after}\n```",
    ]
    for answer in answers:
        done = resolve_text(answer, before, path="src/a.py", language="python")
        assert "\n".join(done.lines) == after


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (patch("*** Update File: b.py", "-import os"), "it edits b.py, but only a.py"),
        ("b.py\n```python\nx = 1\n```", "it edits b.py, but only a.py"),
        (patch("*** Delete File: a.py"), "not to delete it"),
        (patch("*** Update File: a.py", "*** Move to: c.py"), "not to move it"),
        (patch("*** Add File: a.py", "+x"), "not to create it"),
    ],
)
def test_one_file_is_not_another_and_is_only_changed(answer: str, reason: str) -> None:
    with pytest.raises(UnusableAnswer, match=reason):
        resolve_text(answer, FILES["a.py"], path="a.py", language="python")


def test_a_new_file_may_come_as_a_patch_or_in_a_block() -> None:
    for answer in (patch("*** Add File: n.py", "+x = 1", "+y = 2"), block("", "x = 1\ny = 2")):
        assert resolve_text(answer, None, path="n.py", language="python").lines == ["x = 1", "y = 2"]


def test_a_text_of_prose_does_not_begin_with_its_own_name() -> None:
    done = resolve_text(
        "b.md\n````\n# Title\n\nOther words.\n````", FILES["b.md"], path="b.md", language="markdown"
    )
    assert done.lines == ["# Title", "", "Other words."]


def test_an_edit_of_some_lines_stays_within_them() -> None:
    lines = ["x = 1", "y = 2"]
    done = resolve_part(block("x = 1", "x = 3"), lines, whole="x = 1\nx = 1\ny = 2", language="python")
    assert done is not None
    assert done.lines == ["x = 3", "y = 2"]
    assert resolve_part("```\nx = 3\n```", lines, whole="", language="python") is None
    with pytest.raises(UnusableAnswer, match="not in the file"):
        resolve_part(block("z = 0", "z = 1"), lines, whole="z = 0\nx = 1\ny = 2")


def test_a_block_that_searches_nothing_makes_a_new_file() -> None:
    answer = "new.py\n<<<<<<< SEARCH\n=======\na = 1\nb = 2\n>>>>>>> REPLACE\n"
    (change,) = resolve_files(answer, lambda _: None).changes
    assert (change.path, change.action, change.before, change.after) == (
        "new.py",
        "create",
        None,
        "a = 1\nb = 2",
    )


def test_a_block_that_searches_lines_makes_no_new_file() -> None:
    answer = "new.py\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"
    with pytest.raises(UnusableAnswer, match="there is no such file"):
        resolve_files(answer, lambda _: None)


def test_an_empty_block_is_no_new_text_of_a_file() -> None:
    with pytest.raises(
        UnusableAnswer, match=r"a\.py: it has no lines and the file has 1; write the complete"
    ):
        resolve_files("a.py\n```python\n\n```\n", {"a.py": "a = 1"}.get)


def test_a_stub_may_stay_one_where_another_of_its_name_has_a_long_signature() -> None:
    short = "    def f(self, a: int) -> None: ..."
    before = f"class A:\n{short}\n\n\nclass B:\n    def f(\n        self,\n    ) -> None: ..."
    new = short.replace("a: int", "b: int")
    answer = f"a.pyi\n<<<<<<< SEARCH\n{short}\n=======\n{new}\n>>>>>>> REPLACE"
    (change,) = resolve_files(answer, lambda _: before).changes
    assert change.after == before.replace("a: int", "b: int")
