"""Workflow files: names, bounded reading, and machines.

A machine file needs no trust. It names no program, server or file: it can only add text to a prompt, like any
file of the project that a person asks about, and choose its own next state. A model's answer under its
guidance is text to show, never an edit or a command. So machines run without a question, and lists show their
source (`Registration.source`), because a project's file may have the name of one of the person's.
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
"""Machine files without the suffix."""
LARGEST_FILE: Final = 1024 * 1024
"""Maximum bytes of a workflow file."""
BOM: Final = "\ufeff"
TIDEATE: Final = ".tideate"


def is_machine_path(name: str) -> bool:
    """Return whether a name is a path; anything else is a workflow's name."""
    return name.endswith(MACHINE_SUFFIX) or "/" in name


def is_machine_name(file: str) -> bool:
    """Return whether a directory entry is a machine, by its name."""
    return file in PLAIN_NAMES or (file.endswith(MACHINE_SUFFIX) and not file.startswith("."))


def is_definition_name(file: str) -> bool:
    """Return whether a directory entry is a definition in YAML or JSON, by its name."""
    return is_definition_path(file) and not file.startswith(".")


def is_definition_path(path: str) -> bool:
    """Return whether a path is a definition in YAML or JSON, by its suffix."""
    return PurePath(path).suffix.lower() in DEFINITION_SUFFIXES


def is_workflow_path(name: str) -> bool:
    """Return whether a name is the path of a machine or definition."""
    return is_machine_path(name) or is_definition_path(name)


def load_machine(path: Path, root: Path | None = None) -> MachineWorkflow:
    """Read a machine, named by its file's stem.

    :param root: the file's project.
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
    """Check that a file's stem is a valid workflow name.

    :raises InvalidDefinition: it is not.
    """
    check_name(path.stem, f"{shown_path(path)}: ", "; rename the file")


def shown_path(path: Path) -> str:
    """Return a path for a message, escaped if a terminal could interpret it."""
    return str(path) if str(path).isprintable() else repr(str(path))


def _description(text: str) -> str:
    """Return the first words of the comment at the start of a text."""
    for line in text.lstrip().splitlines():
        comment = line.strip()
        if not comment.startswith(("#", "//")):
            break
        words = comment.lstrip(comment[0]).strip()
        if words and not comment.startswith("#!"):
            # shown in terminals
            return "".join(character for character in words if character.isprintable())[:200]
    return ""


def read_machine_text(path: Path, root: Path | None = None) -> str:
    """Return a file's whole text, including a byte order mark and `\\r\\n`.

    No link below a `.tideate/` is followed, even if the person named the file.

    :param root: the file's project; no link below it is followed.
    :raises InvalidDefinition: the file cannot be used; the message continues the file's name.
    """
    if root is not None:
        return _of_project(path, root)
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 links must stay visible
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
    """Return a stream's whole text.

    :raises InvalidDefinition: it cannot be used; the message continues the stream's name.
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
    # opening a named pipe would block until a writer appears
    return os.open(path, flags | os.O_NONBLOCK)
