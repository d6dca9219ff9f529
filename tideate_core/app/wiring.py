"""Wiring of one project: configuration, workspace, workflows, and the runner."""

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
    from tideate_core.config import Config, LoadedConfig
    from tideate_core.engine import FrontEnd, RunRequest, WorkflowRunner
    from tideate_core.mcp.client import MCPClient
    from tideate_core.workflows import Catalog, RunContext, Selection, WorkflowRegistry
    from tideate_core.workspace import Workspace

__all__ = [
    "Project",
    "ProjectRuntime",
    "build_catalog",
    "locate_project",
    "make_catalog",
    "make_runtime",
    "not_utf8",
    "open_project",
    "open_runner",
    "read_file_context",
]

UNDECODED = re.compile("[\udc80-\udcff]")
"""A byte that Python could not decode."""
RANGE = re.compile(r"(?P<path>.+):(?P<first>[1-9]\d*)(?:-(?P<last>[1-9]\d*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Project:
    """A project with its workspace and configuration."""

    root: Path | None
    """The project's, None outside of any."""
    workspace: Workspace
    directory: Path
    """Base of shown paths: the root, else the working directory."""
    loaded: LoadedConfig

    @property
    def private(self) -> Path:
        """Directory of the store and the journal; it may not exist yet."""
        return project_state(self.root)


def locate_project(root: str | None) -> Path | None:
    """Return the root that was named, else the one around the working directory, else None.

    :raises ConfigError: the named one is no directory.
    """
    if root is None:
        return find_root(Path.cwd())
    path = real_path(expand_home(root))
    if not path.is_dir():
        raise ConfigError(f"--root {root}: no such directory")
    return path


def build_catalog(root: Path | None) -> Catalog:
    """Return every workflow there is outside of an editor, the `.workflow` files of a project included.

    :param root: the project's, None outside of any.
    """
    from tideate_core.builtin import register_builtin
    from tideate_core.workflows import WorkflowRegistry

    registry = WorkflowRegistry()
    register_builtin(registry)
    registry.load_packages()
    return make_catalog(registry, root)


def make_catalog(registry: WorkflowRegistry, root: Path | None, *, cwd: Path | None = None) -> Catalog:
    """Return the workflows of a registry and of files, whose steps may name agents and tools.

    :param cwd: where relative paths begin, by default where the process is.
    """
    from tideate_core.workflows import Catalog

    names = partial(agent_names, root)
    return Catalog(registry, root, cwd=cwd, agents=names, tools=own_tool_names)


def open_project(root: str | None) -> Project:
    """Find the project and read its configuration.

    :param root: the directory that `--root` names, None to search upwards from the working directory.
    :raises ConfigError: the directory does not exist, or a configuration file is wrong.
    """
    from tideate_core import config

    found = locate_project(root)
    loaded = config.load_config(found)
    workspace = _open_workspace(found, loaded.config.limits.max_file_kib * 1024)
    return Project(found, workspace, found or Path.cwd().resolve(), loaded)


@dataclass(frozen=True, slots=True)
class ProjectRuntime:
    """Runner of a project with the adapters and MCP servers that its runs use."""

    loaded: LoadedConfig
    runner: WorkflowRunner
    adapters: AdapterPool
    servers: MCPClient
    telemetry: Telemetry | None = None

    async def aclose(self) -> None:
        """Close the runner with its store, then the servers and adapters; no run may be under way."""
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
    """Wire the runner of a project; nothing is opened or connected before a run needs it.

    :param root: the project's, None outside of any.
    :param directory: of the MCP servers: the root, else the working directory.
    :param workspace: called for each run.
    """
    from tideate_core.adapters import AdapterPool
    from tideate_core.app.opening import open_store
    from tideate_core.engine import WorkflowHooks, WorkflowRunner
    from tideate_core.mcp.client import MCPClient
    from tideate_core.workflows import PromptLibrary

    adapters = AdapterPool(loaded.config)
    telemetry = _telemetry(loaded.config)
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


def _telemetry(config: Config) -> Telemetry | None:
    if config.telemetry.otlp is None:
        return None
    from tideate_core.app.telemetry import Telemetry

    return Telemetry(config)


@asynccontextmanager
async def open_runner(project: Project, catalog: Catalog, front: FrontEnd) -> AsyncIterator[WorkflowRunner]:
    """Give the runner of a project, and close it with its adapters, MCP servers and store afterwards."""
    runtime = make_runtime(
        project.root, project.directory, project.loaded, catalog, front, lambda _request: project.workspace
    )
    try:
        yield runtime.runner
    finally:
        await runtime.aclose()


async def read_file_context(argument: str | None, project: Project) -> RunContext:
    """Return what a run is about. A file that is named without a range is selected as a whole.

    :raises InvalidInput: its name is not UTF-8.
    :raises OutsideRoot: the file is not in the project.
    :raises NotText: it is binary or not UTF-8.
    :raises WorkspaceError: it cannot be read.
    """
    from tideate_core.workflows import BufferContext, RunContext, Selection
    from tideate_core.workspace import is_writable, language_of

    cwd = str(project.directory)
    if argument is None:
        return RunContext(cwd=cwd)
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
    """Tell whether a word of the command line, or a name, has bytes that were not decoded."""
    return UNDECODED.search(text) is not None


def split_range(argument: str) -> tuple[str, Selection | None]:
    """Split `PATH:FIRST-LAST` or `PATH:LINE`; a file of exactly that name is taken whole.

    :raises InvalidInput: the range runs backwards.
    """
    from tideate_core.workflows import Selection

    match = RANGE.fullmatch(argument)
    # not `Path.exists`: it fails where a name is too long for one
    if match is None or os.path.lexists(expand_home(argument)):
        return argument, None
    first = int(match["first"])
    last = int(match["last"] or first)
    if last < first:
        raise InvalidInput(f"--file {argument}: the range ends before it begins")
    return match["path"], Selection(start=first, end=last)


def _open_workspace(root: Path | None, max_bytes: int) -> Workspace:
    """Return the workspace of a root; outside of a project, of the working directory.

    The home directory and `/` are none unless they are a project: that would be all that a person owns.
    """
    from tideate_core.workspace import Workspace

    if root is not None:
        return Workspace(root, max_bytes=max_bytes)
    here = Path.cwd().resolve()
    everything = here in (Path.home().resolve(), Path(here.anchor))
    return Workspace(None if everything else here, private=state_dir(), max_bytes=max_bytes)


def _resolve(name: str, workspace: Workspace) -> Path:
    """Return a file that is named from the working directory."""
    try:
        return workspace.resolve(Path.cwd() / expand_home(name))
    except OutsideRoot as error:
        raise OutsideRoot(f"--file {name}: {error}; --root names the project that it belongs to") from error
