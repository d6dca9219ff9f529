"""All workflows that can be named: those of the registry, and the machines in files."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import InvalidDefinition, InvalidWorkflowFile, UnknownWorkflow
from tideate_core.project import expanded
from tideate_core.workflows.machine_files import (
    MachineFile,
    find_machine_files,
    is_machine_name,
    is_machine_path,
    load_machine,
    shown_path,
)
from tideate_core.workflows.registry import Registration

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from tideate_core.workflows.definitions import Needs
    from tideate_core.workflows.machine_workflow import MachineWorkflow
    from tideate_core.workflows.registry import Source, WorkflowRegistry

__all__ = ["Catalog"]

BUILTIN_CONFIRM: Final[Mapping[str, frozenset[str]]] = {"PLANNER": frozenset({"execution"})}
"""States of built-in machines, and of files that take their place, before which the person is asked."""
BUILTIN_NEEDS: Final[Mapping[str, tuple[Needs, ...]]] = {"PLANNER": ("prompt",)}
SETTLED: Final = 1_000_000_000
"""Nanoseconds within which a file may change twice and keep its times."""


@dataclass(slots=True)
class _Files:
    used: dict[str, MachineFile] = field(default_factory=dict)
    """By name: those that have the say."""
    problems: list[MachineFile] = field(default_factory=list)
    shadows: dict[str, str] = field(default_factory=dict)
    """By name: that a project's file takes the place of what the person may expect."""


class Catalog:
    """Finds workflows by name or path.

    The first that has a name wins: a graph of the registry, a file of the project's `.tideate/workflows/`,
    one of the person's, a machine of the registry, a built-in machine. Directories are listed at each call, a
    file is parsed again only when it changed.

    :param root: the project; None outside of any.
    :param cwd: where relative paths begin, by default where the process is.
    """

    def __init__(self, registry: WorkflowRegistry, root: Path | None, *, cwd: Path | None = None) -> None:
        self._registry = registry
        self._root = root
        self._cwd = cwd
        self._parsed: dict[Path, tuple[tuple[int, ...], MachineWorkflow | str]] = {}

    @property
    def notices(self) -> list[str]:
        """What a person should be told: packages and files whose workflows are left out, and why."""
        files = self._files()
        read = (self._parse(file) for file in files.used.values())
        return [
            *self._registry.notices,
            *(file.problem for file in files.problems),
            *files.shadows.values(),
            *(notice for notice in read if isinstance(notice, str)),
        ]

    def notices_of(self, name: str) -> list[str]:
        """What a person should be told who runs this workflow; no file is read for it."""
        files = self._files()
        problems = [file.problem for file in files.problems if file.is_directory or file.name == name]
        shadow = files.shadows.get(name)
        return [*self._registry.notices, *problems, *([shadow] if shadow else [])]

    def get(self, name: str, *, obfuscate: bool = False) -> Registration:
        """Return a workflow.

        :param name: its name, or the path of a machine file: with a `/`, or ending in `.workflow`. A name
            that no workflow has may also be that of a file.
        :param obfuscate: with tokens for the names of its states.
        :raises UnknownWorkflow: with the nearest name.
        :raises InvalidWorkflowFile: its file has mistakes; all of them are told.
        :raises InvalidDefinition: its file cannot be used.
        :raises InvalidInput: only a machine can be obfuscated.
        """
        found = self._look_up(name)
        if isinstance(found, MachineFile):
            read = self._parse(found)
            # read again where it had mistakes, so that all of them are raised
            machine = load_machine(found.path) if isinstance(read, str) else read
            found = _registration(machine, found.source)
        return found.obfuscated(self._root) if obfuscate else found

    def file_of(self, name: str) -> Path | None:
        """Return the file that `get` would read for this name, None for a workflow that is in no file.

        :raises UnknownWorkflow: with the nearest name.
        :raises InvalidDefinition: the file cannot be used.
        """
        found = self._look_up(name)
        return found.path if isinstance(found, MachineFile) else None

    def list(self) -> list[Registration]:
        """Return all workflows by name, each name once; `notices` has what could not be read."""
        known = self._registered()
        for name, file in self._files().used.items():
            read = self._parse(file)
            if isinstance(read, str):
                # as `get` does: no namesake takes the place of a file that has mistakes
                known.pop(name, None)
            else:
                known[name] = _registration(read, file.source)
        return [known[name] for name in sorted(known)]

    def _registered(self) -> dict[str, Registration]:
        return {known.definition.name: known for known in self._registry.list()}

    def _look_up(self, name: str) -> Registration | MachineFile:
        if is_machine_path(name):
            return self._at_path(name)
        known = self._registered()
        if name in known and known[name].kind == "graph":
            return known[name]
        listed = self._files()
        files = listed.used
        if name in files:
            return files[name]
        if name in known:
            return known[name]
        if _is_file(self._place(name)):
            return self._at_path(name)
        for file in listed.problems:
            if file.name == name and not file.is_directory:
                raise InvalidDefinition(file.problem)
        raise UnknownWorkflow(name, {*known, *files})

    def _place(self, name: str) -> Path:
        return (self._cwd or Path.cwd()) / expanded(name)

    def _at_path(self, name: str) -> MachineFile:
        path = self._place(name)
        _check_exists(path)
        if taken := self._taken(path):
            raise InvalidDefinition(taken)
        return MachineFile(path, "file")

    def _taken(self, path: Path) -> str:
        """Tell why a file cannot be a workflow beside the graphs; what is set for theirs is not for it."""
        known = self._registered().get(path.stem)
        if known is None or known.kind == "machine":
            return ""
        return f"{path} was not used: {path.stem!r} is a workflow already ({known.source}); rename the file"

    def _files(self) -> _Files:
        """List the files that have the say about their name, and what is wrong with others."""
        registered = self._registered()
        found = _Files()
        for file in find_machine_files(self._root):
            if problem := "" if file.source == "builtin" else file.problem or self._taken(file.path):
                found.problems.append(replace(file, problem=problem))
                continue
            first = found.used.get(file.name)
            if first is None and not (file.source == "builtin" and file.name in registered):
                found.used[file.name] = first = file
            hides = first is not file or file.name in registered
            if hides and first is not None and first.source == "project" and file.name not in found.shadows:
                found.shadows[file.name] = f"this project's own {file.name} is used: {first.path}"
        return found

    def _parse(self, file: MachineFile) -> MachineWorkflow | str:
        """Read a file, if it changed since; a notice in place of one that has mistakes."""
        # stat before read: a change in between is seen the next time
        try:
            status = file.path.stat()
        except OSError as error:
            return f"{file.path} cannot be read: {error.strerror}"
        version = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        known = self._parsed.get(file.path)
        if known and known[0] == version:
            return known[1]
        read = _load(file.path)
        if _settled(status):
            self._parsed[file.path] = version, read
        return read


