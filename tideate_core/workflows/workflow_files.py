"""Files of workflows: their names, their text within bounds, and the reading of a machine.

A machine file needs no trust. It names no program, no server and no file: all that it can do is to be text in
a prompt, as any file of the project that a person asks about, and to choose which of its own states comes
next. What a model answers under its guidance is text that is shown, never an edit or a command. So it runs
unasked, and lists show where each comes from (`Registration.source`), because a project's file may take the
name of a person's own.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from tideate_core.errors import InvalidDefinition, UnusableFile
from tideate_core.project import DEFINITION_SUFFIXES, read_document
from tideate_core.workflows.definitions import MachineWorkflow, check_name

if TYPE_CHECKING:
    from typing import BinaryIO

__all__ = [
    "BOM",
    "BUILTIN_MACHINES",
    "LARGEST_FILE",
    "MACHINE_SUFFIX",
    "PLAIN_NAMES",
    "check_stem",
    "is_definition_name",
    "is_definition_path",
    "is_machine_name",
    "is_machine_path",
    "is_workflow_path",
    "load_machine",
    "read_machine_stream",
    "read_machine_text",
    "shown_path",
]

BUILTIN_MACHINES: Final = Path(__file__).parent / "builtin"
MACHINE_SUFFIX: Final = ".workflow"
PLAIN_NAMES: Final = frozenset({"PLANNER"})
"""Files that are machines without the suffix."""
LARGEST_FILE: Final = 1024 * 1024
"""Bytes of a workflow's file."""
BOM: Final = "\ufeff"
TIDEATE: Final = ".tideate"


def is_machine_path(name: str) -> bool:
    """Tell whether this names a file; anything else is the name of a workflow."""
    return name.endswith(MACHINE_SUFFIX) or "/" in name


def is_machine_name(file: str) -> bool:
    """Tell whether a directory's file is a machine, by its name."""
    return file in PLAIN_NAMES or (file.endswith(MACHINE_SUFFIX) and not file.startswith("."))


def is_definition_name(file: str) -> bool:
    """Tell whether a file is a definition in YAML or JSON, by its name."""
    return is_definition_path(file) and not file.startswith(".")


def is_definition_path(path: str) -> bool:
    """Tell whether a path is that of a definition in YAML or JSON, by its suffix."""
    return PurePath(path).suffix.lower() in DEFINITION_SUFFIXES


def is_workflow_path(name: str) -> bool:
    """Tell whether this names a file; anything else is the name of a workflow."""
    return is_machine_path(name) or is_definition_path(name)


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


def read_machine_text(path: Path, root: Path | None = None) -> str:
    """Return all of a file's text, a byte order mark and `\\r\\n` included.

    No link below a `.tideate/` is followed, whoever named the file.

    :param root: of the project that it came with: no link on the way from there is followed.
    :raises InvalidDefinition: it cannot be used; the message begins after the file's name.
    """
    if root is not None:
        return _of_project(path, root)
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 links have to be seen
    if TIDEATE in absolute.parts[:-1]:
        return _of_project(absolute, Path(*absolute.parts[: absolute.parts.index(TIDEATE)]))
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InvalidDefinition("is not a regular file")
            return read_machine_stream(file)
    except OSError as error:
        raise InvalidDefinition(f"cannot be read: {error.strerror}") from error
    except ValueError as error:  # a NUL in the name
        raise InvalidDefinition(f"cannot be read: {error}") from error


def read_machine_stream(stream: BinaryIO) -> str:
    """Return all of a stream's text.

    :raises InvalidDefinition: it cannot be used; the message begins after the stream's name.
    """
    try:
        content = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InvalidDefinition(f"cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_FILE:
        raise InvalidDefinition(f"is larger than {LARGEST_FILE >> 20} MiB; that is not a workflow")
    return _text(content)


def _of_project(path: Path, root: Path) -> str:
    try:
        return _text(read_document(root, path.relative_to(root).as_posix(), LARGEST_FILE))
    except UnusableFile as error:
        raise InvalidDefinition(f"was not used: {error.reason}") from error
    except OSError as error:
        raise InvalidDefinition(f"cannot be read: {error.strerror}") from error


def _text(content: bytes) -> str:
    if b"\0" in content:
        raise InvalidDefinition("is binary, not text")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidDefinition(
            f"is not UTF-8 at byte {error.start}, in line {line}; save it as UTF-8"
        ) from error


def _open_at_once(path: str, flags: int) -> int:
    # a pipe under this name would block until somebody writes
    return os.open(path, flags | os.O_NONBLOCK)
