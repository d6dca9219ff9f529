"""Choice of the run to roll back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tideate_core.app import choose_run, find_changed_runs, list_changes, open_project
from tideate_core.errors import InvalidInput, RunNotFound

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.app import Project


@pytest.fixture
def project(root: Path) -> Project:
    """A project with two runs in the journal but not in the store."""
    project = open_project(str(root))
    for run in ("a" * 32, "a" * 31 + "b"):
        manifest = project.private / "journal" / run / "1" / "manifest.json"
        manifest.parent.mkdir(parents=True)
        manifest.write_text("{}")
    return project


def test_a_run_is_found_by_its_whole_id_or_a_beginning_that_no_other_has(project: Project) -> None:
    notices: list[str] = []
    whole = "a" * 32
    assert choose_run(project, whole, notices.append) == (whole, [whole])
    with pytest.raises(InvalidInput, match="several runs begin with 'aa'"):
        choose_run(project, "aa", notices.append)
    assert notices == []


def test_what_is_no_id_or_no_run_is_refused(project: Project) -> None:
    with pytest.raises(InvalidInput, match="is not a run id"):
        choose_run(project, "../x", print)
    with pytest.raises(RunNotFound):
        choose_run(project, "b" * 32, print)


def test_without_a_journal_no_run_changed_files(root: Path) -> None:
    project = open_project(str(root))
    assert (find_changed_runs(project.private, print), list_changes(project, print)) == ({}, [])
