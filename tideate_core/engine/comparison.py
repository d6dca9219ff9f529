"""Comparison of several models: each runs the same request, and the person takes one run.

Each is an ordinary run. It proceeds to its review and waits there, with nothing written, until all others
wait or have ended and a person has chosen one. The chosen run is reviewed, and hunks of the others can
replace its own.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tideate_core.engine.events import ConfirmationRequest, error_fields
from tideate_core.engine.past import find_run, recorded_result
from tideate_core.engine.request import RunRequest, WorkflowResult, usage_json
from tideate_core.engine.review.drafts import read_begun
from tideate_core.errors import InvalidInput, PersonNeeded, StepFailed, TideateError
from tideate_core.workflows import COMPARISON, Decision

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from tideate_core.engine.events import Event, FrontEnd
    from tideate_core.engine.runner import WorkflowRunner
    from tideate_core.workflows import CheckAccepted, EditorAccess

    Begin = Callable[..., Awaitable[WorkflowResult]]


NOT_TAKEN: Final = "none of the answers was taken"


@dataclass(frozen=True, slots=True)
class ComparisonResult:
    """Result of a comparison."""

    results: list[WorkflowResult]
    """Results of the runs, in the order of the models."""
    adapters: list[str]
    taken: str | None = None
    """Id of the run that was taken."""
    reason: str = ""
    """Why no run was taken."""
    checks: dict[str, dict[str, str]] = field(default_factory=dict)
    """By run, the status of each check on its changes."""

    @property
    def result(self) -> WorkflowResult | None:
        """Result of the run that was taken."""
        return next((one for one in self.results if one.execution_id == self.taken), None)

    def as_json(self) -> dict[str, Any]:
        pairs = zip(self.adapters, self.results, strict=True)
        runs = [{"adapter": adapter, **result.as_json()} for adapter, result in pairs]
        runs = [{**run, **self._checks_of(run["execution_id"])} for run in runs]
        taken = self.result
        shape: dict[str, Any] = {"ok": taken is not None and taken.ok, "taken": self.taken}
        if taken is not None:
            shape |= {"response": taken.response, "files": taken.files}
        elif self.results and all(one.cancelled for one in self.results):
            shape |= {"cancelled": True, "reason": self.reason}
        if not shape["ok"]:
            shape["error"] = (taken.error if taken is not None else None) or self.reason
        return {**shape, "runs": runs}

    def _checks_of(self, run: str) -> dict[str, Any]:
        return {"checks": self.checks[run]} if self.checks.get(run) else {}


def compared_requests(request: RunRequest, adapters: Sequence[str]) -> list[RunRequest]:
    """Return one request for each model.

    :raises InvalidInput: there are fewer than two models, or one is given twice.
    """
    if twice := next((name for name in adapters if adapters.count(name) > 1), None):
        raise InvalidInput(f"the model {twice!r} is given twice; a comparison is of different ones")
    if len(adapters) < 2:
        raise InvalidInput("a comparison takes two models or more")
    compared = {uuid.uuid4().hex: name for name in adapters}
    shared = request.model_copy(update={"compared": compared, "require_confirmation": False})
    return [
        shared.model_copy(update={"execution_id": run, "adapter": name}) for run, name in compared.items()
    ]


class _ComparedRun:
    """One run of a comparison, and its front end.

    :param begin: starts or resumes the run with this front end.
    """

    def __init__(self, comparison: Comparison, run: str, adapter: str, begin: Begin) -> None:
        self.id = run
        self.adapter = adapter
        self.result: WorkflowResult | None = None
        self.review: ConfirmationRequest | None = None
        """The review at which the run waits."""
        self.presented: tuple[str, str] | None = None
        """The new text to show, with its filetype."""
        self._comparison = comparison
        self._begin = begin
        self._answer: asyncio.Future[Decision] | None = None
        self._spent: dict[str, Any] = {}
        self.checks: dict[str, str] = {}
        """Status of each trusted check on an agent's changes."""

    @property
    def editor(self) -> EditorAccess | None:
        return self._comparison.front.editor

    @property
    def ended(self) -> bool:
        return self.result is not None

    @property
    def answered(self) -> bool:
        """The run ended with a readable answer."""
        result = self.result
        return result is not None and result.ok and bool(result.response) and not result.unchanged

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        if request.execution_id != self.id or request.kind not in {"plan", "review"}:
            return await self._comparison.front.confirm(request)
        if request.kind == "plan":  # its result is reviewed
            return Decision(True, (await read_begun(request)).accepted_rest(), by=COMPARISON)
        run = self._comparison.runner.execution(self.id)
        self._spent = {"duration_ms": run.elapsed_ms, "usage": usage_json(run.usage)}
        if request.check is not None:
            self.checks = await _checked(request.check)
            request = _with_checks(request, self.checks)
        self.review, self._answer = request, asyncio.get_running_loop().create_future()
        self._comparison.changed.set()
        try:
            return await self._answer
        finally:
            self.review = None
            self._comparison.changed.set()

    def facts(self) -> dict[str, Any]:
        """Return tokens, cost, time and checks of the run up to its review or end."""
        result, checks = self.result, {"checks": self.checks} if self.checks else {}
        if result is None:
            return {**self._spent, **checks}
        return {"duration_ms": result.duration_ms, "usage": usage_json(result.usage), **checks}

    def decide(self, decision: Decision) -> None:
        """Continue the run from its review."""
        assert self._answer is not None  # noqa: S101 it waits there
        if not self._answer.done():
            self._answer.set_result(decision)
        self.review = None

    def emit(self, event: Event) -> None:
        self._comparison.front.emit(event)

    async def present(self, text: str, filetype: str) -> None:
        self.presented = (text, filetype)

    async def run(self) -> None:
        """Execute the run to its end; a failure is stored with it, and the others continue."""
        try:
            self.result = await self._begin(front=self)
        except TideateError as error:
            name = self._comparison.workflow
            self.result = WorkflowResult(self.id, name, ok=False, **error_fields(error))
        finally:
            self._comparison.changed.set()


