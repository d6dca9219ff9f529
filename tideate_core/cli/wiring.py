"""Wiring of the rooms for the shell."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core import config
from tideate_core.app import open_store
from tideate_core.builtin import register_builtin
from tideate_core.cli.logs import log_to_file
from tideate_core.cli.places import locate
from tideate_core.engine import WorkflowRunner
from tideate_core.project import config_dir, project_state, state_dir
from tideate_core.workflows import Catalog, PromptLibrary, WorkflowRegistry
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tideate_core.config import LoadedConfig
    from tideate_core.engine import FrontEnd

__all__ = ["Project", "build_catalog", "locate", "log_to_file", "open_project", "open_runner"]


@dataclass(frozen=True, slots=True)
class Project:
    """Where the command works, and under which configuration."""

    root: Path | None
    """The project's, None outside of any."""
    workspace: Workspace
    directory: Path
    """What paths are shown relative to: the root, else the working directory."""
    loaded: LoadedConfig

    @property
    def private(self) -> Path:
        """Where the journal is; it may not exist yet."""
        return project_state(self.root)


def build_catalog(root: Path | None) -> Catalog:
    """Return every workflow there is outside of an editor, the `.workflow` files of a project included.

    :param root: the project's, None outside of any.
    """
    registry = WorkflowRegistry()
    register_builtin(registry)
    registry.load_packages()
    return Catalog(registry, root)


def open_project(root: str | None) -> Project:
    """Find the project and read its configuration.

    :param root: the directory that `--root` names, None to search upwards from the working directory.
    :raises ConfigError: the directory does not exist, or a configuration file is wrong.
    """
    found = locate(root)
    loaded = config.load(found)
    workspace = _workspace(found, loaded.config.limits.max_file_kib * 1024)
    return Project(found, workspace, found or Path.cwd().resolve(), loaded)


def _workspace(root: Path | None, max_bytes: int) -> Workspace:
    """Return the workspace of a root; outside of a project, of the working directory.

    The home directory and `/` are none unless they are a project: that would be all that a person owns.
    """
    if root is not None:
        return Workspace(root, max_bytes=max_bytes)
    here = Path.cwd().resolve()
    everything = here in (Path.home().resolve(), Path(here.anchor))
    return Workspace(None if everything else here, private=state_dir(), max_bytes=max_bytes)


@asynccontextmanager
async def open_runner(project: Project, catalog: Catalog, front: FrontEnd) -> AsyncIterator[WorkflowRunner]:
    """Give a runner, and free its adapters, MCP servers and store afterwards."""
    from tideate_core.adapters import AdapterPool
    from tideate_core.mcp.client import MCPClient

    pool = AdapterPool(project.loaded.config)
    servers = MCPClient.of_project(project.directory, project.loaded, project=project.root is not None)
    runner = WorkflowRunner(
        catalog,
        pool,
        project.loaded.config,
        front,
        lambda _request: project.workspace,
        PromptLibrary([config_dir() / "prompts"], project=project.root),
        lambda: open_store(project.root),
        tools=servers,
    )
    try:
        yield runner
    finally:
        await runner.aclose()
        await servers.aclose()
        await pool.aclose()
