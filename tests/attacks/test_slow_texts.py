"""A text that takes a grammar hours to parse: in an answer, a file or a buffer."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.agents.tools.project import Project
from tideate_core.agents.tools import symbols as symbol_tools
from tideate_core.edits import Insertion, insertion_of
from tideate_core.edits.matching import insertion
from tideate_core.errors import ContextResolutionError, NotParsed, ToolError
from tideate_core.gates import new_errors, syntax
from tideate_core.mentions import (
    ContextResolver,
    Surroundings,
    definitions,
    definitions_in,
    outline,
    places_of_name,
    symbols,
)
from tideate_core.process import parse_outside, parsing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [pytest.mark.bulk, pytest.mark.attack, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
ENDS = {"javascript": "js", "lua": "lua", "python": "py", "tsx": "tsx", "typescript": "ts"}
PIECES = {
    "python": ["<!-- "],
    "javascript": ["/* ", "'", '"""'],
    "typescript": ["/* ", "'", '"""'],
    "tsx": ["/* ", "'", '"""'],
    "lua": ["function ", "the ", "\\", "=", "0,"],
}
CASES = [(language, piece) for language, pieces in PIECES.items() for piece in pieces]
NAME = "wanted"


def text_of(piece: str) -> str:
    return (piece * 200_000)[:200_000] + f"\n{NAME}\n"


@pytest.fixture(autouse=True)
def parser(monkeypatch: pytest.MonkeyPatch) -> Iterator[parsing.Parser]:
    own = parsing.Parser()
    monkeypatch.setattr(parsing, "_parser", own)
    monkeypatch.setattr(parsing, "SECONDS", 0.2)
    yield own
    own.end()


async def ended(work: Callable[[], Any]) -> Any:
    """Return the result of work in a thread; assert that the event loop stays responsive."""
    task, answers = asyncio.create_task(asyncio.to_thread(work)), 0
    while not task.done():
        answers += await asyncio.to_thread(int, "1")
    # with the lock held there would be two
    assert answers > 5
    return task.result()


@pytest.mark.parametrize(("language", "piece"), CASES, ids=ascii)
async def test_a_slow_text_is_given_up(language: str, piece: str, caplog: pytest.LogCaptureFixture) -> None:
    text, path = text_of(piece), f"a.{ENDS[language]}"
    lines, code = ["x = 1", ""], text.rstrip("\n").split("\n")
    with pytest.raises(NotParsed, match="too long"):
        await ended(lambda: syntax._tree_problems(language, text))
    with pytest.raises(NotParsed, match="too long"):
        await ended(lambda: outline(text, path))
    with pytest.raises(NotParsed, match="too long"):
        await ended(lambda: definitions_in(text, path))
    with pytest.raises(NotParsed, match="too long"):
        await ended(lambda: places_of_name(text, path, NAME))
    found = await ended(lambda: insertion_of(code, lines, 1, language))
    assert found == Insertion(1, code)
    if language != "python":  # whose own parser is asked
        assert new_errors(language, "", text) == []
        assert "is not checked: it takes too long to parse" in caplog.text


async def test_nothing_is_new_after_a_text_that_takes_too_long() -> None:
    assert new_errors("lua", text_of("the "), "x = = 1") == []
    assert new_errors("lua", "x = 1", "x = = 1")


async def test_the_real_limit_ends_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert parsing.SECONDS == 5
    with pytest.raises(NotParsed, match="too long"):
        await ended(lambda: outline("<!-- " * 100_000, "a.py"))


async def test_tools_name_a_file_that_takes_too_long(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.lua": text_of("the "), "b.lua": f"function {NAME}() end\n"})
    with pytest.raises(ToolError, match=r"a\.lua has no outline: it takes too long to parse; read_file"):
        await project.call("outline", path="a.lua")
    for _ in range(2):
        answer = await project.call("find_symbol", name=NAME)
        assert f"b.lua\n1:function {NAME}() end" in answer
        assert "[takes too long to parse: a.lua]" in answer
        assert "a.lua\n2:wanted" in answer


async def test_find_symbol_stops_parsing_after_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbol_tools, "PATIENCE", 0)
    project = Project(tmp_path, {"01.lua": f"x = 1\n{text_of('the ')}", "z.lua": f"function {NAME}() end\n"})
    answer = await project.call("find_symbol", name=NAME)
    assert "[stopped after 0 s; 2 more files may define it: 01.lua, z.lua]" in answer
    assert "01.lua\n3:wanted" in answer
    assert answer.endswith("[stopped parsing: some of these lines may be in comments or strings]")


async def test_mentions_name_a_file_that_takes_too_long(tmp_path: Path) -> None:
    (tmp_path / "a.lua").write_text(text_of("the "))
    (tmp_path / "b.lua").write_text(f"function {NAME}() end\n")
    whole = await ContextResolver(tmp_path).resolve("@symbols")
    assert whole.content == f"b.lua\n  1: function {NAME}() end"
    assert whole.cut == "only 1 of 2 files were read; a.lua was left out, it takes too long to parse"
    with pytest.raises(ContextResolutionError, match=r"a\.lua has no outline: it takes too long to parse"):
        await ContextResolver(tmp_path).resolve("@symbols:a.lua")
    around = Surroundings(text_of("the "), "", "lua", None)
    with pytest.raises(ContextResolutionError, match="the buffer has no outline"):
        await ContextResolver(tmp_path, around=around).resolve("@symbols")


def test_a_text_that_is_no_unicode_has_no_errors() -> None:
    assert new_errors("lua", "", "x = \ud800") == []


def same(module: Any, function: str, *arguments: object) -> None:
    """The child process returns the function's result."""
    direct = json.loads(json.dumps(getattr(module, function)(*arguments)))
    assert parse_outside(f"{module.__name__}:{function}", *arguments) == direct


def all_same(text: str, language: str) -> None:
    lines = text.split("\n")
    same(syntax, "tree_rows", language, text)
    same(symbols, "entries_of_code", text, language)
    same(definitions, "definition_rows", text, language)
    same(definitions, "lines_of_name", text, language, "self")
    same(insertion, "place_of", "\n".join(lines[:20]), lines, len(lines) // 2, language)


WORDS = ["def ", "class ", "function ", "self", "x", "end", *"(){}:=\n'😀", "    "]


@given(st.lists(st.sampled_from(WORDS), max_size=60).map("".join), st.sampled_from(sorted(ENDS)))
@settings(max_examples=60, deadline=None)
def test_the_child_gives_the_result_of_a_direct_call(text: str, language: str) -> None:
    all_same(text, language)


def test_the_child_gives_the_result_of_a_direct_call_for_real_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "SECONDS", 5)
    files = [(path, "python") for path in sorted((ROOT / "tideate_core" / "gates").glob("*.py"))]
    files += [(path, "lua") for path in sorted((ROOT / "lua").rglob("*.lua"))[:15]]
    assert len(files) > 20
    for path, language in files:
        all_same(path.read_text(encoding="utf-8"), language)
