"""Another program's changes are reviewed; rejected ones are reverted byte for byte."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.review.conftest import FIRST, answering
from tests.harness.modes import umask
from tests.harness.project import git
from tests.workspace.project import tree
from tideate_core.builtin.review import git_changes
from tideate_core.builtin.review.git_changes import image_now
from tideate_core.builtin.review.target import Target, project_root, read_patch
from tideate_core.engine import EventName, PolicyFrontEnd
from tideate_core.errors import InvalidInput
from tideate_core.git import ask_objects, objects
from tideate_core.snapshots import SnapshotManager
from tideate_core.workflows import Decision
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.builtin.review.conftest import Reviewed
    from tideate_core.engine import ConfirmationRequest

pytestmark = pytest.mark.slow

TWO = FIRST.replace("one", "ONE").replace("eight", "EIGHT")


def files(root: Path) -> dict[str, Any]:
    """Return the project's files without git's and tideate's own."""
    return {path: entry for path, entry in tree(root).items() if not path.startswith((".git/", ".tideate"))}


@pytest.fixture
def plain_modes() -> Iterator[None]:
    """Use git's default permissions, because a commit has no group permissions."""
    with umask(0o022):
        yield


async def test_a_rejected_hunk_is_reverted_and_a_rollback_brings_it_back(project: Reviewed) -> None:
    project.write("a.py", TWO)
    result = await project.review(reject={"a.py": [0]})
    assert (result.ok, result.response, result.files) == (True, "reverted:\n~ a.py", ["a.py"])
    assert project.text("a.py") == FIRST.replace("eight", "EIGHT")
    (request,) = project.front.requests
    assert request.message.startswith("Keep the changes to 1 file since HEAD (")
    assert request.payload["written"]
    assert await project.bench.workspace().rollback(result.execution_id) == ["a.py"]
    assert project.text("a.py") == TWO


async def test_without_a_rejection_everything_stays_and_no_model_is_asked(project: Reviewed) -> None:
    project.write("a.py", TWO)
    result = await project.review()
    assert (result.ok, result.response, result.files) == (True, "all changes are kept", [])
    assert project.text("a.py") == TWO
    assert project.bench.server.requests == []
    assert not project.bench.workspace().has_journal(result.execution_id)


@pytest.mark.parametrize("accept", [True, False])
async def test_a_policy_reverts_nothing(project: Reviewed, accept: bool) -> None:
    project.write("a.py", TWO)
    runner = project.bench.make_runner(project.bench.config, front=PolicyFrontEnd(accept=accept))
    project.bench.runner = runner
    result = await project.bench.run("review_changes")
    assert (result.ok, result.cancelled) == (accept, not accept)
    assert project.text("a.py") == TWO


async def test_it_runs_where_no_model_is_configured(project: Reviewed) -> None:
    config = project.bench.config.model_copy(update={"adapter": "nobody"})
    project.bench.runner = project.bench.make_runner(config)
    assert (await project.review()).response.startswith("nothing is changed since HEAD (")
    (started,) = project.front.data(EventName.WORKFLOW_STARTED)
    assert (started["adapter"], started["demonstration"]) == ("no model", False)


