"""Staging and unstaging change only the index, and the replaced state can be restored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.git.conftest import Repo


def names(found: dict[str, Any]) -> list[str]:
    return [f"{file['staged']} {file['path']}" for file in found["staged"]]


async def test_files_and_directories_are_staged(repo: Repo, call: Caller) -> None:
    repo.write("sub/three.py", "changed\n")
    repo.write("sub/new.py", "new\n")
    repo.write("two.py", "changed\n")
    (repo.root / "one.py").unlink()
    assert names(await call("git_add", files=["sub", "one.py"])) == [
        "D one.py",
        "A sub/new.py",
        "M sub/three.py",
    ]
    assert names(await call("git_add", files=["."]))[-1] == "M two.py"


async def test_a_missing_or_ignored_file_is_refused_and_nothing_is_staged(repo: Repo, call: Caller) -> None:
    repo.write("x.log", "ignored\n")
    repo.write("one.py", "changed\n")
    assert "there is no file 'gone.py'" in await call.refused("git_add", files=["one.py", "gone.py"])
    assert "ignored" in await call.refused("git_add", files=["one.py", "x.log"])
    assert "files" in await call.refused("git_add", files=[])
    assert repo.short() == [" M one.py"]


async def test_what_is_gone_is_staged_as_deleted_and_submodules_stay_as_they_are(
    repo: Repo, call: Caller
) -> None:
    (repo.root / "sub" / "three.py").unlink()
    (repo.root / "sub").rmdir()
    repo.write("inner/module/a.py", "a\n")
    module = repo.root / "inner" / "module"
    repo.git("init", "--quiet", where="inner/module")
    repo.git("add", ".", where="inner/module")
    repo.git("commit", "--quiet", "-m", "a", where="inner/module")
    repo.git("add", "inner/module")
    repo.git("commit", "--quiet", "-m", "module")
    (module / "a.py").write_text("b\n")
    repo.git("commit", "--quiet", "-am", "b", where="inner/module")
    repo.write("inner/new.py", "new\n")
    assert "is a submodule" in await call.refused("git_add", files=["inner/module"])
    assert names(await call("git_add", files=["sub", "inner"])) == ["A inner/new.py", "D sub/three.py"]
    assert " M inner/module" in repo.short()


@pytest.mark.parametrize("tool", ["git_add", "git_reset"])
async def test_what_a_person_staged_can_be_brought_back(repo: Repo, tool: str, call: Caller) -> None:
    repo.write("one.py", "staged\n")
    repo.git("add", "one.py")
    repo.write("one.py", "staged and more\n")
    found = await call(tool, files=["one.py"])
    assert repo.short() in (["M  one.py"], [" M one.py"])
    repo.git("read-tree", found["indexBefore"])
    assert repo.git("show", ":one.py") == "staged\n"
    assert (repo.root / "one.py").read_text() == "staged and more\n"


async def test_some_or_all_files_are_unstaged_and_stay_as_they_are(repo: Repo, call: Caller) -> None:
    for name in ("one.py", "two.py", "new.py"):
        repo.write(name, "changed\n")
    repo.git("add", ".")
    assert names(await call("git_reset", files=["new.py"])) == ["M one.py", "M two.py"]
    found = await call("git_reset")
    assert names(found) == []
    assert found["indexBefore"]
    assert (await call("git_reset"))["indexBefore"] is None
    assert repo.short() == [" M one.py", " M two.py", "?? new.py"]
    assert (repo.root / "new.py").read_text() == "changed\n"


async def test_before_the_first_commit(empty: Repo, call: Caller) -> None:
    empty.write("a.py", "a\n")
    assert names(await call("git_add", files=["a.py"])) == ["A a.py"]
    assert names(await call("git_reset")) == []
    assert empty.short() == ["?? a.py"]


async def test_a_conflict_without_a_merge_is_not_unstaged(repo: Repo, call: Caller) -> None:
    repo.write("one.py", "mine\n")
    repo.git("stash", "--quiet")
    repo.write("one.py", "theirs\n")
    repo.git("commit", "--quiet", "-am", "theirs")
    repo.git("stash", "pop", "--quiet", check=False)
    before = repo.git("ls-files", "--unmerged")
    assert "conflict" in await call.refused("git_reset")
    assert before
    assert repo.git("ls-files", "--unmerged") == before
