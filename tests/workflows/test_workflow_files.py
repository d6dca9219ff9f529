"""Workflow files: names, bounded text, discovery by precedence, links."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.workflows.definition_texts import load_machine
from tideate_core.errors import InvalidDefinition
from tideate_core.workflows import Catalog, WorkflowRegistry
from tideate_core.workflows.workflow_files import (
    find_files,
    is_machine_path,
    read_workflow_text,
)

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "* to draft: Write.\n: It is good\ndraft to polish\npolish to *\n"


def write(path: Path, content: str | bytes = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_machine_has_its_files_name_and_its_states_in_their_order(tmp_path: Path) -> None:
    path = write(tmp_path / "essay.workflow")
    loaded = load_machine(path)
    assert (loaded.name, loaded.machine.name, loaded.path) == ("essay", "essay", path)
    assert loaded.step_names == ("draft", "polish")


def test_a_file_without_the_suffix_has_its_own_name(tmp_path: Path) -> None:
    assert load_machine(write(tmp_path / "PLANNER")).name == "PLANNER"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_byte_order_marks_and_line_ends_make_no_difference(tmp_path: Path, ending: str, mark: str) -> None:
    text = mark + ("# An essay\n" + TEXT).replace("\n", ending)
    loaded = load_machine(write(tmp_path / "essay.workflow", text))
    assert loaded.description == "An essay"
    assert loaded.machine == load_machine(write(tmp_path / "n/essay.workflow", "# An essay\n" + TEXT)).machine


@pytest.mark.parametrize(
    ("head", "description"),
    [
        ("# Write an essay\n# in two steps\n", "Write an essay"),
        ("\n\n// Write an essay\n", "Write an essay"),
        ("#!/usr/bin/env tideate\n#\n## Write: #1 // essay\n", "Write: #1 // essay"),
        ("# \u202ered\u200b\n", "red"),
        ("#" + "x" * 300 + "\n", "x" * 200),
        ("#\n//\n", ""),
        ("", ""),
    ],
)
def test_the_description_is_the_first_line_of_the_leading_comment(
    tmp_path: Path, head: str, description: str
) -> None:
    assert load_machine(write(tmp_path / "essay.workflow", head + TEXT)).description == description


def test_a_later_comment_describes_nothing(tmp_path: Path) -> None:
    assert load_machine(write(tmp_path / "essay.workflow", TEXT + "# the end\n")).description == ""


@pytest.mark.parametrize("name", ["1st", "two words", "ask?", "esc\x1b[1m", "essay\n", "x" * 101])
def test_a_file_whose_stem_is_no_name_is_to_be_renamed(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidDefinition, match=r"rename the file") as caught:
        load_machine(write(tmp_path / f"{name}.workflow"))
    assert str(caught.value).isprintable()


def test_a_file_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "essay.workflow", b"* to a\n: caf\xe9\na to *\n")
    with pytest.raises(InvalidDefinition, match=rf"{path} is not UTF-8 at byte 12, in line 2"):
        load_machine(path)


@pytest.mark.slow
def test_reading_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "essay.workflow"
    write(path, TEXT.ljust(1024 * 1024, "\n"))
    assert load_machine(path).step_names == ("draft", "polish")
    write(path, TEXT.ljust(1024 * 1024 + 1, "\n"))
    with pytest.raises(InvalidDefinition, match="is larger than 1 MiB"):
        load_machine(path)


def test_a_pipe_in_the_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "essay.workflow")
    with pytest.raises(InvalidDefinition, match="is not a regular file"):
        load_machine(tmp_path / "essay.workflow")


@pytest.mark.parametrize("name", ["absent.workflow", "folder.workflow"])
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.workflow").mkdir()
    with pytest.raises(InvalidDefinition, match=f"{tmp_path / name} "):
        load_machine(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "path"),
    [("PLANNER", False), ("essay", False), ("essay.workflow", True), ("./PLANNER", True), ("/a/b", True)],
)
def test_a_path_can_be_told_from_a_name(name: str, path: bool) -> None:
    assert is_machine_path(name) is path


@pytest.mark.parametrize("link", [".tideate", ".tideate/workflows", ".tideate/workflows/secret.workflow"])
def test_a_link_below_tideate_is_not_followed_for_who_names_the_file(tmp_path: Path, link: str) -> None:
    name = ".tideate/workflows/secret.workflow"
    secret = write(tmp_path / "elsewhere" / name, "password\n")
    path = tmp_path / "project" / name
    above = tmp_path / "project" / link
    above.parent.mkdir(parents=True)
    above.symlink_to(tmp_path / "elsewhere" / link)
    assert path.read_text() == secret.read_text()
    with pytest.raises(InvalidDefinition, match="link"):
        read_workflow_text(path)


def test_a_link_that_leads_to_itself_is_no_crash(tmp_path: Path) -> None:
    folder = tmp_path / ".tideate" / "workflows"
    folder.mkdir(parents=True)
    (folder / "loop.workflow").symlink_to("loop.workflow")
    (notice,) = Catalog(WorkflowRegistry(), tmp_path).notices
    assert notice == f"{folder / 'loop.workflow'} was not used: it is a link; put the file itself there"


def test_what_is_not_text_is_refused_under_a_name_that_can_be_shown(tmp_path: Path) -> None:
    with pytest.raises(InvalidDefinition, match=r"essay\.workflow is binary"):
        load_machine(write(tmp_path / "essay.workflow", b"* to\0a\n"))
    with pytest.raises(InvalidDefinition) as caught:
        load_machine(tmp_path / "\x1b[2J" / "essay.workflow")
    assert "\x1b" not in str(caught.value)


def file_of(name: str, root: Path | None) -> Path | None:
    return Catalog(WorkflowRegistry(), root).file_of(name)


def names(root: Path | None, source: str) -> list[str]:
    return [file.path.name for file in find_files(root) if file.source == source]


def test_only_files_with_workflows_are_found(tmp_path: Path) -> None:
    folder = tmp_path / ".tideate" / "workflows"
    for name in (
        "b.workflow",
        "a.workflow",
        "PLANNER",
        "notes.md",
        "c.yaml",
        ".d.yaml",
        ".#a.workflow",
        "a.workflow~",
    ):
        write(folder / name)
    assert names(tmp_path, "project") == ["a.workflow", "b.workflow", "c.yaml", "PLANNER"]


def test_links_in_a_projects_workflows_are_not_followed(tmp_path: Path) -> None:
    secret = write(tmp_path / "elsewhere/secret", "password\n")
    root = tmp_path / "project"
    folder = root / ".tideate" / "workflows"
    folder.mkdir(parents=True)
    (folder / "secret.workflow").symlink_to(secret)
    with pytest.raises(InvalidDefinition, match="it is a link; put the file itself there"):
        file_of("secret", root)
    (problem,) = [file.problem for file in find_files(root) if file.problem]
    assert problem == f"{folder / 'secret.workflow'} was not used: it is a link; put the file itself there"


def test_a_directory_that_leads_out_of_the_project_is_not_listed(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/essay.workflow")
    root = tmp_path / "project"
    (root / ".tideate").mkdir(parents=True)
    (root / ".tideate" / "workflows").symlink_to(tmp_path / "elsewhere")
    (found,) = [file for file in find_files(root) if file.source == "project"]
    assert found.problem.startswith(f"{root / '.tideate/workflows'} was not used: it is a link, or there is")


def test_the_persons_own_links_are_followed(tmp_path: Path, person: Path) -> None:
    real = write(tmp_path / "dotfiles/essay.workflow")
    person.mkdir(parents=True)
    (person / "essay.workflow").symlink_to(real)
    assert file_of("essay", tmp_path) == person / "essay.workflow"
