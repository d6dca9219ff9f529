"""Projects open in one Neovim process, each with its configuration and runner."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tideate_core import config as configuration
from tideate_core.app import (
    Project,
    find_changed_runs,
    make_catalog,
    make_runtime,
    make_snapshot_manager,
    match_run,
    moved_words,
    named_run,
    plan_commit,
    plan_trust,
    recover_before,
    roll_back,
    watch_project,
)
from tideate_core.engine import (
    Comparison,
    RunRequest,
    RunRollback,
    WorkflowRunner,
    compared_requests,
    nothing_changed_error,
)
from tideate_core.errors import ConfigError, RunNotFound, TideateError, WorkspaceError
from tideate_core.machines.diagrams import lane_rows
from tideate_core.project import find_root, make_project_state, project_state
from tideate_core.store import Reader
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from tideate_core.app import CommitPlan, ProjectRuntime, TrustPlan
    from tideate_core.engine import (
        ComparisonResult,
        FrontEnd,
        PromptPreview,
        RollbackOutcome,
        Run,
        WorkflowResult,
    )
    from tideate_core.machines.diagrams import LaneRow
    from tideate_core.mcp.client import MCPClient
    from tideate_core.snapshots import SnapshotManager
    from tideate_core.store import Status, Store
    from tideate_core.workflows import Catalog, WorkflowRegistry
    from tideate_core.workspace import Buffers, RollbackPlan

LUA_ONLY = frozenset({"python", "log_level"})


class Projects:
    """Open projects, each with a runner until its configuration changes.

    :param cwd: the working directory at the start of the host.
    :param setup: the options of `setup()`, which override all files.
    :param notify: called once with each notice about a project's configuration.
    :param opened: called at the first use of each project, with None for a folder outside any project.
    """

    def __init__(
        self,
        cwd: str,
        setup: Mapping[str, Any],
        *,
        registry: WorkflowRegistry,
        front: FrontEnd,
        buffers: Buffers,
        notify: Callable[[list[str]], None],
        opened: Callable[[Path | None], None],
    ) -> None:
        self._cwd = Path(cwd)
        self._setup = {key: value for key, value in setup.items() if key not in LUA_ONLY} if setup else {}
        self._registry = registry
        self.front = front
        self._buffers = buffers
        self._notify = notify
        self._opened = opened
        self._told: set[str] = set()
        self._looked_for: set[Path] = set()
        """Projects checked for runs under an earlier path."""
        self._catalogs: dict[Path | None, Catalog] = {}
        self._open: dict[Path, list[ProjectRuntime]] = {}
        self._closing: asyncio.Task[None] | None = None
        self._watches: dict[Path, asyncio.Task[None]] = {}

    @property
    def under_way(self) -> dict[str, Status]:
        """The runs under way in this process, with their present status."""
        return {run.id: run.machine.state.value for _, run in self._under_way()}

    @property
    def runners(self) -> list[WorkflowRunner]:
        return [project.runner for projects in self._open.values() for project in projects]

    def load(self) -> configuration.LoadedConfig:
        """Load the configuration of the project where the editor started.

        :raises ConfigError: it is invalid.
        """
        root = find_root(self._cwd)
        loaded = self._load(root)
        self._open_first(root, loaded)
        return loaded

    def _open_first(self, root: Path | None, loaded: configuration.LoadedConfig) -> None:
        self._opened(root)
        if root is not None and loaded.config.watch.enabled and root not in self._watches:
            self._watches[root] = asyncio.create_task(self._watch(root, loaded.config))

    async def _watch(self, root: Path, config: configuration.Config) -> None:
        def trouble(words: str) -> None:
            if words not in self._told:
                self._told.add(words)
                self._notify_one(f"no snapshot of {root} was made: {words}")

        try:
            await watch_project(root, config, wait=True, tell=lambda _made: None, trouble=trouble)
        except TideateError as error:
            trouble(str(error))

    def _load(self, root: Path | None) -> configuration.LoadedConfig:
        loaded = configuration.load_config(root, self._setup)
        news = [notice for notice in loaded.notices if notice not in self._told]
        if news:
            self._told.update(news)
            self._notify(news)
        return loaded

    async def run(self, request: RunRequest) -> WorkflowResult:
        """Run a workflow in the project of its buffer, else of its working directory."""
        runner, placed = await self._placed(request)
        return await runner.run(placed)

    async def compare(self, request: RunRequest, adapters: Sequence[str]) -> ComparisonResult:
        """Run one request with several models, in the project that `run` would use.

        :raises InvalidInput: the models cannot be compared; the message says why.
        :raises UnknownAdapter: no model has this name.
        """
        requests = compared_requests(request, adapters)
        runner, _ = await self._placed(requests[0])
        placed = [(await self._placed(one))[1] for one in requests]
        return await Comparison(runner, self.front).run(placed)

    async def _placed(self, request: RunRequest) -> tuple[WorkflowRunner, RunRequest]:
        """Return the runner for a request, and the request with its working directory."""
        root = self._root(request)
        context = request.context.model_copy(update={"cwd": str(root)})
        project = self._project(root)
        await self._recover(find_root(root))
        return project.runner, request.model_copy(update={"context": context})

    async def preview(self, request: RunRequest) -> PromptPreview:
        """Return the first prompt of the run that `run` would start; start and recover nothing.

        :raises TideateError: the run could not start; the message says why.
        """
        root = self._root(request)
        context = request.context.model_copy(update={"cwd": str(root)})
        return await self._project(root).runner.preview(request.model_copy(update={"context": context}))

    async def recover(self, folder: str | None = None) -> None:
        """Announce and roll back an interrupted restore of a snapshot in a folder's project."""
        await self._recover(self.root(folder))

    async def tell_moved(self, root: Path | None) -> None:
        """Announce, once for each project, that a missing project may own its runs."""
        if root is not None and root not in self._looked_for:
            self._looked_for.add(root)
            if words := await asyncio.to_thread(moved_words, root):
                self._notify(words)

    async def _recover(self, root: Path | None) -> None:
        await self.tell_moved(root)
        await recover_before(root, self._notify_one, self._buffers)

    def _notify_one(self, words: str) -> None:
        self._notify([words])

    def runner(self, folder: str | None = None) -> WorkflowRunner:
        """Return the runner of a folder's project.

        :raises ConfigError: the project's configuration is invalid.
        """
        return self._project(self.root(folder) or self._folder(folder)).runner

    def root(self, folder: str | None = None) -> Path | None:
        """Return the project of a folder, by default the folder where the editor started."""
        return find_root(self._folder(folder))

    def _folder(self, folder: str | None) -> Path:
        return Path(folder) if folder else self._cwd

    def catalog(self, folder: str | None = None) -> Catalog:
        """Return the workflows of a folder's project, by default the folder where the editor started."""
        root = self.root(folder)
        return self._catalogs.setdefault(root, make_catalog(self._registry, root, cwd=self._cwd))

    def runner_of(self, execution_id: str) -> WorkflowRunner:
        """Return the runner of a running execution.

        :raises RunNotFound: no running execution has this id.
        """
        for runner in self.runners:
            if any(execution.id == execution_id for execution in runner.running):
                return runner
        raise RunNotFound(execution_id)

    async def rollback(self, execution_id: str, folder: str | None = None) -> RollbackOutcome:
        """Roll back the changes of a run and of its child runs; cancel the run if it could continue.

        :param execution_id: the start of an id is enough; `last` means the newest run.
        :param folder: look in its project too, besides the open projects.
        :raises RunNotFound: no open project has this run.
        :raises RunIsOwned: the run is under way.
        :raises InvalidInput: the run changed no file, or several ids start so.
        :raises RollbackConflict: a file changed since; nothing was restored.
        """
        root, run, members = await self._changes(execution_id, folder)
        await self.tell_moved(find_root(root))
        return await roll_back(
            find_root(root),
            run,
            members,
            self._notify_one,
            place=root,
            buffers=self._buffers,
            open_store=partial(self._store, root),
        )

    async def rollback_preview(self, wanted: str, folder: str | None = None) -> tuple[str, RollbackPlan]:
        """Return the id of a run and the plan of its rollback, without restoring anything.

        Parameters and errors are the same as in `rollback`.
        """
        root, run, members = await self._changes(wanted, folder)
        return run, await RunRollback(root, project_state(find_root(root)), self._buffers).plan(members)

    async def commit_plan(self, wanted: str, folder: str | None = None) -> CommitPlan:
        """Plan the commit of a run's changes; parameters as in `rollback`."""
        root, run, members = await self._changes(wanted, folder)
        project = find_root(root)
        return await plan_commit(project, project_state(project), run, members)

    async def _changes(self, wanted: str, folder: str | None) -> tuple[Path, str, list[str]]:
        """Return the project, the id and the child runs of a run with changed files."""
        here = self.root(folder) or self._folder(folder)
        started = find_root(self._cwd) or self._cwd
        wanted = await asyncio.to_thread(named_run, project_state(find_root(here)), wanted)
        for root in dict.fromkeys([*self._open, here, started]):
            private = project_state(find_root(root))
            changed = await asyncio.to_thread(find_changed_runs, private, self._notify_one)
            if (run := match_run(changed, wanted)) is not None:
                return root, run, changed[run]
        reader = Reader(project_state(find_root(here)))
        raise await asyncio.to_thread(nothing_changed_error, reader, wanted)

    @asynccontextmanager
    async def _store(self, root: Path) -> AsyncIterator[Store]:
        """Yield the store of an open project without closing it."""
        yield await self._project(root).runner.store()

    def plan_trust(self, path: str | None, folder: str | None = None) -> TrustPlan:
        """Return the plan to trust a file, else the files and commands of a project; blocking.

        :param folder: a folder of the project, by default the folder where the editor started.
        :raises ConfigError: there is nothing to trust, or a file cannot be read.
        """
        start = self._folder(folder) if path is None else Path(path)
        root = find_root(start)
        if root is None:
            raise ConfigError(f"{start} is in no project; there is nothing to trust")
        return plan_trust(root, make_catalog(self._registry, root), None if path is None else Path(path))

    def config(self, folder: str | None = None) -> configuration.Config:
        """Return the configuration of a folder's project.

        :raises ConfigError: it is invalid.
        """
        return self._load(self.root(folder)).config

    def project(self, folder: str | None = None) -> Project:
        """Return a folder's project with its workspace and configuration.

        :raises ConfigError: the folder is in no project, or its configuration is invalid.
        """
        root = self.root(folder)
        if root is None:
            raise ConfigError("this folder is in no project; create `.tideate` in the folder of the project")
        return Project(root, self.workspace(str(root)), root, self._load(root))

    def servers(self, folder: str | None = None) -> MCPClient:
        """Return the MCP servers of a folder's project."""
        return self._project(self.root(folder) or self._folder(folder)).servers

    def workspace(self, folder: str | None = None) -> Workspace:
        """Return the workspace of a folder's project."""
        limits = self._load(self.root(folder)).config.limits
        return self._workspace(self.root(folder) or self._folder(folder), limits)

    def snapshots(self, root: Path | None) -> SnapshotManager:
        """Return the snapshots of a project.

        :raises ConfigError: the folder is in no project, or its configuration is invalid.
        """
        if root is None:
            raise ConfigError("this folder is in no project; make `.tideate` in the one to take snapshots of")
        return make_snapshot_manager(root, self._load(root).config.snapshots, self._buffers)

    def root_of(self, execution_id: str) -> Path | None:
        """Return the root of the project of a run under way, else None."""
        return next((root for root, run in self._under_way() if run.id == execution_id), None)

    def outermost_of(self, execution_id: str) -> str:
        """Return the outermost run around a run under way."""
        found = (run.outermost.id for _, run in self._under_way() if run.id == execution_id)
        return next(found, execution_id)

    def lanes_of(self, execution_id: str) -> dict[str, LaneRow]:
        """Return the lanes beside the steps of a run under way."""
        graph = next((run.driver.graph() for _, run in self._under_way() if run.id == execution_id), None)
        return lane_rows(graph.execution_order, graph.edges) if graph else {}

    def _under_way(self) -> Iterator[tuple[Path, Run]]:
        for root, projects in self._open.items():
            for project in projects:
                yield from ((root, run) for run in project.runner.running)

    async def aclose(self) -> None:
        """Close the stores and adapters, after the end of all runs; end the watches."""
        for task in self._watches.values():
            task.cancel()
        await asyncio.gather(*self._watches.values(), return_exceptions=True)
        await asyncio.gather(*(project.aclose() for projects in self._open.values() for project in projects))

    async def health(self) -> list[dict[str, Any]]:
        """Return the checks of the Python half for `:checkhealth`."""
        from tideate_core.process import enclosure_support  # needed only here
        from tideate_core.snapshots import scratch_support

        version = ".".join(str(part) for part in sys.version_info[:3])
        checks = [{"name": "python", "ok": True, "message": f"Python {version} ({sys.executable})"}]
        try:
            root = find_root(self._cwd)
            project = self._project(root or self._cwd)
            scratch = await asyncio.to_thread(scratch_support, root)
        except ConfigError as error:
            return [*checks, {"name": "config", "ok": False, "message": str(error)}]
        loaded = project.loaded
        files = ", ".join(str(path) for path in loaded.sources) or "defaults"
        checks.append({"name": "config", "ok": True, "message": f"configuration from {files}"})
        checks += [{"name": "trust", "ok": False, "message": notice} for notice in loaded.notices] or [
            {"name": "trust", "ok": True, "message": "no configuration of this project waits for trust"}
        ]
        checks.append({"name": "scratch copies", "ok": True, "message": scratch.words})
        enclosed = await asyncio.to_thread(enclosure_support)
        checks.append({"name": "guarded agents", "ok": not enclosed.reason, "message": enclosed.words})
        notices = self.catalog().notices
        checks += [{"name": "workflows", "ok": False, "message": notice} for notice in notices]
        try:
            answer = await project.adapters.get(loaded.config.adapter).check()
            checks.append({"name": "adapter", "ok": True, "message": answer})
        except TideateError as error:
            checks.append({"name": "adapter", "ok": False, "message": str(error)})
        return checks

    def _root(self, request: RunRequest) -> Path:
        buffer = request.context.buffer
        if buffer and buffer.path:
            folder = Path(buffer.path).parent
            return find_root(folder) or folder
        folder = Path(request.context.cwd or self._cwd)
        if not folder.is_dir():
            raise WorkspaceError("the working directory was deleted; change to another one with `:cd`")
        return find_root(folder) or folder

    def _project(self, root: Path) -> ProjectRuntime:
        loaded = self._load(find_root(root))
        if root not in self._open:
            self._open_first(find_root(root), loaded)
        projects = self._open.setdefault(root, [])
        for project in list(projects):
            if project.loaded.config == loaded.config:
                return project
            if not project.runner.running:
                projects.remove(project)
                self._closing = asyncio.create_task(project.aclose())
        runtime = make_runtime(
            find_root(root),
            root,
            loaded,
            self.catalog(str(root)),
            self.front,
            lambda request: self._workspace(Path(request.context.cwd), loaded.config.limits),
        )
        projects.append(runtime)
        return runtime

    def _workspace(self, root: Path, limits: configuration.LimitsConfig) -> Workspace:
        private = make_project_state(find_root(root))
        return Workspace(root, buffers=self._buffers, private=private, max_bytes=limits.max_file_kib * 1024)


class FolderRequests:
    """Base of requests about a folder's project, by default the folder where the editor started."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects

    def _root(self, params: dict[str, Any]) -> Path | None:
        return self._projects.root(params.get("folder"))
