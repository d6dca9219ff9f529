"""Execution of one leg: from a submission, bundle or interrupted work tree to a question or the end."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Final

from tideate_core import __version__
from tideate_core.app import forget_project, make_catalog, open_project, open_runner
from tideate_core.engine import EventName, LeavingFrontEnd, RecordedAnswers, RunRequest
from tideate_core.errors import ConfigError, RunNotFound, TideateError
from tideate_core.fleet.legs import LegResult, OpenQuestion, State
from tideate_core.fleet.repositories import check_out, remove_tree
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
    from tideate_core.store import RunRow
    from tideate_core.workflows import WorkflowRegistry

log = logging.getLogger(__name__)


_COMMITTED: Final = frozenset(
    {EventName.STEP_STARTED, EventName.TOOL_CALLED, EventName.CONFIRMATION_REQUIRED}
)
"""Events before which the answers of models are stored; they are not yet at `MODEL_ANSWERED`."""


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

    :param tree: work tree of the leg; after a crash it is reused, else it is created.
    :param bundle_every: number of model turns between two bundles.
    :param load: returns the stored bundle with a hash.
    :param keep: stores a bundle and returns its hash.
    :param keep_question: stores a question and returns its hash.
    """

    leg: Leg
    commit: str
    mirror: Path
    tree: Path
    registry: WorkflowRegistry
    bundle_every: int
    load: Callable[[str], Coroutine[None, None, bytes]]
    keep: Callable[[bytes], Coroutine[None, None, str]]
    keep_question: Callable[[bytes], Coroutine[None, None, str]]
    newest: str | None
    """Hash of the bundle to begin with if there is no work tree; None: begin at the first step."""

    async def run(self) -> LegResult:
        """Run to the next question or the end.

        :raises TideateError: the work tree cannot be created; a retry may help.
        """
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
            return await self._result(project, row, result, front.left)
        except TideateError as error:
            return self._failed(str(error), error.code)

    async def take_up(self) -> None:
        """Create the work tree with the run and its changes, unless it exists.

        :raises TideateError: it cannot be created; a retry may help.
        """
        project = await self._project()
        async with self._open(project, LeavingFrontEnd(None)) as runner:
            await self._known(runner, project)

    async def _project(self) -> Project:
        if not self._mark.exists():
            await asyncio.to_thread(forget_tree, self.tree)
            await check_out(self.mirror, self.commit, self.tree)
            self._mark.touch()
        project = await asyncio.to_thread(open_project, str(self.tree))
        await asyncio.to_thread(make_project_state, project.root)
        return project

    @property
    def _mark(self) -> Path:
        """File that marks a complete checkout."""
        return self.tree / ".git" / "tideate-whole"

    def _open(self, project: Project, front: LeavingFrontEnd) -> AbstractAsyncContextManager[WorkflowRunner]:
        return open_runner(project, make_catalog(self.registry, project.root, cwd=self.tree), front)

    async def _known(self, runner: WorkflowRunner, project: Project) -> RunRow | None:
        """Return the run of the work tree, opened from its bundle if necessary; None for a new run."""
        with suppress(RunNotFound):
            return await _row(runner, self.leg.run)
        if self.newest is None:
            return None
        bundle = await asyncio.to_thread(read_bundle, BytesIO(await self.load(self.newest)))
        await take_up(await runner.store(), project.workspace, bundle)
        return await _row(runner, self.leg.run)

    async def _result(
        self,
        project: Project,
        row: RunRow,
        result: WorkflowResult | None,
        left: ConfirmationRequest | None,
    ) -> LegResult:
        if row.ended:
            return await self._ended(project, row)
        if left is None:
            why = "the run stopped before its end"
            return self._failed(
                why if result is None else result.error or why, None if result is None else result.error_code
            )
        submission = self.leg.submission
        question = Question.of_request(
            left,
            self.leg.run,
            self.leg.asked + 1,
            project=submission.repo.rstrip("/").rpartition("/")[2],
            asked_at=submission.at,
            version=__version__,
        )
        return LegResult(
            state=State.WAITING,
            bundle=await self._keep(project),
            question=await self.keep_question(question.model_dump_json().encode()),
            asked=OpenQuestion.of(question),
            commit=self.commit,
        )

    async def _go(self, runner: WorkflowRunner, new: bool) -> WorkflowResult:
        if not new:
            return await runner.resume_run(self.leg.run, changed="stored")
        one = self.leg.submission
        request = RunRequest(
            name=one.workflow,
            prompt=one.prompt,
            inputs=one.inputs,
            adapter=one.adapter,
            context=RunContext(cwd=str(self.tree)),
            execution_id=self.leg.run,
            memory=False,
        )
        return await runner.run(request)

    def _recorded(self) -> RecordedAnswers | None:
        if self.leg.answer is None:
            return None
        answer = Answer.read(json.dumps(self.leg.answer).encode())
        return RecordedAnswers({answer.key: (answer.as_decision(), answer.by)}, log.info)

    async def _keep(self, project: Project, *, running: bool = False) -> str:
        """Store a bundle of the run, and return its hash."""

        def make() -> bytes:
            target = BytesIO()
            private = project_state(project.root)
            consent = self.leg.submission.with_secrets
            create_bundle(self.tree, private, self.leg.run, target, running=running, with_secrets=consent)
            return target.getvalue()

        return await self.keep(await asyncio.to_thread(make))

    async def _ended(self, project: Project, row: RunRow) -> LegResult:
        states = {"completed": State.COMPLETED, "failed": State.FAILED}
        cancelled = State.DECLINED if row.reason == "declined" else State.CANCELLED
        return LegResult(
            state=states.get(row.status, cancelled),
            message=row.error or "",
            error_code=row.error_code,
            bundle=await self._keep(project),
            files=row.files,
            commit=self.commit,
        )

    def _failed(self, message: str, code: str | None) -> LegResult:
        return LegResult(state=State.FAILED, message=message, error_code=code, commit=self.commit)


def forget_tree(tree: Path) -> None:
    """Remove a work tree and the private state of its project; blocking."""
    with suppress(ConfigError):
        forget_project(str(tree))
    with suppress(FileNotFoundError):
        shutil.rmtree(project_state(tree))
    remove_tree(tree)


async def _row(runner: WorkflowRunner, run: str) -> RunRow:
    store = await runner.store()
    return await asyncio.to_thread(store.reader().run, run)
