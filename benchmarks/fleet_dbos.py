"""The steps of a run on DBOS alone: clone, engine, push; without signatures, bundles, legs and an inbox.

``python -m benchmarks.fleet_dbos DATABASE PLACE CONCURRENCY``: a worker, until its standard input ends.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from dbos import DBOS, DBOSPortableJSONSerializer

from tideate_core.app import make_catalog, open_project, open_runner
from tideate_core.builtin import register_builtin
from tideate_core.engine import PolicyFrontEnd, RunRequest
from tideate_core.fleet import Repositories, Submission
from tideate_core.fleet.queues import POLLING
from tideate_core.fleet.repositories import TRAILER, check_out, commit_files
from tideate_core.fleet.trees import WorkTree
from tideate_core.project import make_project_state
from tideate_core.workflows import RunContext, WorkflowRegistry

NAME = "alone"


def main() -> None:
    """Run the worker."""
    url, place, concurrency = sys.argv[1:]
    register(Path(place))
    DBOS(
        config={
            "name": NAME,
            "system_database_url": url,
            "executor_id": f"alone-{os.getpid()}",
            "application_version": "1",
            "serializer": DBOSPortableJSONSerializer(),
            "log_level": "WARNING",
            "console_log_level": "WARNING",
        }
    )
    DBOS.launch()
    DBOS.register_queue(NAME, worker_concurrency=int(concurrency), polling_interval_sec=POLLING)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
    DBOS.destroy(workflow_completion_timeout_sec=0)


def register(place: Path) -> None:
    """Register the workflow with its steps."""
    repositories = Repositories(place)
    registry = WorkflowRegistry()
    register_builtin(registry)

    @DBOS.step(name="prepare")
    async def prepare(shape: dict[str, Any]) -> str:
        one = Submission.model_validate(shape)
        assert one.commit is not None
        await repositories.ensure(one.repo, one.ref, one.commit)
        return one.commit

    @DBOS.step(name="advance")
    async def advance(shape: dict[str, Any], commit: str) -> list[str]:
        one = Submission.model_validate(shape)
        tree = place / "trees" / one.run
        await check_out(await repositories.ensure(one.repo, one.ref, commit), commit, tree)
        project = await asyncio.to_thread(open_project, str(tree))
        await asyncio.to_thread(make_project_state, project.root)
        catalog = make_catalog(registry, project.root, cwd=tree)
        request = RunRequest(
            name=one.workflow, inputs=one.inputs, context=RunContext(cwd=str(tree)), execution_id=one.run
        )
        async with open_runner(project, catalog, PolicyFrontEnd(accept=True)) as runner:
            result = await runner.run(request)
        return result.files

    @DBOS.step(name="land")
    async def land(shape: dict[str, Any], files: list[str]) -> str:
        one = Submission.model_validate(shape)
        tree = place / "trees" / one.run
        commit = await commit_files(tree, files, one, one.workflow, one.at)
        assert commit is not None
        branch = f"alone/{one.run[:8]}"
        return await repositories.push(one.repo, tree, branch, commit, f"{TRAILER}: {one.run}")

    @DBOS.step(name="finish")
    async def finish(shape: dict[str, Any]) -> None:
        await asyncio.to_thread(WorkTree(place / "trees" / str(shape["run"])).forget)

    @DBOS.workflow(name=NAME)
    async def run(shape: dict[str, Any]) -> str:
        commit = await prepare(shape)
        files = await advance(shape, commit)
        landed = await land(shape, files)
        await finish(shape)
        return landed


if __name__ == "__main__":
    main()
