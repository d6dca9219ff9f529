"""Names of Python: only what an edit brings, and nothing of what a linter is told to pass over."""

from __future__ import annotations

import pytest

from tideate_core.agents.tools.edit_report import LARGEST, new_name_problems


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
        ("def (", "x = y\n", []),
        ("", "x = y (\n", []),
        ("", "x = '\\d'\n", []),
        ("", "\0", []),
        ("", "(" * 5_000 + ")" * 5_000, []),
        ("", "x" + ".a" * 20_000, []),
    ],
)
def test_what_an_edit_brings_is_told(before: str, after: str, told: list[str]) -> None:
    assert new_name_problems("src/a.py", before, after) == told


def test_many_names_are_counted() -> None:
    (told,) = new_name_problems("a.py", "", "\n".join(f"name{number}" for number in range(30)))
    assert told.endswith("name9 (line 10) and 20 more")


def test_packages_import_for_others_and_other_files_are_not_looked_at() -> None:
    text = "from a import b\nc\n"
    assert new_name_problems("src/__init__.py", "", text) == ["undefined now: c (line 2)"]
    assert new_name_problems("src/a.pyi", "", text) == []
    assert new_name_problems("a.lua", "", text) == []
    assert new_name_problems("a.py", "", text + "#" * LARGEST) == []
