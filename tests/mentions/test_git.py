"""A diff shows the changes since the last commit, runs no program of the repository, and omits secrets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.agents.tools.project import Project
from tests.harness.hidden_changes import HIDING, excluded
from tests.harness.project import git
from tideate_core.errors import WorkspaceError
from tideate_core.git import questions
from tideate_core.mentions import ContextResolver

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tideate_core.mentions import ContextItem


@pytest.fixture
def repository(root: Path) -> Path:
    (root / ".tideate").rmdir()
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


async def diff(root: Path) -> ContextItem:
    return await ContextResolver(root).resolve("@diff")


async def test_a_diff_has_what_changed_since_the_last_commit(repository: Path) -> None:
    assert (await diff(repository)).content == "nothing has changed\n"
    (repository / "src" / "one.py").write_text("def one():\n    return 3\n\n\ndef two():\n    return 2\n")
    git(repository, "add", "src")
    (repository / "doc" / "guide.md").write_text("# Changed\n")
    (repository / "new.txt").write_text("new")
    item = await diff(repository)
    assert "-    return 1\n+    return 3\n" in item.content
    assert "+# Changed\n" in item.content
    assert "new file, not in git yet: new.txt" in item.content
    assert (item.type, item.language, item.cut) == ("variable", "diff", "")
    part = await ContextResolver(repository).resolve("@diff:doc")
    assert "# Changed" in part.content
    assert "one.py" not in part.content


async def test_a_diff_does_not_write_the_index(repository: Path) -> None:
    index = repository / ".git" / "index"
    for name in ("src/one.py", "doc/guide.md"):
        os.utime(repository / name, (1, 1))  # git cannot tell by the time that they are as they were
    before = (index.stat().st_ino, index.read_bytes())
    assert (await diff(repository)).content == "nothing has changed\n"
    assert (index.stat().st_ino, index.read_bytes()) == before


async def test_a_diff_names_a_new_file_in_one_line_without_escapes(repository: Path) -> None:
    (repository / "a\n+evil\x1b[2J\u202e").write_text("x")
    content = (await diff(repository)).content
    assert "new file, not in git yet: a\\n+evil\\x1b[2J\\u202e\n" in content
    assert "\x1b" not in content


async def test_a_diff_names_so_many_new_files_and_says_that_there_are_more(repository: Path) -> None:
    for number in range(1010):
        (repository / f"new{number:04}").touch()
    item = await diff(repository)
    assert item.content.count("new file, not in git yet") == 1000
    assert "10 more new files are not listed" in item.cut


async def test_a_diff_before_the_first_commit_has_all_that_is_staged(root: Path) -> None:
    git(root, "init", "-q")
    git(root, "add", "src")
    assert "+def one():" in (await diff(root)).content


async def test_a_project_within_a_repository_sees_only_itself(repository: Path) -> None:
    (repository / "src" / "one.py").write_text("inside\n")
    (repository / "doc" / "guide.md").write_text("outside\n")
    content = (await diff(repository / "src")).content
    assert "+inside" in content
    assert "a/one.py" in content
    assert "outside" not in content


async def test_without_a_repository_that_is_told(root: Path) -> None:
    with pytest.raises(WorkspaceError, match="no repository"):
        await diff(root)


async def test_without_git_that_is_told(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository))
    with pytest.raises(WorkspaceError, match="git cannot be run"):
        await diff(repository)


async def test_changes_of_secrets_are_left_out_and_that_is_said(repository: Path) -> None:
    for name in (".env", "src/key.py"):
        (repository / name).write_text("nothing yet\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "second")
    (repository / ".env").write_text("PASSWORD=hunter2\n")
    (repository / "src" / "key.py").write_text("key = 'AKIA" + "Q3EGRIPVT5J2XAMP'\n")
    (repository / "src" / "one.py").write_text("changed\n")
    item = await diff(repository)
    assert "+changed" in item.content
    assert "hunter2" not in item.content
    assert "AKIA" not in item.content
    assert ".env (by its name) was left out" in item.cut
    assert "key.py (by its content) was left out" in item.cut


async def test_a_repository_whose_files_are_elsewhere_is_not_read(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    git(repository, "config", "core.worktree", str(tmp_path / "elsewhere"))
    with pytest.raises(WorkspaceError):
        await diff(repository)


async def test_a_diff_that_is_far_too_long_is_cut_and_that_is_said(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "LARGEST", 1000)
    (repository / "src" / "one.py").write_text("changed\n" * 50_000)
    item = await diff(repository)
    assert item.cut == "the diff was cut at the size limit"
    assert "+changed" in item.content


async def test_a_name_that_looks_like_an_option_is_a_name(repository: Path) -> None:
    (repository / "--output=x").write_text("a\n")
    git(repository, "add", "--", "--output=x")
    item = await ContextResolver(repository).resolve('@diff:"--output=x"')
    assert "+a" in item.content
    assert not (repository / "x").exists()


@pytest.mark.slow
@pytest.mark.parametrize("hide", HIDING)
@pytest.mark.attack
async def test_nothing_of_the_repository_hides_a_change(
    repository: Path, hide: Callable[[Path], None]
) -> None:
    hide(repository)
    file = repository / "src" / "one.py"
    file.write_text(file.read_text().replace("1", "3"))
    os.utime(file, (1_000_000_000, 1_000_000_000))
    (repository / "new.txt").write_text("new")
    git(repository, "config", "core.worktree", str(repository))
    content = (await diff(repository)).content
    assert "-    return 1\n+    return 3\n" in content
    assert "new.txt" in content
    status = await Project(repository).call("git_status")
    assert "M src/one.py" in status
    assert "?? new.txt" in status


@pytest.mark.attack
async def test_a_mode_that_the_configuration_hides_is_in_the_diff(repository: Path) -> None:
    git(repository, "config", "core.fileMode", "false")
    (repository / "src" / "one.py").chmod(0o755)
    assert "new mode 100755" in (await diff(repository)).content


async def test_a_file_system_without_modes_has_none_in_the_diff(repository: Path) -> None:
    git(repository, "config", "core.fileMode", "false")
    for folder, _, names in os.walk(repository):
        for name in names:
            os.chmod(os.path.join(folder, name), 0o755)  # noqa: PTH101, PTH118
    assert (await diff(repository)).content == "nothing has changed\n"


async def test_a_sparse_checkout_is_named_and_no_deletion(repository: Path) -> None:
    git(repository, "sparse-checkout", "set", "--no-cone", "/doc/")
    assert not (repository / "src").exists()
    item = await diff(repository)
    assert item.content == "nothing has changed\n"
    assert "files are not compared: the sparse checkout leaves them out" in item.cut


async def test_line_ends_that_the_repository_converts_are_no_change(repository: Path) -> None:
    git(repository, "config", "core.autocrlf", "true")
    file = repository / "src" / "one.py"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert "one.py" not in (await diff(repository)).content


async def test_many_files_that_only_the_repository_hides_are_a_number(repository: Path) -> None:
    excluded(repository)
    (repository / ".git/info/exclude").write_text("hidden*\n")
    for number in range(101):
        (repository / f"hidden{number}").touch()
    item = await diff(repository)
    assert "hidden1" not in item.content
    assert "101 new files that only .git/info/exclude" in item.cut


async def test_a_new_file_that_is_staged_and_one_whose_removal_is_are_shown(repository: Path) -> None:
    (repository / "added.py").write_text("added\n")
    git(repository, "add", "added.py")
    git(repository, "rm", "-q", "--cached", "src/one.py")
    content = (await diff(repository)).content
    assert "+added\n" in content
    assert "one.py" not in content  # it is there, as it was
