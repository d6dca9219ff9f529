"""A model is shown the files most relevant to its question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.agents.stage import StageStep
from tests.harness.project import write_files
from tideate_core.agents.project_files import (
    list_for_model,
    nearest_files,
    neighbours,
    without_binaries,
    without_data,
)

if TYPE_CHECKING:
    from pathlib import Path

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
        ("parser", ["node_modules/parser/parser.js", "src/lineParser.py", "tests/test_parsers.py"]),
        ("parser", FILES),
        ("parser", []),
    ],
)
def test_the_files_that_a_text_is_about_come_first(text: str, first: list[str]) -> None:
    assert nearest_files(FILES, text, len(first)) == first


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


IMAGES = ["docs/img/a.png", "docs/img/b.PNG", "docs/img/c.gif", "fonts/x.woff2", "logo.ico", "x.tar.gz"]


def test_what_is_no_text_is_a_line_for_each_folder() -> None:
    listed, folders = without_binaries(
        sorted([*CODE, *IMAGES, "docs/a.svg", "Makefile", "data.bin"]), "add an api"
    )
    assert listed == sorted([*CODE, "docs/a.svg", "Makefile"])
    assert list(folders) == [
        "./: 3 .bin/.gz/.ico files, no text",
        "docs/img/: 3 .PNG/.gif/.png files, no text",
        "fonts/: 1 .woff2 file, no text",
    ]


def test_an_image_that_is_named_is_listed() -> None:
    listed, folders = without_binaries(IMAGES, "make logo.ico smaller")
    assert listed == ["logo.ico"]
    assert "./: 1 .gz file, no text" in folders


async def test_a_planner_is_shown_folders_with_lines_of_code_and_may_name_all(tmp_path: Path) -> None:
    files = [*CODE, "a.json", "a.png", "src/kit/icon.png", "src/kit/AGENTS.md"]
    write_files(tmp_path, {path: f"{path}\n" * len(path) for path in files})
    step = StageStep(tmp_path)
    step.rules_files = []
    listed = await list_for_model(step, "add an api")  # type: ignore[arg-type]
    assert listed.lines == [
        "./: CHANGELOG.md 12, a.json, pyproject.toml",
        "src/kit/: AGENTS.md 17, api.py 14, items.py 16",
        "tests/: conftest.py 17",
        *("./: 1 .png file, no text", "src/kit/: 1 .png file, no text"),
    ]
    assert (listed.more, sorted(listed.files)) == (0, sorted(files))
    assert listed.rules == ["src/kit/AGENTS.md"]


async def test_a_large_project_lists_the_number_of_omitted_files_by_folder(tmp_path: Path) -> None:
    write_files(tmp_path, {f"{folder}/{number}.py": "" for folder in ("a", "b") for number in range(300)})
    listed = await list_for_model(StageStep(tmp_path), "change a")  # type: ignore[arg-type]
    assert [line.partition(": ")[0] for line in listed.lines] == ["a/"]
    assert listed.more == 300
    assert sum(map(len, listed.lines)) < 3_000


async def test_a_small_model_is_shown_code_before_what_is_no_text(tmp_path: Path) -> None:
    files = [f"src/{number}.py" for number in range(9)] + [f"img{number}/a.png" for number in range(90)]
    write_files(tmp_path, dict.fromkeys(files, ""))
    step = StageStep(tmp_path, context_tokens=600)
    listed = await list_for_model(step, "do it")  # type: ignore[arg-type]
    assert listed.lines[0] == f"src/: {', '.join(f'{number}.py' for number in range(9))}"
    assert (len(listed.lines), listed.more) == (3, 88)


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
