"""Locate, read and check workflow files: a file, a directory, stdin, or a workflow by name."""

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

__all__ = [
    "STDIN",
    "Checked",
    "Source",
    "Unreadable",
    "check_files",
    "check_machine_files",
    "diagnostic_json",
    "machine_state",
    "open_machine",
    "read_sources",
]

STDIN: Final = "/dev/stdin"
"""Stands for `-`: a command line parser would take a lone hyphen for an option."""

TO_THE_END: Final = 1_000_000
"""Length of a mistake that goes over the end of its line."""
NEVER_SEARCHED: Final = frozenset({".git", ".hg", ".venv", "node_modules"})


@dataclass(frozen=True, slots=True)
class Source:
    """One text. `path`: None for stdin."""

    label: str
    """As the person named it."""
    path: Path | None
    raw: str
    """All of it, a byte order mark and `\\r\\n` included."""

    def parse(self) -> Parsed:
        from tideate_core.machines.language import parse

        return parse(self.raw, Path(self.label).stem)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something that was named and cannot be read, and why."""

    label: str
    message: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A file with its mistakes, for people and in the JSON form."""

    read: Source | Unreadable
    found: tuple[Diagnostic, ...] = ()
    shapes: tuple[dict[str, Any], ...] = ()


def read_sources(names: tuple[str, ...], root: str | None) -> Iterator[Source | Unreadable]:
    """Read all that is named, each file once; what cannot be read does not stop the others.

    :raises InvalidInput: nothing is named.
    """
    if not names:
        raise InvalidInput("name a FILE: a .workflow file, a directory of them, a workflow's name, or -")
    seen: set[Path | None] = set()
    for name in names:
        try:
            for found in _files(name, root):
                if isinstance(found, Unreadable):
                    yield found
                    continue
                label, path = found
                place = None if path is None else real_path(path)
                if place not in seen:
                    yield _read(label, path)
                seen.add(place)
        except TideateError as error:
            yield Unreadable(name, str(error))


def check_files(names: tuple[str, ...], root: str | None) -> Iterator[Checked]:
    """Check workflow files, each once; what cannot be read does not stop the others.

    :param names: files, directories, workflows; by default all files of the project and the person.
    :raises TideateError: the project's configuration cannot be read.
    """
    found = locate_project(root)
    catalog, servers = build_catalog(found), _known_servers(found)
    yield from _check_named(names, catalog, servers) if names else _check_all(catalog, servers)


def check_machine_files(names: tuple[str, ...], root: str | None) -> Iterator[Checked]:
    """Check `.workflow` files, each once.

    :raises InvalidInput: nothing is named.
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
    """Return the machine that FILE names; obfuscated, it has tokens for names.

    :param called: the workflow's name, for stdin, which has none; the tokens depend on it.
    :raises InvalidWorkflowFile: it has mistakes.
    :raises TideateError: it cannot be found or read, or is no machine.
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
        raise InvalidInput(f"{name!r} is a workflow of steps, no state machine")
    return known.definition


