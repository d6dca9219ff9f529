"""Advance a run on this machine: from its bundle, or its store after a crash, to a question or the end."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
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

_STARTED: Final = frozenset({EventName.STEP_STARTED})
_STOPPED: Final = frozenset({EventName.STEP_COMPLETED, EventName.STEP_FAILED, EventName.STEP_SKIPPED})


@dataclass(slots=True)
class _Turns:
    """Counts the model's turns of a run, and tells when to store a bundle."""

    every: int
    leave: Callable[[], object]
    """Stops the run so that it can be resumed."""
    due: bool = False
    _since: int = 0
    _steps: set[tuple[str, str]] = field(default_factory=set)

    def take(self, event: Event) -> None:
        """Take an event of the run or of a run within it."""
        step = (event.execution_id, str(event.data.get("step", "")))
        if event.name in _STARTED:
            self._steps.add(step)
        elif event.name in _STOPPED:
            self._steps.discard(step)
        elif event.name is EventName.MODEL_ANSWERED:
            self._since += 1
            # not while another step runs: it would be interrupted
            if self._since >= self.every and len({run for run, _ in self._steps}) == len(self._steps):
                self.due = True
                asyncio.get_running_loop().call_soon(self.leave)

    def begin(self) -> None:
        """Count anew, for a run that is started or resumed."""
        self.due, self._since = False, 0
        self._steps.clear()


@dataclass(frozen=True, slots=True)
class Advance:
    """One leg on this machine.

    :param tree: its work tree; there after a crash, else made anew.
    :param load: returns a stored bundle.
    :param keep: stores a bundle and returns its hash.
    """

    leg: Leg
    commit: str
    mirror: Path
    tree: Path
    registry: WorkflowRegistry
    bundle_every: int
    load: Callable[[str], Coroutine[None, None, bytes]]
    keep: Callable[[bytes], Coroutine[None, None, str]]
    newest: str | None
    """Hash of the bundle to begin with, if the work tree is not there."""

    async def run(self) -> LegResult:
        """Run to the next question or the end.

        :raises TideateError: the work tree cannot be made; trying again may help.
        """
        project = await self._project()
        turns = _Turns(self.bundle_every, lambda: None)
        try:
            front = LeavingFrontEnd(self.leg.submission.accept or None, self._recorded(), turns.take)
            async with self._open(project, front) as runner:
                turns.leave = lambda: _leave(runner, self.leg.run)
                known = await self._known(runner, project)
                result = None if known is not None and known.ended else await self._go(runner, known is None)
                while result is not None and turns.due and front.left is None:
                    if (await _row(runner, self.leg.run)).ended:
                        break
                    await self.keep(await self._bundle(project))
                    turns.begin()
                    result = await self._go(runner, new=False)
                row = await _row(runner, self.leg.run)
            return await self._result(project, row, result, front.left)
        except TideateError as error:
            return self._failed(str(error), error.code)

    async def take_up(self) -> None:
        """Make the work tree with the run and its changes, unless it is there.

        :raises TideateError: it cannot be made; trying again may help.
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
        """File that tells that the work tree is whole."""
        return self.tree / ".git" / "tideate-whole"

    def _open(self, project: Project, front: LeavingFrontEnd) -> AbstractAsyncContextManager[WorkflowRunner]:
        return open_runner(project, make_catalog(self.registry, project.root, cwd=self.tree), front)

    async def _known(self, runner: WorkflowRunner, project: Project) -> RunRow | None:
        """Return the run in the work tree, taken up from its bundle if necessary; None before its start."""
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
            bundle=await self.keep(await self._bundle(project)),
            question=await self.keep(question.model_dump_json().encode()),
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
        return RecordedAnswers({answer.digest: (answer.as_decision(), answer.by)}, log.info)

    async def _bundle(self, project: Project) -> bytes:
        def make() -> bytes:
            target = BytesIO()
            create_bundle(self.tree, project_state(project.root), self.leg.run, target)
            return target.getvalue()

        return await asyncio.to_thread(make)

    async def _ended(self, project: Project, row: RunRow) -> LegResult:
        states = {"completed": State.COMPLETED, "failed": State.FAILED}
        cancelled = State.DECLINED if row.reason == "declined" else State.CANCELLED
        return LegResult(
            state=states.get(row.status, cancelled),
            message=row.error or "",
            error_code=row.error_code,
            bundle=await self.keep(await self._bundle(project)),
            files=row.files,
            commit=self.commit,
        )

    def _failed(self, message: str, code: str | None) -> LegResult:
        return LegResult(state=State.FAILED, message=message, error_code=code, commit=self.commit)


def forget_tree(tree: Path) -> None:
    """Remove a work tree with the private state of its project; blocking."""
    with suppress(ConfigError):
        forget_project(str(tree))
    with suppress(FileNotFoundError):
        shutil.rmtree(project_state(tree))
    remove_tree(tree)


def _leave(runner: WorkflowRunner, run: str) -> None:
    with suppress(RunNotFound):  # it has ended meanwhile
        runner.leave(run)


async def _row(runner: WorkflowRunner, run: str) -> RunRow:
    store = await runner.store()
    return await asyncio.to_thread(store.reader().run, run)
