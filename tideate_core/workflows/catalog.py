"""Catalog of all workflows by name or path: registered ones and files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.errors import InvalidDefinition, UnknownWorkflow
from tideate_core.project import expand_home
from tideate_core.workflows.checking import KnownNames
from tideate_core.workflows.loading import FileCache, load, parse_text
from tideate_core.workflows.registration import Registration, check_kept, check_trust
from tideate_core.workflows.step_definition import KNOWN_AGENTS
from tideate_core.workflows.workflow_files import (
    WorkflowFile,
    find_files,
    is_definition_name,
    is_machine_name,
    is_workflow_path,
    shown_path,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from tideate_core.workflows.definitions import WorkflowDefinition
    from tideate_core.workflows.loading import TextFormat
    from tideate_core.workflows.registry import WorkflowRegistry
    from tideate_core.workflows.workflow_files import Source


@dataclass(slots=True)
class _Files:
    used: dict[str, WorkflowFile] = field(default_factory=dict)
    """The winning file by name."""
    problems: list[WorkflowFile] = field(default_factory=list)
    shadows: dict[str, str] = field(default_factory=dict)
    """By name: notices about project files that hide another workflow of that name."""


class Catalog:
    """Finds workflows by name or path.

    The first match wins: a built-in or editor graph, a file of the project's `.tideate/workflows/`, one of
    the person's, a workflow of a package, a built-in machine. A machine's file replaces no graph; a
    definition's file may replace a package's. Directories are listed at each call; a file is parsed again
    only after a change.

    :param root: the project; None outside of any.
    :param cwd: base of relative paths; by default the process's directory.
    :param agents: returns the agents that steps may name; by default only the assistant.
    :param tools: returns the names of tideate's own tools; None: they are not checked.
    """

    def __init__(
        self,
        registry: WorkflowRegistry,
        root: Path | None,
        *,
        cwd: Path | None = None,
        agents: Callable[[], frozenset[str]] = lambda: KNOWN_AGENTS,
        tools: Callable[[], Collection[str]] | None = None,
    ) -> None:
        self._registry = registry
        self._root = root
        self._cwd = cwd
        self._agents = agents
        self._tools = tools
        self._cache = FileCache()

    @property
    def notices(self) -> list[str]:
        """Packages and files that are left out, with the reason."""
        files = self._files()
        read = (self._parse(file, files) for file in files.used.values())
        return [
            *self._registry.notices,
            *(file.problem for file in files.problems),
            *files.shadows.values(),
            *(notice for notice in read if isinstance(notice, str)),
        ]

    def notices_of(self, name: str) -> list[str]:
        """Return the notices about one workflow, without reading a file."""
        files = self._files()
        problems = [file.problem for file in files.problems if file.is_directory or file.name == name]
        shadow = files.shadows.get(name)
        return [*self._registry.notices, *problems, *([shadow] if shadow else [])]

    def get(self, name: str, *, obfuscate: bool = False) -> Registration:
        """Return a workflow that may run.

        :param name: a name, or the path of a file: it contains `/` or ends in `.workflow`, `.yaml`, `.yml` or
            `.json`. If no workflow has the name, it may also be a file's.
        :param obfuscate: replace the names of states by tokens.
        :raises UnknownWorkflow: with the nearest name.
        :raises InvalidWorkflowFile: the machine's file has mistakes; all are listed.
        :raises InvalidDefinitionFile: the definition's file has mistakes; all are listed.
        :raises InvalidDefinition: the file cannot be used, or must be trusted first.
        :raises InvalidInput: only a machine can be obfuscated.
        """
        found = self.look_at(name)
        check_trust(found, self.look_at)
        return found.obfuscated(self._root) if obfuscate else found

    def kept(
        self, definition: WorkflowDefinition, source: Source, path: Path | None, *, opened: bool = False
    ) -> Registration:
        """Return a run's stored workflow, for a run that started with another definition.

        :param definition: the definition that the run started with.
        :param opened: the run came in a bundle.
        :raises InvalidDefinition: the run cannot or may not continue; the message continues "the definition
            …".
        """
        kept = self._registry.with_handlers(Registration(definition, {}, source, path))
        check_kept(kept, self.look_at, opened=opened)
        return kept

    def parse(self, text: str, format: TextFormat, name: str) -> Registration:  # noqa: A002
        """Return the workflow of a text that is not in a file.

        :raises TideateError: as `parse_text`.
        """
        known = self.known_names(Path(name))
        return self._registry.with_handlers(parse_text(text, format, name, known))

    def look_at(self, name: str) -> Registration:
        """Return a workflow to show; before it runs, its file may have to be trusted.

        :raises TideateError: as `get`.
        """
        found = self._look_up(name)
        if not isinstance(found, WorkflowFile):
            return found
        read = self._parse(found)
        if isinstance(read, str):
            # read again, so that the error lists all mistakes
            read = load(found, self.known_names(found.path) if found.is_definition else None)
        return self._registry.with_handlers(read)

    def file_of(self, name: str) -> Path | None:
        """Return the file that `get` would read for this name, None for a workflow that is in no file.

        :raises UnknownWorkflow: with the nearest name.
        :raises InvalidDefinition: the file cannot be used.
        """
        found = self._look_up(name)
        return found.path if isinstance(found, WorkflowFile) else None

    def list(self) -> list[Registration]:
        """Return all workflows sorted by name; `notices` lists files that could not be read."""
        known = self._registered()
        files = self._files()
        for name, file in files.used.items():
            read = self._parse(file, files)
            if isinstance(read, str):
                # as in `get`: a file with mistakes still hides its namesakes
                known.pop(name, None)
            else:
                known[name] = self._registry.with_handlers(read)
        return [known[name] for name in sorted(known)]

    def names(self) -> tuple[str, ...]:
        """Return the names of all workflows; files are not read and may have mistakes."""
        return tuple(sorted({*self._registered(), *self._files().used}))

    def files(self) -> tuple[WorkflowFile, ...]:
        """Return all files of the project and the person, including unusable ones, sorted by path."""
        found = self._files()
        files = [file for file in (*found.used.values(), *found.problems) if file.source != "builtin"]
        return tuple(sorted(files, key=lambda file: (file.source, file.path)))

    def known_names(self, path: Path, files: _Files | None = None) -> KnownNames:
        """Return the names that steps of a definition in this file may use."""
        files = files or self._files()
        handlers = frozenset(self._registry.handlers_for(path.stem))
        machines = {name: known.kind == "machine" for name, known in self._registered().items()}
        machines |= {name: not file.is_definition for name, file in files.used.items()}
        of_machines = frozenset(filter(machines.get, machines))
        return KnownNames(handlers, frozenset(machines), of_machines, self._agents(), tools=self._tools)

    def _registered(self) -> dict[str, Registration]:
        return {known.definition.name: known for known in self._registry.list()}

    def _look_up(self, name: str) -> Registration | WorkflowFile:
        if is_workflow_path(name):
            return self._at_path(name)
        known = self._registered()
        if name in known and known[name].kind == "graph" and known[name].source != "package":
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
        return (self._cwd or Path.cwd()) / expand_home(name)

    def _at_path(self, name: str) -> WorkflowFile:
        path = self._place(name)
        _check_exists(path)
        file = WorkflowFile(path, "file")
        if taken := self._taken(file):
            raise InvalidDefinition(taken)
        return file

    def _taken(self, file: WorkflowFile) -> str:
        """Return why a file cannot replace a graph of its name; empty if it can."""
        path, known = file.path, self._registered().get(file.name)
        if known is None or known.kind == "machine" or (known.source == "package" and file.is_definition):
            return ""
        return f"{path} was not used: {path.stem!r} is a workflow already ({known.source}); rename the file"

    def _files(self) -> _Files:
        """List the winning files by name, and the problems of others."""
        registered = self._registered()
        found = _Files()
        for file in find_files(self._root):
            if problem := "" if file.source == "builtin" else file.problem or self._taken(file):
                found.problems.append(replace(file, problem=problem))
                continue
            first = found.used.get(file.name)
            if first is not None and first.path.parent == file.path.parent:
                problem = f"{file.path} was not used: {first.path.name} has the same name; rename one of them"
                found.problems.append(replace(file, problem=problem))
                continue
            if first is None and not (file.source == "builtin" and file.name in registered):
                found.used[file.name] = first = file
            hides = first is not file or file.name in registered
            if hides and first is not None and first.source == "project" and file.name not in found.shadows:
                found.shadows[file.name] = f"this project's own {file.name} is used: {first.path}"
        return found

    def _parse(self, file: WorkflowFile, files: _Files | None = None) -> Registration | str:
        """Return a file's workflow, cached until it changes, or a notice about its first mistake."""
        if not file.is_definition:
            return self._cache.read(file, None)
        return self._cache.read(file, self.known_names(file.path, files))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False  # longer than any name can be


def _check_exists(path: Path) -> None:
    """Reject a missing path; suggest the nearest file beside it."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        # by stem: suffixes make all names similar
        files = {
            file.stem: file.name
            for file in beside
            if is_machine_name(file.name) or is_definition_name(file.name)
        }
        from tideate_core.errors import nearest

        near = nearest(path.stem, files)
        hint = f"; did you mean {files[near]!r}?" if near else ""
        raise InvalidDefinition(f"{shown_path(path)} cannot be read: {error.strerror}{hint}") from error
    except (OSError, ValueError):
        return  # reading the file reports it
