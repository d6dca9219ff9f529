"""All workflows that can be named: those of the registry, and the machines in files."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tideate_core.errors import InvalidDefinition, InvalidWorkflowFile, UnknownWorkflow
from tideate_core.workflows.machine_files import find_machine_files, is_machine_path, load_machine
from tideate_core.workflows.registry import Registration

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from tideate_core.workflows.definitions import Needs
    from tideate_core.workflows.machine_files import MachineFile
    from tideate_core.workflows.machine_workflow import MachineWorkflow
    from tideate_core.workflows.registry import Source, WorkflowRegistry

__all__ = ["Catalog"]

BUILTIN_CONFIRM: Final[Mapping[str, frozenset[str]]] = {"PLANNER": frozenset({"execution"})}
"""States of built-in machines before which the person is asked."""
BUILTIN_NEEDS: Final[Mapping[str, tuple[Needs, ...]]] = {"PLANNER": ("prompt",)}
SETTLED: Final = 1_000_000_000
"""Nanoseconds within which a file may change twice and keep its times."""


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
        files, problems = self._files()
        read = (self._parse(file) for file in files.values())
        return [*self._registry.notices, *problems, *(notice for notice in read if isinstance(notice, str))]

    def get(self, name: str, *, obfuscate: bool = False) -> Registration:
        """Return a workflow.

        :param name: its name, or the path of a machine file: with a `/`, or ending in `.workflow`.
        :param obfuscate: with tokens for the names of its states.
        :raises UnknownWorkflow: with the nearest name.
        :raises InvalidWorkflowFile: its file has mistakes; all of them are told.
        :raises InvalidDefinition: its file cannot be used.
        :raises InvalidInput: only a machine can be obfuscated.
        """
        found = self._at_path(name) if is_machine_path(name) else self._named(name)
        return found.obfuscated(self._root) if obfuscate else found

    def list(self) -> list[Registration]:
        """Return all workflows by name, each name once; `notices` has what could not be read."""
        files, _ = self._files()
        known = self._registered()
        for name, file in files.items():
            read = self._parse(file)
            if isinstance(read, str):
                # as `get` does: no namesake takes the place of a file that has mistakes
                known.pop(name, None)
            else:
                known[name] = _registration(read, file.source)
        return [known[name] for name in sorted(known)]

    def _registered(self) -> dict[str, Registration]:
        return {known.definition.name: known for known in self._registry.list()}

    def _named(self, name: str) -> Registration:
        known = self._registered()
        if name in known and known[name].kind == "graph":
            return known[name]
        files, _ = self._files()
        if name in files:
            read = self._parse(files[name])
            # read again where it had mistakes, so that all of them are raised
            machine = load_machine(files[name].path) if isinstance(read, str) else read
            return _registration(machine, files[name].source)
        if name in known:
            return known[name]
        raise UnknownWorkflow(name, {*known, *files})

    def _at_path(self, name: str) -> Registration:
        path = (self._cwd or Path.cwd()) / Path(name).expanduser()
        if taken := self._taken(path):
            raise InvalidDefinition(taken)
        return _registration(load_machine(path), "file")

    def _taken(self, path: Path) -> str:
        """Tell why a file cannot be a workflow beside the graphs; what is set for theirs is not for it."""
        known = self._registered().get(path.stem)
        if known is None or known.kind == "machine":
            return ""
        return f"{path} was not used: {path.stem!r} is a workflow already ({known.source}); rename the file"

    def _files(self) -> tuple[dict[str, MachineFile], Sequence[str]]:
        """Return the files that have the say about their name, and what is wrong with others."""
        registered = self._registered()
        files: dict[str, MachineFile] = {}
        problems: list[str] = []
        for file in find_machine_files(self._root):
            if file.source == "builtin":
                if file.name not in registered:
                    files.setdefault(file.name, file)
            elif problem := file.problem or self._taken(file.path):
                problems.append(problem)
            else:
                files.setdefault(file.name, file)
        return files, problems

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
    if source == "builtin":
        machine = replace(
            machine,
            confirm=BUILTIN_CONFIRM.get(machine.name, frozenset()),
            needs=BUILTIN_NEEDS.get(machine.name, ()),
        )
    return Registration(machine, {}, source)
