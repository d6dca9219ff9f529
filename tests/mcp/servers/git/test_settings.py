"""No tool runs a program of an untrusted repository."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp.servers.git.traps import TRAPS, Trap

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.git.conftest import Repo

pytestmark = [pytest.mark.bulk, pytest.mark.slow]

SIGNED = """tree {tree}
parent {parent}
author A <a@x> 1 +0000
committer A <a@x> 1 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 x
 -----END PGP SIGNATURE-----

signed
"""


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap.make(tmp_path)


def prepare(repo: Repo) -> None:
    """Prepare changes to show and commit, and a branch to check out."""
    repo.git("switch", "--quiet", "-c", "side")
    repo.write("two.py", "side\n")
    repo.git("commit", "--quiet", "-am", "side")
    repo.git("switch", "--quiet", "main")
    repo.write("one.py", "changed\n")
    repo.write("new.py", "new\n")


async def try_all(call: Caller) -> None:
    """Call every tool; a refusal is a valid answer."""
    who = {"agent": "a", "scope": "s", "description": "d"}
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        *(("git_status", {}), ("git_diff", {}), ("git_diff_unstaged", {}), ("git_log", {}), ("git_show", {})),
        *(("git_show", {"revision": "side"}), ("git_branch", {"branch_type": "all"})),
        ("git_commit", {**who, "files": ["gone.py"]}),
        *(("git_add", {"files": ["one.py"]}), ("git_diff_staged", {}), ("git_reset", {})),
        ("git_create_branch", {"branch_name": "made"}),
        ("git_commit", {**who, "files": ["one.py", "new.py"]}),
        ("git_commit", {**who, "auto_stage": True}),
        ("git_commit", who),
        *(("git_add", {"files": ["vendored"]}), ("git_add", {"files": ["."]})),
        ("git_commit", {**who, "files": ["one.py"], "branch": "aside"}),
        ("git_checkout", {"branch_name": "side"}),
    )
    for tool, arguments in calls:
        await call.client.call_tool(tool, arguments)


@pytest.mark.parametrize("name", [name for name, arm in TRAPS.items() if name != "signature shown"])
def test_every_trap_is_one(repo: Repo, trap: Trap, name: str) -> None:
    prepare(repo)
    for command in TRAPS[name](repo, trap):
        repo.git(*command, check=False, given="protocol=https\nhost=x\n")
    assert trap.sprung


@pytest.mark.parametrize("name", TRAPS)
async def test_no_tool_springs_it(repo: Repo, trap: Trap, name: str, call: Caller) -> None:
    prepare(repo)
    TRAPS[name](repo, trap)
    await try_all(call)
    assert (await call("git_status"))["commit"]
    assert not trap.sprung


async def test_a_trap_that_is_set_between_two_calls_is_not_sprung(
    repo: Repo, trap: Trap, call: Caller
) -> None:
    prepare(repo)
    await call("git_diff")
    TRAPS["clean"](repo, trap)
    await try_all(call)
    assert not trap.sprung


async def test_signatures_are_not_looked_at(repo: Repo, trap: Trap, call: Caller) -> None:
    parent, tree = repo.git("rev-parse", "HEAD", "HEAD^{tree}").split()
    commit = repo.git(
        "hash-object", "-t", "commit", "-w", "--stdin", given=SIGNED.format(tree=tree, parent=parent)
    ).strip()
    repo.git("reset", "--quiet", "--hard", commit)
    TRAPS["signature shown"](repo, trap)
    await call("git_log")
    assert (await call("git_show"))["commitHash"] == commit
    assert not trap.sprung
    repo.git("log", "-1")
    assert trap.sprung


async def test_a_git_in_the_repository_is_not_the_git_that_is_run(
    repo: Repo, trap: Trap, monkeypatch: pytest.MonkeyPatch, call: Caller
) -> None:
    repo.write("git", trap.program.read_text())
    (repo.root / "git").chmod(0o755)
    monkeypatch.chdir(repo.root)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    await try_all(call)
    assert not trap.sprung
