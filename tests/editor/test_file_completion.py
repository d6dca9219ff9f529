"""Completion of file names in `:Workflow`, without executing any typed text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.harness.editor import Editor


def complete(editor: Editor, line: str) -> Any:
    lead = line[line.rfind(" ") + 1 :]
    return editor.lua("return require('tideate.command').complete(...)", lead, line, len(line))


@pytest.mark.parametrize("subcommand", ["", "graph ", "trust "])
def test_completing_runs_nothing(editor: Editor, subcommand: str) -> None:
    for lead in (
        "`>ran`",
        "`>ran`/",
        "./`>ran`",
        "$(>ran)",
        "`=writefile([],'ran')`",
        "~/`>ran`",
        "~`>ran`",
    ):
        assert complete(editor, f"Workflow {subcommand}{lead}") == []
    assert not (editor.cwd / "ran").exists()
    assert editor.messages() == ""


def test_the_tab_key_runs_nothing(screen_editor: Editor) -> None:
    screen_editor.feed(":Workflow `>ran`<Tab>")
    screen_editor.feed("<C-c>")
    screen_editor.wait("vim.api.nvim_get_mode().mode == 'n'")
    assert not (screen_editor.cwd / "ran").exists()


def test_names_are_no_patterns_and_no_variables(editor: Editor) -> None:
    for name in ("own.workflow", "[a]*.workflow", "$HOME.workflow"):
        editor.write(name, "")
    assert complete(editor, "Workflow o*") == []
    assert complete(editor, "Workflow [") == ["[a]*.workflow"]
    assert complete(editor, "Workflow $H") == ["$HOME.workflow"]
    assert complete(editor, "Workflow $HOME/") == []


def test_folders_links_and_hidden_files(editor: Editor) -> None:
    inner = editor.cwd / "in ner"
    (inner / "deep").mkdir(parents=True)
    editor.write(".hidden/.own.workflow")
    (inner / "b.workflow").write_text("")
    (inner / "a.workflow").write_text("")
    (inner / "PLANNER").write_text("")
    (inner / "notes.txt").write_text("")
    (inner / "linked").symlink_to(inner / "deep")
    (inner / "broken").symlink_to(inner / "nowhere")
    assert complete(editor, "Workflow graph ./") == [r"./in\ ner/"]
    shown = editor.lua(
        "return require('tideate.command').complete(...)", r"in\ ner/", r"Workflow in\ ner/", 17
    )
    expected = ["PLANNER", "a.workflow", "b.workflow", "deep/", "linked/"]
    assert shown == [rf"in\ ner/{name}" for name in expected]
    assert complete(editor, "Workflow .h") == [".hidden/"]
    assert complete(editor, "Workflow .hidden/") == []
    assert complete(editor, "Workflow .hidden/.") == [".hidden/.own.workflow"]


def test_the_persons_own_folder(editor: Editor) -> None:
    (editor.home / "mine.workflow").write_text("")
    assert complete(editor, "Workflow ~/mi") == ["~/mine.workflow"]
    assert complete(editor, f"Workflow {editor.home}/mi") == [f"{editor.home}/mine.workflow"]


def test_trust_completes_every_file(editor: Editor) -> None:
    editor.write("notes.txt")
    (editor.cwd / "notes").mkdir()
    assert complete(editor, "Workflow trust no") == ["notes.txt", "notes/"]


def test_a_folder_with_very_many_files_does_not_keep_the_person_waiting(editor: Editor) -> None:
    for number in range(2500):
        (editor.cwd / f"{number}.workflow").touch()
    found = complete(editor, "Workflow ")
    files = [name for name in found if name.endswith(".workflow")]
    assert 0 < len(files) <= 2000
    assert all((editor.cwd / name).exists() for name in files)


def test_a_slow_folder_does_not_keep_the_person_waiting(editor: Editor) -> None:
    """The test's clock advances 20 ms at each check of a link."""
    for number in range(50):
        (editor.cwd / f"{number}.workflow").symlink_to(editor.home)
    looks = editor.lua(
        """
        local hrtime, stat, looks = vim.uv.hrtime, vim.uv.fs_stat, 0
        vim.uv.fs_stat = function(path) looks = looks + 1 return stat(path) end
        vim.uv.hrtime = function() return hrtime() + looks * 20 * 1000 * 1000 end
        require('tideate.file_completion').complete('', function() return true end)
        vim.uv.hrtime, vim.uv.fs_stat = hrtime, stat
        return looks
        """
    )
    assert 0 < looks <= 3
