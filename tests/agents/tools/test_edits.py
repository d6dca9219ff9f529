"""Edits are staged at exactly one place, all or none, seen by later reads, and not written to disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.tools.project import Project
from tests.harness.buffers import Buffers
from tests.harness.project import write_files
from tideate_core.agents import StagedFiles
from tideate_core.errors import ToolError
from tideate_core.workflows import Decision
from tideate_core.workspace import FileChange, Workspace

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "def one():\n    return 1\n\n\ndef two():\n    return 2\n"


def edit(search: str, replace: str) -> dict[str, Any]:
    return {"search": search, "replace": replace}


async def edited(project: Project, *edits: dict[str, Any], path: str = "a.py") -> str:
    return await project.call("edit_file", path=path, edits=list(edits))


async def written(project: Project, path: str, text: str) -> str:
    return await project.call("write_file", path=path, text=text)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, {"a.py": TEXT})


async def test_edits_are_staged_and_answered_with_their_diff(project: Project, tmp_path: Path) -> None:
    answer = await edited(project, edit("    return 1\n", "    return 10\n"), edit("def two", "def deux"))
    assert answer == (
        "staged: a.py is changed; no new syntax errors, undefined or unused names\n"
        "@@ -1,6 +1,6 @@\n def one():\n-    return 1\n+    return 10\n \n \n"
        "-def two():\n+def deux():\n     return 2"
    )
    assert (tmp_path / "a.py").read_text() == TEXT
    assert "def deux():" in await project.call("read_file", path="a.py")
    assert await project.call("search", pattern="two|deux") == "a.py\n5:def deux():"
    after = TEXT.replace("return 1", "return 10").replace("two", "deux").rstrip("\n")
    assert project.staged.changes() == [FileChange("a.py", "modify", TEXT.rstrip("\n"), after)]


@pytest.mark.parametrize(
    ("search", "replace", "after"),
    [
        ("return 1", "return 3", TEXT.replace("return 1", "return 3")),
        ("e():\n    return 1\n\n", "e(): 1\n", TEXT.replace("e():\n    return 1\n\n", "e(): 1\n")),
        ("def one():\n    return 1\n\n\n", "", "def two():\n    return 2\n"),
        ("o():\r\n    return 2", "o(): 2", TEXT.replace("o():\n    return 2", "o(): 2")),
        ("  def one():\n      return 1", "  def one():\n      return 3", TEXT.replace("n 1", "n 3")),
        ("return 1", "y = 3\nreturn y", TEXT.replace("return 1", "y = 3\n    return y")),
    ],
)
async def test_a_search_is_any_piece_that_stands_once(
    project: Project, search: str, replace: str, after: str
) -> None:
    told = await edited(project, edit(search, replace))
    assert project.staged.text("a.py") == after.rstrip("\n")
    exact = not search.startswith(" ") and "\nreturn" not in replace
    assert ("ignoring" in told) is not exact


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([edit("return 9", "x")], "edit 1: its lines to search are not in the file"),
        ([edit("return", "x")], r"edit 1: its search stands at 2 places \(it begins on lines 2, 6\); give"),
        ([edit("return 1 ", "x"), edit("\n\n", "\n")], r"edit 2: its search stands at 2 places"),
        ([edit("return 1", "\0")], "NUL character"),
        (
            [edit("    return 1", "    return 3"), edit("return 1", "return 4")],
            "edit 1 and edit 2 change the same",
        ),
        (
            [edit("    return 1", "    return 3"), edit("    return 1", "    return 1 + 2")],
            "edit 1 and edit 2 change the same",
        ),
        (
            [edit("def one():\n    return 1", "def one():\n    return 3"), edit("one", "eins")],
            "edit 1 and edit 2 change the same",
        ),
        (
            [edit("def one():\n    return 1", "def one():\n    # ... rest of the code ...")],
            "left out|stands for",
        ),
        ([edit("def one", "def one")], "leave everything as it is"),
    ],
)
async def test_a_refused_edit_says_why_and_stages_nothing(
    project: Project, edits: list[dict[str, str]], said: str
) -> None:
    with pytest.raises(ToolError, match=said) as refused:
        await edited(project, *edits)
    assert str(refused.value).startswith("a.py was not changed: ")
    assert project.staged.changes() == []


async def test_two_edits_may_quote_the_same_unchanged_lines(project: Project) -> None:
    first = edit("def one():\n    return 1\n\n\ndef two", "def eins():\n    return 1\n\n\ndef two")
    await edited(project, first, edit("\n\ndef two():\n    return 2", "\n\ndef two():\n    return 22"))
    assert project.staged.text("a.py") == TEXT.replace("one", "eins").replace("2", "22").rstrip("\n")


async def test_new_syntax_errors_are_told(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.py": TEXT, "b.json": "{}"})
    assert "[new syntax error: line 1: " in await edited(project, edit("def one():", "def one(:"))
    assert "[new syntax error: " in await written(project, "c.json", '{"a": }')


async def test_the_person_s_unsaved_text_is_edited_and_kept(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.py": "disk"}, buffers=Buffers.typed(tmp_path / "a.py", "mine\nyours"))
    await edited(project, edit("yours", "ours"))
    (change,) = project.staged.changes()
    assert (change.before, change.after, change.buffer) == ("mine\nyours", "mine\nours", 1)


async def test_a_new_file_is_written_whole(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert await written(project, "src/new.py", "x = 1\r\n") == (
        "staged: src/new.py is new; no new syntax errors, undefined or unused names"
    )
    assert await project.call("read_file", path="src/new.py") == (
        "src/new.py, 1 line, with staged edits\nx = 1"
    )
    await written(project, "src/new.py", "x = 2\n")  # it knows what it wrote
    assert project.staged.changes() == [FileChange("src/new.py", "create", None, "x = 2")]
    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240


async def test_a_file_is_replaced_only_by_who_has_read_all_of_it(project: Project, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="read_file it first"):
        await written(project, "a.py", "x = 1")
    await project.call("read_file", path="a.py", first=2)
    with pytest.raises(ToolError, match="not read all of it"):
        await written(project, "a.py", "x = 1")
    await project.call("read_file", path="a.py")
    write_files(tmp_path, {"a.py": "a person wrote this\n"})
    with pytest.raises(ToolError, match="as it is now"):
        await written(project, "a.py", "x = 1")
    await project.call("read_file", path="a.py")
    assert "+x = 1" in await written(project, "a.py", "x = 1")


@pytest.mark.parametrize(
    "text", ["x = 1\n# ... rest of the code ...\n", "def f():\n    # rest of the function\n"]
)
async def test_a_text_with_something_left_out_is_refused(project: Project, text: str) -> None:
    await project.call("read_file", path="a.py")
    with pytest.raises(ToolError, match="stands for lines that are left out"):
        await written(project, "a.py", text)


async def test_files_are_moved_and_deleted_and_edited_under_their_new_names(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.py": TEXT, "b.py": "b\n"})
    assert await project.call("move_file", path="a.py", to="src/c.py") == "staged: a.py is moved to src/c.py"
    await edited(project, edit("return 1", "return 3"), path="src/c.py")
    assert await project.call("delete_file", path="b.py") == "staged: b.py is deleted"
    assert await project.call("find_files", glob="**") == "src/c.py"
    for path in ("a.py", "b.py"):
        with pytest.raises(ToolError, match="does not exist"):
            await project.call("read_file", path=path)
    after = TEXT.replace("return 1", "return 3").rstrip("\n")
    assert project.staged.changes() == [
        FileChange("a.py", "move", TEXT.rstrip("\n"), after, move_to="src/c.py"),
        FileChange("b.py", "delete", "b", None),
    ]


async def test_files_that_are_no_text_are_moved_and_deleted_as_they_are(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\0\xff")
    (tmp_path / "b.txt").write_bytes(b"caf\xe9\n")
    moved = await project.call("move_file", path="a.png", to="img/a.png")
    assert moved == "staged: a.png is moved to img/a.png, as it is"
    assert await project.call("move_file", path="img/a.png", to="img/b.png")
    assert await project.call("delete_file", path="b.txt") == "staged: b.txt is deleted"
    assert await project.call("find_files", glob="**") == "a.py\nimg/b.png"
    with pytest.raises(ToolError, match="binary"):
        await written(project, "img/b.png", "x")
    changes = [
        FileChange("a.png", "move", None, None, move_to="img/b.png"),
        FileChange("b.txt", "delete", None, None),
    ]
    assert project.staged.changes() == changes
    restored = StagedFiles()
    restored.restore(project.staged.export_change())
    assert restored.changes() == changes


async def test_a_file_takes_the_place_of_a_directory_that_is_emptied(tmp_path: Path) -> None:
    project = Project(tmp_path, {"d/a.py": "a\n", "d/b.py": "b\n", "l": "l\n"})
    await project.call("delete_file", path="d/a.py")
    with pytest.raises(ToolError, match="is a directory"):
        await written(project, "d", "x")
    await project.call("delete_file", path="d/b.py")
    await written(project, "d", "x\n")
    await project.call("delete_file", path="l")
    await written(project, "l/x", "y\n")
    workspace = Workspace(tmp_path, private=tmp_path.parent / "private")
    await workspace.apply(project.staged.changes(), execution_id="run")
    assert ((tmp_path / "d").read_text(), (tmp_path / "l/x").read_text()) == ("x\n", "y\n")


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("write_file", {"text": "x"}),
    ("edit_file", {"edits": [edit("a", "b")]}),
    ("delete_file", {}),
    ("move_file", {"to": "b.py"}),
]


@pytest.mark.parametrize(("tool", "more"), CALLS)
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("../x", "outside the project"),
        ("/etc/hosts", "outside the project"),
        ("out/x", "outside the project"),
        (".git/hooks/pre-commit", r"never touches \.git"),
        ("sub/.GIT/config", "never touches"),
        (".tideate/config.toml", r"never touches \.tideate"),
        ("bare.git/hooks/x", "git repository's own directory"),
    ],
)
@pytest.mark.attack
async def test_no_edit_leaves_the_project_or_touches_what_is_protected(
    tmp_path: Path, tool: str, more: dict[str, Any], path: str, said: str
) -> None:
    root = tmp_path / "project"
    write_files(tmp_path, {"elsewhere/x": "a"})
    files = dict.fromkeys([".git/hooks/pre-commit", "bare.git/HEAD", "bare.git/hooks/x", "a.py"], "a")
    project = Project(root, {**files, "bare.git/objects/1": "", "bare.git/refs/1": ""})
    (root / "out").symlink_to(tmp_path / "elsewhere")
    if path == "bare.git/hooks/x":
        await project.call("read_file", path=path)
    with pytest.raises(ToolError, match=said):
        await project.call(tool, path=path, **more)
    assert project.staged.changes() == []


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("../b.py", "outside the project"),
        (".git/x", r"never touches \.git"),
        ("b.py", "exists already"),
        ("a.py", "exists already"),
        ("-rf", "not a name for a new file"),
        ("b.py/c.py", "b.py is a file"),
        ("dir", "is a directory"),
        ("x\ny", "not a name for a new file"),
    ],
)
@pytest.mark.attack
async def test_a_target_is_checked_as_a_new_file_s_name_is(tmp_path: Path, target: str, said: str) -> None:
    project = Project(tmp_path, {"a.py": "a", "b.py": "b", "dir/x": ""})
    with pytest.raises(ToolError, match=said):
        await project.call("move_file", path="a.py", to=target)
    if target not in ("a.py", "b.py"):
        with pytest.raises(ToolError, match=said):
            await written(project, target, "x")
    assert project.staged.changes() == []


async def test_a_link_is_neither_moved_nor_deleted(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.py": "a"})
    (tmp_path / "link.py").symlink_to("a.py")
    for call in (("delete_file", {}), ("move_file", {"to": "b.py"})):
        with pytest.raises(ToolError, match="is a symbolic link"):
            await project.call(call[0], path="link.py", **call[1])


async def test_a_secret_is_not_edited_without_a_persons_yes(tmp_path: Path) -> None:
    project = Project(tmp_path, {".env": "KEY=1"}, decisions=(Decision(False),))
    with pytest.raises(ToolError, match="no person agreed"):
        await edited(project, edit("1", "2"), path=".env")


async def test_what_was_matched_loosely_is_shown_also_in_long_edits(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.py": TEXT + "\n\n" + "# end\n" * 20})
    body = "".join(f"    print({number})\n" for number in range(20))
    answer = await edited(
        project,
        edit("def one():\n", f"def one():\n{body}"),
        edit("  def two():\n      return 2", "  def two():\n      return 3"),
    )
    first, *shown = answer.split("\n")
    assert first == "staged: a.py is changed; no new syntax errors, undefined or unused names"
    assert "+ […12 lines]" in shown
    assert [
        line for line in shown if line.startswith(("+", "-")) and "(" not in line and "…" not in line
    ] == [
        "-    return 2",
        "+    return 3",
    ]
    assert any("edit 2 was found at line" in line for line in shown)


async def test_a_long_diff_is_bounded(project: Project) -> None:
    found = edit("  def two():\n      return 2", "  def two():\n" + "      print(2)\n" * 2_000)
    answer = await edited(project, found)
    assert len(answer) < 8_500
    assert "more lines; read_file shows the file as it is staged]" in answer


ALIKE = "a(\n    None,\n)\nb(\n    None,\n)\nc(None, None)\n"


@pytest.mark.parametrize(
    ("line", "search", "replace", "after"),
    [
        (5, "    None,", "    1,", ALIKE.replace("b(\n    None", "b(\n    1")),
        (2, "    None,\n", "", ALIKE.replace("a(\n    None,\n", "a(\n")),
        (2, "    None,", "", ALIKE.replace("a(\n    None,\n", "a(\n")),
        (4, "(\n    None", "(\n    1", ALIKE.replace("b(\n    None", "b(\n    1")),
        (2, "None,\n)\n", "1)\n", ALIKE.replace("None,\n)\nb", "1)\nb")),
        (6, ")", "]", ALIKE.replace(")\nc", "]\nc")),
        (99, "c(", "d(", ALIKE.replace("c(", "d(")),
    ],
)
async def test_a_line_tells_places_that_are_alike_apart(
    tmp_path: Path, line: int, search: str, replace: str, after: str
) -> None:
    project = Project(tmp_path, {"a.py": ALIKE})
    await edited(project, {**edit(search, replace), "line": line})
    assert project.staged.text("a.py") == after.rstrip("\n")


async def test_several_places_that_are_alike_are_changed_at_once(tmp_path: Path) -> None:
    text = "\n".join(["x"] * 4 + [str(number) for number in range(50)] + ["x"])
    project = Project(tmp_path, {"a.py": text})
    await edited(project, {**edit("x", "y"), "line": 3}, {**edit("x", "z"), "line": 55})
    assert project.staged.text("a.py") == "x\nx\ny\nx" + text[7:-1] + "z"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (4, r"edit 1: its search begins on lines 2, 5, 7, not on line 4; line 4 is now 'b\('"),
        (99, "not on line 99$"),
        (7, "stands several times in line 7; search more of the line"),
    ],
)
async def test_a_line_at_which_the_search_does_not_begin_is_refused(
    tmp_path: Path, line: int, said: str
) -> None:
    project = Project(tmp_path, {"a.py": ALIKE})
    with pytest.raises(ToolError, match=said):
        await edited(project, {**edit("None", "1"), "line": line})
    assert project.staged.changes() == []


@pytest.mark.slow
async def test_very_many_places_are_told_in_few_words_and_soon(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.txt": "e\n" * 400_000})
    with pytest.raises(
        ToolError, match=r"at 400000 places \(it begins on lines 1, 2, .*, 20, …\)"
    ) as refused:
        await edited(project, edit("e", "f"), path="a.txt")
    assert len(str(refused.value)) < 300
    assert "+f" in await edited(project, {**edit("e", "f"), "line": 200_000}, path="a.txt")


async def test_names_that_edits_leave_undefined_or_unused_are_told(tmp_path: Path) -> None:
    text = "import os\nimport re\n\nold = missing\n\n\ndef f():\n    return re.sub('', '', os.sep)\n"
    project = Project(tmp_path, {"a.py": text})
    answer = await edited(project, edit("re.sub('', '', os.sep)", "os.sep + other"))
    assert answer.endswith("\n[imported, not used now: re (line 2)]\n[undefined now: other (line 8)]")
    answer = await edited(project, edit("import re\n", ""), edit("other", "old"))
    assert "now:" not in answer
    assert "[undefined now: x (line 1)]" in await written(project, "b.py", "print(x)")
    assert "now:" not in await written(project, "b.ts", "print(x)")


async def test_a_restored_run_goes_on_with_the_same_texts(tmp_path: Path) -> None:
    project = Project(tmp_path, {"a.py": TEXT, "b.py": "b\n"})
    records = []
    for name, arguments in [
        ("read_file", {"path": "b.py"}),
        ("edit_file", {"path": "a.py", "edits": [edit("return 1", "return 3")]}),
        ("move_file", {"path": "a.py", "to": "c.py"}),
        ("write_file", {"path": "d.py", "text": "d"}),
    ]:
        await project.call(name, **arguments)  # type: ignore[arg-type]
        records.append(project.staged.export_change())
    again = Project(tmp_path)
    for record in records:
        again.staged.restore(record)
    assert again.staged.changes() == project.staged.changes()
    await written(again, "b.py", "it was read before")
    await written(again, "d.py", "it was written before")


@pytest.mark.parametrize("end", ["", "\n"])
async def test_an_exact_place_counts_whatever_stands_elsewhere_with_other_blanks(
    tmp_path: Path, end: str
) -> None:
    deeper = "class A:\n    def f(self):\n        a = 1\n        b = 2\n        return a\n\n\n"
    text = f"{deeper}def g():\n    a = 1\n    b = 2\n    return a\n\n\ng()\n"
    project = Project(tmp_path, {"a.py": text})
    edits = [{"search": f"    a = 1\n    b = 2\n    return a{end}", "replace": f"    return 3{end}"}]
    await edited(project, *edits)
    assert project.staged.text("a.py") == f"{deeper}def g():\n    return 3\n\n\ng()"
