"""Search by path and text, trees, and continuation by cursor."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.mcp.servers.filesystem import search, walk
from tideate_core.mcp.servers.filesystem.served_root import ServedRoot
from tideate_core.mcp.servers.filesystem.walk import Walk, in_cancellable_thread

if TYPE_CHECKING:
    from threading import Event

    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.filesystem.conftest import Field

NAMES = ["a.py", "lib/b.py", "lib/deep/c.py", "lib/deep/d.txt", "lib.py", "lib/z.py", "out/e.py"]


@pytest.fixture
def grove(field: Field) -> Field:
    for name in NAMES:
        field.write(name, f"in {name}\n")
    for name in (".git/hooks/x.py", "lib/.git/x.py", ".TIDEATE/x.py"):
        field.write(name, "in it")
    field.link("away", field.outside)
    field.link("lib/again", "deep")
    return field


async def to_the_end(call: Caller, tool: str, of: str, **arguments: Any) -> list[list[Any]]:
    """Call a tool until there is no cursor; return the pages."""
    found = [await call(tool, **arguments)]
    while cursor := found[-1]["nextCursor"]:
        found.append(await call(tool, cursor=cursor, **arguments))
        assert len(found) < 100
    return [one[of] for one in found]


async def test_paths_are_found_in_order_and_links_are_not_followed(grove: Field, call: Caller) -> None:
    found = await call("search_files", pattern="**")
    below = await call("search_files", pattern="*.py", path="lib")
    linked = await call("search_files", pattern="*", path="lib/again")
    assert found["matches"] == [
        *("a.py", "away", "lib/", "lib/again", "lib/b.py", "lib/deep/", "lib/deep/c.py", "lib/deep/d.txt"),
        *("lib/z.py", "lib.py", "out/", "out/e.py"),
    ]
    assert below["matches"] == ["lib/b.py", "lib/z.py"]
    assert linked["matches"] == ["lib/deep/c.py", "lib/deep/d.txt"], "named as where they are"


async def test_what_is_excluded_is_left_out_with_all_below_it(grove: Field, call: Caller) -> None:
    found = await call("search_files", pattern="**/*.py", exclude_patterns=["deep", "l*.py"])
    tree = await call.text("directory_tree", exclude_patterns=["lib", "."])
    assert found["matches"] == ["a.py", "lib/b.py", "lib/z.py", "out/e.py"]
    assert tree == "a.py\naway (link)\nlib.py\nout/\n  e.py"


async def test_a_search_that_finds_nothing_says_how_to_look_deeper(grove: Field, call: Caller) -> None:
    assert "`**/`" in await call.text("search_files", pattern="e.py")
    assert await call.text("search_files", pattern="**/none") == "nothing fits"


async def test_a_tree_is_nested_and_an_outline(grove: Field, call: Caller) -> None:
    found = await call("directory_tree", path="lib")
    text = await call.text("directory_tree", path="lib")
    assert found["tree"] == [
        {"name": "again", "type": "link"},
        {"name": "b.py", "type": "file"},
        {
            "name": "deep",
            "type": "directory",
            "children": [{"name": "c.py", "type": "file"}, {"name": "d.txt", "type": "file"}],
        },
        {"name": "z.py", "type": "file"},
    ]
    assert text == "again (link)\nb.py\ndeep/\n  c.py\n  d.txt\nz.py"


@pytest.mark.parametrize("size", [1, 2, 3, 7])
async def test_pages_of_any_size_together_are_all(
    grove: Field, monkeypatch: pytest.MonkeyPatch, size: int, call: Caller
) -> None:
    (whole,) = await to_the_end(call, "search_files", "matches", pattern="**")
    (tree,) = await to_the_end(call, "directory_tree", "tree")
    monkeypatch.setattr(search, "PATHS", size)
    monkeypatch.setattr(search, "NODES", size)
    pages = await to_the_end(call, "search_files", "matches", pattern="**")
    trees = await to_the_end(call, "directory_tree", "tree")
    assert [len(page) for page in pages[:-1]] == [size] * (len(pages) - 1)
    assert [match for page in pages for match in page] == whole
    merged: list[Any] = []
    for page in trees:
        merge(merged, page)
    assert merged == tree


def merge(tree: list[dict[str, Any]], more: list[dict[str, Any]]) -> None:
    """Add a page to a tree."""
    for node in more:
        if tree and tree[-1]["name"] == node["name"]:
            merge(tree[-1]["children"], node["children"])
        else:
            tree.append(node)


async def test_a_call_looks_at_so_much_and_the_next_goes_on(
    grove: Field, monkeypatch: pytest.MonkeyPatch, call: Caller
) -> None:
    monkeypatch.setattr(walk, "LOOKED_AT", 1)
    pages = await to_the_end(call, "search_files", "matches", pattern="**/e.py")
    assert len(pages) > 2
    assert [match for page in pages for match in page] == ["out/e.py"]


async def test_a_cursor_goes_on_where_it_was_whatever_was_made_or_removed(
    grove: Field, monkeypatch: pytest.MonkeyPatch, call: Caller
) -> None:
    monkeypatch.setattr(search, "PATHS", 3)
    first = await call("search_files", pattern="**/*.py")
    assert first["matches"] == ["a.py", "lib/b.py", "lib/deep/c.py"]
    (grove.root / "lib/deep/c.py").unlink()
    (grove.root / "lib/deep/d.txt").unlink()
    (grove.root / "lib/deep").rmdir()
    grove.write("a0.py")
    grove.write("lib/new.py")
    second = await call("search_files", pattern="**/*.py", cursor=first["nextCursor"])
    assert second["matches"] == ["lib/new.py", "lib/z.py", "lib.py"]


async def test_a_cursor_is_good_for_its_question_only(
    grove: Field, monkeypatch: pytest.MonkeyPatch, call: Caller
) -> None:
    monkeypatch.setattr(search, "PATHS", 1)
    monkeypatch.setattr(search, "NODES", 1)
    cursor = (await call("search_files", pattern="**"))["nextCursor"]
    for wrong in (cursor[:-1], cursor + "A", "-x", "--output=x", "-Li4vLi4", "é", cursor.upper()):
        assert "not a cursor" in await call.refused("search_files", pattern="**", cursor=wrong)
    assert "not a cursor" in await call.refused("search_files", pattern="*", cursor=cursor)
    assert "not a cursor" in await call.refused("search_files", pattern="**", path="lib", cursor=cursor)
    assert "not a cursor" in await call.refused("directory_tree", cursor=cursor)


async def test_an_answer_is_bounded_whatever_the_names_are(field: Field, call: Caller) -> None:
    for number in range(300):
        field.write(f"{'ä' * 120}{number}")
    for tool, arguments in (("search_files", {"pattern": "**"}), ("directory_tree", {})):
        answer = await call.client.call_tool(tool, arguments)
        assert len(answer.model_dump_json().encode()) < 100_000
        assert answer.structured_content
        assert answer.structured_content["nextCursor"]


async def test_directories_that_are_too_deep_are_told(
    field: Field, monkeypatch: pytest.MonkeyPatch, call: Caller
) -> None:
    monkeypatch.setattr(walk, "DEEPEST", 3)
    field.write("a/b/c/d/e", "")
    found = await call("search_files", pattern="**")
    assert "1 directories" in await call.text("directory_tree")
    assert found["matches"] == ["a/", "a/b/", "a/b/c/", "a/b/c/d/"]
    assert found["unread"] == 1


async def test_cancelling_a_search_stops_it(grove: Field) -> None:
    looked = 0
    begun, ended = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def slow(stopped: Event) -> None:
        def take(*_: object) -> bool:
            nonlocal looked
            looked += 1
            loop.call_soon_threadsafe(begun.set)
            stopped.wait()
            return False

        try:
            Walk(ServedRoot(grove.root), ".", [], "", stopped).run(take)
        finally:
            loop.call_soon_threadsafe(ended.set)

    call = asyncio.ensure_future(in_cancellable_thread(slow))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    async with asyncio.timeout(60):
        await ended.wait()
    assert looked < 5, "it went into no other directory"


async def test_lines_are_found_by_what_they_hold(grove: Field, call: Caller) -> None:
    grove.write("many.txt", "x\nneedle here\r\ny\n" + "z" * 1_000 + "needle" + "z" * 1_000)
    grove.write("data.bin", "needle\0")
    grove.link("away.txt", grove.outside / "private.txt")
    found = await call("search_text", text="needle")
    inside = await call("search_text", text="in ", pattern="**/*.py", path="lib", exclude_patterns=["deep"])
    nothing = await call.text("search_text", text="nobody may see")
    assert [(one["path"], one["line"]) for one in found["matches"]] == [("many.txt", 2), ("many.txt", 4)]
    assert found["matches"][0]["text"] == "needle here"
    assert "needle" in found["matches"][1]["text"]
    assert len(found["matches"][1]["text"]) < 310
    assert [one["path"] for one in inside["matches"]] == ["lib/b.py", "lib/z.py"]
    assert nothing == "no line holds it"


async def test_what_holds_secrets_is_not_searched_and_that_is_said(field: Field, call: Caller) -> None:
    field.write(".env", "PASSWORD=hunter2\n")
    field.write("keys/id_rsa", "hunter2\n")
    field.write("app.py", "login('hunter2')\nKEY = 'AKIAIOSFODNN7EXAMPLE'\n")
    found = await call("search_text", text="hunter2")
    text = await call.text("search_text", text="KEY")
    nothing = await call.text("search_text", text="AKIA")
    assert [one["path"] for one in found["matches"]] == ["app.py"]
    assert found["leftOut"] == [".env", "keys/id_rsa"]
    assert text == nothing == "no line holds it\n[not searched: .env, keys/id_rsa]"


async def test_many_lines_come_in_pages(field: Field, monkeypatch: pytest.MonkeyPatch, call: Caller) -> None:
    for number in range(9):
        field.write(f"{number}.txt", "needle\n" * (number + 1))
    monkeypatch.setattr(search, "LINES", 6)
    monkeypatch.setattr(search, "LINES_OF_FILE", 5)
    pages = await to_the_end(call, "search_text", "matches", text="needle")
    cut = await to_the_end(call, "search_text", "cut", text="needle")
    counts = [sum(one["path"] == f"{number}.txt" for page in pages for one in page) for number in range(9)]
    assert counts == [1, 2, 3, 4, 5, 5, 5, 5, 5]
    assert [path for page in cut for path in page] == ["5.txt", "6.txt", "7.txt", "8.txt"]
