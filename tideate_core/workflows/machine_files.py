"""Machines in files: what they are called, and how one is read.

A machine file needs no trust. It names no program, no server and no file: all that it can do is to be text in
a prompt, as any file of the project that a person asks about, and to choose which of its own states comes
next. What a model answers under its guidance is text that is shown, never an edit or a command. So it runs
unasked, and lists show where each comes from (`Registration.source`), because a project's file may take the
name of a person's own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tideate_core.errors import InvalidDefinition
from tideate_core.workflows.definitions import check_name
from tideate_core.workflows.machine_text import BOM, read_machine_text
from tideate_core.workflows.machine_workflow import MachineWorkflow

__all__ = [
    "BUILTIN_MACHINES",
    "MACHINE_SUFFIX",
    "PLAIN_NAMES",
    "check_stem",
    "is_machine_name",
    "is_machine_path",
    "load_machine",
    "shown_path",
]

BUILTIN_MACHINES: Final = Path(__file__).parent / "builtin"
MACHINE_SUFFIX: Final = ".workflow"
PLAIN_NAMES: Final = frozenset({"PLANNER"})
"""Files that are machines without the suffix."""


def is_machine_path(name: str) -> bool:
    """Tell whether this names a file; anything else is the name of a workflow."""
    return name.endswith(MACHINE_SUFFIX) or "/" in name


def is_machine_name(file: str) -> bool:
    """Tell whether a directory's file is a machine, by its name."""
    return file in PLAIN_NAMES or (file.endswith(MACHINE_SUFFIX) and not file.startswith("."))


def load_machine(path: Path, root: Path | None = None) -> MachineWorkflow:
    """Read a machine; its name is the file's stem.

    :param root: of the project that it came with.
    :raises InvalidDefinition: the file cannot be read, or its name cannot be a workflow's.
    :raises InvalidWorkflowFile: the text has mistakes; the message lists them all.
    """
    # here, because most runs need no parser
    from tideate_core.machines.language import parse

    check_stem(path)
    try:
        text = read_machine_text(path, root).removeprefix(BOM)
    except InvalidDefinition as error:
        raise InvalidDefinition(f"{shown_path(path)} {error}") from error
    machine = parse(text, path.stem).require(str(path))
    return MachineWorkflow(path.stem, machine, _description(text), path)


def check_stem(path: Path) -> None:
    """Check that a workflow may be called as its file.

    :raises InvalidDefinition: it may not.
    """
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
