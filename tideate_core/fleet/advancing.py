"""Execution of one leg: from a submission, bundle or interrupted work tree to a question or the end."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Final

from tideate_core import __version__
from tideate_core.app import make_catalog, open_project, open_runner
from tideate_core.engine import EventName, LeavingFrontEnd, RecordedAnswers, RunRequest
from tideate_core.errors import RunNotFound, SubmissionRefused, TideateError
from tideate_core.fleet.legs import LegResult, OpenQuestion, State
from tideate_core.fleet.objects import Kind
from tideate_core.fleet.trees import START
from tideate_core.portable import Answer, Question, create_bundle, read_bundle, take_up
from tideate_core.project import make_project_state, project_state
from tideate_core.workflows import RunContext

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from tideate_core.app import Project
    from tideate_core.engine import ConfirmationRequest, Event, WorkflowResult, WorkflowRunner
    from tideate_core.fleet.legs import Leg
    from tideate_core.fleet.trees import WorkTree
    from tideate_core.portable import Bundle
    from tideate_core.store import RunRow
    from tideate_core.workflows import WorkflowRegistry

log = logging.getLogger(__name__)


_COMMITTED: Final = frozenset(
    {EventName.STEP_STARTED, EventName.TOOL_CALLED, EventName.CONFIRMATION_REQUIRED}
)
"""Events before which the answers of models are stored; they are not yet at `MODEL_ANSWERED`."""

_KINDS: Final = {"completed": Kind.COMPLETED, "failed": Kind.ENDED, "cancelled": Kind.ENDED}
"""Kinds of bundles by the state of the run."""


@dataclass(slots=True)
class _Turns:
    """Bundles of a running run, one after every few model turns."""

    every: int
    store: Callable[[], Coroutine[None, None, object]]
    _since: int = 0
    _storing: asyncio.Task[object] | None = None

    def take(self, event: Event) -> None:
        """Take an event of the run or of a run within it."""
        self._since += event.name is EventName.MODEL_ANSWERED
        if self._since < self.every or event.name not in _COMMITTED:
            return
        if self._storing is None or self._storing.done():
            self._since = 0
            self._storing = asyncio.create_task(self._store(), name="store a bundle")

    async def _store(self) -> None:
        try:
            await self.store()
        except Exception as error:  # noqa: BLE001 the run continues; a later bundle replaces this one
            log.warning("the bundle of a running run could not be stored: %s", error)

    async def end(self) -> None:
        """Wait for the bundle that is being stored."""
        if self._storing is not None:
            await self._storing


@dataclass(frozen=True, slots=True)
class Advance:
    """One leg on this machine.

    :param tree: work tree of the leg; after a crash it is reused if it is of the newest bundle.
    :param elsewhere: a directory without workflow files.
    :param bundle_every: number of model turns between two bundles.
    :param load: returns the stored bundle with a hash.
    :param keep: stores a bundle or a question and returns its hash.
    """

    leg: Leg
    commit: str
    mirror: Path
    tree: WorkTree
    registry: WorkflowRegistry
    elsewhere: Path
    bundle_every: int
    load: Callable[[str], Coroutine[None, None, bytes]]
    keep: Callable[[Kind, bytes], Coroutine[None, None, str]]
    newest: str | None
    """Hash of the bundle to begin with; None: begin at the first step."""

    async def run(self, at: int) -> LegResult:
        """Run to the next question or the end, or until the time of the run is over.

        :param at: start of the leg in milliseconds since the epoch.
        :raises TideateError: the work tree cannot be created; a retry may help.
        :raises SubmissionRefused: the bundle is of another run.
        """
        begun, before = time.monotonic(), self.leg.answer.worked if self.leg.answer else 0
        limit = self.leg.submission.timeout
        try:
            async with asyncio.timeout(None if limit is None else max(limit - before, 0)) as watch:
                result = await self._run(at)
        except TimeoutError:
            if not watch.expired():
                raise
            await asyncio.to_thread(self.tree.forget)
            result = self._failed(f"the run worked longer than its limit of {limit:,} s", "TimeoutError")
        worked = before + round(time.monotonic() - begun)
        return result.model_copy(update={"at": at, "worked": worked, "commit": self.commit})

    async def _run(self, at: int) -> LegResult:
        project = await self._project()
        turns = _Turns(self.bundle_every, partial(self._keep, project, running=True))
        try:
            front = LeavingFrontEnd(self.leg.submission.accept or None, self._recorded(), turns.take)
            async with self._open(project, front) as runner:
                known = await self._known(runner, project)
                result = None
                if known is None or not known.ended:
                    try:
                        result = await self._go(runner, known is None)
                    finally:
                        await turns.end()
                row = await _row(runner, self.leg.run)
            return await self._result(project, row, result, front.left, at)
        except SubmissionRefused:
            raise
        except TideateError as error:
            return self._failed(str(error), error.code)

    async def take_up(self) -> None:
        """Create the work tree with the run and its changes.

        :raises TideateError: it cannot be created; a retry may help.
        """
        project = await self._project()
        async with self._open(project, LeavingFrontEnd(None)) as runner:
            await self._known(runner, project)

    async def _project(self) -> Project:
        await self.tree.prepare(self.mirror, self.commit, self.newest or START)
        project = await asyncio.to_thread(open_project, str(self.tree.path))
        await asyncio.to_thread(make_project_state, project.root)
        return project

    def _open(self, project: Project, front: LeavingFrontEnd) -> AbstractAsyncContextManager[WorkflowRunner]:
        # without the project: workflows of a repository do not run on a worker
        return open_runner(project, make_catalog(self.registry, None, cwd=self.elsewhere), front)

    async def _known(self, runner: WorkflowRunner, project: Project) -> RunRow | None:
        """Return the run of the work tree, opened from its bundle if necessary; None for a new run."""
        known = await _row(runner, self.leg.run)
        if known is not None or self.newest is None:
            return known
        bundle = await asyncio.to_thread(read_bundle, BytesIO(await self.load(self.newest)))
        self._check(bundle)
        await take_up(await runner.store(), project.workspace, bundle)
        return await _row(runner, self.leg.run)

    def _check(self, bundle: Bundle) -> None:
        """Check that a bundle is of the run that was signed.

        :raises SubmissionRefused: it is of another run.
        """
        rows = bundle.rows[0]
        request = RunRequest.model_validate({**rows.run["request"], "execution_id": rows.id})
        own = {"context", "opened"}  # places of a machine, and the way that a run came there
        same = request.model_dump(exclude=own) == self._request().model_dump(exclude=own)
        if not same or bundle.manifest.origin.base != self.tree.base:
            raise SubmissionRefused(
                f"run {self.leg.run[:8]} is refused: its stored bundle is of another request or commit"
            )

    async def _result(
        self,
        project: Project,
        row: RunRow | None,
        result: WorkflowResult | None,
        left: ConfirmationRequest | None,
        at: int,
    ) -> LegResult:
        if row is not None and row.ended:
            return await self._ended(project, row)
        if left is None:
            why, code = "the run stopped before its end", None
            if result is not None:
                why, code = result.error or why, result.error_code
            bundle = None if row is None else await self._keep(project, running=True)
            return self._failed(why, code).model_copy(update={"bundle": bundle})
        submission = self.leg.submission
        question = Question.of_request(
            left,
            self.leg.run,
            self.leg.asked + 1,
            project=submission.repo.rstrip("/").rpartition("/")[2],
            asked_at=at,
            version=__version__,
        )
        return LegResult(
            state=State.WAITING,
            bundle=await self._keep(project),
            question=await self.keep(Kind.QUESTION, question.model_dump_json().encode()),
            asked=OpenQuestion.of(question),
        )

    def _request(self) -> RunRequest:
        one = self.leg.submission
        return RunRequest(
            name=one.workflow,
            prompt=one.prompt,
            inputs=one.inputs,
            adapter=one.adapter,
            context=RunContext(cwd=str(self.tree.path)),
            execution_id=self.leg.run,
            memory=False,
        )

    async def _go(self, runner: WorkflowRunner, new: bool) -> WorkflowResult:
        if new:
            return await runner.run(self._request())
        return await runner.resume_run(self.leg.run, changed="stored")

    def _recorded(self) -> RecordedAnswers | None:
        if self.leg.answer is None:
            return None
        answer = Answer.read(json.dumps(self.leg.answer.answer).encode())
        return RecordedAnswers({answer.key: (answer.as_decision(), answer.by)}, log.info)

    async def _keep(self, project: Project, *, running: bool = False) -> str:
        """Store a bundle of the run, and return its hash."""

        def make() -> tuple[Kind, bytes]:
            target = BytesIO()
            private = project_state(project.root)
            consent = self.leg.submission.with_secrets
            facts = create_bundle(
                self.tree.path, private, self.leg.run, target, running=running, with_secrets=consent
            )
            return _KINDS.get(facts.state, Kind.OPEN), target.getvalue()

        kind, content = await asyncio.to_thread(make)
        name = await self.keep(kind, content)
        if kind is not Kind.ENDED:
            self.tree.set_mark(name)
        return name

    async def _ended(self, project: Project, row: RunRow) -> LegResult:
        states = {"completed": State.COMPLETED, "failed": State.FAILED}
        cancelled = State.DECLINED if row.reason == "declined" else State.CANCELLED
        return LegResult(
            state=states.get(row.status, cancelled),
            message=self._plain(row.error or ""),
            error_code=row.error_code,
            bundle=await self._keep(project),
            files=row.files,
        )

    def _failed(self, message: str, code: str | None) -> LegResult:
        return LegResult(state=State.FAILED, message=self._plain(message), error_code=code)

    def _plain(self, message: str) -> str:
        """Return a message without the place of the work tree, which others would read in the database."""
        tree = str(self.tree.path)
        return message.replace(f"{tree}/", "").replace(tree, ".")


async def _row(runner: WorkflowRunner, run: str) -> RunRow | None:
    store = await runner.store()
    with suppress(RunNotFound):
        return await asyncio.to_thread(store.reader().run, run)
    return None