@pytest.mark.usefixtures("plain_modes")
async def test_every_kind_of_change_is_shown_and_reverted_and_rolled_back(project: Reviewed) -> None:
    root, write = project.root, project.bench.write
    (root / "bin").write_bytes(b"x\0y")
    write("gone.txt", "gone\r\nfile")
    write("noend", "no end")
    write("crlf", "a\r\nb\r\n")
    write("old/name.txt", "move me\nplease\nnow\nok\n")
    write("run.sh", "#!/bin/sh\n")
    write("tool", "tool\n").chmod(0o755)
    (root / "link").symlink_to("a.py")
    (root / "latin").write_bytes(b"caf\xe9\n")
    project.commit_all("more")
    committed = files(root)
    (root / "bin").write_bytes(b"x\0z")
    (root / "gone.txt").unlink()
    write("noend", "no end\n")
    write("crlf", "a\nb\n")
    (root / "new").mkdir()
    (root / "old/name.txt").rename(root / "new/name.txt")
    write("new/name.txt", "move me\nplease\nnow\nOK\n")
    write("run.sh", "#!/bin/sh\nexit 1\n").chmod(0o755)
    (root / "tool").unlink()
    (root / "link").unlink()
    (root / "link").symlink_to("bin")
    (root / "latin").write_bytes(b"caf\xe8\n")
    write("new/plain.txt", "new")
    (root / "new/bin").write_bytes(b"\0")
    (root / "new/bin").chmod(0o755)
    (root / "new/link").symlink_to("/nowhere")
    changed = files(root)
    result = await project.review(reject=["*"])
    assert result.ok, result.error
    shown = project.shown
    assert {path: file["action"] for path, file in shown.items() if file["action"] != "modify"} == {
        "gone.txt": "delete",
        "new/bin": "create",
        "new/link": "create",
        "new/plain.txt": "create",
        "old/name.txt": "move",
        "tool": "delete",
    }
    assert {path: file["note"] for path, file in shown.items() if "note" in file} == {
        "bin": "binary, 3 bytes",
        "crlf": "line ends CRLF → LF",
        "latin": "binary, 5 bytes",
        "link": "link to a.py → link to bin",
        "new/bin": "binary, 1 bytes, executable",
        "new/link": "link to /nowhere",
        "noend": "the last line end is new",
        "run.sh:": "mode 644 → 755",
    }
    assert shown["old/name.txt"]["move_to"] == "new/name.txt"
    assert [hunk["new"] for hunk in shown["old/name.txt"]["hunks"]] == [["OK"]]
    assert project.status() == []
    (root / "new").rmdir()
    assert files(root) == committed
    await project.bench.workspace().rollback(result.execution_id)
    assert files(root) == changed


async def test_a_mode_and_a_text_of_one_file_are_decided_apart(project: Reviewed) -> None:
    path = project.write("a.py", TWO)
    path.chmod(0o755)

    def answer(request: Any) -> Decision:
        text, mode = request.payload["files"]
        assert (text["path"], mode["path"], mode["note"]) == ("a.py", "a.py", "mode 644 → 755")
        kept = {"path": "a.py", "accepted": [0, 1], "rejected": []}
        return Decision(True, {"files": [kept, {"path": "a.py", "accepted": [], "rejected": [0]}]})

    project.front.answer = answer
    result = await project.bench.run("review_changes")
    assert (result.files, path.read_text(), path.stat().st_mode & 0o777) == (["a.py"], TWO, 0o644)


async def test_what_was_typed_elsewhere_meanwhile_stays(project: Reviewed) -> None:
    path = project.write("a.py", TWO)
    project.front.answer = answer_after(path, TWO.replace("four", "4"))
    await project.bench.succeed("review_changes")
    assert path.read_text() == FIRST.replace("four", "4")


def answer_after(path: Path, text: str) -> Callable[[ConfirmationRequest], Decision]:
    """Return an answer that writes a text, then rejects everything."""

    def answer(request: ConfirmationRequest) -> Decision:
        path.write_text(text)
        return answering(["*"])(request)

    return answer


@pytest.mark.parametrize("there", ["a.py", "new.txt"])
async def test_what_changed_where_it_is_reverted_is_left_and_that_is_said(
    project: Reviewed, there: str
) -> None:
    path = project.write(there, TWO)
    project.front.answer = answer_after(path, TWO.replace("ONE", "eins"))
    result = await project.bench.run("review_changes")
    assert (result.ok, result.error_code) == (False, "EditConflict")
    assert path.read_text() == TWO.replace("ONE", "eins")


async def test_the_other_files_are_reverted_where_one_was_changed_meanwhile(project: Reviewed) -> None:
    changed = project.write("a.py", TWO)
    changed.chmod(0o755)
    project.write("sub/b.py", "b = 2\n")
    project.write("new.py", "new\n")
    project.front.answer = answer_after(changed, TWO.replace("ONE", "eins"))
    result = await project.bench.run("review_changes")
    assert (result.ok, result.files) == (True, ["new.py", "sub/b.py"]), result.error
    assert project.text("sub/b.py") == "b = 1\n"
    assert not (project.root / "new.py").exists()
    assert (changed.read_text(), changed.stat().st_mode & 0o777) == (TWO.replace("ONE", "eins"), 0o755)
    why = "a.py changed on disk where the edit goes"
    assert f"not reverted, and as they were:\n{why}" in str(result.response)
    notices = project.front.data(EventName.NOTICE)
    assert {"step": "review", "message": f"not reverted: {why}", "level": "warn"} in notices


