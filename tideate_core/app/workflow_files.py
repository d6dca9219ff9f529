"""Find, read and check workflow files; open a state machine by file, workflow name or stdin."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.app.wiring import build_catalog, locate_project
from tideate_core.errors import InvalidDefinition, InvalidInput, TideateError, UnknownWorkflow
from tideate_core.project import expand_home, real_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tideate_core.machines.language import Diagnostic, Parsed
    from tideate_core.workflows import Catalog, FileMistake, MachineWorkflow, Registration

STDIN: Final = "/dev/stdin"
"""Replacement for `-`, which the command line parser would take for an option."""

TO_THE_END: Final = 1_000_000
"""Length of a diagnostic that extends over the end of its line."""
NEVER_SEARCHED: Final = frozenset({".git", ".hg", ".venv", "node_modules"})


@dataclass(frozen=True, slots=True)
class Source:
    """Text of a workflow file or of stdin."""

    label: str
    """The name that the person gave."""
    path: Path | None
    """None for stdin."""
    raw: str
    """Whole text, including a byte order mark and `\\r\\n`."""

    def parse(self) -> Parsed:
        from tideate_core.machines.language import parse

        return parse(self.raw, Path(self.label).stem)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A named file that cannot be read, with the reason."""

    label: str
    message: str


File = tuple[str, Path | None] | Unreadable
"""Name in messages and path (None for stdin) of a file, or the reason why there is none."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked file with its diagnostics."""

    read: Source | Unreadable
    found: tuple[Diagnostic, ...] = ()
    shapes: tuple[dict[str, Any], ...] = ()


def read_sources(names: tuple[str, ...], root: str | None) -> Iterator[Source | Unreadable]:
    """Read the named `.workflow` files, each once; yield `Unreadable` for unreadable files.

    :raises InvalidInput: no file is named.
    """
    if not names:
        raise InvalidInput("name a FILE: a .workflow file, a directory of them, a workflow's name, or -")
    for found in _each_file(names, lambda name: _machine_files(name, root)):
        yield found if isinstance(found, Unreadable) else _read(*found)


def check_files(names: tuple[str, ...], root: str | None) -> Iterator[Checked]:
    """Check workflow files, each once; yield `Unreadable` for unreadable files.

    :param names: files, directories, workflows; if empty, all files of the project and the person.
    :raises TideateError: the project's configuration cannot be read.
    """
    found = locate_project(root)
    catalog, servers = build_catalog(found), _known_servers(found)
    files = _each_file(names, lambda name: _definition_files(name, catalog)) if names else _all_files(catalog)
    for file in files:
        yield Checked(file) if isinstance(file, Unreadable) else _check_file(*file, catalog, servers)


def check_machine_files(names: tuple[str, ...], root: str | None) -> Iterator[Checked]:
    """Check `.workflow` files, each once.

    :raises InvalidInput: no file is named.
    """
    for read in read_sources(names, root):
        found = read.parse().diagnostics if isinstance(read, Source) else ()
        yield Checked(read, found, tuple(map(diagnostic_json, found)))


def diagnostic_json(one: Any) -> dict[str, Any]:
    """Return the JSON form of a diagnostic."""
    return {
        "line": one.position.line,
        "column": one.position.column,
        "end_column": one.position.column + one.length,
        "severity": one.severity,
        "code": one.code,
        "message": one.message,
    }


def open_machine(
    name: str, root: str | None, *, obfuscate: bool = False, called: str | None = None
) -> MachineWorkflow:
    """Open a state machine by file, workflow name or stdin.

    :param obfuscate: replace state names by tokens.
    :param called: the workflow's name, only for stdin; tokens depend on it.
    :raises InvalidWorkflowFile: the file has errors.
    :raises TideateError: the file cannot be found or read, or is not a state machine.
    """
    from tideate_core.workflows import MachineWorkflow

    found = locate_project(root)
    if name == STDIN:
        if obfuscate and called is None:
            raise InvalidInput("the tokens depend on the workflow's name, and `-` has none: give --name NAME")
        known = _from_stdin(called or "stdin")
        known = known.obfuscated(found) if obfuscate else known
    elif called is not None:
        raise InvalidInput("--name is for `-`; a file or a workflow has a name")
    else:
        known = build_catalog(found).get(name, obfuscate=obfuscate)
    if not isinstance(known.definition, MachineWorkflow):
        raise InvalidInput(f"{name!r} is a workflow of steps, not a state machine")
    return known.definition


def machine_state(workflow: MachineWorkflow, name: str) -> str:
    """Return the exact name of a state; `*` is the boundary.

    :raises InvalidInput: the machine has no such state.
    """
    from tideate_core.machines.language import BOUNDARY

    return name if name == BOUNDARY else workflow.state_named(name)


def _from_stdin(called: str) -> Registration:
    from tideate_core.machines.language import parse
    from tideate_core.workflows import MachineWorkflow, Registration, check_name

    check_name(called, "--name: ")
    source = _read("stdin", None)
    if isinstance(source, Unreadable):
        raise InvalidDefinition(f"{source.label}: {source.message}")
    return Registration(MachineWorkflow(called, parse(source.raw, called).require("stdin")), {}, "file")


