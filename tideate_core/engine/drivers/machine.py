"""Machine driver: visits states by validated transitions until one leads out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tideate_core.engine.driver import Question, Work
from tideate_core.engine.drivers.machine_prompts import MachineConversation
from tideate_core.engine.drivers.machine_tools import MachineTools
from tideate_core.engine.events import EventName
from tideate_core.errors import InvalidDefinition, InvalidInput, InvalidTransition, MoveLimitReached
from tideate_core.machines.language import BOUNDARY, Workflow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tideate_core.config import LimitsConfig
    from tideate_core.engine.driver import Settled
    from tideate_core.engine.events import Emit
    from tideate_core.machines.language import Transition
    from tideate_core.workflows import MachineWorkflow, StepContext

__all__ = ["MachineDriver", "question_before", "states_to_confirm"]


LAST_STATES = 6
"""States of a loop that an error tells."""


@dataclass(frozen=True, slots=True)
class _Move:
    """A transition that was chosen and not made yet."""

    transition: Transition
    by: str
    reason: str = ""


class MachineDriver:
    """A `Driver`.

    :param confirm: states that are entered only after a question.
    :param prompt: the person's task.
    :param tools: of its states.
    :raises InvalidDefinition: no transition leads into a state.
    """

    reversible = None
    batches_done = 0

    def __init__(
        self,
        definition: MachineWorkflow,
        *,
        confirm: Collection[str],
        limits: LimitsConfig,
        prompt: str,
        emit: Emit,
        tools: MachineTools | None = None,
    ) -> None:
        self._name = definition.name
        self._states = definition.machine.states
        self._outgoing = definition.machine.outgoing
        self._check()
        self._confirm = confirm
        self._limits = limits
        self._emit = emit
        hide = definition.obfuscator.hide if definition.obfuscator else str
        self._prompt = hide(prompt)
        self._talk = MachineConversation(self._name, self._prompt, states=self._states, hide=hide)
        self._tools = tools or MachineTools()
        self._machine = Workflow(definition.machine).machine()
        self._path: list[dict[str, str]] = []
        self._visits: Counter[str] = Counter()
        self._works = 0
        self._prepared = False
        self._given = False
        self._ended = False
        self._chosen = self._only(BOUNDARY)

    @property
    def has_steps(self) -> bool:
        return bool(self._states)

    @property
    def prepared(self) -> bool:
        return self._prepared

    @property
    def has_more(self) -> bool:
        return not self._ended

    @property
    def at_last(self) -> bool:
        ways = self._outgoing.get(self._machine.state, ())  # none at the end
        return all(way.target == BOUNDARY for way in ways)

    @property
    def path(self) -> list[dict[str, str]]:
        return list(self._path)

    def prepare(self) -> None:
        self._prepared = True

    def outline(self) -> dict[str, Any]:
        return {"kind": "machine", "steps": [], "states": list(self._states), "prompt": self._prompt}

    def graph(self) -> None:
        """None: where a machine goes is known when it is there."""

    def ready_steps(self) -> list[Work]:
        if self._given or self._ended:
            return []
        work = self._next()
        self._given = True
        return [work]

    def begin_step(self, work: Work) -> None:
        self._works += 1
        if self._chosen is not None:
            self._move(self._chosen)
            self._visits[self._machine.state] += 1
            self._chosen = None

    async def complete_step(self, work: Work, value: Any, step: StepContext) -> None:
        """Find the way on; a choice that was made and remembered is not made again."""
        if work.step == BOUNDARY:
            self._chosen = self._chosen or await self._choose(step, BOUNDARY)
        else:
            self._talk.heard(work.more["state"], value)
            await self._find_way(step, self._machine.state)
        if self._chosen is None:
            self._ended = True
        elif self._chosen.transition.target == BOUNDARY:
            self._move(self._chosen)
            self._ended = True
        self._given = False

    async def fail_step(self, work: Work, settled: Settled) -> bool:
        """False: no state is left without its work done."""
        return False

    def skip_step(self, work: Work) -> None:
        raise InvalidTransition(f"{self._name}: the state {work.step!r} cannot be skipped")

    def unstarted_steps(self) -> list[Work]:
        return []

    def response(self) -> str:
        return self._talk.last

    def unfinished_response(self) -> str | None:
        return self._talk.last or None

    def _next(self) -> Work:
        index = self._works + 1
        if self._chosen is None:  # several ways lead in: choosing one is a step of its own
            return Work(BOUNDARY, self._enter, index, 0, more={"state": BOUNDARY}, agent="machine")
        way = self._chosen.transition
        state = way.target
        self._check_limits(state)
        visits = self._visits[state] + 1
        guidance = self._guidance(way)
        question = None
        if state in self._confirm:
            question = question_before(self._name, way, guidance, self._chosen.reason)
        step = state if visits == 1 else f"{state}#{visits}"
        more = {"state": state}
        handler = partial(self._visit, way)
        return Work(step, handler, index, 0, question, more, agent="machine", task=guidance)

    async def _enter(self, step: StepContext) -> None:
        self._chosen = await self._choose(step, BOUNDARY)

    async def _visit(self, way: Transition, step: StepContext) -> Any:
        guidance = self._guidance(way)
        if not guidance:
            return None
        tools = self._tools.of_state(step, way.target)
        return (await self._talk.follow(step, way.target, guidance, self._path, tools)).as_json()

    async def _find_way(self, step: StepContext, state: str) -> None:
        """Choose the way out of a state whose result is safe: the choice may fail or be cancelled."""
        try:
            self._chosen = self._only(state) or await self._choose(step, state)
        except Exception:
            step.notice(f"{self._name}: no way out of the state {state!r} was chosen", level="warn")
            raise
        if self._chosen is None:
            step.notice(f"{self._name} ends in {state!r}: no transition leads out of it, to * neither")

    async def _choose(self, step: StepContext, state: str) -> _Move | None:
        ways = self._outgoing[state]
        if not ways:
            return None
        way, reason = await self._talk.choose(step, state, [(w, self._guidance(w)) for w in ways])
        return _Move(way, "model", reason)

    def _only(self, state: str) -> _Move | None:
        ways = self._outgoing[state]
        return _Move(ways[0], "only") if len(ways) == 1 else None

    def _guidance(self, way: Transition) -> str:
        if way.guidance or way.target == BOUNDARY:
            return way.guidance
        return self._states[way.target].guidance

    def _move(self, move: _Move) -> None:
        way = move.transition
        self._machine.require(way.target)
        shape = {"from": way.source, "to": way.target, "when": way.when, "by": move.by}
        self._path.append(shape)
        reason = {"reason": move.reason} if move.reason else {}
        self._emit(EventName.TRANSITION, {**shape, "move": len(self._path), **reason})

    def _check(self) -> None:
        if not any(self._outgoing.values()):
            raise InvalidDefinition(f"{self._name} has no transition; `* to STATE` says where a run starts")
        if all(way.target == BOUNDARY for way in self._outgoing[BOUNDARY]):
            raise InvalidDefinition(
                f"{self._name} has no entry: a transition `* to STATE` says where a run starts"
            )

    def _check_limits(self, state: str) -> None:
        """Moving out is never refused: it ends what the limits are there to end."""
        moves, visits, limits = len(self._path), self._visits[state], self._limits
        if moves >= limits.max_moves:
            self._refuse(state, f"{moves} moves were made", f"max_moves = {limits.max_moves}")
        if visits >= limits.max_visits:
            self._refuse(state, f"{state!r} was visited {visits} times", f"max_visits = {limits.max_visits}")

    def _refuse(self, state: str, what: str, limit: str) -> None:
        raise MoveLimitReached(
            f"{self._name}: {self._round(state)}: {what}; if it needs more, raise `{limit}` of [limits] "
            "in the configuration"
        )

    def _round(self, state: str) -> str:
        """Return the states that were passed since this one was left; without a loop, the last ones."""
        way = [move["to"] for move in self._path]
        loop = way[len(way) - way[::-1].index(state) - 1 :] if state in way else way
        if state in loop and len(loop) == 2:
            return " ⇄ ".join(loop)
        if len(loop) > LAST_STATES:
            loop = ["…", *loop[-LAST_STATES:]]
        return " → ".join([*loop, state])


def states_to_confirm(
    definition: MachineWorkflow, configured: Iterable[str], inputs: Mapping[str, Any]
) -> frozenset[str]:
    """Return the states by the names that the definition uses.

    What the run was given as `confirm` replaces the rest: a list, or names with commas between them. The
    configuration only adds to what the workflow asks for.

    :raises InvalidInput: a state is unknown; the nearest is named.
    """
    given = inputs.get("confirm")
    names = (*definition.confirm, *configured) if given is None else _listed(given)
    return frozenset(definition.state_named(name) for name in names)


def question_before(workflow: str, way: Transition, guidance: str, reason: str) -> Question:
    """Return the question whether a run may enter a state: why it would go there, and what to do there.

    :param reason: the model's, empty where it had no choice.
    """
    # here, because most runs need no language
    from tideate_core.machines.language import BOUNDARY

    whence = "as its first state" if way.source == BOUNDARY else f"from {way.source!r}"
    when = " ".join(way.when.split())
    why = {"when": when, "because": reason}
    details = [*(f"{word}: {text}" for word, text in why.items() if text), guidance]
    return Question(
        f"{workflow}: enter the state {way.target!r} {whence}?",
        "\n\n".join(filter(None, details)),
        {"from": way.source, "to": way.target, **why, "guidance": guidance},
    )


def _listed(given: Any) -> list[str]:
    if isinstance(given, str):
        given = given.split(",")
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise InvalidInput("the input 'confirm' lists states: confirm=first_state,second_state")
    return [name.strip() for name in given if name.strip()]