async def test_a_folder_and_a_file_limit_it(project: Reviewed) -> None:
    project.write("a.py", TWO)
    project.write("sub/b.py", "b = 2\n")
    project.write("sub/new.py", "new\n")
    await project.review("sub")
    assert list(project.shown) == ["sub/b.py", "sub/new.py"]
    await project.review("HEAD", "a.py")
    assert list(project.shown) == ["a.py"]
    (project.root / "sub/b.py").unlink()
    await project.review("sub/b.py")  # it is gone, and git knows it
    assert list(project.shown) == ["sub/b.py"]
    outside = await project.review(str(project.root.parent))
    assert outside.error_code == "OutsideRoot"


async def test_it_is_against_a_branch_a_merge_base_or_a_commit(project: Reviewed) -> None:
    git(project.root, "checkout", "-q", "-b", "topic")
    project.write("topic.py", "topic\n")
    project.commit_all("topic")
    git(project.root, "checkout", "-q", "main")
    project.write("main.py", "main\n")
    project.commit_all("main")
    git(project.root, "checkout", "-q", "--detach", "topic")
    await project.review("main")
    assert {path: file["action"] for path, file in project.shown.items()} == {
        "main.py": "delete",
        "topic.py": "create",
    }
    await project.review("main...")
    assert list(project.shown) == ["topic.py"]
    assert "since the merge base with main (" in project.front.requests[-1].message
    commit = git(project.root, "rev-parse", "main~1").strip()
    result = await project.review(commit[:10], reject=["topic.py"])
    assert result.files == ["topic.py"]
    assert not (project.root / "topic.py").exists()
    unknown = await project.review("nothing")
    assert "unknown target 'nothing'" in unknown.error
    assert unknown.error_code == "InvalidInput"


async def test_two_paths_are_refused(project: Reviewed) -> None:
    result = await project.review("a.py", "sub")
    assert "two paths are given, a.py and sub" in str(result.error)


def test_a_patch_that_is_gone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is not a regular file of at most"):
        read_patch(Target(kind="patch", id=str(tmp_path / "gone.patch"), since=""))


def test_a_review_of_changes_needs_a_project() -> None:
    with pytest.raises(InvalidInput, match="there is no project here to review"):
        project_root(Workspace(None))


async def test_a_name_that_several_commits_go_by_is_refused(project: Reviewed) -> None:
    project.write("evil.py", "evil\n")
    git(project.root, "checkout", "-q", "-b", "topic")
    project.commit_all("evil")
    git(project.root, "config", "core.warnAmbiguousRefs", "false")
    evil = git(project.root, "rev-parse", "HEAD").strip()
    for name, place in (
        ("main", "refs/tags/main"),
        ("other", "refs/heads/other"),
        ("HEAD", "refs/heads/HEAD"),
    ):
        git(project.root, "update-ref", place, evil)
        if name == "other":
            (project.root / ".git/other").write_text(f"{evil}\n")
    for name in ("main", "main~0", "main...", "other"):
        refused = await project.review(name)
        assert refused.error_code == "InvalidInput"
        assert "is ambiguous" in refused.error
    for name in ("heads/main", "HEAD~1"):
        await project.review(name)
        assert list(project.shown) == ["evil.py"]


async def test_a_file_called_like_a_commit_hides_no_other(project: Reviewed) -> None:
    for name in ("HEAD", "main"):
        project.write(name, "x\n")
    project.commit_all("files")
    project.write("evil.py", "evil\n")
    for name in ("HEAD", "main~0"):
        await project.review(name)
        assert list(project.shown) == ["evil.py"]
    refused = await project.review("main")
    assert refused.error_code == "InvalidInput"
    assert "give ./main for the path" in refused.error
    project.write("main", "y\n")
    await project.review("./main")
    assert list(project.shown) == ["main"]


async def test_a_branch_that_moves_meanwhile_is_the_commit_that_it_was(project: Reviewed) -> None:
    result = await project.review("main")
    reader = (await project.bench.runner.store()).reader()
    (found, _) = reader.steps(result.execution_id)
    assert found.result["id"] == git(project.root, "rev-parse", "main").strip()


