"""Globs have their usual meaning and bounded time."""

from __future__ import annotations

import pytest

from tideate_core.util.globs import fits_any, glob_filter, split_patterns

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


def test_an_anchored_glob_is_about_the_whole_path() -> None:
    assert list(filter(glob_filter("*.py", anchored=True), PATHS)) == ["a.py"]
    assert not glob_filter("src", anchored=True)("src/b.py")
    assert not glob_filter("src/**", anchored=True)("src")


@pytest.mark.parametrize("glob", ["", " ", "x" * 501, "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"])
def test_what_is_no_glob_is_refused(glob: str) -> None:
    with pytest.raises(ValueError, match="glob"):
        glob_filter(glob)


@pytest.mark.parametrize("glob", ["*a" * 100 + "b", "**/a/" * 60 + "b", "**/*a*a*a*a*a*/" * 20 + "b"])
@pytest.mark.attack
def test_no_glob_takes_time_without_end(glob: str) -> None:
    assert not glob_filter(glob)("a" * 250 + "/a" * 1_000)


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
def test_no_pattern_takes_time_without_end(pattern: str) -> None:
    assert not fits_any([pattern], "/".join(["a" * 100] * 30))
