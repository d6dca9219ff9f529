"""Revisions, paths and messages that lead out of a repository."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.git.conftest import Repo

pytestmark = pytest.mark.slow

REVISIONS = [
    *("HEAD:one.py", ":/first", ":one.py", "HEAD..side", "^HEAD", "HEAD^{/x}", "HEAD^{tree}", "@{1 day ago}"),
    *("HEAD --output={out}", "refs/../../x", "HEAD\0", "HEAD~99999999999", "side.lock", "-", "--all"),
]


@pytest.mark.parametrize("revision", REVISIONS)
async def test_what_is_no_name_of_a_commit_is_refused(repo: Repo, revision: str, call: Caller) -> None:
    for tool, argument in (("git_show", "revision"), ("git_diff", "target"), ("git_branch", "contains")):
        assert "is not the name of a commit" in await call.refused(tool, **{argument: revision})


async def test_no_difference_of_a_file_outside_is_shown(repo: Repo, tmp_path: Path, call: Caller) -> None:
    (tmp_path / "outside").write_text("SECRET\n")
    (repo.root / "link").symlink_to(tmp_path)
    for value in ("../outside", "link/outside"):
        for tool in ("git_diff", "git_diff_unstaged", "git_diff_staged", "git_show"):
            said = await call.refused(tool, paths=[value])
            assert "paths" in said or "not a path" in said
        assert "not a path" in await call.refused("git_log", path=value)


async def test_what_git_says_names_no_path_outside(repo: Repo, call: Caller) -> None:
    (repo.home / ".gitconfig").write_text("[include\n")
    words = await call.refused("git_status")
    assert str(repo.home) not in words
    assert os.sep + "home" not in words