async def test_it_is_against_a_snapshot(project: Reviewed) -> None:
    manager = SnapshotManager(project.root, private=project.bench.private)
    (project.root / "a.py").chmod(0o600)
    snapshot = await manager.create("before")
    project.write("a.py", TWO).chmod(0o640)
    project.write("sub/new.py", "new\n")
    (project.root / "sub/b.py").unlink()
    await project.review(snapshot[:8], "sub")
    assert sorted(project.shown) == ["sub/b.py", "sub/new.py"]
    result = await project.review(f"snapshot:{snapshot}", reject=["a.py", "sub/b.py"])
    assert project.front.requests[-1].message.endswith(f"since the snapshot {snapshot[:9]}?")
    assert project.shown["a.py:"]["note"] == "mode 600 → 640"
    assert sorted(result.files) == ["a.py", "sub/b.py"]
    assert project.text("a.py") == FIRST
    assert (project.root / "a.py").stat().st_mode & 0o777 == 0o600
    assert project.text("sub/b.py") == "b = 1\n"
    assert "no snapshot begins with '0000'" in (await project.review("snapshot:0000")).error


async def test_a_repository_without_a_commit_and_a_project_without_one(project: Reviewed) -> None:
    os.rename(project.root / ".git", project.root.parent / "away")  # noqa: PTH104
    assert (await project.review()).error_code == "WorkspaceError"
    git(project.root, "init", "-q")
    git(project.root, "add", "a.py")
    result = await project.review(reject=["sub/b.py"])
    assert (
        project.front.requests[-1].message == "Keep the changes to 2 files in a repository without a commit?"
    )
    assert (result.files, project.text("a.py")) == (["sub/b.py"], FIRST)


async def test_a_worktree_and_a_project_within_a_repository(project: Reviewed) -> None:
    bench = project.bench
    elsewhere = project.root.parent / "worktree"
    git(project.root, "worktree", "add", "-q", "--detach", str(elsewhere))
    (elsewhere / "a.py").write_text(TWO)
    bench.root = elsewhere
    result = await project.review(reject=["a.py"])
    assert (result.files, (elsewhere / "a.py").read_text()) == (["a.py"], FIRST)
    (elsewhere / "a.py").write_text(TWO)
    (elsewhere / ".gitattributes").write_text("*.py ident\n")
    (elsewhere / "sub/b.py").write_text("b = 2 # $Id$\n")
    bench.root = elsewhere / "sub"
    result = await project.review(reject=["b.py"])
    assert (list(project.shown), result.files) == (["b.py"], ["b.py"])
    assert (elsewhere / "sub/b.py").read_text() == "b = 1\n"


async def test_what_cannot_be_reviewed_is_named_with_the_reason(project: Reviewed, tmp_path: Path) -> None:
    root = project.root
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    (other / "f").write_text("f\n")
    git(other, "add", ".")
    git(other, "commit", "-qm", "x")
    git(root, "submodule", "--quiet", "add", str(other), "vendor")
    project.write("d/f", "f\n")
    project.write("e", "e\n")
    project.commit_all("submodule")
    (root / "vendor/f").write_text("g\n")
    git(root / "vendor", "commit", "-qam", "y")
    git(root, "clone", "-q", str(other), "nested")
    (root / "d/f").unlink()
    (root / "d").rmdir()
    (root / "d").symlink_to(other)
    (root / "e").unlink()
    (root / "e").mkdir()
    os.mkfifo(root / "sub/pipe")
    (root / os.fsdecode(b"\xff")).write_text("odd\n")
    await project.review()
    assert list(project.shown) == ["d", "d/f", "e"]
    assert project.bench.front.notices() == [
        "not reviewed: nested/: a repository in this one; review it in its own directory",
        "not reviewed: vendor: a submodule; review it in its own directory",
        "not reviewed: \\xff: its name is not UTF-8",
    ]


