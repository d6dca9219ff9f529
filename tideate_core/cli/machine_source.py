"""Finds and reads what FILE names: a file, a directory of files, stdin, or a workflow's name."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.cli.arguments import STDIN
from tideate_core.cli.wiring import build_catalog, locate
from tideate_core.errors import InvalidDefinition, InvalidInput, TideateError
from tideate_core.machines.language import BOUNDARY, parse
from tideate_core.workflows import MachineWorkflow, Registration
from tideate_core.workflows.machine_files import LARGEST_FILE, find_machine_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tideate_core.machines.language import Parsed

__all__ = ["Source", "Unreadable", "open_machine", "sources", "state_of"]

SUFFIX = ".workflow"
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
        return parse(self.raw, Path(self.label).stem)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something that was named and cannot be read, and why."""

    label: str
    message: str


def sources(names: tuple[str, ...], root: str | None) -> Iterator[Source | Unreadable]:
    """Read all that is named, each file once; what cannot be read does not stop the others.

    :raises InvalidInput: nothing is named.
    """
    if not names:
        raise InvalidInput("name a FILE: a .workflow file, a directory of them, a workflow's name, or -")
    seen: set[Path] = set()
    for name in names:
        try:
            for label, path in _files(name, root):
                if path is None or path.resolve() not in seen:
                    yield _read(label, path)
                if path is not None:
                    seen.add(path.resolve())
        except TideateError as error:
            yield Unreadable(name, str(error))


def open_machine(name: str, root: str | None, *, obfuscate: bool = False) -> MachineWorkflow:
    """Return the machine that FILE names; obfuscated, it has tokens for names.

    :raises InvalidWorkflowFile: it has mistakes.
    :raises TideateError: it cannot be found or read, or is no machine.
    """
    found = locate(root)
    if name == STDIN:
        known = _from_stdin()
        known = known.obfuscated(found) if obfuscate else known
    else:
        # a file of that name here is meant, whatever workflows there are
        place = str(Path(name).expanduser().resolve()) if _is_file(name) else name
        known = build_catalog(found).get(place, obfuscate=obfuscate)
    if not isinstance(known.definition, MachineWorkflow):
        raise InvalidInput(f"{name!r} is a workflow of steps, no state machine")
    return known.definition


def state_of(workflow: MachineWorkflow, name: str) -> str:
    """Return what the machine calls a state, `*` included.

    :raises InvalidInput: it has no such state.
    """
    return name if name == BOUNDARY else workflow.state_named(name)


def _is_file(name: str) -> bool:
    return "/" in name or name.endswith(SUFFIX) or _exists(name, Path.is_file)


def _exists(name: str, kind: Callable[[Path], bool]) -> bool:
    try:
        return kind(Path(name).expanduser())
    except OSError:
        return False  # longer than any name can be


def _from_stdin() -> Registration:
    source = _read("stdin", None)
    if isinstance(source, Unreadable):
        raise InvalidDefinition(f"{source.label}: {source.message}")
    return Registration(MachineWorkflow("stdin", source.parse().require("stdin")), {}, "file")


def _files(name: str, root: str | None) -> Iterator[tuple[str, Path | None]]:
    """Give what one name stands for, each with how it is called in messages."""
    path = Path(name).expanduser()
    if name == STDIN:
        yield "stdin", None
    elif name and _exists(name, Path.is_dir):
        found = list(_below(path))
        if not found:
            raise InvalidInput(f"there is no *{SUFFIX} file in this directory")
        yield from ((str(file), file) for file in found)
    elif _is_file(name):
        yield name, path
    else:
        yield _named(name, root)


def _below(directory: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(directory):
        folders[:] = sorted(set(folders) - NEVER_SEARCHED)
        yield from (Path(place, file) for file in sorted(files) if file.endswith(SUFFIX))


def _named(name: str, root: str | None) -> tuple[str, Path]:
    found = locate(root)
    path = find_machine_file(name, found)
    if path is None:
        # tells what is known, or what this is instead of a machine
        path = open_machine(name, root).path
    if path is None:
        raise InvalidInput(f"{name!r} comes from a package and has no file")
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path), path


def _read(label: str, path: Path | None) -> Source | Unreadable:
    try:
        if path is None:
            return _decode(label, path, sys.stdin.buffer.read(LARGEST_FILE + 1))
        # a pipe would wait for its writer
        if path.exists() and not path.is_file():
            return Unreadable(label, "no regular file")
        with path.open("rb") as file:
            return _decode(label, path, file.read(LARGEST_FILE + 1))
    except OSError as error:
        return Unreadable(label, f"cannot be read: {error.strerror}")


def _decode(label: str, path: Path | None, data: bytes) -> Source | Unreadable:
    if len(data) > LARGEST_FILE:
        return Unreadable(label, f"larger than {LARGEST_FILE >> 20} MiB; that is no workflow")
    if b"\0" in data:
        return Unreadable(label, "binary, not text")
    try:
        return Source(label, path, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Unreadable(label, f"not UTF-8 at byte {error.start}, in line {line}; save it as UTF-8")
