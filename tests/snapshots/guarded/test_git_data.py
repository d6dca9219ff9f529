"""Git in a guarded copy: its own, with the project's objects; nothing of it reaches the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git
from tests.snapshots.trees import looked_at

if TYPE_CHECKING:
    from pathlib import Path

    from tests.snapshots.guarded.conftest import Opened, Opening

COMMIT = "git -c user.name=a -c user.email=b commit --quiet"


@pytest.fixture
def repository(root: Path) -> Path:
    git(root, "init", "--quiet", "--initial-branch=main")
    commit(root, "first")
    return root


def commit(root: Path, message: str) -> None:
    git(root, "add", "--all")
    git(root, "-c", "user.name=a", "-c", "user.email=b", "commit", "--quiet", "--allow-empty", "-m", message)


async def printed(opened: Opened, script: str) -> str:
    done = await opened.run(["sh", "-ec", script])
    assert done.ok, done.printed
    return done.stdout.text


@pytest.mark.usefixtures("repository", "untouched")
async def test_the_program_s_git_knows_history_and_stays_in_the_copy(opening: Opening) -> None:
    async with opening() as opened:
        assert await printed(opened, "git log --format=%s; git status --short; git show HEAD:run.sh") == (
            "first\n#!/bin/sh\necho from run.sh\n"
        )
        script = (
            "echo 1 > new; git stash -u --quiet; git stash pop --quiet; git switch --quiet -c other;"
            f"git add -A; {COMMIT} -m 'second\n\nwith a text'; git config user.name x; git tag t;"
            f"echo 2 > new; {COMMIT} -am third; git reset --quiet --soft HEAD; rm -f .git/hooks/*;"
            "git gc --quiet --prune=now; git repack -adlq; git fsck 2>&1; git log --format=%s"
        )
        assert "third\nsecond\nfirst\n" in await printed(opened, script)
        assert await opened.copy.commit_messages() == ["second\n\nwith a text", "third"]
        assert list((await opened.difference()).files) == ["new"]


async def test_what_the_person_does_with_git_meanwhile_is_not_seen(
    opening: Opening, repository: Path
) -> None:
    (repository / ".git/index.lock").touch()
    async with opening() as opened:
        (repository / ".git/index.lock").unlink()
        (repository / "src/one.py").write_text("person")
        commit(repository, "of the person")
        git(repository, "switch", "--quiet", "--orphan", "other")
        commit(repository, "elsewhere")
        git(repository, "gc", "--quiet")
        script = f"git log --format=%s; git status --short; echo 1 > n; git add -A; {COMMIT} -m mine"
        assert await printed(opened, script) == "first\n"
        assert await opened.copy.commit_messages() == ["mine"]
    git(repository, "fsck")
    assert git(repository, "log", "--format=%s").splitlines() == ["elsewhere"]


async def test_no_commits_are_no_messages(opening: Opening, root: Path) -> None:
    async with opening() as opened:
        assert await opened.copy.commit_messages() == []
    git(root, "init", "--quiet")
    async with opening() as opened:
        assert await opened.copy.commit_messages() == []
        await opened.change(f"git add -A; {COMMIT} -m root")
        assert await opened.copy.commit_messages() == ["root"]


async def test_hostile_git_data_is_only_no_message(opening: Opening, repository: Path) -> None:
    scripts = (
        "echo 'ref: ../../../etc/passwd' > .git/HEAD",
        "rm .git/HEAD; ln -s /etc/passwd .git/HEAD",
        "mkdir -p .git/objects; echo f00000000000000000000000000000000000000f > .git/HEAD",
        "rm -rf .git/refs .git/HEAD .git/index; echo > .git/HEAD",
        "rm .git/HEAD; mkfifo .git/HEAD",
    )
    for script in scripts:
        async with opening() as opened:
            await opened.change(script)
            assert await opened.copy.commit_messages() == []
            assert not await opened.difference()


@pytest.mark.usefixtures("repository")
async def test_a_worktree_has_its_own_git_too(opening: Opening, root: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git(root, "worktree", "add", "--quiet", str(tree))
    before = looked_at(root, ()), looked_at(tree, ())
    async with opening(root=tree) as opened:
        assert await printed(opened, "git log --format=%s; git status --short") == "first\n"
        await opened.change(f"echo 1 > new; git add -A; {COMMIT} -m mine")
        assert await opened.copy.commit_messages() == ["mine"]
        assert list((await opened.difference()).files) == ["new"]
        assert (looked_at(root, ()), looked_at(tree, ())) == before


async def test_a_part_of_a_repository_has_its_git_in_an_overlay(
    opening: Opening, repository: Path, kind: str
) -> None:
    before = looked_at(repository, ())
    async with opening(root=repository / "src") as opened:
        if kind == "overlay":
            await opened.change(f"echo 1 > new; git add -A; {COMMIT} -m mine")
            assert await opened.copy.commit_messages() == ["mine"]
        else:
            await opened.change("echo 1 > new")
        assert list((await opened.difference()).files) == ["new"]
    assert looked_at(repository, ()) == before


async def test_submodules_and_nested_repositories_have_their_own_git(
    opening: Opening, repository: Path, tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    (inner / "file").write_text("1")
    commit(inner, "inner")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "sub")
    git(repository, "clone", "--quiet", str(inner), str(repository / "nested"))
    before = looked_at(repository, ())
    async with opening() as opened:
        for name in ("sub", "nested"):
            script = f"cd {name}; git log --format=%s; echo 2 > file; {COMMIT} -am two; git status --short"
            assert await printed(opened, script) == "inner\n"
        assert list((await opened.difference()).files) == ["nested/file", "sub/file"]
        assert looked_at(repository, ()) == before


async def test_ignored_directories_are_there_and_changes_stay_in_the_copy(
    opening: Opening, repository: Path, kind: str
) -> None:
    (repository / ".gitignore").write_text("node_modules/\n.venv/\n__pycache__/\n*.log\n")
    for path in (
        "node_modules/a/x.js",
        "web/node_modules/y.js",
        ".venv/bin/python",
        "src/__pycache__/z",
        "a.log",
    ):
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text(path)
    before = looked_at(repository, ())
    async with opening() as opened:
        script = (
            "cat node_modules/a/x.js web/node_modules/y.js .venv/bin/python a.log; ! test -e src/__pycache__;"
            "rm -r node_modules/*; mkdir -p node_modules/b; echo 1 > .venv/new; echo 2 > a.log;"
            "git status --short"
        )
        seen = await printed(opened, script)
        assert seen == "node_modules/a/x.jsweb/node_modules/y.js.venv/bin/pythona.log?? .gitignore\n"
        found = await opened.difference()
        assert not found
        if kind == "overlay":
            assert found.ignored == [".git/", ".venv/", "a.log", "node_modules/"]
        assert looked_at(repository, ()) == before
