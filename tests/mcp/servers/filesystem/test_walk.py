"""Globs: the paths that they match, in bounded time."""

from __future__ import annotations

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.mcp.servers.filesystem.walk import exclusion_filter, path_filter

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
        ("**", PATHS),
        ("*", ["a.py", "b.txt", ".env", "src", "x[1].py"]),
        ("{src,docs}/*", ["src/a.py", "docs/ä.md"]),
        ("./src/", ["src"]),
        ("(a|b).py", []),
        (".*", [".env"]),
    ],
)
def test_a_glob_fits_whole_paths(pattern: str, fitting: list[str]) -> None:
    fits = path_filter(pattern)
    assert [path for path in PATHS if fits(path)] == fitting


def test_what_is_excluded_without_a_wildcard_is_a_name_at_any_depth() -> None:
    out = exclusion_filter(["node_modules", "src/gen", "*.log"])
    for path in ("node_modules", "a/node_modules", "src/gen", "a/src/gen", "x.log"):
        assert out(path), path
    for path in ("node_modules2", "gen", "a/x.log"):
        assert not out(path), path
    assert not exclusion_filter([])("a")


@pytest.mark.parametrize("pattern", ["/etc/*", "{a,b}" * 7, "x" * 501, "/"])
def test_what_is_no_glob_is_refused(pattern: str) -> None:
    with pytest.raises(ToolError, match=r"pattern"):
        path_filter(pattern)