def _settled(status: os.stat_result) -> bool:
    return time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > SETTLED


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False  # longer than any name can be


def _check_exists(path: Path) -> None:
    """Refuse a path that leads nowhere; the nearest file beside it is named."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        # by their stems: with the suffix all are alike
        files = {file.stem: file.name for file in beside if is_machine_name(file.name)}
        near = get_close_matches(path.stem, files, n=1)
        hint = f"; did you mean {files[near[0]]!r}?" if near else ""
        raise InvalidDefinition(f"{shown_path(path)} cannot be read: {error.strerror}{hint}") from error
    except (OSError, ValueError):
        return  # whoever reads it tells


def _load(path: Path) -> MachineWorkflow | str:
    try:
        return load_machine(path)
    except InvalidDefinition as error:
        return str(error)
    except InvalidWorkflowFile as error:
        return _first_mistake(path, error)


def _first_mistake(path: Path, error: InvalidWorkflowFile) -> str:
    from tideate_core.machines.language.model import Diagnostic

    first, *others = [
        mistake
        for mistake in error.diagnostics
        if isinstance(mistake, Diagnostic) and mistake.severity == "error"
    ]
    more = f" (and {len(others)} more)" if others else ""
    return f"{path}:{first.position.line}:{first.position.column}: {first.message}{more}"


def _registration(machine: MachineWorkflow, source: Source) -> Registration:
    # whatever file has a built-in name: to copy it must not take the person's say away
    confirm = BUILTIN_CONFIRM.get(machine.name, frozenset()) & machine.machine.states.keys()
    machine = replace(machine, confirm=confirm, needs=BUILTIN_NEEDS.get(machine.name, ()))
    return Registration(machine, {}, source)
