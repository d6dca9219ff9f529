"""A patch file is reviewed before it is applied, and what is accepted of it can be rolled back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builtin.review.conftest import FIRST, git

if TYPE_CHECKING:
    from pathlib import Path

    from tests.builtin.review.conftest import Reviewed

TWO = FIRST.replace("one", "ONE").replace("eight", "EIGHT")


def patch_of(project: Reviewed, place: Path) -> str:
    """Write what differs from the last commit to a file, and undo it."""
    git(project.root, "add", "-A", "--", ".", ":!.tideate")
    git(project.root, "diff", "--cached", "-M", "--binary", f"--output={place}", "HEAD")
    git(project.root, "reset", "-q", "--hard")
    return str(place)


async def test_only_what_is_accepted_of_a_patch_is_applied(project: Reviewed, tmp_path: Path) -> None:
    root, write = project.root, project.bench.write
    write("name with space.txt", "move me\nplease\nnow\nok\n")
    write("gone", "gone\n")
    write("crlf", "a\r\nb\r\n")
    (root / "bin").write_bytes(b"x\0y")
    project.commit_all("more")
    write("a.py", TWO)
    (root / "name with space.txt").rename(root / 'ü"new.txt')
    (root / "gone").unlink()
    (root / "bin").write_bytes(b"x\0z")
    write("crlf", "A\r\nb\r\n")
    write("tool", "tool").chmod(0o755)
    (root / "sub/b.py").chmod(0o755)
    (root / "link").symlink_to("a.py")
    patch = patch_of(project, tmp_path / "x.patch")
    result = await project.review(patch, reject={"a.py": [0], "link": None})
    assert result.ok, result.error
    assert project.bench.front.requests[-1].message == "Apply changes to 8 files?"
    assert "written" not in project.bench.front.requests[-1].payload
    assert project.status() == [
        " M a.py",
        " M bin",
        " M crlf",
        " D gone",
        ' D "name with space.txt"',
        " M sub/b.py",
        "?? tool",
        '?? "\\303\\274\\"new.txt"',
    ]
    assert (root / "a.py").read_text() == FIRST.replace("eight", "EIGHT")
    assert (root / "crlf").read_bytes() == b"A\r\nb\r\n"
    assert (root / "tool").read_bytes() == b"tool"
    assert (root / "tool").stat().st_mode & 0o100
    await project.bench.workspace().rollback(result.execution_id)
    assert project.status() == []


@pytest.mark.parametrize("prefix", ["", "a/"])
async def test_a_patch_of_diff_without_git_can_be_applied(
    project: Reviewed, tmp_path: Path, prefix: str
) -> None:
    patch = tmp_path / "x.diff"
    names = f"--- {prefix}a.py\n+++ {prefix.replace('a', 'b')}a.py\n"
    patch.write_text(f"{names}@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n")
    result = await project.review(str(patch))
    assert (result.files, (project.root / "a.py").read_text()) == (["a.py"], FIRST.replace("one", "ONE"))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-eins\n+ONE\n",
            "patch failed: a.py:1",
        ),
        ("--- a/../out\n+++ b/../out\n@@ -0,0 +1 @@\n+out\n", "is behind a symbolic link"),
        ("--- a/.git/config\n+++ b/.git/config\n@@ -0,0 +1 @@\n+x\n", "a workflow never touches .git/"),
        ("--- a/link/f\n+++ b/link/f\n@@ -1 +1 @@\n-f\n+g\n", "is behind a symbolic link"),
        ("--- /dev/null\n+++ b/etc\n@@ -0,0 +1,2 @@\n+x\n", "corrupt patch"),
    ],
)
async def test_a_patch_that_does_not_apply_or_leads_out_changes_nothing(
    project: Reviewed, tmp_path: Path, lines: str, said: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("f\n")
    (project.root / "link").symlink_to(outside)
    project.commit_all("link")
    patch = tmp_path / "x.patch"
    patch.write_text(lines)
    result = await project.review(str(patch))
    assert said in result.error
    assert result.error_code in ("InvalidInput", "OutsideRoot")
    assert (project.status(), (outside / "f").read_text()) == ([], "f\n")
    assert not (tmp_path / "out").exists()


async def test_a_patch_that_makes_a_link_and_writes_through_it_is_refused(
    project: Reviewed, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    patch = tmp_path / "x.patch"
    patch.write_text(
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n"
        f"+{outside}\n\\ No newline at end of file\n"
        "diff --git a/l/f b/l/f\nnew file mode 100644\n--- /dev/null\n+++ b/l/f\n@@ -0,0 +1 @@\n+f\n"
    )
    result = await project.review(str(patch))
    assert (result.ok, "does not apply" in result.error) == (False, True)
    assert list(outside.iterdir()) == []
    assert project.status() == []


async def test_a_changed_file_that_only_is_called_like_a_patch_is_reviewed_as_a_file(
    project: Reviewed,
) -> None:
    project.bench.write("x.patch", "no patch\n")
    await project.review("x.patch")
    assert list(project.shown) == ["x.patch"]
