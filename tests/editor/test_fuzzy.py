"""The fuzzy search finds exactly the paths with the query's characters in order."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.harness.editor import Editor

SEARCH = """
local paths, queries = ...
local fuzzy = require('tideate.fuzzy')
local index = fuzzy.index(#paths > 0 and table.concat(paths, '\\n') .. '\\n' or '')
return vim.tbl_map(function(query)
  return vim.tbl_map(function(match) return match.path end, fuzzy.search(index, query, 1000))
end, queries)
"""


def has_in_order(path: str, query: str) -> bool:
    letters = iter(path.lower())
    return all(letter in letters for letter in query.lower())


def test_the_search_finds_paths_with_the_letters_in_order(editor: Editor) -> None:
    drawn = random.Random(5)
    letters = "abAB/_.ü -"
    paths = list(dict.fromkeys("".join(drawn.choices(letters, k=drawn.randint(1, 8))) for _ in range(300)))
    queries = ["", *("".join(drawn.choices("abB/_.", k=drawn.randint(1, 4))) for _ in range(40))]
    for query, found in zip(queries, editor.lua(SEARCH, paths, queries), strict=True):
        assert sorted(found) == sorted(path for path in paths if has_in_order(path, query)), query
    assert editor.lua(SEARCH, [], ["a", ""]) == [[], []]


def test_the_best_match_comes_first(editor: Editor) -> None:
    paths = [
        "a/long/path/to/the/parser_test.py",
        "parser/notes.md",
        "src/parser.py",
        "src/plan/area/serve.py",
    ]
    orders = {
        "parser": ["src/parser.py", "a/long/path/to/the/parser_test.py", "parser/notes.md"],
        "parser.py": ["src/parser.py"],
        "ppy": ["src/parser.py"],
        "pt": ["a/long/path/to/the/parser_test.py"],
    }
    for query, order in orders.items():
        assert editor.lua(SEARCH, paths, [query])[0][: len(order)] == order, query


def test_the_limit_keeps_the_best_ones(editor: Editor) -> None:
    search = "local f = require('tideate.fuzzy') return f.search(f.index(...), 'x', 2)"
    found = editor.lua(search, "".join(f"{'a' * count}x\n" for count in range(9, 0, -1)) + "x\n")
    assert found[0]["path"] == "x"
    assert len(found) == 2
