"""Commits: their content, and the fate of a person's staged work."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.git.conftest import Repo

pytestmark = [pytest.mark.bulk, pytest.mark.slow]

WHO = {"agent": "coder", "scope": "parser", "description": "accept tabs"}


def info(repo: Repo) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((repo.root / ".tideate/mcp/git/commit_info.json").read_text())
    return found


async def test_named_files_are_committed_with_subject_and_trailer(repo: Repo, call: Caller) -> None:
    repo.write("one.py", "changed\n")
    repo.write("new.py", "new\n")
    repo.write("two.py", "not this\n")
    made = await call("git_commit", **WHO, files=["one.py", "new.py"])
    assert made["commitHash"] == repo.head()
    assert made["branch"] == "main"
    assert made["files"] == ["new.py", "one.py"]
    assert made["message"] == "parser: accept tabs\n\nAgent: coder"
    assert made["hooks"] == made["signing"] == "none"
    assert repo.git("log", "-1", "--format=%s|%(trailers:key=Agent,valueonly)|%an <%ae>").split("|") == [
        "parser: accept tabs",
        "coder\n",
        "Ada <ada@example.invalid>\n",
    ]
    assert repo.short() == [" M two.py"]
    assert info(repo) == made


async def test_what_a_person_staged_beside_the_files_stays_staged(repo: Repo, call: Caller) -> None:
    repo.write("two.py", "staged\n")
    repo.git("add", "two.py")
    repo.write("two.py", "staged and edited since\n")
    repo.write("three.py", "staged, new\n")
    repo.git("add", "three.py")
    repo.git("rm", "--cached", "--quiet", "sub/three.py")
    repo.write("one.py", "changed\n")
    before = repo.git("diff", "--cached")
    made = await call("git_commit", **WHO, files=["one.py"])
    assert made["files"] == ["one.py"]
    assert repo.git("diff", "--cached") == before
    assert (repo.root / "two.py").read_text() == "staged and edited since\n"


async def test_a_deleted_file_is_committed_as_deleted(repo: Repo, call: Caller) -> None:
    (repo.root / "one.py").unlink()
    made = await call("git_commit", **WHO, files=["one.py"])
    assert made["files"] == ["one.py"]
    assert "one.py" not in repo.git("ls-tree", "-r", "--name-only", "HEAD")


async def test_auto_stage_commits_all_changes_but_no_ignored_file(repo: Repo, call: Caller) -> None:
    repo.write("one.py", "changed\n")
    repo.write("deep/er/new.py", "new\n")
    repo.write("x.log", "ignored\n")
    (repo.root / "two.py").unlink()
    made = await call("git_commit", **WHO, auto_stage=True)
    assert made["files"] == ["deep/er/new.py", "one.py", "two.py"]
    assert repo.short() == []


async def test_without_files_what_is_staged_is_committed(repo: Repo, call: Caller) -> None:
    repo.write("one.py", "staged\n")
    repo.write("two.py", "not staged\n")
    staged = await call("git_add", files=["one.py"])
    made = await call("git_commit", **WHO)
    assert [file["path"] for file in staged["staged"]] == ["one.py"]
    assert made["files"] == ["one.py"]
    assert repo.short() == [" M two.py"]


async def test_a_first_commit_of_nothing_is_taken_back(empty: Repo, call: Caller) -> None:
    empty.write("gone.py", "")
    empty.git("add", "--intent-to-add", "gone.py")
    (empty.root / "gone.py").unlink()
    assert "nothing to commit" in await call.refused("git_commit", **WHO, auto_stage=True)
    assert empty.git("rev-parse", "--verify", "--quiet", "HEAD", check=False) == ""


async def test_the_first_commit_of_a_repository(empty: Repo, call: Caller) -> None:
    empty.write("a.py", "a\n")
    empty.write("b.py", "b\n")
    made = await call("git_commit", **WHO, files=["a.py"])
    assert made["files"] == ["a.py"]
    assert empty.short() == ["?? b.py"]


@pytest.mark.parametrize(
    "arguments", [{}, {"files": ["one.py"]}, {"auto_stage": True}, {"files": ["one.py", "two.py"]}]
)
async def test_an_empty_commit_is_refused(repo: Repo, arguments: dict[str, Any], call: Caller) -> None:
    before = repo.head()
    assert "nothing to commit" in await call.refused("git_commit", **WHO, **arguments)
    assert repo.head() == before
    assert not (repo.root / ".tideate/mcp/git/commit_info.json").exists()


async def test_a_commit_that_would_change_nothing_is_taken_back(repo: Repo, call: Caller) -> None:
    repo.write("gone.py", "")
    repo.git("add", "--intent-to-add", "gone.py")
    (repo.root / "gone.py").unlink()
    before = repo.head()
    assert "nothing to commit" in await call.refused("git_commit", **WHO, files=["gone.py"])
    assert "nothing to commit" in await call.refused("git_commit", **WHO, auto_stage=True)
    assert (repo.head(), repo.git("diff", "--cached", "--name-only")) == (before, "")


@pytest.mark.parametrize("after", ["staged and more\n", None])
async def test_what_a_person_staged_is_not_thrown_away_by_a_commit_of_everything(
    repo: Repo, after: str | None, call: Caller
) -> None:
    repo.write("new.py", "staged\n")
    repo.git("add", "new.py")
    if after is None:
        (repo.root / "new.py").unlink()
    else:
        repo.write("new.py", after)
    before = repo.head()
    assert "another content" in await call.refused("git_commit", **WHO, auto_stage=True)
    assert (repo.head(), repo.git("show", ":new.py")) == (before, "staged\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [("gone.py", "no file"), ("x.log", "ignored"), ("sub", "directory"), (".", "directory")],
)
async def test_a_file_that_cannot_be_meant_is_refused(
    repo: Repo, name: str, words: str, call: Caller
) -> None:
    repo.write("x.log", "ignored\n")
    repo.write("sub/three.py", "changed\n")
    repo.write("one.py", "changed\n")
    assert words in await call.refused("git_commit", **WHO, files=["one.py", name])
    assert repo.short() == [" M one.py", " M sub/three.py"]


async def test_a_staged_deletion_of_a_file_that_is_there_is_not_undone(repo: Repo, call: Caller) -> None:
    repo.git("rm", "--cached", "--quiet", "one.py")
    assert "another content" in await call.refused("git_commit", **WHO, files=["one.py"])
    assert repo.short() == ["D  one.py", "?? one.py"]


async def test_a_commit_that_fails_leaves_new_files_unknown_to_git(repo: Repo, call: Caller) -> None:
    (repo.home / ".gitconfig").write_text("")
    repo.write("new.py", "new\n")
    assert "git config --global user.name" in await call.refused("git_commit", **WHO, files=["new.py"])
    assert repo.git("status", "--short") == "?? new.py\n"
    assert (repo.root / "new.py").read_text() == "new\n"


async def test_a_merge_that_a_person_began_is_not_ended(repo: Repo, call: Caller) -> None:
    repo.git("switch", "--quiet", "-c", "side")
    repo.write("one.py", "side\n")
    repo.git("commit", "--quiet", "-am", "side")
    repo.git("switch", "--quiet", "main")
    repo.write("one.py", "main\n")
    repo.git("commit", "--quiet", "-am", "main")
    repo.git("merge", "side", check=False)
    assert (await call("git_status"))["underWay"] == "a merge"
    for arguments in ({}, {"files": ["one.py"]}, {"auto_stage": True}):
        assert "a merge has not ended" in await call.refused("git_commit", **WHO, **arguments)
    assert "a merge has not ended" in await call.refused("git_reset")
    assert repo.git("rev-parse", "MERGE_HEAD").strip()
    assert repo.short() == ["UU one.py"]


@pytest.mark.parametrize("field", ["agent", "scope", "description"])
@pytest.mark.parametrize(
    "value", ["a\nSigned-off-by: x", "a\rb", "a\u2028Agent: root", "\x1b[31m", "a\0b", "", "   ", "a\u202eb"]
)
async def test_a_line_of_the_message_cannot_become_two(
    repo: Repo, field: str, value: str, call: Caller
) -> None:
    repo.write("one.py", "changed\n")
    before = repo.head()
    assert field in await call.refused("git_commit", **{**WHO, field: value}, files=["one.py"])
    assert repo.head() == before


@pytest.mark.parametrize(
    "value", ["-x", "--amend", "# comment", "$(touch p)", "`touch p`; rm", "é 日本", "%H"]
)
async def test_odd_words_stand_in_the_message_as_they_are(repo: Repo, value: str, call: Caller) -> None:
    repo.write("one.py", "changed\n")
    await call("git_commit", agent=value, scope=value, description=value, files=["one.py"])
    assert repo.git("log", "-1", "--format=%B").strip() == f"{value}: {value}\n\nAgent: {value}"
    assert repo.git("rev-list", "--count", "HEAD") == "2\n"


async def test_names_that_git_would_take_for_patterns_are_names(repo: Repo, call: Caller) -> None:
    names = ["*.py", ":(top)x", ":!a", "-f", "a b", "ä\"'.py", "--all"]
    for name in names:
        repo.write(name, "new\n")
    made = await call("git_commit", **WHO, files=names)
    assert sorted(made["files"]) == sorted(names)
    repo.write("*.py", "again\n")
    repo.write("one.py", "not this\n")
    assert (await call("git_commit", **WHO, files=["*.py"]))["files"] == ["*.py"]
    assert repo.short() == [" M one.py"]


async def test_a_nested_repository_is_not_swept_in(repo: Repo, call: Caller) -> None:
    repo.write("one.py", "changed\n")
    repo.git("init", "--quiet", "nested")
    repo.write("nested/a.py", "a\n")
    made = await call("git_commit", **WHO, auto_stage=True)
    assert made["files"] == ["one.py"]
    inner = await call("git_commit", **WHO, files=["a.py"], repo_path="nested")
    assert inner["commitHash"] == repo.git("rev-parse", "HEAD", where="nested").strip()
    assert repo.head() == made["commitHash"]


async def test_head_on_no_branch_is_said(repo: Repo, call: Caller) -> None:
    repo.git("switch", "--quiet", "--detach")
    repo.write("one.py", "changed\n")
    made = await call("git_commit", **WHO, files=["one.py"])
    assert (await call("git_status"))["branch"] is None
    assert made["branch"] == "HEAD"
    assert made["commitHash"] == repo.head()


async def test_a_commit_on_a_branch_of_its_own_leaves_head_and_index_as_they_are(
    repo: Repo, call: Caller
) -> None:
    repo.write("two.py", "staged\n")
    repo.git("add", "two.py")
    repo.write("one.py", "changed\n")
    repo.write("new.py", "new\n")
    (repo.root / "sub/three.py").unlink()
    head, staged, short = repo.head(), repo.git("diff", "--cached"), repo.short()
    made = await call("git_commit", **WHO, files=["one.py", "new.py", "sub/three.py"], branch="a/b")
    assert (made["branch"], made["files"]) == ("a/b", ["new.py", "one.py", "sub/three.py"])
    assert made["commitHash"] == repo.git("rev-parse", "a/b").strip()
    assert repo.git("log", "-1", "--format=%P|%s", "a/b").strip() == f"{head}|parser: accept tabs"
    assert repo.git("show", "a/b:one.py") == "changed\n"
    assert (repo.head(), repo.git("diff", "--cached"), repo.short()) == (head, staged, short)
    assert repo.git("branch", "--show-current").strip() == "main"
    assert info(repo) == made


async def test_a_branch_of_its_own_has_to_be_new_and_have_something(repo: Repo, call: Caller) -> None:
    repo.write("one.py", "changed\n")
    repo.git("branch", "there")
    assert "exists; choose another name" in await call.refused(
        "git_commit", **WHO, files=["one.py"], branch="there"
    )
    assert "name the `files`" in await call.refused("git_commit", **WHO, branch="new")
    assert "none of these files is changed" in await call.refused(
        "git_commit", **WHO, files=["two.py"], branch="new"
    )
    assert await call.refused("git_commit", **WHO, files=["one.py"], branch="--force")
    assert repo.git("branch", "--format=%(refname:short)").split() == ["main", "there"]


async def test_a_name_that_is_no_utf8_is_committed_with_everything(repo: Repo, call: Caller) -> None:
    (repo.root / "b\udcff.py").write_text("x\n")
    (repo.root / "one.py").write_text("changed\n")
    assert {file["path"] for file in (await call("git_status"))["files"]} == {"b\\xff.py", "one.py"}
    made = await call("git_commit", **WHO, auto_stage=True)
    assert (await call("git_status"))["files"] == []
    assert made["files"] == ["b\\xff.py", "one.py"]


async def test_who_commits_may_stand_in_the_environment(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, call: Caller
) -> None:
    (repo.home / ".gitconfig").write_text("")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Grace")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "grace@example.invalid")
    monkeypatch.setenv("GIT_DIR", "elsewhere")
    repo.write("one.py", "changed\n")
    await call("git_commit", **WHO, files=["one.py"])
    repo.write("one.py", "again\n")
    await call("git_commit", **WHO, files=["one.py"], branch="aside")
    assert repo.git("log", "-1", "--format=%an %cn", "aside") == "Grace Grace\n"
    assert repo.git("log", "-1", "--format=%an %ce") == "Grace grace@example.invalid\n"


async def test_the_message_of_a_squashed_merge_stays(repo: Repo, call: Caller) -> None:
    repo.git("switch", "--quiet", "-c", "side")
    repo.write("two.py", "side\n")
    repo.git("commit", "--quiet", "-am", "side")
    repo.git("switch", "--quiet", "main")
    repo.git("merge", "--quiet", "--squash", "side")
    repo.write("one.py", "changed\n")
    assert "--squash" in await call.refused("git_commit", **WHO, files=["one.py"])
    assert (repo.root / ".git" / "SQUASH_MSG").exists()


async def test_what_a_killed_write_left_is_not_committed(repo: Repo, call: Caller) -> None:
    repo.write(".tideate-0123456789abcdef.tmp", "half\n")
    repo.write("one.py", "changed\n")
    made = await call("git_commit", **WHO, auto_stage=True)
    assert made["files"] == ["one.py"]


async def test_arguments_of_the_reference_server_are_answered_with_ours(repo: Repo, call: Caller) -> None:
    assert "`scope` and `description`" in await call.refused("git_commit", **WHO, message="x")
    assert "`since`" in await call.refused("git_log", start_timestamp="yesterday")
