"""`tideate check`: every mistake of every workflow's file, of steps and of states, where it stands."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.cli.arguments import STDIN
from tideate_core.cli.machine_check import Count, described
from tideate_core.cli.machine_source import NEVER_SEARCHED, Source, Unreadable
from tideate_core.cli.output import diagnostic_json, fail, messages, print_json, results, tell_mistakes
from tideate_core.cli.wiring import build_catalog, locate
from tideate_core.config import OWN_SERVERS, load
from tideate_core.errors import InvalidDefinition, InvalidInput, TideateError
from tideate_core.machines.language import Diagnostic, Position
from tideate_core.project import expanded, real
from tideate_core.workflows import (
    is_definition_name,
    is_definition_path,
    is_machine_name,
    is_workflow_path,
    parse_definition,
    read_machine_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.workflows import Catalog, FileMistake

__all__ = ["check"]

TO_THE_END: Final = 1_000_000
"""Length of a mistake that goes over the end of its line."""


@dataclass(frozen=True, slots=True)
class _Checked:
    """A file and its mistakes, as people and as tools are told them."""

    read: Source | Unreadable
    found: tuple[Diagnostic, ...] = ()
    shapes: tuple[dict[str, Any], ...] = ()


def check(names: tuple[str, ...], root: str | None, *, as_json: bool) -> int:
    """Print the mistakes of all files; returns 2 if one of them is an error.

    :param names: files, directories, workflows; by default all files of the project and the person.
    """
    count = Count()
    console = results()
    try:
        found = locate(root)
        catalog, servers = build_catalog(found), _servers(found)
        for checked in _named(names, catalog, servers) if names else _all(catalog, servers):
            count.add(checked.read, checked.found, checked.shapes)
            if not as_json:
                for part in described(checked.read, checked.found):
                    tell_mistakes(console, part)
    except TideateError as error:
        fail(error, as_json=as_json)
        return 2
    wrong = bool(count.errors)
    if as_json:
        print_json(
            {"ok": not wrong, "errors": count.errors, "warnings": count.warnings, "files": count.reports}
        )
    elif not count.files:
        messages().print("there are no files of workflows, neither the project's nor yours", style="yellow")
    else:
        console.print(str(count), style="bold" if wrong else "green")
    return 2 if wrong else 0


def _servers(root: Path | None) -> frozenset[str]:
    """Return the MCP servers that a step may name, also those that wait for trust."""
    loaded = load(root)
    own = () if root is None else OWN_SERVERS
    return frozenset({*own, *loaded.config.mcp.servers, *loaded.untrusted_servers})


def _all(catalog: Catalog, servers: frozenset[str]) -> Iterator[_Checked]:
    for file in catalog.files():
        label = _label(file.path)
        if file.problem:
            yield _Checked(Unreadable(label, file.problem.removeprefix(f"{file.path}: ")))
        else:
            yield _check(label, file.path, catalog, servers)


def _named(names: tuple[str, ...], catalog: Catalog, servers: frozenset[str]) -> Iterator[_Checked]:
    """Check all that is named, each file once; what cannot be read does not stop the others."""
    seen: set[Path] = set()
    for name in names:
        try:
            for label, path in _files(name, catalog):
                if real(path) not in seen:
                    yield _check(label, path, catalog, servers)
                seen.add(real(path))
        except TideateError as error:
            yield _Checked(Unreadable(name, str(error)))


def _files(name: str, catalog: Catalog) -> Iterator[tuple[str, Path]]:
    """Give what one name stands for, each with how it is called in messages.

    A workflow of that name comes first, as it does where one is run.
    """
    if name == STDIN:
        raise InvalidInput(
            "a definition is not read from stdin; for a machine there is `tideate machine check -`"
        )
    path = expanded(name)
    if not is_workflow_path(name) and name in catalog.names():
        file = catalog.file_of(name)
        if file is None:
            raise InvalidInput(f"the workflow {name!r} is in no file; there is nothing to check")
        yield _label(file), file
    elif _is_directory(path):
        yield from _below(path)
    elif is_workflow_path(name):
        yield name, path
    else:
        catalog.file_of(name)  # tells what is known
        yield name, path


def _check(label: str, path: Path, catalog: Catalog, servers: frozenset[str]) -> _Checked:
    try:
        text = read_machine_text(path)
    except InvalidDefinition as error:
        return _Checked(Unreadable(label, str(error).removeprefix("is ")))
    if not is_definition_path(path.name):
        source = Source(label, path, text)
        found = source.parse().diagnostics
        shapes = ({**diagnostic_json(one), "end_line": one.position.line} for one in found)
        return _Checked(source, found, tuple(shapes))
    known = replace(catalog.known_names(path), servers=servers)
    parsed = parse_definition(path, text, known, label)
    # lines end as the parser and editors see them
    source = Source(label, path, re.sub(r"\r\n?", "\n", text))
    mistakes = parsed.mistakes
    return _Checked(source, tuple(map(_diagnostic, mistakes)), tuple(one._asdict() for one in mistakes))


def _diagnostic(mistake: FileMistake) -> Diagnostic:
    length = mistake.end_column - mistake.column if mistake.end_line == mistake.line else TO_THE_END
    words = f"{mistake.message}; {mistake.hint}" if mistake.hint else mistake.message
    return Diagnostic(Position(mistake.line, mistake.column), max(1, length), mistake.severity, "", words)


def _below(directory: Path) -> Iterator[tuple[str, Path]]:
    """Give the machines below a directory, and the definitions that are where definitions are."""
    found = False
    errors: list[OSError] = []
    for place, folders, files in os.walk(directory, onerror=errors.append):
        folders[:] = sorted(set(folders) - NEVER_SEARCHED)
        for file in sorted(filter(partial(_is_workflow, Path(place, "").resolve()), files)):
            found = True
            yield str(Path(place, file)), Path(place, file)
    if errors:
        raise InvalidInput(f"{errors[0].filename} cannot be read: {errors[0].strerror}")
    if not found:
        raise InvalidInput("there is no file of a workflow in this directory")


def _is_workflow(place: Path, file: str) -> bool:
    # other files in YAML and JSON are everywhere
    return is_machine_name(file) or (place.name == "workflows" and is_definition_name(file))


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False  # longer than any name can be


def _label(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
