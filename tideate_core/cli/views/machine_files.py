"""Locate and read `.workflow` files: a file, a directory of them, stdin, or a workflow by name."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.cli.arguments import STDIN
from tideate_core.cli.location import locate
from tideate_core.cli.views.project import build_catalog
from tideate_core.errors import InvalidDefinition, InvalidInput, TideateError, UnknownWorkflow
from tideate_core.project import expanded, real

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.machines.language import Parsed
    from tideate_core.workflows import (
        MachineWorkflow,
        Registration,
    )

__all__ = ["NEVER_SEARCHED", "Source", "Unreadable", "machine_state", "open_machine", "read_sources"]

NEVER_SEARCHED = frozenset({".git", ".hg", ".venv", "node_modules"})


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
                place = None if path is None else real(path)
                if place not in seen:
                    yield _read(label, path)
                seen.add(place)
        except TideateError as error:
            yield Unreadable(name, str(error))


def open_machine(
    name: str, root: str | None, *, obfuscate: bool = False, called: str | None = None
) -> MachineWorkflow:
    """Return the machine that FILE names; obfuscated, it has tokens for names.

    :param called: the workflow's name, for stdin, which has none; the tokens depend on it.
    :raises InvalidWorkflowFile: it has mistakes.
    :raises TideateError: it cannot be found or read, or is no machine.
    """

    from tideate_core.workflows import MachineWorkflow

    found = locate(root)
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

    path = expanded(name)
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
        path = build_catalog(locate(root)).file_of(name)
    except UnknownWorkflow:
        return None
    if path is None:
        return None
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path), path


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False  # longer than any name can be


def _machines_below(directory: Path) -> Iterator[tuple[str, Path] | Unreadable]:
    from tideate_core.workflows import is_machine_name

    found = False
    errors: list[OSError] = []
    for place, folders, files in os.walk(directory, onerror=errors.append):
        folders[:] = sorted(set(folders) - NEVER_SEARCHED)
        for file in sorted(filter(is_machine_name, files)):
            found = True
            yield str(Path(place, file)), Path(place, file)
    yield from (Unreadable(str(error.filename), f"cannot be read: {error.strerror}") for error in errors)
    if not found and not errors:
        raise InvalidInput("there is no *.workflow file in this directory")


def _read(label: str, path: Path | None) -> Source | Unreadable:
    from tideate_core.workflows import read_machine_stream, read_machine_text

    try:
        text = read_machine_stream(sys.stdin.buffer) if path is None else read_machine_text(path)
    except InvalidDefinition as error:
        return Unreadable(label, str(error).removeprefix("is "))
    return Source(label, path, text)
