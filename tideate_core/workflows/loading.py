"""Load workflows from files; a cache parses a file again only after a change."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from tideate_core.errors import InvalidDefinition, InvalidDefinitionFile, InvalidWorkflowFile
from tideate_core.workflows.definitions import MachineWorkflow, check_name
from tideate_core.workflows.registration import Registration
from tideate_core.workflows.workflow_files import check_stem, load_machine, read_machine_text, shown_path

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tideate_core.workflows.checking import KnownNames
    from tideate_core.workflows.definitions import Needs, WorkflowDefinition
    from tideate_core.workflows.handler import StepHandler
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


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """A definition with its file's text."""

    definition: WorkflowDefinition
    text: str


TextFormat: TypeAlias = Literal["yaml", "json", "workflow"]
"""Format of a workflow's text; `workflow` is the machine language."""
HandlersOf: TypeAlias = "Callable[[WorkflowDefinition], Mapping[str, StepHandler]]"
Content: TypeAlias = MachineWorkflow | DefinitionFile


class FileCache:
    """Cache of parsed files, keyed by path; invalidated by changes of the file or of the known names."""

    def __init__(self) -> None:
        self._parsed: dict[Path, tuple[tuple[object, ...], Content | str]] = {}

    def read(self, file: WorkflowFile, known: KnownNames | None) -> Content | str:
        """Return a file's content, or a notice about its first mistake.

        :param known: names that steps of a definition may use; None for a machine.
        """
        # stat before read: a change in between is seen next time
        try:
            status = file.path.stat()
        except OSError as error:
            return f"{file.path} cannot be read: {error.strerror}"
        version = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, known)
        cached = self._parsed.get(file.path)
        if cached and cached[0] == version:
            return cached[1]
        try:
            read: Content | str = load(file, known)
        except InvalidDefinitionFile as error:
            read = _first_mistake(file.path, error)
        except InvalidWorkflowFile as error:
            read = _first_diagnostic(file.path, error)
        except InvalidDefinition as error:
            read = str(error)
        if _settled(status):
            self._parsed[file.path] = version, read
        return read


def load(file: WorkflowFile, known: KnownNames | None) -> Content:
    """Read a file.

    :param known: names that steps may use; None for a machine.
    :raises InvalidWorkflowFile: a machine's text has mistakes; all are listed.
    :raises InvalidDefinitionFile: a definition's text has mistakes; all are listed.
    :raises InvalidDefinition: the file cannot be used.
    """
    try:
        if known is None:
            return load_machine(file.path, file.root)
        return load_definition(file.path, known, file.root)
    except (InvalidDefinitionFile, InvalidWorkflowFile) as error:
        error.path, error.source = file.path, file.source
        raise


def registration_of(content: Content, file: WorkflowFile, handlers_of: HandlersOf) -> Registration:
    """Return the registration of a file's workflow.

    :param handlers_of: returns the handlers that its steps name.
    """
    if isinstance(content, DefinitionFile):
        own = handlers_of(content.definition)
        return Registration(content.definition, own, file.source, file.path, content.text)
    return _of_machine(content, file.source)


def parse_text(
    text: str,
    format: TextFormat,  # noqa: A002 the usual name
    name: str,
    known: KnownNames,
    handlers_of: HandlersOf,
) -> Registration:
    """Return the workflow of a text that is not in a file.

    :param known: names that its steps may use.
    :param handlers_of: returns the handlers that its steps name.
    :raises InvalidWorkflowFile: a machine's text has mistakes; all are listed.
    :raises InvalidDefinitionFile: a definition's text has mistakes; all are listed.
    :raises InvalidDefinition: the name cannot be a workflow's.
    """
    try:
        if format == "workflow":
            from tideate_core.machines.language import parse

            check_name(name)
            return _of_machine(MachineWorkflow(name, parse(text, name).require(name)), "text")
        from tideate_core.workflows.parsing import WorkflowParser

        definition = WorkflowParser(known).parse(text, format=format, name=name).require()
    except (InvalidDefinitionFile, InvalidWorkflowFile) as error:
        error.source = "text"
        raise
    return Registration(definition, handlers_of(definition), "text", None, text)


def _of_machine(machine: MachineWorkflow, source: Source) -> Registration:
    # any file with a built-in name: a copy must not remove the person's confirmation
    confirm = BUILTIN_CONFIRM.get(machine.name, frozenset()) & machine.machine.states.keys()
    tools = BUILTIN_TOOLS.get(machine.name, {}) if source in ("builtin", "user") else {}
    machine = replace(machine, confirm=confirm, needs=BUILTIN_NEEDS.get(machine.name, ()), tools=tools)
    return Registration(machine, {}, source, machine.path)


def _settled(status: os.stat_result) -> bool:
    return time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > SETTLED


def _first_mistake(path: Path, error: InvalidDefinitionFile) -> str:
    from tideate_core.workflows.mistakes import FileMistake

    first, *others = [
        one for one in error.mistakes if isinstance(one, FileMistake) and one.severity == "error"
    ]
    return first.describe(str(path)) + _more(len(others))


def _first_diagnostic(path: Path, error: InvalidWorkflowFile) -> str:
    from tideate_core.machines.language import Diagnostic

    first, *others = [
        mistake
        for mistake in error.diagnostics
        if isinstance(mistake, Diagnostic) and mistake.severity == "error"
    ]
    place = f"{path}:{first.position.line}:{first.position.column}"
    return f"{place}: {first.message}{_more(len(others))}"


def _more(count: int) -> str:
    return f" (and {count} more)" if count else ""


def load_definition(path: Path, known: KnownNames, root: Path | None = None) -> DefinitionFile:
    """Read a definition, named by its file's stem.

    :param root: the file's project.
    :raises InvalidDefinition: the file cannot be read, or its name cannot be a workflow's.
    :raises InvalidDefinitionFile: the text has mistakes; all are listed.
    """
    check_stem(path)
    try:
        text = read_machine_text(path, root)
    except InvalidDefinition as error:
        raise InvalidDefinition(f"{shown_path(path)} {error}") from error
    return DefinitionFile(parse_definition(path, text, known).require(), text)


def parse_definition(path: Path, text: str, known: KnownNames, label: str | None = None) -> ParsedWorkflow:
    """Parse a definition's text.

    :param label: the file's name in messages; by default its path.
    """
    # here, because most runs need no parser
    from tideate_core.workflows.parsing import WorkflowParser, format_of

    kind = format_of(path.name) or "yaml"
    return WorkflowParser(known).parse(text, format=kind, name=path.stem, path=label or shown_path(path))
