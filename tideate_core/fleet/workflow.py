"""DBOS workflows: the legs of runs, and the times of schedules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dbos import DBOS, PortableWorkflowError

from tideate_core.errors import CommitGone, SubmissionRefused, TideateError, WorkspaceError
from tideate_core.fleet.legs import CONTINUE, FIRE, START, Leg, LegResult, State
from tideate_core.fleet.queues import enqueue_options
from tideate_core.fleet.rates import rated_provider, register_permits, wait_for_permit
from tideate_core.fleet.submission import SignedSubmission, scheduled_time

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tideate_core.fleet.workplace import Workplace

Shape = dict[str, Any]
_Step: TypeAlias = "Callable[..., Awaitable[Any]]"
ATTEMPTS: Final = 8
"""Maximum attempts of a DBOS step, for example one that cannot reach a repository."""
_LONGEST: Final = 500
"""Maximum characters of an error."""
_RECOVERIES: Final = 1000
"""Maximum number of recoveries of a leg after its worker died."""


def _may_pass(error: BaseException) -> bool:
    """Tell whether a retry may help."""
    from sqlalchemy.exc import SQLAlchemyError

    if isinstance(error, SubmissionRefused | CommitGone):
        return False
    return isinstance(error, TideateError | SQLAlchemyError | OSError)


def _plain_errors(place: Workplace, step: _Step) -> _Step:
    """Return a step without paths of the worker in its errors, which DBOS stores."""

    @wraps(step)
    async def run(*arguments: Any) -> Any:
        try:
            return await step(*arguments)
        except TideateError as error:
            error.args = tuple(place.plain(one) if isinstance(one, str) else one for one in error.args)
            raise
        except OSError as error:
            raise WorkspaceError(place.plain(str(error))) from None

    return run


_RETRIES: Final[Shape] = {
    "retries_allowed": True,
    "max_attempts": ATTEMPTS,
    "interval_seconds": 0.5,
    "backoff_rate": 2.0,
    "should_retry": _may_pass,
}


@dataclass(frozen=True, slots=True)
class _Steps:
    """The DBOS steps of a leg; cancelling the run interrupts a preemptible step."""

    prepare: Any
    advance: Any
    ask: Any
    land: Any
    finish: Any


def _make_steps(place: Workplace) -> _Steps:
    """Return the steps; each trusts only the signature of the leg and the seals of workers."""
    authority = place.authority

    async def prepare(shape: Shape) -> Shape:
        leg = await authority.verify(shape, works=True)
        rate = rated_provider(leg.submission, place.config)
        return (await place.prepare(leg, rate)).model_dump(mode="json")

    async def advance(shape: Shape, prepared: Shape) -> Shape:
        leg = await authority.verify(shape, works=True)
        result = await place.advance(leg, authority.read_start(leg, prepared))
        return authority.seal_result(leg, result)

    async def ask(shape: Shape, shown: Shape) -> None:
        leg = await authority.verify(shape)
        await place.ask(leg, authority.read_result(leg, shown))
        if await _is_cancelled(leg.leg.id):  # its end may have looked before the question was there
            await place.withdraw(leg)
        await DBOS.update_workflow_attributes_async(leg.leg.id, {"waiting": True}, merge=True)

    async def land(shape: Shape, shown: Shape) -> Shape:
        leg = await authority.verify(shape)
        result = authority.read_result(leg, shown)
        landed = await place.land(leg, result, partial(_is_cancelled, leg.leg.id))
        return authority.seal_result(leg, landed)

    async def finish(shape: Shape, shown: Shape | None) -> None:
        leg = await authority.verify(shape)
        await place.finish(leg, None if shown is None else authority.read_result(leg, shown))

    steps = [
        DBOS.step(name=one.__name__, preemptible=one is advance, **_RETRIES)(_plain_errors(place, one))
        for one in (prepare, advance, ask, land, finish)
    ]
    return _Steps(*steps)


async def _is_cancelled(leg: str) -> bool:
    status = await DBOS.get_workflow_status_async(leg)
    return status is not None and status.status == "CANCELLED"


def _cause(error: Exception) -> tuple[str, str]:
    """Return the last error of a DBOS step, in one line, and its code."""
    errors: list[Exception] = getattr(error, "errors", None) or [error]
    last = errors[-1]
    words = str(getattr(last, "orig", None) or last).partition("\n")[0][:_LONGEST]
    # an error that DBOS read from a row, after a crash, has only a name
    code = last.name if isinstance(last, PortableWorkflowError) else type(last).__name__
    return words or code, code


def _make_leg(place: Workplace) -> Callable[[Shape], Awaitable[Shape]]:
    steps = _make_steps(place)

    async def run_leg(shape: Shape) -> Shape:
        if shape.get("cancel"):
            await steps.finish(shape, None)
            return LegResult(state=State.CANCELLED, worker=place.name).model_dump(mode="json")
        prepared: Shape = await steps.prepare(shape)
        if prepared.get("rate") is not None:
            await wait_for_permit(Leg.read(shape), prepared["rate"])
        shown: Shape = await steps.advance(shape, prepared)
        result = LegResult.model_validate(shown)
        if result.state is State.WAITING:
            await steps.ask(shape, shown)
        elif result.state is State.COMPLETED and result.files and shape["signed"]["submission"]["land"]:
            shown = await steps.land(shape, shown)
        await steps.finish(shape, shown)
        return shown

    async def leg(shape: Shape) -> Shape:
        try:
            return await run_leg(shape)
        except Exception as error:  # noqa: BLE001 any error of a DBOS step fails the leg
            words, code = _cause(error)
        state = State.REFUSED if code == SubmissionRefused.__name__ else State.FAILED
        try:
            await steps.finish(shape, None)
        except Exception as error:  # noqa: BLE001 the first error is told
            if state is State.FAILED:
                words = f"{words}; its question may still be in the inbox: {_cause(error)[0]}"
        failed = LegResult(state=state, message=place.plain(words), error_code=code, worker=place.name)
        return failed.model_dump(mode="json")

    return leg


def register_workflows(place: Workplace) -> None:
    """Register the DBOS workflows of a worker; call it once in a process, before DBOS is launched."""
    leg = _make_leg(place)
    register_permits()

    @DBOS.workflow(name=START, max_recovery_attempts=_RECOVERIES)
    async def start(shape: Shape) -> Shape:
        return await leg(shape)

    @DBOS.workflow(name=CONTINUE, max_recovery_attempts=_RECOVERIES)
    async def go_on(shape: Shape) -> Shape:
        return await leg(shape)

    @DBOS.workflow(name=FIRE, max_recovery_attempts=_RECOVERIES)
    async def fire(scheduled: Any, context: Any) -> str:
        at = scheduled_time(datetime.fromisoformat(str(scheduled)))
        signed = SignedSubmission.read(context["signed"])
        fired = Leg(signed=signed, run=signed.submission.fired(at), scheduled=at)
        options = enqueue_options(fired, context["queue"])
        await DBOS.enqueue_workflow_with_options_async(options, fired.model_dump(mode="json"))
        return fired.run
