"""Globs mean what is usual, and none takes time without end."""

from __future__ import annotations

import time

import pytest

from tideate_core.agents.tools.globs import glob_filter
from tideate_core.errors import ToolError

PATHS = [
    "a.py",
    "src/b.py",
    "src/pkg/c.py",
    "src/pkg/c.ts",
    "src/pkg/deep/d.tsx",
    "tests/test_b.py",
    "Makefile",
]


@pytest.mark.parametrize(
    ("glob", "fits"),
    [
        ("*.py", ["a.py", "src/b.py", "src/pkg/c.py", "tests/test_b.py"]),
        ("/a.py", ["a.py"]),
        ("./src/*.py", ["src/b.py"]),
        ("src/**/*.py", ["src/b.py", "src/pkg/c.py"]),
        ("src/**", ["src/b.py", "src/pkg/c.py", "src/pkg/c.ts", "src/pkg/deep/d.tsx"]),
        ("src", ["src/b.py", "src/pkg/c.py", "src/pkg/c.ts", "src/pkg/deep/d.tsx"]),
        ("pkg/", ["src/pkg/c.py", "src/pkg/c.ts", "src/pkg/deep/d.tsx"]),
        ("**/*.{ts,tsx}", ["src/pkg/c.ts", "src/pkg/deep/d.tsx"]),
        ("{src,tests}/*.py", ["src/b.py", "tests/test_b.py"]),
        ("?.py", ["a.py", "src/b.py", "src/pkg/c.py"]),
        ("[!a].py", ["src/b.py", "src/pkg/c.py"]),
        ("Makefile", ["Makefile"]),
        ("../a.py", []),
        ("**", PATHS),
        (".", PATHS),
    ],
)
def test_globs_mean_what_is_usual(glob: str, fits: list[str]) -> None:
    assert list(filter(glob_filter(glob), PATHS)) == fits


@pytest.mark.parametrize("glob", ["", " ", "x" * 501, "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"])
def test_what_is_no_glob_is_refused(glob: str) -> None:
    with pytest.raises(ToolError):
        glob_filter(glob)


@pytest.mark.parametrize("glob", ["*a" * 100 + "b", "**/a/" * 60 + "b", "**/*a*a*a*a*a*/" * 20 + "b"])
@pytest.mark.attack
def test_no_glob_takes_time_without_end(glob: str) -> None:
    begin = time.process_time()
    assert not glob_filter(glob)("a" * 250 + "/a" * 1_000)
    assert time.process_time() - begin < 2
