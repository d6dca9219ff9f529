"""A cancelled call ends its processes and leaves no lock behind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from anyio import CancelScope, create_task_group

from tests.harness.state import trust_repository
from tests.mcp.servers.git.test_trust import executable

if TYPE_CHECKING:
    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.git.conftest import Repo

WHO = {"agent": "a", "scope": "s", "description": "d"}


def read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


async def until_there(path: Path) -> int:
    async with asyncio.timeout(60):
        while not read(path).strip():  # noqa: ASYNC110 another process writes it
            await asyncio.sleep(0.01)
    return int(read(path))


def alive(process: int) -> bool:
    return read(Path(f"/proc/{process}/stat")).split()[2:3] not in ([], ["Z"])


@pytest.mark.slow
async def test_a_cancelled_commit_ends_its_hook_and_leaves_all_as_it_was(repo: Repo, call: Caller) -> None:
    started = repo.root / "started.log"
    executable(repo.root / ".git/hooks/pre-commit", f"#!/bin/sh\necho $$ > {started}\nexec sleep 60\n")
    trust_repository(repo.root)
    before = repo.head()
    repo.write("new.py", "new\n")
    async with create_task_group() as group:
        scope = CancelScope()

        async def commit() -> None:
            with scope:
                await call.client.call_tool("git_commit", {**WHO, "files": ["new.py"]})

        group.start_soon(commit)
        hook = await until_there(started)
        scope.cancel()
    async with asyncio.timeout(60):
        while alive(hook) or (repo.root / ".git/index.lock").exists():  # noqa: ASYNC110 others end
            await asyncio.sleep(0.01)
    (repo.root / ".git/hooks/pre-commit").unlink()
    made = await call("git_commit", **WHO, files=["new.py"])
    assert made["files"] == ["new.py"]
    assert repo.git("rev-parse", "HEAD~1").strip() == before
    assert repo.short() == []
