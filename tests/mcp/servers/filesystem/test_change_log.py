"""Concurrent, cancelled and interrupted changes, their retention, and rollback from the shell."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp.conftest import COMMAND
from tideate_core.mcp.servers.filesystem import change_log, changes as file_changes
from tideate_core.mcp.servers.filesystem.changes import Changes, write_lock
from tideate_core.mcp.servers.filesystem.schemas import Edit
from tideate_core.mcp.servers.filesystem.served_root import ServedRoot
from tideate_core.project import project_state
from tideate_core.workspace import Workspace
from tideate_core.workspace.transaction import Committer

if TYPE_CHECKING:
    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.filesystem.conftest import Field

ROOT = Path(__file__).parents[4]


@pytest.mark.slow
async def test_many_writes_at_once_are_all_made(field: Field) -> None:
    field.write("a.txt", "".join(f"<{number}>\n" for number in range(8)))
    async with field.client() as one, field.client() as other:
        await asyncio.gather(
            *(
                call("edit_file", path="a.txt", edits=[{"old_text": f"<{number}>", "new_text": f"{number}"}])
                for number, call in enumerate([one, other] * 4)
            ),
            *(one("write_file", path=f"{number}.txt", content=f"{number}") for number in range(4)),
        )
    assert field.read("a.txt") == "".join(f"{number}\n" for number in range(8))
    assert [field.read(f"{number}.txt") for number in range(4)] == ["0", "1", "2", "3"]


def hold_commits(monkeypatch: pytest.MonkeyPatch) -> tuple[asyncio.Event, asyncio.Event]:
    """Make commits wait; return an event that one has started, and one that releases them."""
    begun, go_on = asyncio.Event(), asyncio.Event()
    commit = Committer.commit

    async def held(self: Committer, *arguments: Any) -> Any:
        begun.set()
        await go_on.wait()
        return await commit(self, *arguments)

    monkeypatch.setattr(Committer, "commit", held)
    return begun, go_on


@pytest.mark.parametrize("tool", ["write", "edit", "make_directory", "move"])
async def test_a_change_that_is_cancelled_while_it_is_made_is_not_made(
    field: Field, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    begun, go_on = hold_commits(monkeypatch)
    field.write("a.txt", "one\n")
    changes = Changes(ServedRoot(field.root))
    edits = [Edit(old_text="one", new_text="two")]
    works = {
        "write": changes.write("b/c.txt", "new"),
        "edit": changes.edit("a.txt", edits, dry_run=False),
        "make_directory": changes.make_directory("b/c"),
        "move": changes.move("a.txt", "b/c.txt"),
    }
    call = asyncio.ensure_future(works.pop(tool))
    for unused in works.values():
        unused.close()
    await begun.wait()
    call.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert field.all() == {"a.txt": "one\n"}
    assert not list((project_state(field.root) / "journal").glob("*"))
    assert (await Changes(ServedRoot(field.root)).write("d.txt", "x"))["action"] == "created", (
        "the turn is free"
    )


async def test_calls_of_one_server_wait_for_each_other_as_long_as_it_takes(
    field: Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = hold_commits(monkeypatch)
    monkeypatch.setattr(file_changes, "PATIENCE", 0)
    changes = Changes(ServedRoot(field.root))
    first = asyncio.ensure_future(changes.write("a.txt", "one"))
    await begun.wait()
    second = asyncio.ensure_future(changes.write("a.txt", "two"))
    asyncio.get_running_loop().call_soon(go_on.set)
    assert [(await one)["action"] for one in (first, second)] == ["created", "replaced"]
    assert field.read("a.txt") == "two"


async def test_the_oldest_changes_are_forgotten(
    field: Field, monkeypatch: pytest.MonkeyPatch, call: Caller
) -> None:
    monkeypatch.setattr(change_log, "KEPT", 3)
    done = [await call("write_file", path=f"{number}.txt", content="x") for number in range(5)]
    workspace = Workspace(field.root)
    assert [workspace.has_journal(one["rollback"]) for one in done] == [False, False, True, True, True]
    for one in done:
        await workspace.rollback(one["rollback"])
    assert field.all() == {"0.txt": "x", "1.txt": "x"}


async def test_a_server_waits_for_another_one_that_writes(
    field: Field, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with write_lock(field.root), field.client() as call:
        monkeypatch.setattr(file_changes, "PATIENCE", 0.05)
        said = await call.refused("write_file", path="a.txt", content="a")
        assert "another filesystem server" in said
        assert (await call("list_directory"))["total"] == 0, "who reads does not wait"
        monkeypatch.setattr(file_changes, "PATIENCE", 30)
        waiting = asyncio.ensure_future(call("write_file", path="b.txt", content="b"))
        cancelled = asyncio.ensure_future(call("write_file", path="c.txt", content="c"))
        await call("list_directory")
        cancelled.cancel()
        assert not waiting.done()
    assert (await waiting)["action"] == "created"
    assert field.all() == {"b.txt": "b"}


@pytest.mark.slow
async def test_the_shell_takes_a_change_back(field: Field, call: Caller) -> None:
    field.write("a.txt", "one\n")
    edited = await call("edit_file", path="a.txt", edits=[{"old_text": "one", "new_text": "two"}])
    made = await call("create_directory", path="made/inner")
    command = [*COMMAND[:-2], "rollback"]
    for change, said in ((edited, "restored: a.txt"), (made, "restored: made/inner")):
        done = await asyncio.to_thread(
            subprocess.run,
            [*command, change["rollback"], "--yes", "--root", str(field.root)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        assert said in done.stderr + done.stdout
    assert field.all() == {"a.txt": "one\n"}


KILLED = """
import asyncio, os, sys
from pathlib import Path
from tideate_core.mcp.servers.filesystem import change_log
from tideate_core.project import make_project_state
from tideate_core.workspace import file_writer, transaction

root, run, left = Path(sys.argv[1]), sys.argv[2], [12]
real = transaction.write_image

def put(*arguments, **more):
    left[0] -= 1
    if not left[0]:
        os._exit(9)
    real(*arguments, **more)

transaction.write_image = put
(make_project_state(root) / "mcp/filesystem").mkdir(parents=True)
with change_log.change_in_progress(root, run):
    asyncio.run(file_writer.FileWriter(root).move("many", "moved", execution_id=run))
"""


@pytest.mark.slow
async def test_what_a_killed_server_had_begun_is_put_back_before_the_next_change(
    field: Field, call: Caller
) -> None:
    for number in range(10):
        field.write(f"many/{number}.txt", f"{number}\n")
    before, run = field.all(), "0123456789abcdef" * 2
    command = [sys.executable, "-c", KILLED, str(field.root), run]
    killed = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, check=False)
    assert killed.returncode == 9
    assert field.all() != before
    await call("write_file", path="other.txt", content="x")
    assert field.all() == before | {"other.txt": "x"}
    assert not Workspace(field.root).has_journal(run)
    assert not (project_state(field.root) / "mcp/filesystem/under_way").exists()