def machine_state(workflow: MachineWorkflow, name: str) -> str:
    """Return what the machine calls a state, `*` included.

    :raises InvalidInput: it has no such state.
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


def _files(name: str, root: str | None) -> Iterator[tuple[str, Path | None] | Unreadable]:
    """Give what one name stands for, each with how it is called in messages.

    A workflow of that name comes first, as it does where one is run.
    """
    from tideate_core.workflows import is_machine_path

    path = expand_home(name)
    if name == STDIN:
        yield "stdin", None
        return
    named = None if is_machine_path(name) else _named(name, root)
    if named is not None:
        yield named
    elif name and _is_directory(path):
        yield from _machines_below(path)
    elif is_machine_path(name):
        yield name, path
    else:
        # tells what is known, or what this is instead of a machine
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
        return False  # longer than any name can be


def _machines_below(directory: Path) -> Iterator[tuple[str, Path] | Unreadable]:
    from tideate_core.workflows import is_machine_name

    errors: list[OSError] = []
    found = list(_files_below(directory, lambda _place, file: is_machine_name(file), errors))
    yield from found
    yield from (Unreadable(str(error.filename), f"cannot be read: {error.strerror}") for error in errors)
    if not found and not errors:
        raise InvalidInput("no *.workflow files in this directory")


def _files_below(
    directory: Path, wanted: Callable[[Path, str], bool], errors: list[OSError]
) -> Iterator[tuple[str, Path]]:
    for place, folders, files in os.walk(directory, onerror=errors.append):
        folders[:] = sorted(set(folders) - NEVER_SEARCHED)
        for file in sorted(file for file in files if wanted(Path(place), file)):
            yield str(Path(place, file)), Path(place, file)


def _shown_path(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _read(label: str, path: Path | None) -> Source | Unreadable:
    from tideate_core.workflows import read_machine_stream, read_machine_text

    try:
        text = read_machine_stream(sys.stdin.buffer) if path is None else read_machine_text(path)
    except InvalidDefinition as error:
        return Unreadable(label, str(error).removeprefix("is "))
    return Source(label, path, text)


def _known_servers(root: Path | None) -> frozenset[str]:
    """Return the MCP servers that a step may name, also those that wait for trust."""
    from tideate_core.config import OWN_SERVERS, load_config

    loaded = load_config(root)
    own = () if root is None else OWN_SERVERS
    return frozenset({*own, *loaded.config.mcp.servers, *loaded.untrusted_servers})


def _check_all(catalog: Catalog, servers: frozenset[str]) -> Iterator[Checked]:
    for file in catalog.files():
        label = _shown_path(file.path)
        if file.problem:
            yield Checked(Unreadable(label, file.problem.removeprefix(f"{file.path}: ")))
        else:
            yield _check_file(label, file.path, catalog, servers)


def _check_named(names: tuple[str, ...], catalog: Catalog, servers: frozenset[str]) -> Iterator[Checked]:
    """Check all that is named, each file once; what cannot be read does not stop the others."""
    seen: set[Path] = set()
    for name in names:
        try:
            for label, path in _definition_files(name, catalog):
                if real_path(path) not in seen:
                    yield _check_file(label, path, catalog, servers)
                seen.add(real_path(path))
        except TideateError as error:
            yield Checked(Unreadable(name, str(error)))


def _definition_files(name: str, catalog: Catalog) -> Iterator[tuple[str, Path]]:
    """Give what one name stands for, each with how it is called in messages.

    A workflow of that name comes first, as it does where one is run.
    """
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
        yield from _definitions_below(path)
    elif is_workflow_path(name):
        yield name, path
    else:
        catalog.file_of(name)  # tells what is known
        yield name, path


def _check_file(label: str, path: Path, catalog: Catalog, servers: frozenset[str]) -> Checked:
    from tideate_core.workflows import is_definition_path, parse_definition, read_machine_text

    try:
        text = read_machine_text(path)
    except InvalidDefinition as error:
        return Checked(Unreadable(label, str(error).removeprefix("is ")))
    if not is_definition_path(path.name):
        source = Source(label, path, text)
        found = source.parse().diagnostics
        shapes = ({**diagnostic_json(one), "end_line": one.position.line} for one in found)
        return Checked(source, found, tuple(shapes))
    known = replace(catalog.known_names(path), servers=servers)
    parsed = parse_definition(path, text, known, label)
    # lines end as the parser and editors see them
    source = Source(label, path, re.sub(r"\r\n?", "\n", text))
    mistakes = parsed.mistakes
    return Checked(source, tuple(map(_diagnostic, mistakes)), tuple(one._asdict() for one in mistakes))


def _diagnostic(mistake: FileMistake) -> Diagnostic:
    from tideate_core.machines.language import Diagnostic, Position

    length = mistake.end_column - mistake.column if mistake.end_line == mistake.line else TO_THE_END
    words = f"{mistake.message}; {mistake.hint}" if mistake.hint else mistake.message
    return Diagnostic(Position(mistake.line, mistake.column), max(1, length), mistake.severity, "", words)


def _definitions_below(directory: Path) -> Iterator[tuple[str, Path]]:
    """Yield the machines below a directory, and the definitions in directories named `workflows`."""
    errors: list[OSError] = []
    found = list(_files_below(directory, _is_workflow, errors))
    yield from found
    if errors:
        raise InvalidInput(f"{errors[0].filename} cannot be read: {errors[0].strerror}")
    if not found:
        raise InvalidInput("no workflow files in this directory")


def _is_workflow(place: Path, file: str) -> bool:
    # other files in YAML and JSON are everywhere
    from tideate_core.workflows import is_definition_name, is_machine_name

    return is_machine_name(file) or (place.resolve().name == "workflows" and is_definition_name(file))