class Comparison:
    """Comparison of concurrent runs: the person takes one.

    :param front: asks which run to take, and shows its review.
    :param take: the model whose run is taken without a question; None: ask.
    """

    def __init__(self, runner: WorkflowRunner, front: FrontEnd, *, take: str | None = None) -> None:
        self.runner = runner
        self.front = front
        self.changed = asyncio.Event()
        """Set when a run reaches its review, leaves it, or ends."""
        self.workflow = ""
        self._take = take
        self._runs: list[_ComparedRun] = []

    async def run(self, requests: Iterable[RunRequest]) -> ComparisonResult:
        """Execute all runs to their ends.

        :raises InvalidInput: runs of this workflow cannot be compared.
        :raises UnknownAdapter: a model is unknown.
        :raises asyncio.CancelledError: the caller was cancelled, and so were the runs.
        """
        wanted = [*requests]
        for request in wanted:
            if not self.runner.registry.get(request.name).comparable:
                raise InvalidInput(
                    f"{request.name} cannot be compared: its steps may write before you choose an answer. "
                    "You can compare ask, summarize, refactor, generate, multi_file and agent"
                )
            self.runner.adapters.get(str(request.adapter))
            self.workflow = request.name
            begin = partial(self.runner.run, request)
            self._runs.append(_ComparedRun(self, request.execution_id, str(request.adapter), begin))
        return await self._drive()

    async def resume(self, wanted: str) -> ComparisonResult:
        """Continue the runs that an earlier process left.

        :param wanted: the id of one of the runs.
        :raises RunNotFound: no run has this id.
        :raises InvalidInput: it does not belong to a comparison.
        :raises StoreError: the store cannot be read.
        """
        store = await self.runner.store()
        reader = store.reader()
        one = await asyncio.to_thread(reader.run, wanted)
        known = RunRequest.model_validate(await asyncio.to_thread(reader.request, one.id))
        if not known.compared:
            raise InvalidInput(f"run {one.id[:8]} is not part of a comparison; `tideate resume` resumes it")
        self.workflow = known.name
        for run, adapter in known.compared.items():
            row = await find_run(store, run)
            begin: Begin = partial(self.runner.resume_run, run)
            if row is None:
                change = {"execution_id": run, "adapter": adapter}
                begin = partial(self.runner.run, known.model_copy(update=change))
            self._runs.append(_ComparedRun(self, run, adapter, begin))
            if row is not None and row.ended:
                self._runs[-1].result = await asyncio.to_thread(recorded_result, reader, row)
        return await self._drive()

    async def _drive(self) -> ComparisonResult:
        async with asyncio.TaskGroup() as runs:
            for run in self._runs:
                if not run.ended:
                    runs.create_task(run.run(), name=f"run {run.id}")
            try:
                taken, reason = await self._decide()
            except PersonNeeded as error:
                taken, reason = None, str(error)
                self.runner.leave()
            except TideateError as error:  # of the front end: the models' work is stored with their runs
                taken, reason = None, str(error)
            for run in self._waiting():
                run.decide(Decision(False, by=COMPARISON, reason=reason))
        if taken is not None and taken.presented is not None:
            await self.front.present(*taken.presented)
        return ComparisonResult(
            [one.result for one in self._runs if one.result is not None],
            [one.adapter for one in self._runs],
            taken.id if taken else None,
            "" if taken else reason,
            {one.id: one.checks for one in self._runs},
        )

    async def _decide(self) -> tuple[_ComparedRun | None, str]:
        """Return the taken run, and the reason given to the waiting ones."""
        chosen: _ComparedRun | None = None
        while True:
            await self._settled()
            if (taken := next(filter(_has_written, self._runs), None)) is not None:
                return taken, f"the answer from the adapter {taken.adapter!r} was taken"
            if chosen is None or chosen.review is None:
                choice = await self._choose(self._candidates())
                if isinstance(choice, str):
                    return None, choice
                chosen = choice
            if chosen is None:
                continue
            if chosen.review is None and chosen.answered:
                return chosen, ""
            decision = await self._review(chosen)
            if decision is None:
                continue
            if decision.accepted or _has_comments(decision):
                chosen.decide(decision)
            elif self._take is not None or len(self._waiting()) < 2:
                return None, decision.reason or NOT_TAKEN
            else:
                chosen = None  # any run can be chosen again

    async def _settled(self) -> None:
        """Wait until every run has ended or waits at its review."""
        while not all(one.ended or one.review for one in self._runs):
            self.changed.clear()
            await self.changed.wait()

    def _waiting(self) -> list[_ComparedRun]:
        return [one for one in self._runs if one.review is not None]

    def _candidates(self) -> list[_ComparedRun]:
        """Return the runs that can be taken: at a review, otherwise with a readable answer."""
        return self._waiting() or [one for one in self._runs if one.answered]

    async def _choose(self, candidates: Sequence[_ComparedRun]) -> _ComparedRun | str | None:
        """Return the chosen run, the reason that none is chosen, or None if a run ended meanwhile."""
        if self._take is not None:
            wanted = next((one for one in candidates if one.adapter == self._take), None)
            return wanted or f"the adapter {self._take!r} gave no answer that can be taken"
        if not candidates:
            return "no model gave an answer that can be taken"
        if len(candidates) == 1:
            return candidates[0]
        decision = await self._ask(self._question(candidates))
        if decision is None:
            return None
        value = decision.value if isinstance(decision.value, dict) else {}
        chosen = next((one for one in candidates if one.id == value.get("take")), None)
        if not decision.accepted or chosen is None:
            return decision.reason or NOT_TAKEN
        return chosen

    def _question(self, candidates: Sequence[_ComparedRun]) -> ConfirmationRequest:
        first = self._runs[0]
        runs = [self._shown(one, takable=one in candidates) for one in self._runs]
        words = f"Take which of {len(candidates)} answers?"
        return ConfirmationRequest(
            first.id, self.workflow, "compare", "compare", words, payload={"runs": runs}
        )

    def _shown(self, run: _ComparedRun, *, takable: bool) -> dict[str, Any]:
        shape: dict[str, Any] = {
            "execution_id": run.id,
            "adapter": run.adapter,
            "takable": takable,
            **run.facts(),
        }
        if run.review is not None:
            return shape | {"state": "review", "files": run.review.payload["files"]}
        result = run.result
        assert result is not None  # noqa: S101 it has ended
        return shape | {"state": _state(result), "error": result.error, "response": result.response}

    async def _review(self, chosen: _ComparedRun) -> Decision | None:
        """Return the person's decisions on a run; None if it ended meanwhile."""
        if chosen.review is None:
            return None
        others = [
            {"execution_id": one.id, "adapter": one.adapter, "files": one.review.payload["files"]}
            for one in self._waiting()
            if one is not chosen and one.review is not None
        ]
        payload = {**chosen.review.payload, "alternatives": others, "adapter": chosen.adapter}
        return await self._ask(replace(chosen.review, payload=payload))

    async def _ask(self, request: ConfirmationRequest) -> Decision | None:
        """Return the answer to a question; None if a run ended or continued meanwhile."""
        self.changed.clear()
        asking = asyncio.create_task(self.front.confirm(request))
        change = asyncio.create_task(self.changed.wait())
        try:
            await asyncio.wait({asking, change}, return_when=asyncio.FIRST_COMPLETED)
            return asking.result() if asking.done() else None
        finally:
            asking.cancel()
            change.cancel()
            await asyncio.gather(asking, change, return_exceptions=True)


