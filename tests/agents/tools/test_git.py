"""Tools of git read changes and authors; they run no program of a repository and write nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.tools.project import Project
from tests.harness.project import git, write_files
from tideate_core.errors import ToolError, WorkspaceError
from tideate_core.workflows import Decision
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from pathlib import Path

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("git_status", {}),
    ("git_diff", {}),
    ("git_diff", {"revision": "HEAD~1"}),
    ("git_diff", {"revision": "HEAD~1..HEAD"}),
    ("git_log", {}),
    ("git_show", {"revision": "HEAD"}),
    ("git_show", {"revision": "HEAD", "path": "a.py"}),
    ("git_blame", {"path": "a.py", "first": 1, "last": 1}),
]
FAILURES = (ToolError, WorkspaceError)
"""Errors that the loop reports to the model."""


def commit(root: Path, message: str, **files: str) -> None:
    write_files(root, {name.replace("__", "/").replace("_", "."): text for name, text in files.items()})
    git(root, "add", "-A")
    git(root, "commit", "-qm", message)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "First", a_py="one\ntwo\nthree\n", b_py="b\n")
    commit(root, "Second\n\nIt has reasons.", a_py="one\n2\nthree\n")
    return root


@pytest.fixture
def project(root: Path) -> Project:
    return Project(root)


async def test_the_status_names_what_differs(project: Project, root: Path) -> None:
    assert await project.call("git_status") == "on main\nnothing is changed"
    write_files(root, {"a.py": "changed\n", "new/c.py": "c\n", ".tideate/x": ""})
    git(root, "rm", "-q", "b.py")
    await project.stage(FileChange("d.py", "create", None, "d"))
    assert await project.call("git_status") == (
        "on main\n M a.py\nD  b.py\n?? new/c.py\n[staged edits of 1 file are not in it yet]"
    )


async def test_a_diff_is_against_what_was_asked_for(project: Project, root: Path) -> None:
    assert await project.call("git_diff") == "no difference"
    write_files(root, {"a.py": "one\n2\n3\n", "b.py": "changed\n", "new.py": ""})
    both = await project.call("git_diff")
    assert "-three\n+3" in both
    assert "+changed" in both
    assert both.endswith("[new file, not in git yet: new.py]")
    only = await project.call("git_diff", path="b.py")
    assert "+changed" in only
    assert "+3" not in only
    assert "-two\n-three\n+2\n+3" in await project.call("git_diff", revision="HEAD~1", path="a.py")
    between = await project.call("git_diff", revision="HEAD~1..HEAD")
    assert "-two\n+2\n three" in between
    assert await project.call("git_diff", revision="HEAD...HEAD~1") == "no difference"


async def test_the_log_lists_commits_of_a_path(project: Project) -> None:
    log = (await project.call("git_log")).split("\n")
    assert [line.partition("A Person: ")[2] for line in log] == ["Second", "First"]
    assert (await project.call("git_log", path="b.py")).endswith("A Person: First")
    assert "there may be more" in await project.call("git_log", count=1)
    assert (await project.call("git_log", revision="HEAD~1")).endswith(": First")
    assert await project.call("git_log", path="nothing.py") == "no commit touches nothing.py"


async def test_a_commit_is_shown_with_its_diff_and_a_file_as_it_was(project: Project) -> None:
    shown = await project.call("git_show", revision="main")
    assert "A Person <a@b.example>, " in shown
    assert "Second\n\nIt has reasons.\n\ndiff --git a/a.py b/a.py" in shown
    assert "-two\n+2" in shown
    first = await project.call("git_show", revision="HEAD~1")
    assert "+two" in first  # it has no parent: all is new
    old = await project.call("git_show", revision="HEAD~1", path="a.py", first=2)
    assert old.split("\n", 1)[1] == "2\ttwo\n3\tthree"
    with pytest.raises(ToolError, match=r"c\.py is no file in"):
        await project.call("git_show", revision="HEAD", path="c.py")


async def test_blame_names_the_commits_of_lines(project: Project, root: Path) -> None:
    write_files(root, {"a.py": "one\n2\nthree\nfour\n"})
    lines = (await project.call("git_blame", path="a.py", first=1, last=4)).split("\n")
    assert [line.partition(" ")[2] or line for line in lines] == [
        *("A Person: First", "1\tone", "A Person: Second", "2\t2", "A Person: First", "3\tthree"),
        *("committed yet", "4\tfour"),
    ]
    with pytest.raises(ToolError, match="has no lines 90 to 91 in git"):
        await project.call("git_blame", path="a.py", first=90, last=91)


async def test_a_project_in_a_folder_of_a_repository_sees_only_itself(root: Path) -> None:
    commit(root, "Third", sub__c_py="c\n")
    write_files(root, {"sub/c.py": "changed\n", "sub/d.py": "", "a.py": "changed\n"})
    project = Project(root / "sub")
    assert await project.call("git_status") == "on main\n M c.py\n?? d.py"
    assert "a.py" not in await project.call("git_diff")
    assert (await project.call("git_log")).endswith(": Third")
    assert (await project.call("git_show", revision="HEAD", path="c.py")).endswith("1\tc")
    assert (await project.call("git_blame", path="c.py", first=1, last=1)).startswith("not committed yet")


BAD = [
    "--output=x",
    "-p",
    "--",
    "HEAD --output=x",
    "HEAD:a.py",
    "HEAD..--output=x",
    "a b",
    "x" * 400,
    "HEAD\n-p",
    "HEAD^{/Sec.nd}",
]


@pytest.mark.parametrize("revision", BAD)
@pytest.mark.parametrize("tool", ["git_show", "git_log", "git_diff"])
@pytest.mark.attack
async def test_a_revision_is_no_option(root: Path, tool: str, revision: str) -> None:
    with pytest.raises(FAILURES):
        await Project(root).call(tool, revision=revision)
    assert sorted(path.name for path in root.iterdir()) == [".git", "a.py", "b.py"]  # noqa: ASYNC240


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", ".git/config", "a\0b"])
@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("git_diff", {}),
        ("git_log", {}),
        ("git_show", {"revision": "HEAD"}),
        ("git_blame", {"first": 1, "last": 1}),
    ],
)
async def test_a_path_stays_in_the_project(root: Path, tool: str, more: dict[str, Any], path: str) -> None:
    with pytest.raises(FAILURES):
        await Project(root).call(tool, path=path, **more)


async def test_a_path_is_no_option_and_no_pattern(project: Project, root: Path) -> None:
    write_files(root, {"--output=x": "evil\n"})
    git(root, "add", "--", "--output=x")
    git(root, "commit", "-qm", "Option")
    assert (await project.call("git_log", path="--output=x")).endswith(": Option")
    assert (await project.call("git_show", revision="HEAD", path="--output=x")).endswith("1\tevil")
    assert (await project.call("git_blame", path="--output=x", first=1, last=1)).endswith("1\tevil")
    assert await project.call("git_log", path="*.py") == "no commit touches *.py"
    assert not (root / "x").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "arguments"), CALLS)
@pytest.mark.attack
async def test_nothing_that_a_repository_configures_is_run(
    root: Path, tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {sprung}\ncat\n')
    trap.chmod(0o755)
    commit(root, "Attributes", _gitattributes="*.py diff=evil filter=evil\n")
    programs = [
        *("core.fsmonitor", "diff.external", "diff.evil.textconv", "diff.evil.command", "filter.evil.clean"),
        *("filter.evil.smudge", "filter.evil.process", "core.pager", "pager.diff", "pager.log", "pager.show"),
        *("gpg.program", "gpg.ssh.program", "core.editor", "core.sshCommand", "core.alternateRefsCommand"),
    ]
    for key in programs:
        git(root, "config", key, f"{trap} {key}")
    for key, value in {"log.showSignature": "true", "core.hooksPath": str(tmp_path)}.items():
        git(root, "config", key, value)
    write_files(root, {"a.py": "changed\n"})
    before = (root / ".git" / "index").read_bytes()
    await Project(root).call(tool, **arguments)
    assert not sprung.exists(), sprung.read_text()
    assert (root / ".git" / "index").read_bytes() == before


@pytest.mark.attack
async def test_secrets_are_left_out(root: Path) -> None:
    key = "sk-" + "a1" * 20
    write_files(root, {".env": "PASSWORD=hunter2x\n", "c.py": f"key = '{key}'\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Secrets")
    project = Project(root, decisions=(Decision(False), Decision(False), Decision(False)))
    for tool, arguments in [
        ("git_show", {"revision": "HEAD"}),
        ("git_diff", {"revision": "HEAD~1"}),
        ("git_diff", {"revision": "HEAD~1..HEAD"}),
    ]:
        told = await project.call(tool, **arguments)
        assert "hunter2x" not in told
        assert key not in told
        assert "left out, they seem to hold secrets: .env (by its name)" in told
    for path in (".env", "c.py"):
        with pytest.raises(ToolError, match="no person agreed"):
            await project.call("git_show", revision="HEAD", path=path)
    with pytest.raises(ToolError, match="no person agreed"):
        await project.call("git_blame", path="c.py", first=1, last=1)


async def test_without_a_repository_that_is_told(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="no repository"):
        await Project(tmp_path, {"a.py": "a"}).call("git_status")


async def test_before_the_first_commit_all_is_new(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    project = Project(tmp_path, {"a.py": "a\n"})
    assert await project.call("git_status") == "on No commits yet on main\n?? a.py"
    assert "[new file, not in git yet: a.py]" in await project.call("git_diff")
    with pytest.raises(WorkspaceError, match="there is no commit 'HEAD'"):
        await project.call("git_log")


async def test_a_large_diff_is_bounded(root: Path) -> None:
    write_files(root, {"a.py": "changed\n" * 50_000})
    told = await Project(root).call("git_diff")
    assert len(told) < 31_000
    assert "more lines; ask for a path]" in told
