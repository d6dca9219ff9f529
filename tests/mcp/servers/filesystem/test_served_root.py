"""No path leads out of the root or to private files: known vulnerabilities, in process."""

from __future__ import annotations

import asyncio
import os
import socket
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp.servers.filesystem.conftest import SECRET
from tideate_core.errors import WorkspaceError
from tideate_core.mcp.servers.filesystem import search
from tideate_core.mcp.servers.filesystem.changes import write_lock
from tideate_core.mcp.servers.filesystem.served_root import ServedRoot
from tideate_core.mcp.servers.filesystem.walk import Walk
from tideate_core.workspace.paths import Root
from tideate_core.workspace.transaction import Committer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.filesystem.conftest import Field

pytestmark = [pytest.mark.bulk, pytest.mark.slow]

EDIT = [{"old_text": "nobody", "new_text": "anybody"}]
READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("read_text_file", {}),
    ("read_media_file", {}),
    ("read_multiple_files", {}),
    ("list_directory", {}),
    ("list_directory_with_sizes", {}),
    ("directory_tree", {}),
    ("search_files", {"pattern": "**"}),
    ("search_text", {"text": "may"}),
    ("get_file_info", {}),
)
WRITES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("write_file", {"content": "new"}),
    ("edit_file", {"edits": EDIT}),
    ("create_directory", {}),
    ("move_file", {"destination": "taken"}),
    ("move_file", {"source": "a.txt"}),
)


async def all_refuse(field: Field, call: Caller, path: str, which: Any = READS + WRITES) -> list[str]:
    """Call each tool with a path; return the messages."""
    said = []
    for tool, arguments in which:
        named = {"paths": [path]} if tool == "read_multiple_files" else {"path": path}
        if tool == "move_file":
            named = {"destination" if "source" in arguments else "source": path}
        said.append(await call.refused(tool, **arguments, **named))
        assert SECRET not in said[-1]
        assert str(field.outside) not in said[-1].replace(path, "")
    return said


@pytest.mark.parametrize(
    "path",
    [
        *("{ws}-evil/private.txt", "../ws-evil/private.txt", "{ws}-evil", "{ws}/../ws-evil/private.txt"),
        *(
            "..",
            "../outside/private.txt",
            "a/../../outside",
            "{out}/private.txt",
            "/etc/passwd",
            "/",
            "{ws}/..",
        ),
        *(
            "..\\outside\\private.txt",
            "~/x",
            "~root",
            "a\0b",
            "a\nb",
            "a\x1b[2Jb",
            "a\u202eb",
            "\u200b../x",
            "",
        ),
        *(
            "\uff0e\uff0e/outside/private.txt",
            "\u2025/outside",
            "..\uff0foutside",
            "a\uff0f../b",
            "\ud800",
            "file:///etc/passwd",
        ),
        *("//etc/passwd", "/proc/self/environ", "/dev/zero", "{ws}//../outside", "x" * 5_000, "x/" * 2_000),
    ],
)
async def test_no_words_lead_out_of_the_root(field: Field, path: str, call: Caller) -> None:
    field.write("a.txt", "a")
    path = path.format(ws=field.root, out=field.outside)
    which = READS if path in ("file:///etc/passwd", "x/" * 2_000) else READS + WRITES
    for said in await all_refuse(field, call, path, which):
        assert len(said) < 600
    field.unharmed()
    assert field.all() == {"a.txt": "a"}


@pytest.mark.parametrize(
    "path",
    ["file", "folder/private.txt", "chain/private.txt", "chained", "inner/up/outside/private.txt", "new/x"],
)
async def test_no_link_leads_out_of_the_root(field: Field, path: str, call: Caller) -> None:
    field.link("file", field.outside / "private.txt")
    field.link("folder", field.outside)
    field.link("chain", "folder")
    field.link("chained", "file")
    field.link("inner/up", "../..")
    field.link("new", field.outside / "new")
    field.write("a.txt", "a")
    which = [one for one in READS + WRITES if one != ("move_file", {"source": "a.txt"})]
    if "/" not in path:  # a link itself may be named where it is not followed; it is moved by a person
        which = [one for one in which if one[0] != "move_file"]
    await all_refuse(field, call, path, which)
    for destination in (path, "new", "folder/new"):
        await call.refused("move_file", source="a.txt", destination=destination)
    shown = [await call.text(tool, path=".", **arguments) for tool, arguments in READS[3:8]]
    assert not any("private" in text or "outside" in text for text in shown), "links are shown, not followed"
    field.unharmed()


