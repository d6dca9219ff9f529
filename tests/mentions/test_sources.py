"""Built-in mentions show the buffer, the selection, diagnostics, symbols and the tree of a project."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

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