async def test_a_file_with_a_merge_conflict_is_reviewed_as_it_stands(project: Reviewed) -> None:
    git(project.root, "checkout", "-q", "-b", "topic")
    project.write("a.py", TWO)
    project.write("both.py", "topic\n")
    project.commit_all("topic")
    git(project.root, "checkout", "-q", "main")
    ours = FIRST.replace("one", "eins")
    project.write("a.py", ours)
    project.write("both.py", "main\n")
    project.commit_all("main")
    with pytest.raises(subprocess.CalledProcessError):
        git(project.root, "merge", "topic")
    result = await project.review(reject=["a.py"])
    assert "+>>>>>>> topic" in "".join(
        f"+{line}" for hunk in project.shown["both.py"]["hunks"] for line in hunk["new"]
    )
    assert (result.files, project.text("a.py")) == (["a.py"], ours)


async def test_line_ends_that_git_converts_are_no_change(project: Reviewed) -> None:
    project.write(".gitattributes", "*.txt text eol=crlf\n*.u16 text working-tree-encoding=UTF-16LE-BOM\n")
    project.write("w.txt", "a\r\nb\r\nc\r\n")
    wide = project.root / "w.u16"
    wide.write_bytes("\ufeffwide\n".encode("utf-16-le"))
    project.commit_all("crlf")
    project.write("w.txt", "A\r\nb\r\nc\r\n")
    wide.write_bytes("\ufeffWIDE\n".encode("utf-16-le"))
    await project.review(reject=["*"])
    (text, _) = project.front.requests[-1].payload["files"]
    assert text["hunks"] == [{"start": 0, "old": ["a"], "new": ["A"]}]
    assert (project.root / "w.txt").read_bytes() == b"a\r\nb\r\nc\r\n"
    assert wide.read_bytes() == "\ufeffwide\n".encode("utf-16-le")
    assert project.status() == []


async def test_files_that_git_converts_are_read_by_one_call(
    project: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, ...]] = []

    async def counted(*arguments: Any, **named: Any) -> bytes:
        calls.append(arguments[1:])
        return await ask_objects(*arguments, **named)

    names = ["a b.txt", *(f"{number}.txt" for number in range(9))]
    odd = [" blank.txt", "two\nlines.txt"]
    project.write(".gitattributes", "*.txt text eol=crlf\n*.id ident\n")
    for name in (*names, *odd):
        project.write(name, f"{name!r}\r\n\r\nb\r\n")
    project.write("x.id", "$Id$\n")
    project.write("empty.txt", "")
    project.commit_all("converted")
    committed = files(project.root)
    for name in (*names, *odd, "empty.txt"):
        project.write(name, "c\r\n")
    project.write("x.id", "other\n")
    monkeypatch.setattr(git_changes, "ask_objects", counted)
    result = await project.review(reject=["*"])
    assert len(result.files) == len(names) + len(odd) + 2
    assert sum("--filters" in call for call in calls) == 1 + len(odd)
    now = files(project.root)
    blob = git(project.root, "rev-parse", "HEAD:x.id").strip()
    assert project.text("x.id") == f"$Id: {blob} $\n"
    assert {**now, "x.id": None} == {**committed, "x.id": None}


