"""Machines in files: where they are looked for, and how one is read.

A machine file needs no trust. It names no program, no server and no file: all that it can do is to be text in
a prompt, as any file of the project that a person asks about, and to choose which of its own states comes
next. What a model answers under its guidance is text that is shown, never an edit or a command. So it runs
unasked, and lists show where each comes from (`Registration.source`), because a project's file may take the
name of a person's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import InvalidDefinition
from tideate_core.project import config_dir, inside
from tideate_core.workflows.definitions import check_name
from tideate_core.workflows.machine_text import BOM, read_machine_text
from tideate_core.workflows.machine_workflow import MachineWorkflow

if TYPE_CHECKING:
    from tideate_core.workflows.registry import Source

__all__ = [
    "BUILTIN_MACHINES",
    "MachineFile",
    "find_machine_files",
    "is_machine_name",
    "is_machine_path",
    "load_machine",
    "shown_path",
]

BUILTIN_MACHINES: Final = Path(__file__).parent / "builtin"
SUFFIX: Final = ".workflow"
PLAIN_NAMES: Final = frozenset({"PLANNER"})
"""Files that are machines without the suffix."""


@dataclass(frozen=True, slots=True)
class MachineFile:
    """A machine file that was found; `problem` says why it is not used."""

    path: Path
    source: Source
    problem: str = ""
    is_directory: bool = False
    """It is a directory of machine files, which has a problem."""

    @property
    def name(self) -> str:
        return self.path.stem


def is_machine_path(name: str) -> bool:
    """Tell whether this names a file; anything else is the name of a workflow."""
    return name.endswith(SUFFIX) or "/" in name


def is_machine_name(file: str) -> bool:
    """Tell whether a directory's file is a machine, by its name."""
    return file in PLAIN_NAMES or (file.endswith(SUFFIX) and not file.startswith("."))


def find_machine_files(root: Path | None) -> list[MachineFile]:
    """List the machine files, those that win first: the project's, the person's, the built-in ones.

    Nothing is read but the directories.
    """
    found = [] if root is None else _found(root / ".tideate" / "workflows", "project", within=root)
    found += _found(config_dir() / "workflows", "user")
    return found + _found(BUILTIN_MACHINES, "builtin")


def load_machine(path: Path) -> MachineWorkflow:
    """Read a machine; its name is the file's stem.

    :raises InvalidDefinition: the file cannot be read, or its name cannot be a workflow's.
    :raises InvalidWorkflowFile: the text has mistakes; the message lists them all.
    """
    # here, because most runs need no parser
    from tideate_core.machines.language import parse

    _check_stem(path)
    try:
        text = read_machine_text(path).removeprefix(BOM)
    except InvalidDefinition as error:
        raise InvalidDefinition(f"{shown_path(path)} {error}") from error
    machine = parse(text, path.stem).require(str(path))
    return MachineWorkflow(path.stem, machine, _description(text), path)


def _found(directory: Path, source: Source, *, within: Path | None = None) -> list[MachineFile]:
    """List a directory's machine files; one that cannot be listed is itself what has a problem."""
    if within is not None and not inside(directory, within):
        return [MachineFile(directory, source, _leads_out(directory), is_directory=True)]
    try:
        paths = sorted(directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problem = f"{directory} cannot be read: {error.strerror}"
        return [MachineFile(directory, source, problem, is_directory=True)]
    machines = [path for path in paths if is_machine_name(path.name)]
    machines.sort(key=lambda path: path.name in PLAIN_NAMES)
    return [MachineFile(path, source, _problem(path, within)) for path in machines]


def _leads_out(path: Path) -> str:
    return f"{shown_path(path)} was not used: it is a link out of the project"


def _problem(path: Path, within: Path | None) -> str:
    if within is not None and not inside(path, within):
        return _leads_out(path)
    try:
        _check_stem(path)
    except InvalidDefinition as error:
        return str(error)
    return ""


def _check_stem(path: Path) -> None:
    check_name(path.stem, f"{shown_path(path)}: ", "; rename the file")


def shown_path(path: Path) -> str:
    """Return a path for a message: a file's name may hold anything, and this is shown in terminals."""
    return str(path) if str(path).isprintable() else repr(str(path))


def _description(text: str) -> str:
    """Return the first line with words of the comment that the text begins with."""
    for line in text.lstrip().splitlines():
        comment = line.strip()
        if not comment.startswith(("#", "//")):
            break
        words = comment.lstrip(comment[0]).strip()
        if words and not comment.startswith("#!"):
            # it is shown in terminals
            return "".join(character for character in words if character.isprintable())[:200]
    return ""
