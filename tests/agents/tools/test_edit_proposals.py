"""A language server's edit is staged whole or refused; files outside the project are named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.tools.project import Project
from tests.harness.buffers import Buffers
from tideate_core.errors import ToolError
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FILES = {"a.py": "old = 1", "b.py": 'from a import old\nprint("ä😀", old)'}


def change(line: int, start: int, end: int, text: str) -> dict[str, Any]:
    return {
        "range": {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}},
        "newText": text,
    }


def proposing(edit: dict[str, Any], ticks: dict[str, int] | None = None) -> Buffers:
    """Return an editor with a language server that always proposes the same edit."""
    rename = {"client": "server", "encoding": "utf-16", "edit": json.dumps(edit), "ticks": ticks or {}}
    return Buffers(rename=rename)


async def rename(project: Project, edit: dict[str, Any], ticks: dict[str, int] | None = None) -> str:
    project.step.editor = proposing(edit, ticks)
    return await project.call("lsp_rename", path="a.py", line=1, symbol="old", new_name="new")


def edits(root: Path, by_name: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return {"changes": {(root / name).as_uri(): changes for name, changes in by_name.items()}}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, FILES)


RENAMED = {"a.py": [change(0, 0, 3, "new")], "b.py": [change(0, 14, 17, "new"), change(1, 13, 16, "new")]}


async def test_a_rename_is_staged_in_all_files_and_written_nowhere(project: Project) -> None:
    answer = await rename(project, edits(project.root, RENAMED))
    assert project.staged.text("a.py") == "new = 1"
    assert project.staged.text("b.py") == 'from a import new\nprint("ä😀", new)'
    assert "staged by server: a.py, b.py" in answer
    assert '+print("ä😀", new)' in answer
    assert (project.root / "a.py").read_text() == "old = 1"


async def test_a_rename_at_many_places_shows_only_some_lines(project: Project) -> None:
    await project.call("write_file", path="c.py", text="x")
    (project.root / "a.py").write_text("old = 1\n" + "\nold()" * 12)
    await project.call("read_file", path="a.py")
    await project.call("read_file", path="b.py")
    many = [change(line, 0, 3, "new") for line in (0, *range(2, 14))]
    answer = await rename(project, edits(project.root, {**RENAMED, "a.py": many}))
    names = "no new syntax errors, undefined or unused names"
    assert answer.startswith(f"staged by server: a.py, b.py; {names}\na.py\n@@ -1,14 +1,14 @@\n")
    assert "\n+new()\n+ […4 lines]\n+new()\n" in answer
    assert not project.staged.was_shown("a.py")


async def test_a_file_outside_of_the_project_is_left_out_and_named(project: Project) -> None:
    edit = edits(project.root, RENAMED)
    edit["changes"]["file:///etc/passwd"] = [change(0, 0, 0, "x")]
    edit["changes"]["zip:///a.zip/b.py"] = [change(0, 0, 0, "x")]
    edit["changes"][(project.root / ".git" / "hooks" / "pre-commit").as_uri()] = [change(0, 0, 0, "x")]
    answer = await rename(project, edit)
    assert "[outside of the project, left out: /etc/passwd]" in answer
    assert "zip:///a.zip/b.py" in answer
    assert ".git/hooks/pre-commit" in answer
    assert set(project.staged.changed_texts()) == {"a.py", "b.py"}


async def test_a_link_out_of_the_project_is_not_followed(project: Project, tmp_path_factory: Any) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "c.py").write_text("old")
    (project.root / "linked").symlink_to(other)
    answer = await rename(project, edits(project.root, {"linked/c.py": [change(0, 0, 3, "new")]}))
    assert "changes nothing in the project" in answer
    assert project.staged.changed_texts() == {}


async def test_a_file_with_staged_edits_refuses_all_of_it(project: Project) -> None:
    await project.stage(FileChange("b.py", "modify", FILES["b.py"], "other"))
    with pytest.raises(ToolError, match=r"b\.py has staged edits"):
        await rename(project, edits(project.root, RENAMED))
    assert project.staged.changed_texts() == {"b.py": "other"}


async def test_a_buffer_that_was_changed_meanwhile_refuses_all_of_it(tmp_path: Path) -> None:
    buffers = Buffers.typed(tmp_path / "b.py", FILES["b.py"])
    project = Project(tmp_path, FILES, buffers=buffers)
    with pytest.raises(ToolError, match="changed in the editor while"):
        await rename(project, edits(tmp_path, RENAMED), {str(tmp_path / "b.py"): 41})
    assert project.staged.changed_texts() == {}


async def test_an_edit_that_overlaps_refuses_all_of_it(project: Project) -> None:
    wrong = {**RENAMED, "b.py": [change(0, 0, 9, "x"), change(0, 5, 10, "y")]}
    with pytest.raises(ToolError, match=r"b\.py: .*overlap.*nothing was staged"):
        await rename(project, edits(project.root, wrong))
    assert project.staged.changed_texts() == {}


def uri(project: Project, name: str) -> str:
    return (project.root / name).as_uri()


async def test_files_are_created_moved_and_deleted_in_order(project: Project) -> None:
    document = {"uri": uri(project, "new.py"), "version": None}
    operations = [
        {"kind": "create", "uri": uri(project, "new.py")},
        {"textDocument": document, "edits": [change(0, 0, 0, "x = 1")]},
        {"kind": "rename", "oldUri": uri(project, "a.py"), "newUri": uri(project, "moved.py")},
        {
            "textDocument": {"uri": uri(project, "moved.py"), "version": 1},
            "edits": [change(0, 0, 3, "new")],
        },
        {"kind": "delete", "uri": uri(project, "b.py")},
    ]
    await rename(project, {"documentChanges": operations})
    found = {(one.path, one.action, one.move_to, one.after) for one in project.staged.changes()}
    assert found == {
        ("new.py", "create", None, "x = 1"),
        ("a.py", "move", "moved.py", "new = 1"),
        ("b.py", "delete", None, None),
    }


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ({"kind": "create", "uri": "b.py"}, "creates b.py, which exists"),
        ({"kind": "delete", "uri": "c.py"}, "deletes c.py, which does not exist"),
        ({"kind": "rename", "oldUri": "a.py", "newUri": "b.py"}, "which exists"),
        ({"kind": "rename", "oldUri": "c.py", "newUri": "d.py"}, "moves c.py, which does not exist"),
        ({"kind": "create", "uri": "a\tb.py"}, "cannot be staged"),
    ],
)
async def test_an_operation_that_cannot_be_made_refuses_all_of_it(
    project: Project, operation: dict[str, str], words: str
) -> None:
    placed = {key: value if key == "kind" else uri(project, value) for key, value in operation.items()}
    with pytest.raises(ToolError, match=words):
        await rename(project, {"documentChanges": [placed]})
    assert project.staged.changed_texts() == {}


async def test_new_syntax_errors_are_told(project: Project) -> None:
    answer = await rename(project, edits(project.root, {"a.py": [change(0, 0, 3, "def")]}))
    assert "[new syntax error: line 1: " in answer


async def test_a_file_that_the_model_knew_is_known_after_a_rename(project: Project) -> None:
    await project.call("read_file", path="a.py")
    await rename(project, edits(project.root, RENAMED))
    assert project.staged.was_shown("a.py")
    assert not project.staged.was_shown("b.py")


async def test_a_file_that_the_step_may_not_change_refuses_all_of_it(project: Project) -> None:
    asked = []

    async def may_change(paths: Sequence[str]) -> str:
        asked.append(list(paths))
        return "b.py: the plan does not name it"

    project.may_change = may_change
    with pytest.raises(ToolError, match=r"b\.py: the plan does not name it; nothing was staged"):
        await rename(project, edits(project.root, RENAMED))
    assert asked == [["a.py", "b.py"]], "once, about both"
    assert project.staged.changed_texts() == {}


async def test_without_an_editor_the_tool_says_so(project: Project) -> None:
    project.step.editor = None
    with pytest.raises(ToolError, match="no running Neovim"):
        await project.call("lsp_rename", path="a.py", line=1, symbol="old", new_name="new")


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ([], "; no new diagnostics in 5 of 7 files (server)"),
        (["bad"], "\n[diagnostics were checked in 5 of 7 files only]"),
    ],
)
async def test_an_edit_of_more_files_than_are_looked_at_says_so(
    tmp_path: Path, bad: list[str], told: str
) -> None:
    names = [f"f{number}.txt" for number in range(7)]
    project = Project(tmp_path, dict.fromkeys(names, "old\n"))
    editor = proposing(edits(tmp_path, {name: [change(0, 0, 3, "new")] for name in names}))
    found = [{"line": 0, "severity": 1, "message": one, "source": "", "code": ""} for one in bad]
    file = {"path": str(tmp_path / names[0]), "before": [], "after": found}
    editor.answers["staged_diagnostics"] = {"answers": [{"client": "server", "files": [file]}], "errors": []}
    project.step.editor = editor
    answer = await project.call("lsp_rename", path=names[0], line=1, symbol="old", new_name="new")
    assert told in answer
    assert ("no new diagnostics" in answer) == (not bad)
