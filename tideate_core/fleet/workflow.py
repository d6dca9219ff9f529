"""DBOS workflows: the legs of runs, and the times of schedules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dbos import DBOS

from tideate_core.errors import CommitGone, SubmissionRefused, TideateError
from tideate_core.fleet.legs import CONTINUE, FIRE, QUESTION, START, Leg, LegResult, State, branch_of
from tideate_core.fleet.queues import enqueue_options
from tideate_core.fleet.rates import rated_provider, register_permits, wait_for_permit
from tideate_core.fleet.submission import SignedSubmission

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tideate_core.fleet.workplace import Workplace

Shape = dict[str, Any]
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
    @DBOS.step(name="prepare", **_RETRIES)
    async def prepare(shape: Shape) -> Shape:
        try:
            leg = Leg.read(shape)
            commit = await place.prepare(leg)
        except SubmissionRefused as error:
            refused = LegResult(state=State.REFUSED, message=str(error), error_code=error.code)
            return {"refused": refused.model_dump(mode="json")}
        return {"commit": commit, "rate": rated_provider(leg.submission, place.config)}

    @DBOS.step(name="advance", preemptible=True, **_RETRIES)
    async def advance(shape: Shape, commit: str) -> Shape:
        return (await place.advance(Leg.read(shape), commit)).model_dump(mode="json")

    @DBOS.step(name="ask", **_RETRIES)
    async def ask(shape: Shape, result: Shape) -> None:
        leg = Leg.read(shape)
        await place.ask(leg, LegResult.model_validate(result))
        await DBOS.update_workflow_attributes_async(leg.id, {"waiting": True}, merge=True)

    @DBOS.step(name="land", **_RETRIES)
    async def land(shape: Shape, result: Shape) -> str | None:
        return await place.land(Leg.read(shape), LegResult.model_validate(result))

    @DBOS.step(name="finish", **_RETRIES)
    async def finish(shape: Shape, result: Shape) -> None:
        await place.finish(Leg.read(shape), LegResult.model_validate(result))

    return _Steps(prepare, advance, ask, land, finish)


def _cause(error: Exception) -> tuple[str, str]:
    """Return the last error of a DBOS step, in one line, and its code."""
    errors: list[Exception] = getattr(error, "errors", None) or [error]
    last = errors[-1]
    words = str(getattr(last, "orig", None) or last).partition("\n")[0][:_LONGEST]
    return words or type(last).__name__, last.code if isinstance(last, TideateError) else type(last).__name__


def _make_leg(place: Workplace) -> Callable[[Shape], Awaitable[Shape]]:
    steps = _make_steps(place)

    async def run_leg(shape: Shape) -> Shape:
        prepared: Shape = await steps.prepare(shape)
        if "refused" in prepared:
            return prepared["refused"]  # type: ignore[no-any-return]
        if shape["cancel"]:
            cancelled = LegResult(state=State.CANCELLED).model_dump(mode="json")
            await steps.finish(shape, cancelled)
            return cancelled
        if prepared["rate"] is not None:
            await wait_for_permit(Leg.read(shape), prepared["rate"])
        shown: Shape = await steps.advance(shape, prepared["commit"])
        result = LegResult.model_validate(shown)
        if result.state is State.WAITING and result.asked is not None:
            await steps.ask(shape, shown)
            await DBOS.set_event_async(QUESTION, result.asked.model_dump(mode="json"))
        elif result.state is State.COMPLETED and result.files and shape["signed"]["submission"]["land"]:
            landed = await steps.land(shape, shown)
            branch = None if landed is None else branch_of(shape["run"])
            result = result.model_copy(update={"landed": landed, "branch": branch})
        await steps.finish(shape, shown)
        return result.model_dump(mode="json")

    async def leg(shape: Shape) -> Shape:
        try:
            return await run_leg(shape)
        except Exception as error:  # noqa: BLE001 any error of a DBOS step fails the leg
            words, code = _cause(error)
            failed = LegResult(state=State.FAILED, message=words, error_code=code, worker=place.name)
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
        at = str(scheduled)
        signed = SignedSubmission.read(context["signed"])
        fired = Leg(signed=signed, run=signed.submission.fired(at), scheduled=at)
        options = enqueue_options(fired, context["queue"])
        await DBOS.enqueue_workflow_with_options_async(options, fired.model_dump(mode="json"))
        return fired.run
