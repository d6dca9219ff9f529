"""Load workflows from files; a cache parses a file again only after a change."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from tideate_core.errors import InvalidDefinition, InvalidDefinitionFile, InvalidWorkflowFile
from tideate_core.workflows.definitions import MachineWorkflow, check_name
from tideate_core.workflows.registration import Registration
from tideate_core.workflows.workflow_files import BOM, check_stem, read_workflow_text, shown_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tideate_core.workflows.checking import KnownNames
    from tideate_core.workflows.definitions import Needs
    from tideate_core.workflows.parsing import ParsedWorkflow
    from tideate_core.workflows.workflow_files import Source, WorkflowFile

BUILTIN_CONFIRM: Final[Mapping[str, frozenset[str]]] = {"PLANNER": frozenset({"execution"})}
"""States that need confirmation, by built-in machine; also for files that replace one."""
BUILTIN_NEEDS: Final[Mapping[str, tuple[Needs, ...]]] = {"PLANNER": ("prompt",)}
LOOKING: Final = ("look",)
BUILTIN_TOOLS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "PLANNER": {
        "": LOOKING,
        "execution": (*LOOKING, "edits", "checks"),
        "check_task": (*LOOKING, "checks"),
    }
}
"""Tools by machine and state, for models that can call tools. A project's file of that name gets none: anyone
may have written it."""
SETTLED: Final = 1_000_000_000
"""Nanoseconds within which a file may change twice without a new timestamp."""


TextFormat: TypeAlias = Literal["yaml", "json", "workflow"]
"""Format of a workflow's text; `workflow` is the machine language."""


class FileCache:
    """Cache of parsed files, by path and source; invalidated by changes of the file or of the known names."""

    def __init__(self) -> None:
        self._parsed: dict[WorkflowFile, tuple[tuple[object, ...], Registration | str]] = {}

    def read(self, file: WorkflowFile, known: KnownNames | None) -> Registration | str:
        """Return a file's workflow without handlers, or a notice about its first mistake.

        :param known: names that steps of a definition may use; None for a machine.
        """
        # stat before read: a change in between is seen next time
        try:
            status = file.path.stat()
        except OSError as error:
            return f"{file.path} cannot be read: {error.strerror}"
        version = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, known)
        cached = self._parsed.get(file)
        if cached and cached[0] == version:
            return cached[1]
        try:
            read: Registration | str = load(file, known)
        except (InvalidDefinition, InvalidWorkflowFile) as error:
            read = _notice(file.path, error)
        if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > SETTLED:
            self._parsed[file] = version, read
        return read


def load(file: WorkflowFile, known: KnownNames | None) -> Registration:
    """Read a file's workflow without handlers, named by the file's stem.

    :param known: names that steps may use; None for a machine.
    :raises InvalidWorkflowFile: a machine's text has mistakes; all are listed.
    :raises InvalidDefinitionFile: a definition's text has mistakes; all are listed.
    :raises InvalidDefinition: the file cannot be read, or its name cannot be a workflow's.
    """
    path = file.path
    check_stem(path)
    try:
        text = read_workflow_text(path, file.root)
    except InvalidDefinition as error:
        raise InvalidDefinition(f"{shown_path(path)} {error}") from error
    try:
        if known is None:
            return _machine(path.stem, text.removeprefix(BOM), file.source, path)
        definition = parse_definition(path, text, known).require()
        return Registration(definition, {}, file.source, path, text)
    except (InvalidDefinitionFile, InvalidWorkflowFile) as error:
        error.path, error.source = path, file.source
        raise


def parse_definition(path: Path, text: str, known: KnownNames, label: str | None = None) -> ParsedWorkflow:
    """Parse a definition's text.

    :param label: the file's name in messages; by default its path.
    """
    # here, because most runs need no parser
    from tideate_core.workflows.parsing import WorkflowParser, format_of

    kind = format_of(path.name) or "yaml"
    return WorkflowParser(known).parse(text, format=kind, name=path.stem, path=label or shown_path(path))


def parse_text(
    text: str,
    format: TextFormat,  # noqa: A002 the usual name
    name: str,
    known: KnownNames,
) -> Registration:
    """Return the workflow of a text that is not in a file, without handlers.

    :param known: names that its steps may use.
    :raises InvalidWorkflowFile: a machine's text has mistakes; all are listed.
    :raises InvalidDefinitionFile: a definition's text has mistakes; all are listed.
    :raises InvalidDefinition: the name cannot be a workflow's.
    """
    from tideate_core.workflows.parsing import WorkflowParser

    try:
        if format == "workflow":
            check_name(name)
            return _machine(name, text, "text")
        definition = WorkflowParser(known).parse(text, format=format, name=name).require()
    except (InvalidDefinitionFile, InvalidWorkflowFile) as error:
        error.source = "text"
        raise
    return Registration(definition, {}, "text", None, text)


def _machine(name: str, text: str, source: Source, path: Path | None = None) -> Registration:
    # here, because most runs need no parser
    from tideate_core.machines.language import parse

    machine = parse(text, name).require(str(path or name))
    definition = MachineWorkflow(
        name,
        machine,
        _description(text),
        path,
        # any file with a built-in name: a copy must not remove the person's confirmation
        confirm=BUILTIN_CONFIRM.get(name, frozenset()) & machine.states.keys(),
        needs=BUILTIN_NEEDS.get(name, ()),
        tools=BUILTIN_TOOLS.get(name, {}) if source in ("builtin", "user") else {},
    )
    return Registration(definition, {}, source, path)


def _description(text: str) -> str:
    """Return the first words of the comment at the start of a machine's text."""
    for line in text.lstrip().splitlines():
        comment = line.strip()
        if not comment.startswith(("#", "//")):
            break
        words = comment.lstrip(comment[0]).strip()
        if words and not comment.startswith("#!"):
            # shown in terminals
            return "".join(character for character in words if character.isprintable())[:200]
    return ""


def _notice(path: Path, error: InvalidDefinition | InvalidWorkflowFile) -> str:
    """Return the line of an error's first mistake, and the number of the others."""
    lines = [line for line in str(error).splitlines() if line.startswith(f"{path}:")]
    first, *others = lines or [str(error)]
    return f"{first} (and {len(others)} more)" if others else first
