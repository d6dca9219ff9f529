"""Writing, editing, creating and moving; each change can be rolled back by its id."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.project import project_state
from tideate_core.workspace import Workspace, file_writer

if TYPE_CHECKING:
    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.filesystem.conftest import Field

pytestmark = pytest.mark.slow

TEXT = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"


async def changed(field: Field, call: Caller, tool: str, **arguments: Any) -> dict[str, Any]:
    """Make a change, roll it back, assert that everything is restored, and repeat the change."""
    before = field.all()
    first = await call(tool, **arguments)
    assert field.all() != before
    await Workspace(field.root).rollback(first["rollback"])
    assert field.all() == before
    return await call(tool, **arguments)


@pytest.mark.parametrize(
    "content", ["", "one\n", "no end", "\n\n", "a\r\nb\r\n", "\ufeffmark", "form\x0cfeed\x1b[1m", "😀" * 9]
)
async def test_a_file_is_written_exactly(field: Field, content: str, call: Caller) -> None:
    field.write("old.txt", "\ufefftwo\r\nlines")
    new = await changed(field, call, "write_file", path="a/b/new.txt", content=content)
    old = await changed(field, call, "write_file", path="old.txt", content=content)
    assert field.read("a/b/new.txt") == field.read("old.txt") == content
    assert (new["action"], old["action"]) == ("created", "replaced")


async def test_a_new_file_gets_the_permissions_that_new_files_get(field: Field, call: Caller) -> None:
    plain = field.write("plain.txt")
    await call("write_file", path="new.txt", content="x")
    assert (field.root / "new.txt").stat().st_mode == plain.stat().st_mode


async def test_bytes_that_are_replaced_come_back(field: Field, call: Caller) -> None:
    (field.root / "logo.png").write_bytes(bytes(range(256)))
    (field.root / "logo.png").chmod(0o750)
    await changed(field, call, "write_file", path="logo.png", content="text")
    assert stat.S_IMODE((field.root / "logo.png").stat().st_mode) == 0o750


async def test_what_is_as_wanted_is_not_written(field: Field, call: Caller) -> None:
    field.write("a/x.txt", TEXT)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("write_file", {"path": "a/x.txt", "content": TEXT}),
        ("create_directory", {"path": "a"}),
        ("create_directory", {"path": "."}),
        ("edit_file", {"path": "a/x.txt", "edits": [{"old_text": "one", "new_text": "one"}]}),
    ]
    for tool, arguments in calls:
        found = await call(tool, **arguments)
        assert (found["action"], found["rollback"]) == ("unchanged", None), tool
    assert not (project_state(field.root) / "journal").exists()


async def test_what_cannot_be_written_is_refused(field: Field, call: Caller) -> None:
    field.write("folder/x", "x")
    field.write("closed", "x").chmod(0o444)
    os.mkfifo(field.root / "pipe")
    before = field.root / "folder"
    for path, why in [
        ("folder", "not a regular file"),
        ("folder/x/y", ""),
        ("closed", "read-only"),
        ("pipe", "not a regular file"),
        (".", "root itself"),
    ]:
        said = await call.refused("write_file", path=path, content="new")
        assert why in said, path
        assert str(field.root.parent) not in said.replace(str(field.root), ""), path
    for text in ("a\0b", "\ud800"):
        assert "content" in await call.refused("write_file", path="new", content=text)
    assert "is a file" in await call.refused("create_directory", path="folder/x")
    assert sorted(before.iterdir()) == [before / "x"]
    assert not (field.root / "new").exists()


async def test_an_edit_replaces_the_one_place_and_shows_the_difference(field: Field, call: Caller) -> None:
    field.write("a.py", TEXT)
    edits = [
        {"old_text": "return 1", "new_text": "return one"},
        {"oldText": "def two():\n", "newText": "def three():\n"},
    ]
    dry = await call("edit_file", path="a.py", edits=edits, dryRun=True)
    assert field.read("a.py") == TEXT
    assert not (field.root / ".tideate").exists()
    done = await changed(field, call, "edit_file", path="a.py", edits=edits)
    assert field.read("a.py") == TEXT.replace("return 1", "return one").replace("two", "three")
    assert dry["rollback"] is None
    assert dry["diff"] == done["diff"]
    assert dry["diff"].splitlines()[3:7] == [
        "@@ -1,6 +1,6 @@",
        " def one():",
        "-    return 1",
        "+    return one",
    ]


@pytest.mark.parametrize(
    ("old", "new", "text", "wanted"),
    [
        ("last\n", "", "one\nlast\n", "one\n"),
        ("one\n", "", "one\nlast\n", "last\n"),
        ("last", "end", "one\nlast", "one\nend"),
        ("last\n", "end\n", "one\nlast", "one\nend"),
        ("one\nlast", "x", "one\r\nlast\r\n", "x\r\n"),
        (
            "if bold:\n  call\n",
            "if old:\n  shout\n",
            "a\n    if bold:\n      call\n",
            "a\n    if old:\n      shout\n",
        ),
        ("return 2", "return 3", "    return 2   \n", "    return 3   \n"),
    ],
)
async def test_line_ends_and_indentation_stay_as_the_file_has_them(
    field: Field, old: str, new: str, text: str, wanted: str, call: Caller
) -> None:
    field.write("a.txt", text)
    await call("edit_file", path="a.txt", edits=[{"old_text": old, "new_text": new}])
    assert field.read("a.txt") == wanted


async def test_a_place_that_is_none_or_several_is_refused_with_the_nearest_lines(
    field: Field, call: Caller
) -> None:
    field.write("a.py", TEXT)
    field.write("data", "a\0b")
    good = {"old_text": "def one", "new_text": "def ONE"}
    for old, why in [
        ("return", "edit 2"),
        ("def thre():\n    return 2", "nearest are its lines"),
        ("def ", "edit 2"),
    ]:
        edits = [good, {"old_text": old, "new_text": "x"}]
        assert why in await call.refused("edit_file", path="a.py", edits=edits), old
    rest = [{"old_text": "    return 1", "new_text": "    # ... rest of the code ..."}]
    assert "omitted lines" in await call.refused("edit_file", path="a.py", edits=rest)
    assert "does not exist" in await call.refused("edit_file", path="none", edits=[good])
    assert "binary" in await call.refused("edit_file", path="data", edits=[good])
    assert "old_text" in await call.refused(
        "edit_file", path="a.py", edits=[{"old_text": "", "new_text": ""}]
    )
    assert "edits" in await call.refused("edit_file", path="a.py", edits=[])
    assert field.read("a.py") == TEXT, "none of the edits was made"


async def test_a_long_difference_is_cut_off(field: Field, call: Caller) -> None:
    field.write("a.txt", "x\n")
    done = await call("edit_file", path="a.txt", edits=[{"old_text": "x", "new_text": "y\n" * 50_000}])
    assert len(done["diff"]) < 31_000
    assert done["diff"].endswith("[the rest is left out]")


async def test_a_file_is_moved_and_taken_back(field: Field, call: Caller) -> None:
    field.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    (field.root / "b.bin").write_bytes(b"\0\xff")
    moved = await changed(field, call, "move_file", source="run.sh", destination="bin/run")
    await changed(field, call, "move_file", source="b.bin", destination="c.bin")
    assert moved["path"] == "bin/run"
    assert field.all() == {"bin": "", "bin/run": "#!/bin/sh\n", "c.bin": "\0\xff"}
    assert stat.S_IMODE((field.root / "bin/run").stat().st_mode) == 0o755


async def test_a_directory_is_moved_with_all_in_it_and_taken_back(field: Field, call: Caller) -> None:
    field.write("old/a.txt", "a")
    field.write("old/same.txt", "a")
    field.write("old/deep/er/b.txt", "b")
    (field.root / "old/empty").mkdir(mode=0o700)
    await changed(field, call, "move_file", source="old", destination="new/place")
    assert "old" not in field.all()
    assert field.read("new/place/deep/er/b.txt") == "b"
    assert stat.S_IMODE((field.root / "new/place/empty").stat().st_mode) == 0o700


async def test_what_cannot_be_moved_back_is_not_moved(
    field: Field, monkeypatch: pytest.MonkeyPatch, call: Caller
) -> None:
    field.write("there.txt", "there")
    field.write("a.txt", "a")
    field.link("link", "a.txt")
    field.link("linked/x", "../a.txt")
    field.write("repo/sub/.git/config", "")
    for name in ("bare/HEAD", "bare/objects/x", "bare/refs/x", "many/1", "many/2"):
        field.write(name)
    monkeypatch.setattr(file_writer, "MOVED_FILES", 1)
    before = field.all()
    for source, destination, why in [
        ("a.txt", "there.txt", "exists already"),
        ("a.txt", "link", "exists already"),
        ("none", "b.txt", "does not exist"),
        ("link", "b.txt", "symbolic link"),
        ("linked", "b", "link or no regular file"),
        ("repo", "b", ".git in it"),
        ("bare", "b", "git repository"),
        ("many", "b", "more than 1 files"),
        ("repo", "repo/inner", "is inside"),
        (".", "b", "root itself"),
        ("a.txt", ".", "root itself"),
    ]:
        said = await call.refused("move_file", source=source, destination=destination)
        assert why in said, (source, destination)
    assert field.all() == before