async def _checked(check: CheckAccepted) -> dict[str, str]:
    """Run the trusted checks on all changes of a run, and return the status of each; empty without any."""
    try:
        done = await check(None, "")
    except StepFailed:  # no check can run here
        return {}
    if not done.checks:
        return {done.check: done.status}
    statuses = {}
    for name in done.checks:
        try:
            statuses[name] = (await check(None, name)).status
        except StepFailed as error:
            statuses[name] = f"not run: {error}"
    return statuses


def _with_checks(request: ConfirmationRequest, checks: Mapping[str, str]) -> ConfirmationRequest:
    """Return a review that shows the checks beside each file."""
    if not checks:
        return request
    words = ", ".join(f"{name.replace('_', ' ')} {status}" for name, status in checks.items())
    files = [{**file, "checked": words} for file in request.payload["files"]]
    return replace(request, payload={**request.payload, "files": files})


def _state(result: WorkflowResult) -> str:
    if result.ok:
        return "unchanged" if result.unchanged else "completed"
    return "cancelled" if result.cancelled else "failed"


def _has_written(run: _ComparedRun) -> bool:
    return run.result is not None and run.result.ok and bool(run.result.files)


def _has_comments(decision: Decision) -> bool:
    return isinstance(decision.value, dict) and bool(decision.value.get("comments"))
