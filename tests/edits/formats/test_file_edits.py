"""Paths in an answer are recognized, and must stay within the project."""

from __future__ import annotations

import pytest

from tideate_core.edits.formats.file_edits import checked_path, is_same_file, path_above, path_in
from tideate_core.errors import UnusableAnswer


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
    with pytest.raises(UnusableAnswer, match="not a path of a file of the project"):
        checked_path(path)


def test_a_file_may_be_named_by_its_end() -> None:
    assert is_same_file("a.py", "src/a.py")
    assert is_same_file("project/src/a.py", "./src/a.py")
    assert not is_same_file("ba.py", "a.py")
