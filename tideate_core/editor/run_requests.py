"""Handlers of Lua's requests that change stored runs: resume, retry, fork, cancel, pause, rollback."""

from __future__ import annotations

import asyncio
import json
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tideate_core.app import (
    Cancellation,
    cancel_stored_run,
    commit_run,
    paused_in,
    read_runs,
    rollback_diffs,
    run_json,
    run_to_resume,
    short_id,
    waiting_words,
    waits_for,
)
from tideate_core.editor.fork_plans import fork_plan
from tideate_core.editor.projects import FolderRequests
from tideate_core.editor.run_views import interrupted
from tideate_core.engine import Comparison, RunEdits
from tideate_core.errors import InvalidInput, RunIsOwned, RunNotFound, StoreError
from tideate_core.store import MOST_UNFINISHED, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from tideate_core.engine import Changed, WorkflowRunner
    from tideate_core.store import Reader, RunRow, Store

log = logging.getLogger(__name__)

REVIEWED: Final = frozenset({"review", "plan", "document"})
"""Kinds of questions that show the work of a model."""
LONGEST_DIFFS: Final = 1_000_000
"""Characters of all differences in the preview of a rollback."""


class StoredRuns(FolderRequests):
    """Requests about the runs of a folder's project, by default the folder where the editor started."""

    async def to_resume(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the run for `resume_run` to continue; tell the process of a paused run to continue it there.

        :param params: `look`: only look at the run, change nothing.
        :raises TideateError: no run can be continued; the message says why.
        """
        prefix = params.get("execution_id") or None
        root = self._root(params)
        run = await read_runs(root, lambda reader: run_to_resume(reader, prefix))
        owned = paused_in(run) is not None
        if params.get("look"):
            words = await read_runs(root, lambda reader: waiting_words(reader, run))
            return {"run": {**run_json(run), "waiting": words}, "owned": owned}
        if owned:
            await (await self._store(params)).send_control_request(run.id, "resume")
        elif not run.resumable:
            where = f"process {run.lease.pid}" if run.lease else "another process"
            raise RunIsOwned(
                f"run {short_id(run.id)} is under way in {where}; it can be paused or cancelled there"
            )
        return {"run": run_json(run), "owned": owned}

    async def to_review(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the runs with an open review, plan or document and without a living process, newest first.

        `elsewhere` has the runs of other living processes. A comparison has one entry, its newest run, with
        `compared`: `compare_resume` continues the whole comparison.

        :param params: `execution_id`, or the start of one: look only at this run. The answer is empty if the
            run does not exist, and has `declined` if `review_again` can open its review again.
        """
        here = self._projects.under_way
        if wanted := params.get("execution_id"):
            return await read_runs(self._root(params), partial(_named_review, str(wanted), here))

        def read(reader: Reader) -> list[tuple[RunRow, str]]:
            runs = reader.runs(limit=MOST_UNFINISHED, unfinished=True)
            outer = [run for run in runs if run.parent is None and run.id not in here]
            found: list[tuple[RunRow, str]] = []
            seen: set[str] = set()
            for run in outer:
                if run.id not in seen and REVIEWED.intersection(waits_for(reader, run)):
                    if run.compared:
                        seen.update(reader.request(run.id)["compared"])
                    found.append((run, waiting_words(reader, run)))
            return found

        found = await read_runs(self._root(params), read)
        free, owned = (
            [{**run_json(run), "waiting": words} for run, words in found if run.resumable is free]
            for free in (True, False)
        )
        return {"runs": free, "elsewhere": owned}

    async def resume_run(self, params: dict[str, Any]) -> dict[str, Any]:
        """Continue a run to its end and return its result.

        :param params: `definition`: `file` or `stored`, the definition to use if the workflow changed since;
            by default the person is asked.
        """
        given, runner = params.get("definition"), await self._recovered(params)
        changed: Changed = given if given in ("file", "stored") else "ask"
        return (await runner.resume_run(str(params["execution_id"]), changed=changed)).as_json()

    async def resume_comparison(self, params: dict[str, Any]) -> dict[str, Any]:
        """Continue the comparison that contains a run, to its end.

        :raises InvalidInput: the run is not part of a comparison.
        """
        comparison = Comparison(await self._recovered(params), self._projects.front)
        return (await comparison.resume(str(params["execution_id"]))).as_json()

    async def review_again(self, params: dict[str, Any]) -> dict[str, Any]:
        """Open the declined review of an ended run again, as a new run, and return the result of the new run.

        :param params: `execution_id` of the ended run, or the start of it; `new_id` of the new run.
        """
        wanted, new_id = str(params["execution_id"]), params.get("new_id") or None
        return (await (await self._recovered(params)).review_again(wanted, new_id)).as_json()

    async def retry(self, params: dict[str, Any]) -> dict[str, Any]:
        """Run an ended run again from a step on, and return the result of the new run.

        :param params: `execution_id` of the ended run, or the start of it, by default the newest failed run;
            `step`, by default the first failed step; `new_id` of the new run; `folder`; `definition`: `file`
            uses the workflow's file if it changed since the run started.
        """
        return await self._fork(params, RunEdits(execution_id=params.get("new_id") or None))

    async def fork(self, params: dict[str, Any]) -> dict[str, Any]:
        """Run an ended run again like `retry`, with a changed `prompt`, `adapter`, `inputs` or `results`.

        Without a `step` and without a failed step the whole run is repeated. With a `turn` the step's model
        repeats this turn after reading `say`. `inputs_json` and `results_json` hold more values, as JSON
        from a person.

        :raises InvalidInput: a value is not valid JSON.
        """
        prompt, adapter = params.get("prompt"), params.get("adapter") or None
        inputs, results = (_values(params, name) for name in ("inputs", "results"))
        turn, said = params.get("turn"), str(params.get("say") or "")
        edits = RunEdits(prompt, inputs, adapter, results, params.get("new_id") or None, turn, said)
        return await self._fork(params, edits, or_whole=True)

    async def fork_plan(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the editable start of a fork at `step`: `prompt`, `adapter`, `inputs` and `results`.

        At a `turn` of the step's model only the `adapter` can be edited.

        :param params: `check`: refuse if an unedited fork could not start, as without the model's key.
        """
        root, step = self._root(params), params.get("step") or None
        wanted = params.get("execution_id") or await read_runs(root, _newest_failed)
        if params.get("check"):
            runner = self._projects.runner(params.get("folder"))
            await runner.check_fork(str(wanted), step, RunEdits(), changed=_changed(params), or_whole=True)
        return await fork_plan(root, str(wanted), step, params.get("turn"))

    async def _fork(
        self, params: dict[str, Any], edits: RunEdits, *, or_whole: bool = False
    ) -> dict[str, Any]:
        step = params.get("step") or None
        wanted = params.get("execution_id") or await read_runs(self._root(params), _newest_failed)
        runner = await self._recovered(params)
        result = await runner.fork_run(str(wanted), step, edits, changed=_changed(params), or_whole=or_whole)
        return result.as_json()

    async def cancel(self, params: dict[str, Any]) -> dict[str, Any]:
        """Cancel a run, also of another or a dead process, and roll back its unfinished writes.

        `kept` lists the files written by a step that must not run twice: they stay.

        :raises RunEnded: the run has ended.
        """
        execution_id = str(params["execution_id"])
        try:
            self._projects.runner_of(execution_id).cancel(execution_id)
            return {"files": [], "kept": []}
        except RunNotFound:
            store = await self._store(params)
        workspace = partial(self._projects.workspace, params.get("folder"))
        done = await cancel_stored_run(store, execution_id, workspace) or Cancellation()
        if done.error is not None:
            raise done.error
        return {"files": list(done.restored), "kept": list(done.kept)}

    async def pause(self, params: dict[str, Any]) -> dict[str, Any]:
        """Pause a run before its next step, also a run of another process.

        :raises RunNotActive: no living process runs it.
        """
        execution_id = str(params["execution_id"])
        try:
            self._projects.runner_of(execution_id).pause(execution_id)
        except RunNotFound:
            await (await self._store(params)).send_control_request(execution_id, "pause")
        return {}

    async def say(self, params: dict[str, Any]) -> dict[str, Any]:
        """Send a message to the model of a run, also of another process; the model reads it at its next turn.

        :raises InvalidInput: the message is empty, or no model would read it.
        :raises RunNotActive: no living process runs it.
        """
        execution_id, text = str(params["execution_id"]), str(params["text"])
        try:
            await self._projects.runner_of(execution_id).say(execution_id, text)
        except RunNotFound:
            await (await self._store(params)).send_control_request(execution_id, Message(text))
        return {}

    async def path(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return all moves of a machine under way in this process, including moves in earlier processes.

        :raises RunNotFound: the run is not under way here.
        """
        execution_id = str(params["execution_id"])
        running = self._projects.runner_of(execution_id).running
        driver = next(run.driver for run in running if run.id == execution_id)
        return {"path": driver.path}

    async def rollback(self, params: dict[str, Any]) -> dict[str, Any]:
        """Roll back the changes of a run and of its child runs; cancel the run if it could continue.

        :raises RunNotFound: no open project has this run.
        :raises RunIsOwned: the run is under way.
        :raises RollbackConflict: a file changed since; nothing was restored.
        """
        execution_id = params.get("execution_id")
        if not execution_id:
            raise RunNotFound("")
        done = await self._projects.rollback(execution_id, params.get("folder"))
        return {"files": done.restored, "merged": done.merged}

    async def commit_plan(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the message and files for a commit of a run's changes; commit nothing."""
        plan = await self._projects.commit_plan(str(params["execution_id"]), params.get("folder"))
        return {"run": run_json(plan.run), "message": plan.message, "files": plan.files, "notes": plan.notes}

    async def commit(self, params: dict[str, Any]) -> dict[str, Any]:
        """Commit a run's changes with a `message`, and return the commit's id."""
        plan = await self._projects.commit_plan(str(params["execution_id"]), params.get("folder"))
        made = await asyncio.to_thread(commit_run, plan, str(params["message"]), edit=False)
        return {"commit": made, "files": plan.files}

    async def rollback_preview(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the files that a rollback would restore, and the conflicts that would stop it.

        :raises RunNotFound: no open project has this run.
        :raises InvalidInput: the run changed no file.
        """
        wanted = str(params["execution_id"])
        execution_id, plan = await self._projects.rollback_preview(wanted, params.get("folder"))
        run = await read_runs(self._root(params), partial(_stored, execution_id))
        diffs = await asyncio.to_thread(rollback_diffs, plan, LONGEST_DIFFS)
        return {
            "execution_id": execution_id,
            "run": run and run_json(run),
            "files": plan.names,
            "diffs": diffs,
            "merged": plan.merged,
            "changed_since": plan.conflicts,
            "reasons": plan.reasons,
        }

    async def _recovered(self, params: dict[str, Any]) -> WorkflowRunner:
        """Return the runner of a folder's project, after the recovery of an interrupted restore."""
        runner = self._projects.runner(params.get("folder"))
        await self._projects.recover(params.get("folder"))
        return runner

    async def _store(self, params: dict[str, Any]) -> Store:
        return await self._projects.runner(params.get("folder")).store()


def _changed(params: dict[str, Any]) -> Changed:
    return "file" if params.get("definition") == "file" else "stored"


def _values(params: dict[str, Any], name: str) -> dict[str, Any]:
    values = dict(params.get(name) or {})
    for key, text in dict(params.get(f"{name}_json") or {}).items():
        try:
            values[key] = json.loads(text)
        except ValueError as error:
            raise InvalidInput(f"the value of {key!r} must be JSON: {error}") from error
    return values


def _stored(wanted: str, reader: Reader) -> RunRow | None:
    """Return a run by its id or the start of it, None if the store has no such run."""
    try:
        return reader.run(wanted)
    except RunNotFound:
        return None


def _named_review(wanted: str, here: Collection[str], reader: Reader) -> dict[str, Any]:
    """Return the answer of `to_review` for one named run."""
    answer: dict[str, Any] = {"runs": [], "elsewhere": []}
    if (run := _stored(wanted, reader)) is None:
        return answer
    shape = {**run_json(run), "waiting": waiting_words(reader, run)}
    if run.ended:
        return {**answer, "runs": [shape], "declined": True}
    return {**answer, "runs" if run.resumable and run.id not in here else "elsewhere": [shape]}


def _newest_failed(reader: Reader) -> str:
    failed = reader.runs(limit=1, status="failed", as_begun=True)
    if not failed:
        raise InvalidInput("no run of this project failed; name the run, and the step to repeat it from")
    return failed[0].id


class InterruptedRunNotices:
    """Announces the interrupted runs of each project to Lua, once.

    :param post: queues a message for Lua.
    """

    def __init__(self, post: Callable[[dict[str, Any]], None]) -> None:
        self._post = post
        self._seen: set[Path | None] = set()
        self._looking: set[asyncio.Task[None]] = set()

    def look(self, root: Path | None) -> None:
        """Start to look for interrupted runs of a project; return at once."""
        if root not in self._seen:
            self._seen.add(root)
            task = asyncio.create_task(self._look(root), name=f"look for interrupted runs in {root}")
            self._looking.add(task)
            task.add_done_callback(self._looking.discard)

    async def _look(self, root: Path | None) -> None:
        try:
            runs = await interrupted(root)
        except StoreError as error:
            # a request that needs the store reports the error; opening a file does not
            log.warning("no look for interrupted runs: %s", error)
            return
        if runs:
            self._post({"type": "interrupted", "runs": runs})
