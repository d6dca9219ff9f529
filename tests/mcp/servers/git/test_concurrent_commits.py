"""Concurrent calls and programs: each commit is correct or refused, and the index stays intact."""

from __future__ import annotations

import asyncio
import fcntl
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.project import make_project_state

if TYPE_CHECKING:
    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.git.conftest import Repo

pytestmark = pytest.mark.slow

SCRIPT = """
import asyncio, sys
from pathlib import Path
from mcp import Client
from tideate_core.mcp.servers.git.server import git_server

async def main(root, names):
    async with Client(git_server(Path(root))) as client:
        sys.stdin.readline()
        for name in names:
            (Path(root) / name).write_text(name)
            given = {"agent": "a", "scope": "s", "description": name, "files": [name]}
            answer = await client.call_tool("git_commit", given)
            assert not answer.is_error, answer.content
            assert answer.structured_content["files"] == [name]

asyncio.run(main(sys.argv[1], sys.argv[2:]))
"""


def whole(repo: Repo) -> None:
    repo.git("fsck", "--strict", "--no-dangling")
    assert not (repo.root / ".git/index.lock").exists()


async def commit(call: Caller, name: str) -> Any:
    given = {"agent": "a", "scope": "s", "description": name, "files": [name]}
    return await call.client.call_tool("git_commit", given)


@pytest.mark.concurrency
async def test_many_commits_of_one_server_at_once_all_end_right(repo: Repo, call: Caller) -> None:
    names = [f"f{number}.py" for number in range(8)]
    for name in names:
        repo.write(name, name)
    repo.write("two.py", "staged by a person\n")
    repo.git("add", "two.py")
    answers = await asyncio.gather(*(commit(call, name) for name in names))
    assert not any(answer.is_error for answer in answers)
    assert sorted(answer.structured_content["files"] for answer in answers) == [[name] for name in names]
    assert repo.git("rev-list", "--count", "HEAD") == f"{1 + len(names)}\n"
    assert repo.short() == ["M  two.py"]
    whole(repo)


@pytest.mark.concurrency
async def test_two_servers_that_commit_at_once_both_end_right(repo: Repo) -> None:
    sets = [[f"{letter}{number}.py" for number in range(5)] for letter in "ab"]
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", SCRIPT, str(repo.root), *names, stdin=asyncio.subprocess.PIPE
        )
        for names in sets
    ]
    for process in processes:
        assert process.stdin
        process.stdin.write(b"\n")
        process.stdin.close()
    assert await asyncio.gather(*(process.wait() for process in processes)) == [0, 0]
    assert repo.git("rev-list", "--count", "HEAD") == "11\n"
    assert repo.short() == []
    whole(repo)


async def test_a_lock_of_another_git_is_waited_for(repo: Repo, call: Caller) -> None:
    lock = repo.root / ".git/index.lock"
    lock.touch()
    repo.write("one.py", "changed\n")
    waiting = asyncio.create_task(commit(call, "one.py"))
    await asyncio.wait([waiting], timeout=0.2)
    assert not waiting.done()
    lock.unlink()
    assert not (await waiting).is_error
    assert repo.short() == []


async def test_another_server_that_writes_is_waited_for(repo: Repo) -> None:
    repo.write("one.py", "changed\n")
    place = make_project_state(repo.root) / "mcp/git"
    place.mkdir(parents=True)
    with (place / "lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        async with repo.client() as call:
            waiting = asyncio.create_task(commit(call, "one.py"))
            await asyncio.wait([waiting], timeout=0.3)
            assert not waiting.done()
            assert repo.git("diff", "--cached") == ""
            fcntl.flock(other, fcntl.LOCK_UN)
            assert not (await waiting).is_error


async def test_a_lock_that_stays_is_told(repo: Repo, monkeypatch: pytest.MonkeyPatch, call: Caller) -> None:
    monkeypatch.setattr("tideate_core.mcp.servers.git.writes.WAITS", (0.01,))
    (repo.root / ".git/index.lock").touch()
    repo.write("one.py", "changed\n")
    given = {"agent": "a", "scope": "s", "description": "d", "files": ["one.py"]}
    assert "`.git/index.lock`" in await call.refused("git_commit", **given)
    (repo.root / ".git/index.lock").unlink()
    await call("git_commit", **given)


async def test_looking_takes_no_lock(repo: Repo, call: Caller) -> None:
    (repo.root / ".git/index.lock").touch()
    repo.write("one.py", "changed\n")
    assert (await call("git_status"))["files"][0]["path"] == "one.py"
    assert "+changed" in (await call("git_diff"))["diff"]
