"""Of many files a model is shown those that the question is about."""

from __future__ import annotations

import pytest

from tideate_core.agents.project_files import nearest_files, neighbours, without_data

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


DATA = [f"tests/toml-test/valid/{number}.{suffix}" for number in range(30) for suffix in ("toml", "json")]
CODE = ["CHANGELOG.md", "pyproject.toml", "src/kit/api.py", "src/kit/items.py", "tests/conftest.py"]


def test_a_large_folder_of_data_is_one_line_and_code_and_documents_stay() -> None:
    listed, folders = without_data(sorted([*CODE, *DATA]), "add an api")
    assert listed == CODE
    assert folders == ["tests/toml-test/valid/: 60 .json/.toml files"]


def test_data_that_is_named_is_listed_and_few_data_files_are_too() -> None:
    listed, folders = without_data([*CODE, "conf/a.json", *DATA], "why does 7.toml fail?")
    assert listed == [*CODE, "conf/a.json", "tests/toml-test/valid/7.toml"]
    assert folders == ["tests/toml-test/valid/: 59 .json/.toml files"]


def test_data_in_several_folders_is_one_line_for_the_folder_that_holds_it_all() -> None:
    spread = [f"data/{folder}/{number}.csv" for folder in "abc" for number in range(30)]
    assert without_data([*CODE, *spread], "") == (CODE, ["data/: 90 .csv files"])


def test_code_comes_before_data_that_shares_more_words() -> None:
    assert nearest_files(["a/parser.json", "b/x.py"], "the parser", 1) == ["b/x.py"]
    assert nearest_files(["a/parser.json", "b/x.py"], "see a/parser.json", 1) == ["a/parser.json"]


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("kit/items.py", ["src/kit/items.py"]),
        ("src/kit/item.py", ["src/kit/items.py"]),
        ("docs/nothing.rst", []),
    ],
)
def test_a_path_that_does_not_exist_has_neighbours(path: str, near: list[str]) -> None:
    assert neighbours(path, CODE)[:1] == near
