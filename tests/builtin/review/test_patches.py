"""A patch file is reviewed before it is applied, and accepted hunks can be rolled back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builtin.review.conftest import FIRST
from tideate_core.engine.review.review import MOST_REFUSED
from tideate_core.errors import OutsideRoot
from tideate_core.util.escaping import label
from tideate_core.workflows import Decision
from tideate_core.workspace import FileImage
from tideate_core.workspace.patches import _write_copy

if TYPE_CHECKING:
    from pathlib import Path

    from tests.builtin.review.conftest import Reviewed
    from tideate_core.engine import ConfirmationRequest

TWO = FIRST.replace("one", "ONE").replace("eight", "EIGHT")


async def test_only_what_is_accepted_of_a_patch_is_applied(project: Reviewed) -> None:
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
    patch = project.save_patch()
    result = await project.review(patch, reject={"a.py": [0], "link": None})
    assert result.ok, result.error
    assert project.front.requests[-1].message == "Apply changes to 8 files?"
    assert "written" not in project.front.requests[-1].payload
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
    assert project.text("a.py") == FIRST.replace("eight", "EIGHT")
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
    assert (result.files, project.text("a.py")) == (["a.py"], FIRST.replace("one", "ONE"))


async def test_what_does_not_apply_is_named_and_the_rest_is_reviewed(project: Reviewed) -> None:
    root, write = project.root, project.bench.write
    long = "".join(f"{number}\n" for number in range(1, 31))
    write("long", long)
    project.commit_all("more")
    write("long", long.replace("2\n", "two\n", 1).replace("29\n", "last\n"))
    write("new", "new\n")
    write("sub/b.py", "b = 2\n")
    patch = project.save_patch()
    write("long", long.replace("29\n", "neunundzwanzig\n"))
    write("sub/b.py", "other = 1\n")
    (root / "a.py").rename(root / "c.py")
    project.commit_all("meanwhile")
    project.patch.open("a").write("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-one\n+ONE\n")
    result = await project.review(patch)
    assert result.ok, result.error
    assert list(project.shown) == ["long", "new"]
    assert project.text("long") == long.replace("2\n", "two\n", 1).replace("29\n", "neunundzwanzig\n")
    assert project.status() == [" M long", "?? new"]
    left = [
        "a.py: No such file or directory",
        "long: the hunk at line 26 of the patch does not apply",
        "sub/b.py: the hunk at line 1 of the patch does not apply",
    ]
    assert [one for one in project.bench.front.notices() if one.startswith("not applied")] == [
        f"not applied: {one}" for one in left
    ]
    assert str(result.response).endswith("\n".join(["not applied, as it does not fit:", *left]))
    await project.bench.workspace().rollback(result.execution_id)
    assert project.status() == []


async def test_lines_that_change_while_a_patch_is_reviewed_are_reviewed_again_and_typing_is_kept(
    project: Reviewed,
) -> None:
    project.write("a.py", TWO)
    patch = project.save_patch()
    front, mine = project.front, {"hunk": 0, "old": ["one"], "new": ["uno"]}

    def answer(_request: ConfirmationRequest) -> Decision:
        if len(front.requests) > 1:
            return Decision(True)
        project.write("a.py", FIRST.replace("one", "eins"))
        return Decision(True, {"files": [{"path": "a.py", "accepted": [0, 1], "edited": [mine]}]})

    front.answer = answer
    await project.bench.succeed("review_changes", inputs={"what": patch, "path": ""})
    assert len(front.requests) == 2
    assert project.shown["a.py"]["hunks"][0] == {"start": 0, "old": ["eins"], "new": ["uno"]}
    assert project.text("a.py") == TWO.replace("ONE", "uno")


async def test_what_was_typed_outlives_a_new_file_that_is_there_meanwhile(project: Reviewed) -> None:
    project.write("new.py", "new = 1\n")
    project.write("a.py", TWO)
    patch = project.save_patch()
    front, mine = project.front, {"hunk": 0, "old": ["one"], "new": ["uno"]}
    verdict = {"path": "a.py", "accepted": [0, 1], "rejected": [], "edited": [mine]}

    def answer(_request: ConfirmationRequest) -> Decision:
        there = project.root / "new.py"
        if len(front.requests) == 1:
            there.write_text("of the person\n")
        else:
            there.unlink()
        return Decision(True, {"files": [verdict, {"path": "new.py", "accepted": [0]}]})

    front.answer = answer
    await project.bench.succeed("review_changes", inputs={"what": patch, "path": ""})
    _, again = front.requests
    assert [file["decided"].get("edited") for file in again.payload["files"]] == [[mine], None]
    assert "new.py" in again.payload["warnings"][0]
    assert project.text("new.py") == "new = 1\n"
    assert project.text("a.py") == TWO.replace("ONE", "uno")


async def test_a_review_that_cannot_be_written_ends_at_last(project: Reviewed) -> None:
    project.write("new.py", "new = 1\n")
    patch = project.save_patch()

    def answer(_request: ConfirmationRequest) -> Decision:
        project.write("new.py", "of the person\n")
        return Decision(True, {"files": [{"path": "new.py", "accepted": [0]}]})

    project.front.answer = answer
    result = await project.bench.run("review_changes", inputs={"what": patch, "path": ""})
    assert (result.ok, result.error_code) == (False, "EditConflict")
    assert len(project.front.requests) == MOST_REFUSED
    assert project.text("new.py") == "of the person\n"


@pytest.mark.parametrize("folder", ["src", "a"])
@pytest.mark.parametrize("git", [True, False])
async def test_what_applies_of_a_patch_without_prefixes_stays_in_its_folder(
    project: Reviewed, folder: str, git: bool
) -> None:
    project.write(f"{folder}/a.py", "a = 1\n")
    project.commit_all("more")
    new, old = f"{folder}/new.py", f"{folder}/a.py"
    added = f"--- /dev/null\n+++ {new}\n@@ -0,0 +1 @@\n+new\n"
    changed = f"--- {old}\n+++ {old}\n@@ -1 +1 @@\n-b = 1\n+b = 2\n"
    if git:
        added = f"diff --git {new} {new}\nnew file mode 100644\n{added}"
        changed = f"diff --git {old} {old}\n{changed}"
    result = await project.review_patch(f"{added}{changed}")
    assert result.ok, result.error
    assert project.status() == [f"?? {new}"]
    assert f"{old}: the hunk at line 1 of the patch does not apply" in result.response


LONG = "é" * 126
"""The longest name that still fits with the three bytes of `x` and its number."""


@pytest.mark.parametrize(
    "name", ["tab\tand\x07bell", "two\nlines", "a: b", f"{LONG}123", f"{LONG}x", "(a)[b]*\\"]
)
@pytest.mark.parametrize("whole", [True, False])
async def test_what_does_not_apply_is_named_whatever_its_name_is(
    project: Reviewed, name: str, whole: bool
) -> None:
    long = "".join(f"{number}\n" for number in range(1, 31))
    project.write(name, long)
    project.commit_all("more")
    project.write(name, long.replace("2\n", "two\n", 1).replace("29\n", "last\n"))
    project.write("a.py", TWO)
    patch = project.save_patch()
    if whole:
        (project.root / name).unlink()
    else:
        project.write(name, long.replace("29\n", "neunundzwanzig\n"))
    project.commit_all("meanwhile")
    result = await project.review(patch)
    assert result.ok, result.error
    assert project.shown.keys() == {"a.py", *([] if whole else [name])}
    _, said = result.response.split("not applied, as it does not fit:\n")
    why = "No such file or directory" if whole else "the hunk at line 26 of the patch does not apply"
    assert said == f"{label(name)}: {why}"


async def test_a_name_that_is_too_long_for_any_file_is_told(project: Reviewed) -> None:
    result = await project.review_patch(f"--- /dev/null\n+++ b/{'x' * 256}\n@@ -0,0 +1 @@\n+x\n")
    assert (result.error.endswith("x' is too long for a path"), project.status()) == (True, [])


@pytest.mark.parametrize("place", ["folder of the patch", "link"])
async def test_nothing_is_applied_where_rejected_hunks_cannot_be_written(
    project: Reviewed, tmp_path: Path, place: str
) -> None:
    outside = tmp_path / "outside"
    project.write("a.py", TWO)
    if place == "link":
        (project.root / "a.py.rej").symlink_to(outside)
    else:
        project.write("A.py.rej/z", "z\n")
    patch = project.save_patch()
    project.write("a.py", FIRST.replace("eight", "acht"))
    project.commit_all("meanwhile")
    result = await project.review(patch)
    assert (result.error_code, project.status(), outside.exists()) == ("InvalidInput", [], False)
    assert "patch failed: a.py:" in result.error


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-eins\n+ONE\n",
            "patch failed: a.py:1",
        ),
        ("--- a/../out\n+++ b/../out\n@@ -0,0 +1 @@\n+out\n", "../out: no plain path below the project"),
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
    result = await project.review_patch(lines)
    assert said in result.error
    assert result.error_code in ("InvalidInput", "OutsideRoot")
    assert (project.status(), (outside / "f").read_text()) == ([], "f\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("is_link", [False, True])
@pytest.mark.parametrize(
    "lines",
    [
        "--- {path}\n+++ {path}\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n",
        "diff --git a/b.py b/c.py\nsimilarity index 100%\nrename from {path}\nrename to c.py\n",
    ],
)
async def test_a_patch_with_an_absolute_path_into_the_project_is_refused(
    project: Reviewed, lines: str, is_link: bool
) -> None:
    path = project.root / "real.py"
    if is_link:
        path.symlink_to("a.py")
    else:
        path.write_text(FIRST)
        path.chmod(0o600)
    before = path.lstat()
    result = await project.review_patch(lines.format(path=path))
    assert (result.ok, result.error_code) == (False, "InvalidInput")
    assert "real.py: no plain path below the project" in result.error
    now = path.lstat()
    assert (now.st_mode, now.st_mtime_ns, now.st_ino) == (before.st_mode, before.st_mtime_ns, before.st_ino)


async def test_what_the_words_before_a_patch_say_of_moves_is_not_read(project: Reviewed) -> None:
    path = project.write("other.py", "other\n")
    path.chmod(0o600)
    before = path.stat()
    result = await project.review_patch(
        f"From me\n\nrename from {path}\ncopy from ../out\n---\n"
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"
    )
    assert (result.ok, result.files, list(project.shown)) == (True, ["a.py"], ["a.py"])
    now = path.stat()
    assert (now.st_mode, now.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


@pytest.mark.parametrize("name", ["{outside}/f", "../f", "link/f", ".."])
def test_no_copy_of_a_file_is_laid_elsewhere(tmp_path: Path, name: str) -> None:
    place, outside = tmp_path / "place", tmp_path / "outside"
    for folder in (place, outside):
        folder.mkdir()
    (place / "link").symlink_to(outside)
    with pytest.raises(OutsideRoot):
        _write_copy(place, name.format(outside=outside), FileImage.of_file(b"x", 0))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["link", "outside", "place"]


async def test_a_patch_that_makes_a_link_and_writes_through_it_is_refused(
    project: Reviewed, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    result = await project.review_patch(
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n"
        f"+{outside}\n\\ No newline at end of file\n"
        "diff --git a/l/f b/l/f\nnew file mode 100644\n--- /dev/null\n+++ b/l/f\n@@ -0,0 +1 @@\n+f\n"
    )
    assert (result.ok, "does not apply" in result.error) == (False, True)
    assert list(outside.iterdir()) == []
    assert project.status() == []


async def test_a_changed_file_that_only_is_called_like_a_patch_is_reviewed_as_a_file(
    project: Reviewed,
) -> None:
    project.write("x.patch", "no patch\n")
    await project.review("x.patch")
    assert list(project.shown) == ["x.patch"]