def _each_file(names: tuple[str, ...], locate: Callable[[str], Iterator[File]]) -> Iterator[File]:
    """Yield the files of several names, each file once; a name that fails is `Unreadable`."""
    seen: set[object] = set()
    for name in names:
        try:
            for found in locate(name):
                place = found if isinstance(found, Unreadable) else found[1] and real_path(found[1])
                if place not in seen:
                    yield found
                seen.add(place)
        except TideateError as error:
            yield Unreadable(name, str(error))


def _machine_files(name: str, root: str | None) -> Iterator[File]:
    """Yield the `.workflow` files that a name means; a workflow of this name comes first, as in a run."""
    from tideate_core.workflows import is_machine_name, is_machine_path

    path = expand_home(name)
    if name == STDIN:
        yield "stdin", None
        return
    named = None if is_machine_path(name) else _named(name, root)
    if named is not None:
        yield named
    elif name and _is_directory(path):
        yield from _files_below(path, lambda _place, file: is_machine_name(file), "*.workflow")
    elif is_machine_path(name):
        yield name, path
    else:
        # raises if the workflow is unknown or is not a machine
        open_machine(name, root)
        raise InvalidInput(f"{name!r} comes from a package and has no file")


def _named(name: str, root: str | None) -> tuple[str, Path] | None:
    try:
        path = build_catalog(locate_project(root)).file_of(name)
    except UnknownWorkflow:
        return None
    return None if path is None else (_shown_path(path), path)


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False  # the name is too long


def _files_below(directory: Path, wanted: Callable[[Path, str], bool], kind: str) -> Iterator[File]:
    """Yield the wanted files below a directory.

    :param kind: of files, for the error.
    :raises InvalidInput: the directory has none.
    """
    errors: list[OSError] = []
    nothing = True
    for place, folders, files in os.walk(directory, onerror=errors.append):
        folders[:] = sorted(set(folders) - NEVER_SEARCHED)
        for file in sorted(file for file in files if wanted(Path(place), file)):
            yield str(Path(place, file)), Path(place, file)
            nothing = False
    yield from (Unreadable(str(error.filename), f"cannot be read: {error.strerror}") for error in errors)
    if nothing and not errors:
        raise InvalidInput(f"no {kind} files in this directory")


def _shown_path(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _read(label: str, path: Path | None) -> Source | Unreadable:
    from tideate_core.workflows import read_workflow_stream, read_workflow_text

    try:
        text = read_workflow_stream(sys.stdin.buffer) if path is None else read_workflow_text(path)
    except InvalidDefinition as error:
        return Unreadable(label, str(error).removeprefix("is "))
    return Source(label, path, text)


def _known_servers(root: Path | None) -> frozenset[str]:
    """Return the MCP servers available to steps, including untrusted servers."""
    from tideate_core.config import OWN_SERVERS, load_config

    loaded = load_config(root)
    own = () if root is None else OWN_SERVERS
    return frozenset({*own, *loaded.config.mcp.servers, *loaded.untrusted_servers})


def _all_files(catalog: Catalog) -> Iterator[File]:
    for file in catalog.files():
        label = _shown_path(file.path)
        if file.problem:
            yield Unreadable(label, file.problem.removeprefix(f"{file.path}: "))
        else:
            yield label, file.path


def _definition_files(name: str, catalog: Catalog) -> Iterator[File]:
    """Yield the files that a name means; a workflow of this name comes first, as in a run."""
    from tideate_core.workflows import is_workflow_path

    if name == STDIN:
        raise InvalidInput(
            "a definition is not read from stdin; for a machine there is `tideate machine check -`"
        )
    path = expand_home(name)
    if not is_workflow_path(name) and name in catalog.names():
        file = catalog.file_of(name)
        if file is None:
            raise InvalidInput(f"the workflow {name!r} is in no file; there is nothing to check")
        yield _shown_path(file), file
    elif _is_directory(path):
        yield from _files_below(path, _is_workflow, "workflow")
    else:
        if not is_workflow_path(name):
            catalog.file_of(name)  # raises if the workflow is unknown
        yield name, path


def _check_file(label: str, path: Path | None, catalog: Catalog, servers: frozenset[str]) -> Checked:
    from tideate_core.workflows import is_definition_path, parse_definition

    source = _read(label, path)
    if isinstance(source, Unreadable) or path is None:
        return Checked(source)
    if not is_definition_path(path.name):
        found = source.parse().diagnostics
        shapes = ({**diagnostic_json(one), "end_line": one.position.line} for one in found)
        return Checked(source, found, tuple(shapes))
    known = replace(catalog.known_names(path), servers=servers)
    mistakes = parse_definition(path, source.raw, known, label).mistakes
    # line ends as the parser and editors count them
    source = replace(source, raw=re.sub(r"\r\n?", "\n", source.raw))
    return Checked(source, tuple(map(_diagnostic, mistakes)), tuple(one._asdict() for one in mistakes))


def _diagnostic(mistake: FileMistake) -> Diagnostic:
    from tideate_core.machines.language import Diagnostic, Position

    length = mistake.end_column - mistake.column if mistake.end_line == mistake.line else TO_THE_END
    words = f"{mistake.message}; {mistake.hint}" if mistake.hint else mistake.message
    return Diagnostic(Position(mistake.line, mistake.column), max(1, length), mistake.severity, "", words)


def _is_workflow(place: Path, file: str) -> bool:
    """Return whether a file is a `.workflow` file, or YAML or JSON in a directory named `workflows`."""
    from tideate_core.workflows import is_definition_name, is_machine_name

    return is_machine_name(file) or (place.resolve().name == "workflows" and is_definition_name(file))
