"""Built-in mentions show the buffer, the selection, diagnostics, symbols and the tree of a project."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.harness.buffers import Buffers
from tests.store.past import Past, run_id
from tideate_core.errors import ContextResolutionError, RunNotFound
from tideate_core.mentions import ContextResolver, Diagnostic, Surroundings
from tideate_core.store import Store
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


def around(root: Path, **rest: object) -> Surroundings:
    text = "def one():\n    return 7"
    return Surroundings(text, str(root / "src" / "one.py"), "python", (2, 2), **rest)  # type: ignore[arg-type]


async def test_buffer_and_selection_are_the_ones_of_the_run(root: Path) -> None:
    resolver = ContextResolver(root, around=around(root))
    buffer, selection = await resolver.resolve_all(["@buffer", "@selection"])
    assert (buffer.path, buffer.content, buffer.type) == ("src/one.py", "def one():\n    return 7", "file")
    assert (selection.path, selection.content, selection.about) == ("src/one.py", "    return 7", "lines 2-2")
    assert selection.type == "section"


async def test_diagnostics_are_told_line_by_line(root: Path) -> None:
    found = (Diagnostic(2, 5, "error", "two\nlines", "mypy"), Diagnostic(1, 1, "hint", "why"))
    item = await ContextResolver(root, around=around(root, diagnostics=found)).resolve("@diagnostics")
    assert item.content == "2:5: error: two lines [mypy]\n1:1: hint: why"
    none = await ContextResolver(root, around=around(root, diagnostics=())).resolve("@diagnostics")
    assert none.content == "there are none"


@pytest.mark.parametrize("mention", ["@buffer", "@selection", "@diagnostics"])
async def test_what_nobody_has_in_front_of_them_is_told(root: Path, mention: str) -> None:
    with pytest.raises(ContextResolutionError, match="there is no"):
        await ContextResolver(root).resolve(mention)
    with pytest.raises(ContextResolutionError, match="nothing is selected"):
        await ContextResolver(root, around=Surroundings("x")).resolve("@selection")


async def test_a_run_is_shown_with_its_prompt_its_outcome_and_its_answer(root: Path, tmp_path: Path) -> None:
    """Document 4, "from Memory: cached solutions": `@run:ID`."""
    with closing(Store.open(tmp_path / "private")) as store:
        done = await Past(store, 0xABCD, "ask", request={"prompt": "why round?"}).whole(response="It has pi.")
        past = Past(store, 1, "generate", request={"prompt": "write"})
        await past.begin()
        await past.end(status="failed", error="no disk", files=("a.py",))
    resolver = ContextResolver(root, workspace=Workspace(root, private=tmp_path / "private"))
    item = await resolver.resolve(f"@run:{done}")
    assert (item.content, item.type) == ("Asked:\nwhy round?\n\nAnswered:\nIt has pi.", "variable")
    assert item.source.startswith("ask, completed, 20")
    item = await resolver.resolve(f"@run:{run_id(1)}")
    assert item.content == "Asked:\nwrite\n\nChanged files:\na.py\n\nFailed:\nno disk"
    with pytest.raises(RunNotFound):
        await resolver.resolve("@run:ffff")
    with pytest.raises(ContextResolutionError, match="name a run"):
        await resolver.resolve("@run")


async def test_a_tree_of_a_folder(root: Path) -> None:
    assert (await ContextResolver(root).resolve("@tree")).content == "doc/\n  guide.md\nsrc/\n  one.py"
    item = await ContextResolver(root).resolve("@tree:src/")
    assert (item.path, item.content, item.type) == ("src", "one.py", "variable")


async def test_symbols_are_those_of_the_buffer_else_of_the_project(root: Path) -> None:
    buffer = Surroundings("def typed(): ...", str(root / "src" / "one.py"), "python")
    assert (await ContextResolver(root, around=buffer).resolve("@symbols")).content == "1: def typed(): ..."
    whole = await ContextResolver(root).resolve("@symbols")
    assert whole.content == "src/one.py\n  1: def one():\n  5: def two():"
    assert (await ContextResolver(root).resolve("@symbols:src")).content == whole.content
    one = await ContextResolver(root).resolve("@symbols:src/one.py")
    assert (one.path, one.content) == ("src/one.py", "1: def one():\n5: def two():")


# -- definitions of a name --------------------------------------------------------------------------


async def test_a_symbol_is_given_with_its_lines(root: Path) -> None:
    text = "LIMIT = 3\n\n\nclass Shape:\n    def area(self):\n        return 1\n"
    (root / "src" / "shape.py").write_text(text)
    item = await ContextResolver(root).resolve("@symbol:area")
    assert (item.path, item.about, item.language) == ("src/shape.py", "lines 5-6", "python")
    assert item.content == "    def area(self):\n        return 1\n"
    assert (await ContextResolver(root).resolve("@symbol:LIMIT")).content == "LIMIT = 3\n"


async def test_several_definitions_of_a_symbol_are_given_with_their_places(root: Path) -> None:
    for name in ("circle", "square"):
        (root / "src" / f"{name}.py").write_text(f"class {name.title()}:\n    def area(self): ...\n")
    (root / "tests").mkdir()
    (root / "tests" / "test_a.py").write_text("def area(): ...\n")
    item = await ContextResolver(root).resolve("@symbol:area")
    assert item.content.split("\n")[::3] == ["src/circle.py:2-2", "src/square.py:2-2", "tests/test_a.py:1-1"]
    assert item.about == "3 definitions"
    one = await ContextResolver(root).resolve("@symbol:Square.area")
    assert (one.path, one.about) == ("src/square.py", "lines 2-2")


async def test_a_symbol_of_the_open_buffer_is_found_before_it_is_saved(root: Path) -> None:
    (root / "src" / "one.py").write_text("old = 1\n")
    typed = Surroundings("def typed():\n    return 2\n", str(root / "src" / "one.py"), "python")
    buffers = Buffers.typed(root / "src" / "one.py", "def typed():\n    return 2\n")
    workspace = Workspace(root, buffers=buffers)
    item = await ContextResolver(root, workspace=workspace, around=typed).resolve("@symbol:typed")
    assert item.content == "def typed():\n    return 2\n"


@pytest.mark.parametrize(
    ("mention", "message"),
    [
        ("@symbol", "name a definition"),
        ("@symbol:a-b", "name a definition"),
        ("@symbol:nowhere", "no definition of nowhere is known"),
        ("@symbol:Nowhere.one", "no definition of Nowhere.one is known"),
    ],
)
async def test_a_symbol_that_is_not_defined_is_an_error(root: Path, mention: str, message: str) -> None:
    with pytest.raises(ContextResolutionError, match=message):
        await ContextResolver(root).resolve(mention)


async def test_a_symbol_in_a_secret_file_is_not_found(root: Path) -> None:
    (root / ".aws").mkdir()
    (root / ".aws" / "keys.py").write_text("def hidden(): ...\n")
    with pytest.raises(ContextResolutionError, match="no definition"):
        await ContextResolver(root).resolve("@symbol:hidden")
