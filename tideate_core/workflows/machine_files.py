"""Machines in files: where they are looked for, and how one is read.

A machine file needs no trust. It names no program, no server and no file: all that it can do is to be text in
a prompt, as any file of the project that a person asks about, and to choose which of its own states comes
next. What a model answers under its guidance is text that is shown, never an edit or a command. So it runs
unasked, and lists show where each comes from (`Registration.source`), because a project's file may take the
name of a person's own.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import InvalidDefinition
from tideate_core.project import config_dir, inside
from tideate_core.workflows.definitions import check_name
from tideate_core.workflows.machine_workflow import MachineWorkflow

if TYPE_CHECKING:
    from tideate_core.workflows.registry import Source

__all__ = [
    "BUILTIN_MACHINES",
    "MachineFile",
    "find_machine_file",
    "find_machine_files",
    "is_machine_path",
    "load_machine",
]

BUILTIN_MACHINES: Final = Path(__file__).parent / "builtin"
LARGEST_FILE: Final = 1024 * 1024
"""Bytes of a machine file."""
SUFFIX: Final = ".workflow"
PLAIN_NAMES: Final = frozenset({"PLANNER"})
"""Files that are machines without the suffix."""


@dataclass(frozen=True, slots=True)
class MachineFile:
    """A machine file that was found; `problem` says why it is not used."""

    path: Path
    source: Source
    problem: str = ""

    @property
    def name(self) -> str:
        return self.path.stem


def is_machine_path(name: str) -> bool:
    """Tell whether this names a file; anything else is the name of a workflow."""
    return name.endswith(SUFFIX) or "/" in name


def find_machine_files(root: Path | None) -> list[MachineFile]:
    """List the machine files, those that win first: the project's, the person's, the built-in ones.

    Nothing is read but the directories.
    """
    found = [] if root is None else _found(root / ".tideate" / "workflows", "project", within=root)
    found += _found(config_dir() / "workflows", "user")
    return found + _found(BUILTIN_MACHINES, "builtin")


def find_machine_file(name: str, root: Path | None) -> Path | None:
    """Return the file of a machine, None if there is none.

    :param name: a workflow's name, or the path of a file.
    :param root: the project whose files come first.
    """
    if is_machine_path(name):
        path = Path(name).expanduser()
        return path if path.is_file() else None
    usable = (found.path for found in find_machine_files(root) if not found.problem)
    return next((path for path in usable if path.stem == name), None)


def load_machine(path: Path) -> MachineWorkflow:
    """Read a machine; its name is the file's stem.

    :raises InvalidDefinition: the file cannot be read, or its name cannot be a workflow's.
    :raises InvalidWorkflowFile: the text has mistakes; the message lists them all.
    """
    # here, because most runs need no parser
    from tideate_core.machines.language import parse

    _check_stem(path)
    text = _decode(path, _read(path))
    machine = parse(text, path.stem).require(str(path))
    return MachineWorkflow(path.stem, machine, _description(text), path)


def _found(directory: Path, source: Source, *, within: Path | None = None) -> list[MachineFile]:
    """List a directory's machine files; one that cannot be listed is itself what has a problem."""
    if within is not None and not inside(directory, within):
        return [MachineFile(directory, source, _leads_out(directory))]
    try:
        paths = sorted(directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        return [MachineFile(directory, source, f"{directory} cannot be read: {error.strerror}")]
    suffixed = [path for path in paths if path.name.endswith(SUFFIX) and not path.name.startswith(".")]
    plain = [path for path in paths if path.name in PLAIN_NAMES]
    return [MachineFile(path, source, _problem(path, within)) for path in (*suffixed, *plain)]


def _leads_out(path: Path) -> str:
    return f"{path} was not used: it is a link out of the project"


def _problem(path: Path, within: Path | None) -> str:
    if within is not None and not inside(path, within):
        return _leads_out(path)
    try:
        _check_stem(path)
    except InvalidDefinition as error:
        return str(error)
    return ""


def _check_stem(path: Path) -> None:
    # a file's name may hold anything, and this is shown in terminals
    shown = str(path) if str(path).isprintable() else repr(str(path))
    check_name(path.stem, f"{shown}: ", "; rename the file")


def _read(path: Path) -> bytes:
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InvalidDefinition(f"{path} is not a regular file")
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InvalidDefinition(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_FILE:
        raise InvalidDefinition(f"{path} is larger than {LARGEST_FILE // 1024} KiB; that is no workflow")
    return content


def _open_at_once(path: str, flags: int) -> int:
    # a pipe under this name would block until somebody writes
    return os.open(path, flags | os.O_NONBLOCK)


def _decode(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidDefinition(f"{path}:{line}: not UTF-8 at byte {error.start}") from error


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
