"""Directory listings, file information, and the server's description."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from mcp import Client

from tideate_core.mcp.servers.filesystem.server import filesystem_server

if TYPE_CHECKING:
    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.filesystem.conftest import Field


async def test_a_directory_is_listed_by_name_without_what_is_private(field: Field, call: Caller) -> None:
    for name in ("b.txt", "a/inner.txt", ".git/config", ".tideate/x", ".GIT/x", ".env"):
        field.write(name, "xyz")
    field.link("out", field.outside)
    os.mkfifo(field.root / "pipe")
    found = await call("list_directory")
    text = await call.text("list_directory", path="a")
    assert [(one["name"], one["type"]) for one in found["entries"]] == [
        (".env", "file"),
        ("a", "directory"),
        ("b.txt", "file"),
        ("out", "link"),
        ("pipe", "other"),
    ]
    assert found["total"] == 5
    assert text == "[FILE] inner.txt"


@pytest.mark.slow
async def test_a_large_directory_comes_in_pages(field: Field) -> None:
    names = [f"{'x' * 200}{number:04}" for number in range(700)]
    for name in names:
        field.write(name)
    for tool in ("list_directory", "list_directory_with_sizes"):
        seen: list[str] = []
        cursor = ""
        async with field.client() as call:
            while True:
                found = await call(tool, cursor=cursor)
                assert len(str(found)) < 45_000
                seen += [one["name"] for one in found["entries"]]
                if not (cursor := found["nextCursor"]):
                    break
            assert "not a cursor" in await call.refused(tool, cursor="--x")
        assert seen == names


async def test_sizes_are_listed_with_their_sum(field: Field, call: Caller) -> None:
    field.write("small", "x")
    field.write("large", "x" * 2_000)
    field.write("folder/x", "x" * 50)
    found = await call("list_directory_with_sizes", sort_by="size")
    text = await call.text("list_directory_with_sizes")
    assert "sort_by" in await call.refused("list_directory_with_sizes", sort_by="--size")
    assert [(one["name"], one["size"]) for one in found["entries"]] == [
        ("large", 2_000),
        ("small", 1),
        ("folder", None),
    ]
    assert (found["files"], found["directories"], found["size"]) == (2, 1, 2_001)
    assert text.splitlines() == [
        "[DIR] folder",
        "[FILE] large  2.0 KiB",
        "[FILE] small  1 B",
        "2 files, 1 directories; 2.0 KiB in all files",
    ]


async def test_a_name_that_cannot_be_shown_breaks_no_line_and_no_answer(field: Field, call: Caller) -> None:
    field.write("two\nlines\x1b[31m")
    (field.root / os.fsdecode(b"caf\xe9")).write_text("")
    text = await call.text("list_directory")
    tree = await call.text("directory_tree")
    found = await call.text("search_files", pattern="*")
    assert text.splitlines() == ["[FILE] caf\\udce9", "[FILE] two\\nlines\\x1b[31m"]
    assert tree.splitlines() == found.splitlines() == ["caf\\udce9", "two\\nlines\\x1b[31m"]


async def test_a_file_is_told_about(field: Field, call: Caller) -> None:
    path = field.write("src/a.txt", "12345")
    path.chmod(0o640)
    os.utime(path, ns=(10**18, 10**18))
    field.link("inner", "src/a.txt")
    found = await call("get_file_info", path="src/a.txt")
    linked = await call("get_file_info", path="inner")
    directory = await call("get_file_info", path="src")
    assert "does not exist" in await call.refused("get_file_info", path="src/b.txt")
    assert found["type"] == "file"
    assert found["size"] == 5
    assert found["permissions"] == "640"
    assert found["modified"] == "2001-09-09T01:46:40.000+00:00"
    assert not found["link"]
    assert linked == {**found, "link": True}
    assert directory["type"] == "directory"


async def test_the_root_is_told(field: Field, call: Caller) -> None:
    assert (await call("list_allowed_directories"))["directories"] == [str(field.root)]


WRITING = {"write_file", "edit_file", "create_directory", "move_file"}


async def test_all_tools_of_the_reference_are_there_and_say_what_they_do(field: Field) -> None:
    async with Client(filesystem_server(field.root)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert (len(tools), WRITING - tools.keys()) == (14, set())
    for name, tool in tools.items():
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (name not in WRITING), name
        assert tool.annotations.destructive_hint is (name in {"write_file", "edit_file"}), name
        assert tool.annotations.open_world_hint is False
        assert tool.output_schema is not None
        assert tool.output_schema["properties"]


@pytest.mark.slow
def test_who_only_reads_imports_nothing_that_writes(field: Field) -> None:
    code = (
        "import sys, pathlib\n"
        "from tideate_core.mcp.servers.filesystem.server import filesystem_server\n"
        "filesystem_server(pathlib.Path(sys.argv[1]))\n"
        "print([name for name in sys.modules if name.startswith('tideate_core.workspace.')"
        " or name.split('.')[0] in ('blake3', 'zstandard', 'ast_grep_py')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(field.root)], capture_output=True, text=True, check=True
    )
    parts = ("paths",)
    assert done.stdout.strip() == str([f"tideate_core.workspace.{part}" for part in parts])
