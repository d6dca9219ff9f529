"""Globs: the paths that they match, in bounded time."""

from __future__ import annotations

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.servers.filesystem.walk import ALTERNATIVES, exclusion_filter, glob_filter

PATHS = [
    "a.py",
    "b.txt",
    "src/a.py",
    "src/deep/er/a.py",
    "src/deep/b.py",
    ".env",
    "src",
    "x[1].py",
    "docs/ä.md",
]


@pytest.mark.parametrize(
    ("pattern", "fitting"),
    [
        ("*.py", ["a.py", "x[1].py"]),
        ("**/*.py", ["a.py", "src/a.py", "src/deep/er/a.py", "src/deep/b.py", "x[1].py"]),
        ("src/**", ["src/a.py", "src/deep/er/a.py", "src/deep/b.py"]),
        ("src/**/a.py", ["src/a.py", "src/deep/er/a.py"]),
        ("**/deep/**/*.py", ["src/deep/er/a.py", "src/deep/b.py"]),
        ("**/d*p/**/er/**", ["src/deep/er/a.py"]),
        ("**", PATHS),
        ("*", ["a.py", "b.txt", ".env", "src", "x[1].py"]),
        ("?.py", ["a.py"]),
        ("[a-c].*", ["a.py", "b.txt"]),
        ("[!a].*", ["b.txt"]),
        ("{a,b}.{py,txt}", ["a.py", "b.txt"]),
        ("{src,docs}/*", ["src/a.py", "docs/ä.md"]),
        (r"x\[1\].py", ["x[1].py"]),
        ("x[[]1[]].py", ["x[1].py"]),
        ("docs/?.md", ["docs/ä.md"]),
        ("./src/", ["src"]),
        ("src/*/*/*", ["src/deep/er/a.py"]),
        ("*e*r*", []),
        ("**/*e*/*", ["src/deep/er/a.py", "src/deep/b.py"]),
        ("src?a.py", []),
        ("src[!x]a.py", []),
        ("A.PY", []),
        ("", []),
        ("[", []),
        ("a.py|b.txt", []),
        ("(a|b).py", []),
        (".*", [".env"]),
    ],
)
def test_a_glob_fits_whole_paths(pattern: str, fitting: list[str]) -> None:
    fits = glob_filter(pattern)
    assert [path for path in PATHS if fits(path)] == fitting


def test_what_is_excluded_without_a_wildcard_is_a_name_at_any_depth() -> None:
    out = exclusion_filter(["node_modules", "src/gen", "*.log"])
    assert out is not None
    for path in ("node_modules", "a/node_modules", "src/gen", "a/src/gen", "x.log"):
        assert out(path), path
    for path in ("node_modules2", "gen", "a/x.log"):
        assert not out(path), path
    assert exclusion_filter([]) is None


@pytest.mark.parametrize("pattern", ["/etc/*", "[z-a]", "{a,b}" * 7, "{" * 500 + "," + "}" * 500 + "[b-a]"])
def test_what_is_no_glob_is_refused(pattern: str) -> None:
    with pytest.raises(ToolError, match=r"pattern"):
        glob_filter(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 30 + "b",
        "**/" + "*a*/**/" * 20 + "b",
        "**/a" * 30,
        "*" * 900 + "b",
        "?*" * 300 + "b",
        "[a]*" * 100 + "b",
        "{*a,**}/" * 5 + "x",
        "a/**/" * 100 + "b",
    ],
)
def test_no_glob_takes_time_without_end(pattern: str) -> None:
    fits = glob_filter(pattern)
    for path in ("a" * 4_000, "a/" * 2_000 + "c", "a" * 250 + "/" + "a/" * 1_000 + "aaa"):
        assert not fits(path)


def test_there_is_an_end_to_alternatives() -> None:
    assert glob_filter("{" + ",".join(map(str, range(ALTERNATIVES))) + "}")("7")
    with pytest.raises(ToolError, match="alternatives"):
        glob_filter("{" + ",".join(map(str, range(ALTERNATIVES + 1))) + "}")