async def test_a_link_that_leads_nowhere_or_in_a_circle_is_neither_read_nor_written(
    field: Field, call: Caller
) -> None:
    field.link("loop", "loop")
    field.link("dangling", field.outside / "new")
    field.link("gone", "not/here")
    await all_refuse(field, call, "dangling", [*READS, *WRITES[:3]])
    await all_refuse(field, call, "loop", [*READS[:-1], *WRITES[:2]])
    told = await call("get_file_info", path="loop")
    assert (told["type"], told["link"]) == ("link", True)
    await all_refuse(field, call, "gone", READS)
    made = await call("write_file", path="gone", content="inside")
    assert made["path"] == "not/here", "a link inside is what it leads to"
    field.unharmed()


@pytest.mark.parametrize("kind", ["directory", "file"])
async def test_a_link_that_is_put_there_during_a_call_is_not_followed(
    field: Field, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    resolve = Root.resolve

    def then_swapped(self: Root, path: str | Path) -> Path:
        found = resolve(self, path)
        place = field.root / ("inner" if kind == "directory" else "inner/private.txt")
        if not place.is_symlink():
            place.rename(field.root / "aside")
            place.symlink_to(field.outside if kind == "directory" else field.outside / "private.txt")
        return found

    field.write("inner/private.txt", "mine")
    monkeypatch.setattr(Root, "resolve", then_swapped)
    ground = ServedRoot(field.root)
    with pytest.raises(Exception, match=r"does not exist|link|not a regular file"):
        os.close(ground.open_file("inner/private.txt")[0])
    with pytest.raises(Exception, match=r"link|no directory|does not exist|not inside|leads out"):
        os.close(ground.open_directory("inner" if kind == "directory" else "inner/private.txt")[0])


@pytest.mark.parametrize(("tool", "arguments"), WRITES[:4])
async def test_a_link_that_is_put_there_while_a_change_waits_is_not_followed(
    field: Field, tool: str, arguments: dict[str, Any], call: Caller
) -> None:
    field.write("inner/private.txt", SECRET)
    name = "inner/new" if tool == "create_directory" else "inner/private.txt"
    place = "source" if tool == "move_file" else "path"
    async with write_lock(field.root):
        change = asyncio.ensure_future(call.refused(tool, **arguments, **{place: name}))
        await call("list_directory")  # it has looked at the path by now, and waits
        (field.root / "inner").rename(field.root / "aside")
        field.link("inner", field.outside)
    assert "leads out of the root" in await change
    field.unharmed()


async def test_a_directory_that_becomes_a_link_during_a_walk_is_not_followed(field: Field) -> None:
    field.write("a.txt")
    field.write("b/mine.txt")
    seen = []

    def take(path: str, *_: object) -> bool:
        seen.append(path)
        if path == "b":
            (field.root / "b").rename(field.root / "c")
            field.link("b", field.outside)
        return False

    walk = Walk(ServedRoot(field.root), ".", [], "", Event())
    walk.run(take)
    assert seen == ["a.txt", "b"]
    assert walk.answer({}, "")[0]["unread"] == 1


PRIVATE = (
    *(".git", ".git/config", ".GIT/config", ".Git/hooks/pre-commit", "sub/.git/config", "./.git/config"),
    *(".tideate/config.toml", ".TIDEATE/x", "alias/config", "conf", ".tideate", "a/.git", "deep/er/.git/x"),
    *("\uff0egit/config", ".\uff47it/config"),
)


@pytest.mark.parametrize("path", PRIVATE)
async def test_what_is_private_is_neither_read_nor_written(field: Field, path: str, call: Caller) -> None:
    for name in (".git/config", "sub/.git/config", ".tideate/config.toml"):
        field.write(name, "nobody")
    field.link("alias", ".git")
    field.link("conf", "alias/config")
    field.write("a.txt", "a")
    before = field.all()
    links = path == "conf"  # a link itself is refused by its kind where it is moved
    await all_refuse(field, call, path, [*READS, *WRITES[:3]] if links else READS + WRITES)
    assert field.all() == before
    assert field.read(".tideate/config.toml") == "nobody"


@pytest.mark.parametrize("path", ["store/config", "store/hooks/pre-commit", "store", "sub/bare/objects/x"])
async def test_git_s_own_directory_by_another_name_is_not_written(
    field: Field, path: str, call: Caller
) -> None:
    for place in ("store", "sub/bare"):
        for name in ("HEAD", "config", "objects/x", "refs/x"):
            field.write(f"{place}/{name}", "nobody")
    field.write(".git", "gitdir: store\n")
    field.write("a.txt", "a")
    before = field.all()
    await all_refuse(field, call, path, WRITES)
    await call.refused("move_file", source="sub", destination="other")
    assert field.all() == before


@pytest.mark.parametrize(
    ("there", "last"),
    [
        (("config", "objects/x", "refs/x"), "HEAD"),
        (("config", "HEAD", "objects/x"), "refs/x"),
        (("config", "HEAD", "refs/x"), "objects"),
        (("config", "commondir"), "HEAD"),
    ],
)
async def test_nothing_becomes_a_repository_of_git_s(
    field: Field, there: tuple[str, ...], last: str, call: Caller
) -> None:
    for name in there:
        await call("write_file", path=f"b/{name}", content="x")
    before = field.all()
    assert "would be a git repository" in await call.refused("write_file", path=f"b/{last}", content="x")
    assert "git repository" in await call.refused("create_directory", path=f"b/{last}/y")
    assert field.all() == before
    await call("write_file", path="other/x", content="x")
    assert "git repository" in await call.refused("move_file", source="other", destination=f"b/{last}")
    await call("move_file", source="other", destination="b/else")
    assert field.all() == before | {"b/else": "", "b/else/x": "x"}


async def test_a_hard_link_keeps_what_it_shares_as_it_is(field: Field, call: Caller) -> None:
    field.write(".git/config", "[core]\n")
    for target, name in ((field.root / ".git/config", "one"), (field.outside / "private.txt", "two")):
        os.link(target, field.root / name)
    await call("write_file", path="one", content="new")
    assert "the same file as one elsewhere" in await call.refused("edit_file", path="two", edits=EDIT)
    assert field.read(".git/config") == "[core]\n"
    field.unharmed()


async def test_what_is_no_regular_file_is_not_opened(field: Field) -> None:
    os.mkfifo(field.root / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    here = os.open(field.root, os.O_RDONLY)
    try:  # the name of a socket is bounded to 107 bytes
        listener.bind(f"/proc/self/fd/{here}/socket")
    finally:
        os.close(here)
    with listener:
        async with field.client() as call:
            for name in ("pipe", "socket"):
                for said in await all_refuse(field, call, name, [*READS[:7], *WRITES[:4]]):
                    assert "regular file" in said or "is not a directory" in said or "is a file" in said
                assert (await call("get_file_info", path=name))["type"] == "other"
            assert (await call("search_text", text="x"))["matches"] == []


async def test_links_in_the_projects_own_folder_lead_nowhere(field: Field, call: Caller) -> None:
    field.link(".tideate", field.outside)
    await call("write_file", path="a.txt", content="a")
    field.unharmed()
    assert (field.root / "a.txt").read_text() == "a"


@pytest.mark.parametrize("kind", [OSError, WorkspaceError])
async def test_what_a_failing_disk_says_names_no_place_outside(
    field: Field, monkeypatch: pytest.MonkeyPatch, kind: type[Exception], call: Caller
) -> None:
    def full(*_: object, **__: object) -> None:
        if kind is OSError:
            raise OSError(28, "No space left on device", str(field.outside / "somewhere"))
        raise WorkspaceError(f"{field.outside}/x and {field.root}/b.txt and {field.root}: No space left")

    monkeypatch.setattr(Committer, "commit", full)
    said = await call.refused("write_file", path="a.txt", content="a")
    assert "No space left" in said
    assert str(field.root.parent) not in said
    if kind is WorkspaceError:
        assert "(a path outside) and b.txt and .:" in said


async def test_a_file_that_becomes_a_link_while_it_is_searched_is_not_followed(
    field: Field, monkeypatch: pytest.MonkeyPatch, call: Caller
) -> None:
    def swapped(path: str) -> str:
        (field.root / path).unlink()
        field.link(path, field.outside / "private.txt")
        return ""

    field.write("a.txt", "mine")
    monkeypatch.setattr(search, "secret_name", swapped)
    found = await call("search_text", text="may")
    assert found["matches"] == []
    assert found["leftOut"] == ["a.txt"]


async def test_a_file_that_cannot_be_kept_is_neither_moved_nor_written_over(
    field: Field, call: Caller
) -> None:
    with (field.root / "large").open("wb") as file:
        file.truncate(1 << 40)
    for tool, arguments in (
        ("move_file", {"source": "large", "destination": "other"}),
        ("write_file", {"path": "large", "content": "small"}),
    ):
        assert "a person must do it" in await call.refused(tool, **arguments)
    assert (field.root / "large").stat().st_size == 1 << 40


async def test_nothing_is_below_a_file(field: Field, call: Caller) -> None:
    field.write("file", "x")
    assert "file is a file" in await call.refused("write_file", path="file/a/b", content="x")
