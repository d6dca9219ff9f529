"""Patterns of paths in rules files: braces, commas, directories, and none that takes time."""

from __future__ import annotations

import time

import pytest

from tideate_core.mentions.globs import fits_any, split_patterns


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.ts", "a.ts", True),
        ("*.ts", "src/deep/a.ts", True),
        ("*.ts", "a.tsx", False),
        ("**", "src/a.py", True),
        ("**/*", "a.py", True),
        ("**/*.py", "a.py", True),
        ("**/*.py", "src/x/a.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/x/a.py", False),
        ("src/*.py", "lib/src/a.py", False),
        ("src/**", "src/x/y/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/test_*.py", "src/x/test_a.py", True),
        ("src/**.py", "src/x/a.py", True),
        ("src/", "src/x/a.py", True),
        ("/src/*.py", "src/a.py", True),
        ("./src/*.py", "src/a.py", True),
        ("docs/", "src/docs.py", False),
        ("src/{api,web}/**", "src/web/x.ts", True),
        ("src/{api,web}/**", "src/cli/x.ts", False),
        ("**/*.{ts,{js,jsx}}", "x/a.jsx", True),
        ("*.{ts", "a.ts", False),
        ("a?.py", "ab.py", True),
        ("[ab].py", "c.py", False),
    ],
)
def test_a_pattern_fits_the_paths_that_its_tools_mean(pattern: str, path: str, fits: bool) -> None:
    assert fits_any([pattern], path) is fits


def test_patterns_are_separated_by_commas_outside_of_braces() -> None:
    assert split_patterns('"**/*.{ts,tsx}", src/** ,,docs/*.md') == ("**/*.{ts,tsx}", "src/**", "docs/*.md")


@pytest.mark.parametrize(
    "pattern",
    ["**/" * 90 + "x", "*a" * 140 + "b", "{a,b}" * 55, "{" * 290, "{a," * 90 + "}" * 20, "x" * 5000],
)
def test_no_pattern_takes_time(pattern: str) -> None:
    began = time.monotonic()
    assert not fits_any([pattern], "/".join(["a" * 100] * 30))
    assert time.monotonic() - began < 1
