"""Requests about stored runs: history, details, resume, cancel, pause, rollback."""

from __future__ import annotations

import asyncio
import json
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tideate_core.app import (
    Cancellation,
    cancel_stored_run,
    paused_in,
    read_runs,
    rollback_diffs,
    run_json,
    run_to_resume,
    short_id,
    waiting_words,
    waits_for,
)
from tideate_core.editor import fork_plans, run_views
from tideate_core.engine import RunEdits
from tideate_core.errors import InvalidInput, RunIsOwned, RunNotFound, StoreError
from tideate_core.store import MOST_UNFINISHED, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from tideate_core.editor.projects import Projects
    from tideate_core.engine import Changed
    from tideate_core.store import Reader, RunRow, Status

__all__ = ["InterruptedRunNotices", "StoredRuns"]

log = logging.getLogger(__name__)

REVIEWED: Final = frozenset({"review", "plan", "document"})
"""Kinds of questions that show what a model made."""


LONGEST_DIFFS: Final = 1_000_000
"""Characters of the texts that one rollback is shown of."""


class StoredRuns:
    """Requests about the runs of a folder's project; a folder that is not given is where the editor was."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects

    async def history(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return a page of the runs, the newest first."""
        await self._projects.tell_moved(self._projects.root(params.get("folder")))
        return await run_views.history(self._root(params), params, self._here())

    async def search(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the newest runs in whose prompts or answers some words occur."""
        return await run_views.search(self._root(params), params, self._here())

    async def show(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return a run with its steps: the newest if none is named."""
        return await run_views.show(self._root(params), params.get("execution_id"), self._here())

    async def events(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return a run's events."""
        return await run_views.events(self._root(params), str(params["execution_id"]))

    async def said(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return what was said in a step of a run."""
        return await run_views.said(self._root(params), str(params["execution_id"]), str(params["step"]))

    async def call(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return a tool call of a run with its arguments and its result."""
        return await run_views.call(self._root(params), str(params["execution_id"]), int(params["sequence"]))

    async def to_resume(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the run that `resume_run` is to continue; one that another process paused goes on there.

        :param params: with `look` nothing is done yet.
        :raises TideateError: there is none, or it cannot be continued; says why.
        """
        prefix = params.get("execution_id") or None
        root = self._root(params)
        run = await read_runs(root, lambda reader: run_to_resume(reader, prefix))
        owned = paused_in(run) is not None
        if params.get("look"):
            words = await read_runs(root, lambda reader: waiting_words(reader, run))
            return {"ok": True, "run": {**run_json(run), "waiting": words}, "owned": owned}
        if owned:
            store = await self._projects.runner(params.get("folder")).store()
            await store.send_control_request(run.id, "resume")
        elif not run.resumable:
            where = f"process {run.lease.pid}" if run.lease else "another process"
            raise RunIsOwned(
                f"run {short_id(run.id)} is under way in {where}; it can be paused or cancelled there"
            )
        return {"ok": True, "run": run_json(run), "owned": owned}

    async def to_review(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the runs that wait for the person's answer and that no process here has, the newest first.

        Those with a review, a plan or a document; `elsewhere` are those of other living processes. Of a
        comparison there is the newest, with `compared`: `compare_resume` goes on with all of it.

        :param params: with `execution_id`, or the beginning of one, only that run is looked at: none is
            returned where no run has it; `declined` where `review_again` is to open it.
        """
        here = self._here()
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
        return {"ok": True, "runs": free, "elsewhere": owned}

    async def resume_run(self, params: dict[str, Any]) -> dict[str, Any]:
        """Continue a run to its end, and return its result.

        :param params: also `definition`, what counts where the workflow was changed since, `file` or
            `stored`; without it the person is asked.
        """
        given, folder = params.get("definition"), params.get("folder")
        changed: Changed = given if given in ("file", "stored") else "ask"
        return (
            await self._projects.resume_run(str(params["execution_id"]), folder, changed=changed)
        ).as_json()

    async def resume_comparison(self, params: dict[str, Any]) -> dict[str, Any]:
        """Go on with the comparison that a run is part of, to its end.

        :raises RunNotFound: there is no such run.
        :raises InvalidInput: it is not part of a comparison.
        """
        run, folder = str(params["execution_id"]), params.get("folder")
        return (await self._projects.resume_comparison(run, folder)).as_json()

    async def review_again(self, params: dict[str, Any]) -> dict[str, Any]:
        """Open the declined review of an ended run again, as a new run, and return the result of that.

        :param params: `execution_id` of the ended run, or the beginning of it; `new_id` of the new one.
        :raises TideateError: there is no such review; says why.
        """
        wanted, new_id = str(params["execution_id"]), params.get("new_id") or None
        return (await self._projects.review_again(wanted, new_id, params.get("folder"))).as_json()

    async def retry(self, params: dict[str, Any]) -> dict[str, Any]:
        """Run an ended run anew from a step on to its end, and return the result of the new run.

        :param params: `execution_id` of the ended run, or the beginning of it: the newest that failed if
            there is none; `step`: the first that failed if there is none; `new_id` of the new run; `folder`;
            `definition`: `file` uses that of the workflow's file where it was changed since the run began.
        :raises TideateError: it cannot be run anew; says why.
        """
        return await self._fork(params, RunEdits(execution_id=params.get("new_id") or None))

    async def fork(self, params: dict[str, Any]) -> dict[str, Any]:
        """As `retry`, with other `inputs` and `results`, another `prompt` or `adapter` where they are given.

        Without a `step`, and where none failed, all of the run is run anew. With a `turn` the step's model
        takes that one anew, told what is in `say`.
        `inputs_json` and `results_json` are more of them, as JSON that a person wrote.

        :raises InvalidInput: it is none.
        """
        prompt, adapter = params.get("prompt"), params.get("adapter") or None
        inputs, results = (_values(params, name) for name in ("inputs", "results"))
        turn, said = params.get("turn"), str(params.get("say") or "")
        edits = RunEdits(prompt, inputs, adapter, results, params.get("new_id") or None, turn, said)
        return await self._fork(params, edits, or_whole=True)

    async def fork_plan(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return what a fork at `step` begins with, to be edited: `prompt`, `adapter`, `inputs`, `results`.

        At a `turn` of its model that is its `adapter` only.

        :param params: with `check` it is looked at whether it can begin as it is, with its model's key.
        :raises TideateError: there can be none; says why.
        """
        root, step = self._root(params), params.get("step") or None
        wanted = params.get("execution_id") or await read_runs(root, _newest_failed)
        if params.get("check"):
            changed: Changed = "file" if params.get("definition") == "file" else "stored"
            await self._projects.check_fork(str(wanted), step, params.get("folder"), changed=changed)
        return await fork_plans.fork_plan(root, str(wanted), step, params.get("turn"))

    async def _fork(
        self, params: dict[str, Any], edits: RunEdits, *, or_whole: bool = False
    ) -> dict[str, Any]:
        folder, step = params.get("folder"), params.get("step") or None
        wanted = params.get("execution_id") or await read_runs(self._root(params), _newest_failed)
        changed: Changed = "file" if params.get("definition") == "file" else "stored"
        result = await self._projects.fork_run(
            str(wanted), step, edits, folder, changed=changed, or_whole=or_whole
        )
        return result.as_json()

    async def diff(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return how the runs `execution_id` and `other` differ; see `compare_runs`.

        :raises RunNotFound: no run has this id.
        """
        return await run_views.diff(self._root(params), str(params["execution_id"]), str(params["other"]))

    async def diff_texts(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return as `texts` what two runs left of the file `path`, else their result of `step`, or answers.

        :raises InvalidInput: neither has it, or it is too long.
        """
        one, other = str(params["execution_id"]), str(params["other"])
        path, step = params.get("path"), params.get("step")
        return await run_views.diff_texts(self._root(params), one, other, path=path, step=step)

    async def export(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the runs `execution_ids` as one `text` in a `format`; see `export_runs`.

        :raises InvalidInput: there is no such format, or it is too long for a buffer.
        :raises RunNotFound: no run has this id.
        """
        wanted = [str(one) for one in params["execution_ids"]]
        return await run_views.export(self._root(params), wanted, str(params.get("format") or "markdown"))

    async def cancel(self, params: dict[str, Any]) -> dict[str, Any]:
        """End a run of another process, or one that no process has: its unfinished writes are rolled back.

        `kept` are files that a step which must not be done twice had written: they stay.

        :raises RunNotFound: there is no such run.
        :raises RunEnded: it has ended.
        """
        execution_id, folder = str(params["execution_id"]), params.get("folder")
        try:
            self._projects.runner_of(execution_id).cancel(execution_id)
            return {"ok": True, "files": [], "kept": []}
        except RunNotFound:
            store = await self._projects.runner(folder).store()
        workspace = partial(self._projects.workspace, folder)
        done = await cancel_stored_run(store, execution_id, workspace) or Cancellation()
        if done.error is not None:
            raise done.error
        return {"ok": True, "files": list(done.restored), "kept": list(done.kept)}

    async def pause(self, params: dict[str, Any]) -> dict[str, Any]:
        """Let a run stop before its next step, also one of another process.

        :raises RunNotFound: there is no such run.
        :raises RunNotActive: no living process has it.
        """
        execution_id = str(params["execution_id"])
        try:
            self._projects.runner_of(execution_id).pause(execution_id)
        except RunNotFound:
            store = await self._projects.runner(params.get("folder")).store()
            await store.send_control_request(execution_id, "pause")
        return {"ok": True}

    async def say(self, params: dict[str, Any]) -> dict[str, Any]:
        """Tell the model that works in a run something before its next turn, also in another process.

        :raises InvalidInput: there is nothing to tell, or no model that would read it.
        :raises RunNotFound: there is no such run.
        :raises RunNotActive: no living process has it.
        """
        execution_id, text = str(params["execution_id"]), str(params["text"])
        try:
            await self._projects.runner_of(execution_id).say(execution_id, text)
        except RunNotFound:
            store = await self._projects.runner(params.get("folder")).store()
            await store.send_control_request(execution_id, Message(text))
        return {"ok": True}

    async def path(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return all moves of a machine that is under way here, those of earlier processes too.

        :raises RunNotFound: it is not under way here.
        """
        execution_id = str(params["execution_id"])
        running = self._projects.runner_of(execution_id).running
        driver = next(run.driver for run in running if run.id == execution_id)
        return {"ok": True, "path": driver.path}

    async def rollback(self, params: dict[str, Any]) -> dict[str, Any]:
        """Roll back what a run and the runs that are its steps changed; one that could go on is ended.

        :raises RunNotFound: no project that is open here knows the run.
        :raises RunIsOwned: it is under way.
        :raises RollbackConflict: something was changed since; nothing was restored.
        """
        execution_id = params.get("execution_id")
        if not execution_id:
            raise RunNotFound("")
        done = await self._projects.rollback(execution_id, params.get("folder"))
        return {"ok": True, "files": done.restored, "merged": done.merged}

    async def rollback_preview(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return what a rollback would restore, and what stands in its way.

        :raises RunNotFound: no project that is open here knows the run.
        :raises InvalidInput: it changed no file.
        """
        wanted = str(params["execution_id"])
        execution_id, plan = await self._projects.rollback_preview(wanted, params.get("folder"))
        run = await read_runs(self._root(params), partial(_stored, execution_id))
        diffs = await asyncio.to_thread(rollback_diffs, plan, LONGEST_DIFFS)
        return {
            "ok": True,
            "execution_id": execution_id,
            "run": run and run_json(run),
            "files": plan.names,
            "diffs": diffs,
            "merged": plan.merged,
            "changed_since": plan.conflicts,
            "reasons": plan.reasons,
        }

    def _here(self) -> dict[str, Status]:
        running = (run for runner in self._projects.runners for run in runner.running)
        return {run.id: run.machine.state.value for run in running}

    def _root(self, params: dict[str, Any]) -> Path | None:
        return self._projects.root(params.get("folder"))


def _values(params: dict[str, Any], name: str) -> dict[str, Any]:
    values = dict(params.get(name) or {})
    for key, text in dict(params.get(f"{name}_json") or {}).items():
        try:
            values[key] = json.loads(text)
        except ValueError as error:
            raise InvalidInput(f"what is given for {key!r} has to be JSON: {error}") from error
    return values


def _stored(wanted: str, reader: Reader) -> RunRow | None:
    """Return a run by its id or the beginning of it, None where the store has none; blocking."""
    try:
        return reader.run(wanted)
    except RunNotFound:
        return None


def _named_review(wanted: str, here: Collection[str], reader: Reader) -> dict[str, Any]:
    """Return a run as `to_review` has it; blocking."""
    answer: dict[str, Any] = {"ok": True, "runs": [], "elsewhere": []}
    if (run := _stored(wanted, reader)) is None:
        return answer
    shape = {**run_json(run), "waiting": waiting_words(reader, run)}
    if run.ended:
        return {**answer, "runs": [shape], "declined": True}
    return {**answer, "runs" if run.resumable and run.id not in here else "elsewhere": [shape]}


def _newest_failed(reader: Reader) -> str:
    failed = reader.runs(limit=1, status="failed", as_begun=True)
    if not failed:
        raise InvalidInput("no run of this project failed; name the run, and the step to run it anew from")
    return failed[0].id


class InterruptedRunNotices:
    """Tells Lua once for each project which of its runs were interrupted.

    :param post: queues a message for Lua.
    """

    def __init__(self, post: Callable[[dict[str, Any]], None]) -> None:
        self._post = post
        self._seen: set[Path | None] = set()
        self._looking: set[asyncio.Task[None]] = set()

    def look(self, root: Path | None) -> None:
        """Look at a project that is worked in; returns at once."""
        if root not in self._seen:
            self._seen.add(root)
            task = asyncio.create_task(self._look(root), name=f"look for interrupted runs in {root}")
            self._looking.add(task)
            task.add_done_callback(self._looking.discard)

    async def _look(self, root: Path | None) -> None:
        try:
            runs = await run_views.interrupted(root)
        except StoreError as error:
            # whoever needs the store is told; who only opened a file is not
            log.warning("no look for interrupted runs: %s", error)
            return
        if runs:
            self._post({"type": "interrupted", "runs": runs})
