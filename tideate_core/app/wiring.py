"""Open a project: configuration, workspace, catalog, runner; make a run context from `--file`."""

from __future__ import annotations

import os
import re
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.app.roles import agent_names, own_tool_names
from tideate_core.errors import ConfigError, InvalidInput, OutsideRoot
from tideate_core.project import config_dir, expand_home, find_root, project_state, real_path, state_dir
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tideate_core.adapters import AdapterPool
    from tideate_core.app.telemetry import Telemetry
    from tideate_core.config import LoadedConfig
    from tideate_core.engine import FrontEnd, RunRequest, WorkflowRunner
    from tideate_core.mcp.client import MCPClient
    from tideate_core.workflows import Catalog, RunContext, Selection, WorkflowRegistry
    from tideate_core.workspace import Workspace

UNDECODED = re.compile("[\udc80-\udcff]")
"""Surrogate escapes: bytes that Python could not decode."""
RANGE = re.compile(r"(?P<path>.+):(?P<first>[1-9]\d*)(?:-(?P<last>[1-9]\d*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Project:
    """A project, or the working directory outside of one, with workspace and configuration."""

    root: Path | None
    """None outside of a project."""
    workspace: Workspace
    directory: Path
    """Base of shown paths: the root, else the working directory."""
    loaded: LoadedConfig

    @property
    def private(self) -> Path:
        """Directory of the store and the journal; it may not exist yet."""
        return project_state(self.root)


def locate_project(root: str | None) -> Path | None:
    """Return the named root, else the root around the working directory, else None.

    :raises ConfigError: the named root is not a directory.
    """
    if root is None:
        return find_root(Path.cwd())
    path = real_path(expand_home(root))
    if not path.is_dir():
        raise ConfigError(f"--root {root}: no such directory")
    return path


def build_catalog(root: Path | None) -> Catalog:
    """Return the catalog of built-in, packaged and file workflows, without workflows of an editor.

    :param root: None outside of a project.
    """
    from tideate_core.builtin import register_builtin
    from tideate_core.workflows import WorkflowRegistry

    registry = WorkflowRegistry()
    register_builtin(registry)
    registry.load_packages()
    return make_catalog(registry, root)


def make_catalog(registry: WorkflowRegistry, root: Path | None, *, cwd: Path | None = None) -> Catalog:
    """Return the catalog of a registry's workflows and the workflow files of the person and the project.

    :param cwd: base of relative paths. Default: the working directory of the process.
    """
    from tideate_core.workflows import Catalog

    names = partial(agent_names, root)
    return Catalog(registry, root, cwd=cwd, agents=names, tools=own_tool_names)


def open_project(root: str | None) -> Project:
    """Find a project and read its configuration.

    :param root: value of `--root`; None searches upwards from the working directory.
    :raises ConfigError: the directory does not exist, or a configuration file is invalid.
    """
    from tideate_core import config

    found = locate_project(root)
    loaded = config.load_config(found)
    workspace = _open_workspace(found, loaded.config.limits.max_file_kib * 1024)
    return Project(found, workspace, found or Path.cwd().resolve(), loaded)


@dataclass(frozen=True, slots=True)
class ProjectRuntime:
    """A project's runner with its model adapters, MCP servers and telemetry."""

    loaded: LoadedConfig
    runner: WorkflowRunner
    adapters: AdapterPool
    servers: MCPClient
    telemetry: Telemetry | None = None

    async def aclose(self) -> None:
        """Close the runner with its store, then servers, adapters and telemetry; no run may be active."""
        await self.runner.aclose()
        await self.servers.aclose()
        await self.adapters.aclose()
        if self.telemetry is not None:
            await self.telemetry.aclose()


def make_runtime(
    root: Path | None,
    directory: Path,
    loaded: LoadedConfig,
    catalog: Catalog,
    front: FrontEnd,
    workspace: Callable[[RunRequest], Workspace],
) -> ProjectRuntime:
    """Wire a project's runner; store, servers and adapters open when a run needs them.

    :param root: None outside of a project.
    :param directory: working directory of the MCP servers.
    :param workspace: returns the workspace of a run.
    """
    from tideate_core.adapters import AdapterPool
    from tideate_core.app.opening import open_store
    from tideate_core.engine import WorkflowHooks, WorkflowRunner
    from tideate_core.mcp.client import MCPClient
    from tideate_core.workflows import PromptLibrary

    adapters = AdapterPool(loaded.config, root=root)
    telemetry = None
    if loaded.config.telemetry.otlp is not None:
        from tideate_core.app.telemetry import Telemetry

        telemetry = Telemetry(loaded.config)
    servers = MCPClient.of_project(directory, loaded, project=root is not None)
    runner = WorkflowRunner(
        catalog,
        adapters,
        loaded.config,
        front,
        workspace,
        PromptLibrary([config_dir() / "prompts"], project=root),
        lambda: open_store(root),
        hooks=WorkflowHooks(on_event=telemetry.take) if telemetry else None,
        tools=servers,
    )
    return ProjectRuntime(loaded, runner, adapters, servers, telemetry)


@asynccontextmanager
async def open_runner(project: Project, catalog: Catalog, front: FrontEnd) -> AsyncIterator[WorkflowRunner]:
    """Open a project's runner; close it with its adapters, MCP servers and store on exit."""
    runtime = make_runtime(
        project.root, project.directory, project.loaded, catalog, front, lambda _request: project.workspace
    )
    try:
        yield runtime.runner
    finally:
        await runtime.aclose()


async def read_file_context(argument: str | None, project: Project) -> RunContext:
    """Return a run's context from the value of `--file`; without a range, the whole file is selected.

    :raises InvalidInput: the file name is not UTF-8.
    :raises OutsideRoot: the file is outside of the project.
    :raises NotText: the file is binary or not UTF-8.
    :raises WorkspaceError: the file cannot be read.
    """
    from tideate_core.workflows import BufferContext, RunContext, Selection

    cwd = str(project.directory)
    if argument is None:
        return RunContext(cwd=cwd)
    from tideate_core.workspace import is_writable, language_of

    name, selection = split_range(argument)
    path = _resolve(name, project.workspace)
    if not_utf8(str(path)):
        shown = visible(str(path))
        raise InvalidInput(f"--file {shown}: no model can be given a name that is not UTF-8 in this locale")
    source = await project.workspace.read(path)
    if selection is None and source.text:
        selection = Selection(start=1, end=source.text.count("\n") + 1)
    buffer = BufferContext(
        path=str(path),
        text=source.text,
        filetype=language_of(str(path)),
        modifiable=is_writable(path, path.stat().st_mode),
    )
    return RunContext(cwd=cwd, buffer=buffer, selection=selection)


def not_utf8(text: str) -> bool:
    """Return whether an argument or a name has bytes that Python could not decode."""
    return UNDECODED.search(text) is not None


def split_range(argument: str) -> tuple[str, Selection | None]:
    """Split `PATH:FIRST-LAST` or `PATH:LINE`; an existing file of exactly that name has no range.

    :raises InvalidInput: the range runs backwards.
    """
    from tideate_core.workflows import Selection

    match = RANGE.fullmatch(argument)
    # not `Path.exists`: it raises if a name is too long
    if match is None or os.path.lexists(expand_home(argument)):
        return argument, None
    first = int(match["first"])
    last = int(match["last"] or first)
    if last < first:
        raise InvalidInput(f"--file {argument}: the range ends before it begins")
    return match["path"], Selection(start=first, end=last)


def _open_workspace(root: Path | None, max_bytes: int) -> Workspace:
    """Return the workspace of a project, else of the working directory.

    Outside of a project, the home directory and `/` are no workspace: they hold all files of a person.
    """
    from tideate_core.workspace import Workspace

    if root is not None:
        return Workspace(root, max_bytes=max_bytes)
    here = Path.cwd().resolve()
    everything = here in (Path.home().resolve(), Path(here.anchor))
    return Workspace(None if everything else here, private=state_dir(), max_bytes=max_bytes)


def _resolve(name: str, workspace: Workspace) -> Path:
    """Resolve a path relative to the working directory."""
    try:
        return workspace.resolve(Path.cwd() / expand_home(name))
    except OutsideRoot as error:
        raise OutsideRoot(f"--file {name}: {error}; --root names the project that it belongs to") from error
