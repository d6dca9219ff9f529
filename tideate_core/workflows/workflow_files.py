"""Find workflow files by precedence, check their names, and read their text within limits.

A machine file needs no trust. It names no program, server or file: it can only add text to a prompt, like any
file of the project that a person asks about, and choose its own next state. A model's answer under its
guidance is text to show, never an edit or a command. So machines run without a question, and lists show their
source (`Registration.source`), because a project's file may have the name of one of the person's.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final, Literal

from tideate_core.errors import InvalidDefinition, UnusableFile
from tideate_core.project import DEFINITION_SUFFIXES, config_dir, list_documents, read_document
from tideate_core.workflows.definitions import check_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import BinaryIO

Source = Literal["builtin", "package", "editor", "user", "project", "file", "text"]
"""`user`, `project`: a file from that directory; `file`: named by its path; `text`: no file at all."""
BUILTIN_MACHINES: Final = Path(__file__).parent / "builtin"
MACHINE_SUFFIX: Final = ".workflow"
PLAIN_NAMES: Final = frozenset({"PLANNER"})
"""Machine files without the suffix."""
LARGEST_FILE: Final = 1024 * 1024
"""Maximum bytes of a workflow file."""
BOM: Final = "\ufeff"
TIDEATE: Final = ".tideate"
PROJECT_WORKFLOWS: Final = ".tideate/workflows"
RANK: Final = {suffix: rank for rank, suffix in enumerate((MACHINE_SUFFIX, *DEFINITION_SUFFIXES))}
"""If several files of a directory have one name, the first suffix wins."""


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
    found = [] if root is None else _project_files(root)
    found += _files_in(config_dir() / "workflows", "user")
    return found + _files_in(BUILTIN_MACHINES, "builtin")


def _project_files(root: Path) -> list[WorkflowFile]:
    directory = root / PROJECT_WORKFLOWS
    try:
        names = list_documents(root, PROJECT_WORKFLOWS)
    except UnusableFile as error:
        return [WorkflowFile(directory, "project", str(error), is_directory=True, root=root)]
    found = []
    for path in _in_order(directory / name for name in names):
        problem = _problem(path)
        if path.is_symlink():
            problem = f"{shown_path(path)} was not used: it is a link; put the file itself there"
        found.append(WorkflowFile(path, "project", problem, root=root))
    return found


def _files_in(directory: Path, source: Source) -> list[WorkflowFile]:
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


def _problem(path: Path) -> str:
    try:
        check_stem(path)
    except InvalidDefinition as error:
        return str(error)
    return ""


def check_stem(path: Path) -> None:
    """Check that a file's stem is a valid workflow name.

    :raises InvalidDefinition: it is not.
    """
    check_name(path.stem, f"{shown_path(path)}: ", "; rename the file")


def shown_path(path: Path) -> str:
    """Return a path for a message, escaped if a terminal could interpret it."""
    return str(path) if str(path).isprintable() else repr(str(path))


def read_workflow_text(path: Path, root: Path | None = None) -> str:
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
            return read_workflow_stream(file)
    except OSError as error:
        raise InvalidDefinition(f"cannot be read: {error.strerror}") from error
    except ValueError as error:  # a NUL in the name
        raise InvalidDefinition(f"cannot be read: {error}") from error


def read_workflow_stream(stream: BinaryIO) -> str:
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