async def test_what_is_too_much_is_not_read_to_its_end(
    project: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def image(root: Path, name: str, found: Any) -> Any:
        read.append(name)
        return image_now(root, name, found)

    for number in range(9):
        project.write(f"{number}.txt", "x" * 100)
    monkeypatch.setattr(git_changes, "image_now", image)
    monkeypatch.setattr(git_changes, "MOST_BYTES", 250)
    result = await project.review()
    assert "MiB differ; name a folder" in result.error
    assert read == ["0.txt", "1.txt", "2.txt"]


async def test_what_is_too_much_in_the_commit_is_refused(
    project: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        project.write(f"{number}.txt", f"{number}" * 100)
    project.commit_all("large")
    for number in range(4):
        project.write(f"{number}.txt", "")
    monkeypatch.setattr(git_changes, "MOST_BYTES", 400)
    monkeypatch.setattr(objects, "_AT_ONCE", 1)
    assert "MiB; name a folder" in (await project.review()).error


async def test_nothing_that_a_repository_configures_is_run(project: Reviewed, tmp_path: Path) -> None:
    trap, sprung = tmp_path / "trap", tmp_path / "sprung"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {sprung}\ncat\n')
    trap.chmod(0o755)
    attributes = "*.py diff=evil filter=evil merge=evil ident\n*.txt text eol=crlf filter=late\n"
    project.write(".gitattributes", attributes)
    project.write("w.txt", "a\nb\n")
    project.commit_all("attributes")
    settings = {
        "core.fsmonitor": f"{trap} fsmonitor",
        "core.hooksPath": str(tmp_path),
        "core.sshCommand": f"{trap} ssh",
        "core.alternateRefsCommand": f"{trap} refs",
        "diff.external": f"{trap} external",
        "diff.evil.textconv": f"{trap} textconv",
        "diff.evil.command": f"{trap} command",
        "filter.evil.clean": f"{trap} clean",
        "filter.evil.smudge": f"{trap} smudge",
        "filter.evil.process": f"{trap} process",
        "filter.evil.required": "true",
        "filter.late.smudge": f"{trap} smudge",
        "merge.evil.driver": f"{trap} merge",
        "apply.whitespace": "error-all",
    }
    for key, value in settings.items():
        git(project.root, "config", key, value)
    project.write("a.py", TWO)
    project.write("w.txt", "A\r\nb\r\n")
    project.write("new.py", "new\n")
    assert (await project.review(reject=["*"])).ok
    assert sorted(project.shown) == ["a.py", "new.py", "w.txt"]
    assert project.text("a.py") == FIRST
    patch = "--- a/sub/b.py\n+++ b/sub/b.py\n@@ -1 +1 @@\n-b = 1\n+b = 2 \n"
    assert (await project.review_patch(patch)).ok
    assert project.text("sub/b.py") == "b = 2 \n"
    assert not sprung.exists(), sprung.read_text()


async def test_a_file_that_a_filter_of_the_persons_converts_is_not_shown_as_something_else(
    project: Reviewed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / ".gitconfig").write_text('[filter "big"]\n\tclean = tr a-z A-Z\n\tsmudge = tr A-Z a-z\n')
    project.write(".gitattributes", "*.big filter=big\n")
    project.write("w.big", "text\n")
    project.commit_all("big")
    project.write("w.big", "other\n")
    result = await project.review(reject=["*"])
    (notice,) = project.front.data(EventName.NOTICE)
    why = "w.big: a filter of git converts it; `git diff` shows it"
    assert notice["message"] == f"not reviewed: {why}"
    assert result.response.startswith("nothing is changed since HEAD (")
    assert result.response.endswith(f"\nnot reviewed:\n{why}")
    assert project.text("w.big") == "other\n"


def folder_to_link(root: Path) -> None:
    (root / "sub/b.py").unlink()
    (root / "sub").rmdir()
    (root / "sub").symlink_to("/")


def folder_to_file(root: Path) -> None:
    (root / "sub/b.py").rename(root / "moved")
    (root / "sub").rmdir()
    (root / "moved").rename(root / "sub")


def file_to_folder(root: Path) -> None:
    (root / "a.py").rename(root / "moved")
    (root / "a.py").mkdir()
    (root / "moved").rename(root / "a.py/inner")


@pytest.mark.parametrize("change", [folder_to_link, folder_to_file, file_to_folder])
@pytest.mark.parametrize("since", ["HEAD", "snapshot"])
async def test_a_change_of_kind_is_reverted_and_rolled_back_whole(
    project: Reviewed, change: Callable[[Path], None], since: str
) -> None:
    project.write("other.py", "1\n")
    project.commit_all("other")
    before = files(project.root)
    if since == "snapshot":
        since = await SnapshotManager(project.root, private=project.bench.private).create("before")
    change(project.root)
    project.write("other.py", "2\n")
    after = files(project.root)
    result = await project.review(since, reject=["*"])
    assert result.ok, result.error
    assert files(project.root) == before
    await project.bench.workspace().rollback(result.execution_id)
    assert files(project.root) == after


async def test_half_of_a_change_of_kind_is_refused_by_name_and_the_rest_reverted(project: Reviewed) -> None:
    folder_to_link(project.root)
    project.write("a.py", TWO)
    result = await project.review(reject=["a.py", "sub/b.py"])
    assert "sub/b.py: sub is a symbolic link, so nothing can be below it" in result.response
    assert (project.text("a.py"), (project.root / "sub").is_symlink()) == (FIRST, True)
