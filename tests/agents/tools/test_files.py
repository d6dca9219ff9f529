"""Reading and listing files: line numbers, ranges, limits, nothing outside the project."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.tools.project import Project
from tests.harness.buffers import Buffers
from tests.harness.project import git, write_files
from tideate_core.errors import ToolError
from tideate_core.workflows import Decision
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from pathlib import Path


async def read(project: Project, path: str, **more: Any) -> str:
    return await project.call("read_file", path=path, **more)


async def listed(project: Project, **more: Any) -> str:
    return await project.call("list_files", **more)


TWENTY = {"a.txt": "\n".join(map(str, range(1, 21)))}


async def test_lines_are_numbered_on_request(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.py": "one\n\ttwo\n"})
    assert await read(project, "a.py") == "a.py, 2 lines\none\n\ttwo"
    assert await read(project, "a.py", numbers=True) == "a.py, 2 lines\n1\tone\n2\t\ttwo"


async def test_a_long_text_that_the_model_has_is_not_shown_again(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.py": "x = 1\n" * 40})
    assert "x = 1\nx = 1" in await read(project, "a.py")
    known = "a.py, 40 lines: you have all of it, with your edits; ranges show lines again"
    assert await read(project, "a.py") == known
    assert await read(project, "a.py", first=40) == "a.py, lines 40-40 of 40\nx = 1"
    write_files(tmp_path, {"a.py": "y = 1\n" * 40})
    assert "y = 1" in await read(project, "a.py")
    project.staged.forget_shown()
    assert "y = 1" in await read(project, "a.py")


async def test_a_range_is_read(tmp_path: Path) -> None:
    project = Project(tmp_path, TWENTY)
    shown = await read(project, "./a.txt", first=3, last=4)
    assert shown == "a.txt, lines 3-4 of 20\n3\n4"
    assert (await read(project, "a.txt", first=20, last=99)).endswith("of 20\n20")
    with pytest.raises(ToolError, match="has 20 lines; there is no line 21"):
        await read(project, "a.txt", first=21)


async def test_several_ranges_are_read_in_one_call(tmp_path: Path) -> None:
    project = Project(tmp_path, TWENTY)
    shown = await read(project, "a.txt", ranges=[[19, 99], [3, 4], [5, 6], [4, 5]])
    assert shown == "a.txt, lines 3-6, 19-20 of 20\n3\n4\n5\n6\n-- 19-20\n19\n20"
    assert not project.staged.was_shown("a.txt")
    await read(project, "a.txt", ranges=[[1, 10], [11, 20]])
    assert project.staged.was_shown("a.txt")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"ranges": [[1, 2], [30, 40]]}, "has 20 lines; there is no line 30"),
        ({"ranges": [[4, 3]]}, "no line 4 up to 3"),
        ({"ranges": [[1, 2]], "first": 3}, "either ranges, or first and last"),
        ({"ranges": [[1]]}, "at least 2 items"),
        ({"ranges": [[0, 3]]}, "greater than 0"),
    ],
)
async def test_ranges_that_are_none_are_refused(tmp_path: Path, arguments: dict[str, Any], said: str) -> None:
    project = Project(tmp_path, TWENTY)
    with pytest.raises(ToolError, match=said):
        await read(project, "a.txt", **arguments)


async def test_a_text_that_is_cut_in_one_of_its_ranges_was_not_shown(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.txt": "\n".join(["x" * 100] * 1_000)})
    shown = await read(project, "a.txt", ranges=[[1, 500], [501, 1000]], numbers=True)
    first = int(shown.removesuffix(" on]").rpartition(" ")[2])
    assert shown.split("\n")[-2].startswith(f"{first - 1}\t")
    assert not project.staged.was_shown("a.txt")


async def test_a_long_text_is_cut_and_goes_on_where_it_says(tmp_path: Path) -> None:
    lines = [f"line {number} {'x' * 90}" for number in range(1, 1001)]
    project = Project(tmp_path, {"a.txt": "\n".join(lines)})
    text, first = "", 1
    while first <= 1000:
        part = await read(project, "a.txt", first=first, numbers=True)
        assert len(part) < 31_000
        *shown, last = part.split("\n")[1:]
        text += "\n".join(line.partition("\t")[2] for line in shown) + "\n"
        if "left out" not in last:
            text += last.partition("\t")[2]
            break
        first = int(last.removesuffix(" on]").rpartition(" ")[2])
    assert text == "\n".join(lines)


async def test_a_long_line_is_cut_and_says_so(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.min.js": "x" * 50_000})
    shown = await read(project, "a.min.js")
    assert shown.endswith("x [… 48,000 more characters]")
    assert len(shown) < 2_100


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("../x", "outside the project"),
        ("/etc/passwd", "outside the project"),
        ("out/x", "outside the project"),
        ("out.txt", "outside the project"),
        (".git/config", r"never touches \.git"),
        ("src", "is a directory; list_files"),
        ("image.png", "is binary"),
        ("huge.txt", "files over 2048 KiB are not read"),
        ("src/aa.py", r"does not exist; similar files: src/a\.py"),
        ("nothing-like-it", "does not exist; find_files"),
        ("a\0b", "is not a path"),
        ("", "is not a path"),
        ("x" * 5000, "too long for a path"),
        ("pipe", "not a regular file"),
    ],
)
@pytest.mark.attack
async def test_what_cannot_be_read_says_why(tmp_path: Path, path: str, said: str) -> None:
    root = tmp_path / "project"
    project = Project(root, {"src/a.py": "a", ".git/config": "", "huge.txt": "x" * 3_000_000})
    (root / "image.png").write_bytes(b"\x89PNG\x00")
    write_files(tmp_path, {"elsewhere/x": "not ours"})
    (root / "out").symlink_to(tmp_path / "elsewhere")
    (root / "out.txt").symlink_to(tmp_path / "elsewhere" / "x")
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolError, match=said):
        await read(project, path)


async def test_staged_texts_come_before_unsaved_ones_and_these_before_the_disk(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.py": "disk\n"}, buffers=Buffers.typed(tmp_path / "a.py", "unsaved"))
    assert await read(project, "a.py") == ("a.py, 1 line, with unsaved changes of the editor\nunsaved")
    await project.stage(FileChange("a.py", "modify", "unsaved", "staged"))
    assert await read(project, "a.py") == "a.py, 1 line, with staged edits\nstaged"


@pytest.mark.parametrize(("accepted", "said"), [(True, "KEY=1"), (False, "no person agreed to send it")])
async def test_a_secret_is_read_only_after_a_persons_yes(tmp_path: Path, accepted: bool, said: str) -> None:
    project = Project(tmp_path, {".env": "KEY=1"}, decisions=(Decision(accepted),))
    if accepted:
        assert said in await read(project, ".env")
        assert said in await read(project, ".env")
    else:
        with pytest.raises(ToolError, match=said):
            await read(project, ".env")
    assert len(project.step.questions) == 1


async def test_files_are_listed_as_staged_edits_leave_them_and_without_ignored_ones(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {
            "src/a.py": "a",
            "src/b.py": "b",
            "src/sub/c.py": "c",
            ".gitignore": "*.log\n",
            "x.log": "",
            "d.md": "",
        },
    )
    git(tmp_path, "init", "-q")
    await project.stage(
        FileChange("src/a.py", "move", "a", "a", move_to="src/new.py"),
        FileChange("d.md", "delete", "", None),
        FileChange("src/sub/e.py", "create", None, "e"),
    )
    assert await listed(project) == "src/\n  sub/\n    c.py\n    e.py\n  b.py\n  new.py\n.gitignore"
    assert await listed(project, path="src", depth=1) == (
        "sub/ (2 files)\nb.py\nnew.py\n[2 files are in folders that are not opened; list one of these]"
    )
    assert await project.call("find_files", glob="*.py") == (
        "src/b.py\nsrc/new.py\nsrc/sub/c.py\nsrc/sub/e.py"
    )
    with pytest.raises(ToolError, match="is a file; read_file"):
        await listed(project, path="src/b.py")
    with pytest.raises(ToolError, match="has no files, or only ignored ones"):
        await listed(project, path="x.log")
    with pytest.raises(ToolError, match="outside the project"):
        await listed(project, path="..")


async def test_the_list_tells_the_sizes_of_long_files_as_they_are_staged(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.py": "x" * 50_000, "b.py": "x" * 4_000, "src/c.py": "x" * 4_096})
    (tmp_path / "link.py").symlink_to("a.py")
    assert await listed(project) == "src/\n  c.py 4k\na.py 49k\nb.py\nlink.py"
    await project.stage(FileChange("a.py", "modify", "", "x" * 20_480))
    assert "a.py 20k\n" in await listed(project)
    assert await listed(project, path="src") == "c.py 4k"


@pytest.mark.slow
async def test_a_large_list_is_bounded_and_says_so(tmp_path: Path) -> None:
    names = {f"{'d' * 50}/file-{number}.txt": "" for number in range(2_000)}
    project = Project(tmp_path, names)
    found = await project.call("find_files", glob="**/*.txt")
    assert len(found) < 31_000
    assert "more files; use a narrower glob" in found
    assert await listed(project) == (
        f"{'d' * 50}/ (2000 files)\n[2,000 files are in folders that are not opened; list one of these]"
    )


async def test_a_repository_within_the_project_is_listed_and_named_as_one(tmp_path: Path) -> None:
    project = Project(tmp_path, {"top.py": "", "modules/inner/in.py": "needle\n"})
    git(tmp_path, "init", "-q")
    git(tmp_path / "modules/inner", "init", "-q")
    note = "[modules/inner/ is a git repository of its own]"
    assert (await listed(project)).endswith(f"in.py\n  top.py\n{note}".replace("  top", "top"))
    assert await project.call("find_files", glob="**/in.py") == f"modules/inner/in.py\n{note}"
    assert await project.call("search", pattern="needle") == "modules/inner/in.py\n1:needle"
