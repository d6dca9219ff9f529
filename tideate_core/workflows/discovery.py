"""Discovery of workflow files of the project, the person and tideate, by precedence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tideate_core.errors import InvalidDefinition, UnusableFile
from tideate_core.project import DEFINITION_SUFFIXES, config_dir, list_documents
from tideate_core.workflows.workflow_files import (
    BUILTIN_MACHINES,
    MACHINE_SUFFIX,
    PLAIN_NAMES,
    check_stem,
    is_definition_name,
    is_definition_path,
    is_machine_name,
    shown_path,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tideate_core.workflows.registration import Source

__all__ = ["WorkflowFile", "find_files"]

PROJECT_WORKFLOWS: Final = ".tideate/workflows"
RANK: Final = {suffix: rank for rank, suffix in enumerate((MACHINE_SUFFIX, *DEFINITION_SUFFIXES))}
"""If several files of a directory have one name, the first suffix wins."""


@dataclass(frozen=True, slots=True)
class WorkflowFile:
    """A workflow file; `problem` says why it is not used."""

    path: Path
    source: Source
    problem: str = ""
    is_directory: bool = False
    """The entry is a directory of workflow files that cannot be used."""
    root: Path | None = None
    """The file's project; no link below this directory is followed."""

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def is_definition(self) -> bool:
        """It has steps, not states."""
        return is_definition_path(self.path.name)


def find_files(root: Path | None) -> list[WorkflowFile]:
    """List workflow files by precedence: the project's, the person's, the built-in ones.

    Only directories are read.
    """
    found = [] if root is None else _of_project(root)
    found += _found(config_dir() / "workflows", "user")
    return found + _found(BUILTIN_MACHINES, "builtin")


def _of_project(root: Path) -> list[WorkflowFile]:
    directory = root / PROJECT_WORKFLOWS
    try:
        names = list_documents(root, PROJECT_WORKFLOWS)
    except UnusableFile as error:
        return [WorkflowFile(directory, "project", str(error), is_directory=True, root=root)]
    return [
        WorkflowFile(path, "project", _link(path) or _problem(path), root=root)
        for path in _in_order(directory / name for name in names)
    ]


def _found(directory: Path, source: Source) -> list[WorkflowFile]:
    """List a directory's files; a directory that cannot be listed becomes one entry with a problem."""
    try:
        paths = list(directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problem = f"{directory} cannot be read: {error.strerror}"
        return [WorkflowFile(directory, source, problem, is_directory=True)]
    return [WorkflowFile(path, source, _problem(path)) for path in _in_order(paths)]


def _in_order(paths: Iterable[Path]) -> list[Path]:
    files = [path for path in paths if is_machine_name(path.name) or is_definition_name(path.name)]
    return sorted(
        files,
        key=lambda path: (path.name in PLAIN_NAMES, path.stem, RANK.get(path.suffix.lower(), 0), path.name),
    )


def _link(path: Path) -> str:
    if path.is_symlink():
        return f"{shown_path(path)} was not used: it is a link; put the file itself there"
    return ""


def _problem(path: Path) -> str:
    try:
        check_stem(path)
    except InvalidDefinition as error:
        return str(error)
    return ""
