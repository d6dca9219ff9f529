"""Work of an agent with tools of its own: turns and landings until no comment is left."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from tideate_core.adapters import Prompt
from tideate_core.engine.review.landing import Landed, land_difference
from tideate_core.workflows import MISSING, Declined

if TYPE_CHECKING:
    from collections.abc import Callable

    from tideate_core.agents import AgentTurn, GuardedAgent
    from tideate_core.workflows import StepContext


@dataclass(frozen=True, slots=True)
class AgentWork:
    """Outcome of an agent's work."""

    text: str = ""
    """Its answers."""
    last: str = ""
    """The agent's last answer."""
    files: list[str] = field(default_factory=list)
    """Written files."""
    changed: bool = False
    """True if the agent changed files, even if none was accepted."""
    feedback: str = ""
    """Rejections that the agent did not get yet, as a prompt for the next run."""


async def work_and_land(
    step: StepContext,
    guarded: GuardedAgent,
    prompt: Prompt,
    check: Callable[[str], object] = len,
) -> AgentWork:
    """Let an agent work, and land its changes; repeat as long as the person comments on them.

    After a crash, a turn is neither repeated nor landed again.

    :param check: raises an error for an unusable answer; then no change of its turn lands.
    :raises Declined: the person accepted nothing.
    """
    work = AgentWork()
    for number in range(step.revisions + 1):
        turn = await guarded.turn(prompt)
        check(turn.text)
        work = replace(work, text="\n\n".join(filter(None, [work.text, turn.text])), last=turn.text)
        landed = await _land(step, guarded, turn, number, work)
        if landed is None:
            return work
        files = list(dict.fromkeys([*work.files, *landed.files]))
        work = replace(work, files=files, changed=True, feedback=landed.feedback)
        if not landed.comments:
            return work
        prompt = Prompt(landed.feedback)
    step.notice(f"limits.revisions ({step.revisions}) is reached: the agent does not read the last comments")
    return work


async def _land(
    step: StepContext, guarded: GuardedAgent, turn: AgentTurn, number: int, work: AgentWork
) -> Landed | None:
    """Land the changes of a turn, durably; None if there are none."""
    key = guarded.landing_key(number)
    kept = step.recall(key)
    if kept is not MISSING:
        landed = Landed(**kept)
    elif not turn.difference:
        return None
    else:
        try:
            # after a crash, what was accepted stays, although its step starts again
            landed = await land_difference(step.writing_as(key), turn.difference)
        except Declined:
            if not work.files:
                raise
            # the files of the turns before are written
            landed = Landed(undecided=[*turn.difference.files, *turn.difference.modes])
        await step.remember(key, asdict(landed))
    await _bring_up(step, guarded, turn, landed, f"{key}:updated")
    return landed


async def _bring_up(
    step: StepContext, guarded: GuardedAgent, turn: AgentTurn, landed: Landed, key: str
) -> None:
    """Bring the copy up to the project after a landing, once, if the agent or a session needs it."""
    undecided = {*landed.undecided, *landed.left}
    guarded.has_undecided = bool(undecided)
    if (landed.comments or undecided) and step.recall(key) is MISSING:
        await guarded.bring_up(turn.difference, undecided)
        await step.remember(key, value=True)
