"""Of many files a model is shown those that the question is about."""

from __future__ import annotations

import pytest

from tideate_core.agents.model_input import nearest_files

FILES = [
    "README.md",
    "lib/deep/er/cache.py",
    "node_modules/parser/parser.js",
    "src/a.py",
    "src/http_client.py",
    "src/lineParser.py",
    "tests/test_parsers.py",
    "zoo/HTTPServer.java",
]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Make the parser faster", ["src/lineParser.py", "tests/test_parsers.py"]),
        ("the clients of http", ["src/http_client.py", "zoo/HTTPServer.java"]),
        ("change zoo/HTTPServer.java and src/a.py", ["src/a.py", "zoo/HTTPServer.java"]),
        ("in cache.py, and in the README", ["README.md", "lib/deep/er/cache.py"]),
        ("nothing of it", ["README.md", "src/a.py"]),
        ("", ["README.md", "src/a.py"]),
    ],
)
def test_the_files_that_a_text_is_about_come_first(text: str, first: list[str]) -> None:
    assert nearest_files(FILES, text, 2) == first


def test_what_is_set_aside_comes_before_nothing() -> None:
    assert nearest_files(FILES, "parser", 3) == [
        "node_modules/parser/parser.js",
        "src/lineParser.py",
        "tests/test_parsers.py",
    ]


def test_few_files_are_all_shown_in_their_order() -> None:
    assert nearest_files(FILES, "parser", len(FILES)) == FILES


def test_no_room_is_no_file() -> None:
    assert nearest_files(FILES, "parser", 0) == []
