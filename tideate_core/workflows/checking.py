"""Check a whole definition: unknown names, dependency cycles, output schemas; calls the template checks.

Checks read raw values, even of a definition with other mistakes, so that one pass reports everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from tideate_core.config import OWN_SERVERS
from tideate_core.errors import ConfigError
from tideate_core.util.deadline import Deadline
from tideate_core.workflows.graph import batches_of, cycles, format_cycle
from tideate_core.workflows.limits import LIMITS
from tideate_core.workflows.mistakes import Finding, Nearest, canonical
from tideate_core.workflows.shape import schema_findings
from tideate_core.workflows.step_definition import (
    ACP,
    KNOWN_AGENTS,
    STEP_KINDS,
    InputDefinition,
    kind_problems,
)
from tideate_core.workflows.template_checks import RawStep, TemplateChecks
from tideate_core.workflows.tool_names import read_tool_name
from tideate_core.workflows.workflow_files import is_definition_path, is_workflow_path

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from tideate_core.workflows.mistakes import Loc, Severity

TOO_LONG: Final = "checking takes too long from here on"


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Names that steps may use; None: unknown, so not checked."""

    handlers: Collection[str] | None = None
    workflows: Collection[str] | None = None
    machines: Collection[str] | None = None
    """The names in `workflows` that are machines."""
    agents: Collection[str] | None = KNOWN_AGENTS
    servers: Collection[str] | None = None
    """MCP servers; the person may have others, so an unknown one is only a warning."""
    tools: Callable[[], Collection[str]] | None = None
    """Returns tideate's own tools and groups; called only if a step names tools."""


def check_definition(values: Mapping[str, Any], name: str, known: KnownNames) -> list[Finding]:
    """Return the mistakes beyond a wrong shape, grouped by kind.

    :param values: the whole definition, as JSON.
    :param name: the workflow's name.
    """
    root = _spelled(values)
    steps = [RawStep(i, _spelled(step)) for i, step in enumerate(_listed(root)) if isinstance(step, Mapping)]
    checks = _Checks(steps, name, known)
    inputs = root.get("inputs")
    return [
        *_inputs(inputs if isinstance(inputs, Mapping) else {}),
        *checks.ids(),
        *checks.dependencies(),
        *checks.kinds(),
        *checks.templates(root),
        *checks.schemas(),
    ]


def too_many(values: Mapping[str, Any]) -> Finding | None:
    """Return a finding if there are too many steps or dependencies to check and draw quickly."""
    steps = _listed(_spelled(values))
    if len(steps) > LIMITS.steps:
        message = f"a workflow has at most {LIMITS.steps:,} steps, and this one has {len(steps):,}"
        return Finding(("steps",), message, "let some of them be workflows of their own", on_key=True)
    named = (_spelled(step).get("dependencies") for step in steps if isinstance(step, Mapping))
    count = sum(len(one) for one in named if isinstance(one, list | tuple))
    if count > LIMITS.dependencies:
        message = f"the steps have {count:,} dependencies together, and at most {LIMITS.dependencies:,}"
        return Finding(("steps",), message, "let fewer of them wait for each other", on_key=True)
    return None


def _spelled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {canonical(key): value for key, value in values.items() if isinstance(key, str)}


def _listed(root: Mapping[str, Any]) -> list[Any] | tuple[Any, ...]:
    steps = root.get("steps")
    return steps if isinstance(steps, list | tuple) else []


class _Checks:
    def __init__(self, steps: list[RawStep], name: str, known: KnownNames) -> None:
        self._steps = steps
        self._name = name
        self._known = known
        self._by_id: dict[str, RawStep] = {}
        for step in steps:
            if step.id:
                self._by_id.setdefault(step.id, step)
        # unknown dependencies are reported elsewhere
        self._waiting = {
            name: [needed for _, needed in _dependencies(step) if needed in self._by_id]
            for name, step in self._by_id.items()
        }
        self._order = [name for batch in batches_of(self._waiting) for name in batch]
        """Steps that can run, dependencies first."""
        self._nearest = Nearest()
        self._deadline = Deadline(LIMITS.check_seconds)

    def ids(self) -> Iterator[Finding]:
        for step in self._steps:
            first = self._by_id.get(step.id)
            if first is not None and first is not step:
                message = f"step {step.id!r} is listed twice"
                yield Finding(step.at("id"), message, "give one of them another id", see=first.at("id"))

    def dependencies(self) -> Iterator[Finding]:
        for step in self._steps:
            seen: set[str] = set()
            for place, name in _dependencies(step):
                at = step.at("dependencies", place)
                if name not in self._by_id:
                    message = f"step {step.id!r} depends on {name!r}, which is not a step of this workflow"
                    yield Finding(at, message, self._nearest.hint(name, self._by_id))
                elif name in seen:
                    message = f"step {step.id!r} depends on {name!r} twice"
                    yield Finding(at, message, "remove one of them", "warning")
                seen.add(name)
        ordered = set(self._order)
        for cycle in cycles({name: of for name, of in self._waiting.items() if name not in ordered}):
            first = self._by_id[cycle[0]]
            place = next(place for place, name in _dependencies(first) if name == cycle[1 % len(cycle)])
            message = f"steps wait for each other: {format_cycle(cycle)}"
            if len(cycle) == 1:
                message = f"step {cycle[0]!r} waits for itself"
            at = first.at("dependencies", place)
            yield Finding(at, message, "remove one of these dependencies", of_graph=True)

    def kinds(self) -> Iterator[Finding]:
        for step in self._steps:
            given = {key for key in (*STEP_KINDS, "task") if step.values.get(key) is not None}
            given |= {"tools"} if step.values.get("tools") else set()
            given |= {"context"} if step.values.get("context") == "none" else set()
            for problem in kind_problems(given):
                yield Finding(step.at(problem.key), problem.message, problem.hint, on_key=True)
            yield from self._names(step, given)

    def _names(self, step: RawStep, given: set[str]) -> Iterator[Finding]:
        known = self._known
        agent = step.value("agent")
        if not (isinstance(agent, str) and agent.startswith(ACP)):
            yield from self._unknown("agent", agent, known.agents, step.at("agent"))
        yield from self._unknown("handler", step.value("handler"), known.handlers, step.at("handler"))
        server, at = step.value("tool", "server"), step.at("tool", "server")
        yield from self._unknown("MCP server", server, known.servers, at, "warning")
        yield from self._workflow(step)
        yield from self._machine(step)
        yield from self._tools(step)
        if step.id and not given and known.handlers is not None and step.id not in known.handlers:
            message = f"step {step.id!r} does nothing, and no handler is registered under its id"
            yield Finding(step.at("id"), message, "give it a `task`, a `handler`, a `tool` or a `workflow`")

    def _workflow(self, step: RawStep) -> Iterator[Finding]:
        path = ("workflow", "name") if isinstance(step.value("workflow"), Mapping) else ("workflow",)
        name, at = step.value(*path), step.at(*path)
        if name == self._name:
            yield Finding(at, f"workflow {name!r} would run itself endlessly", "name another one")
        elif isinstance(name, str) and not is_workflow_path(name):
            yield from self._unknown("workflow", name, self._known.workflows, at)

    def _machine(self, step: RawStep) -> Iterator[Finding]:
        name, at = step.value("machine"), step.at("machine")
        if not isinstance(name, str) or not name:
            return
        is_graph = name == self._name or name in (self._known.workflows or ())
        if is_definition_path(name) or (is_graph and name not in (self._known.machines or ())):
            message = f"{name!r} has steps and is not a machine"
            yield Finding(at, message, "name it in `workflow` instead of `machine`", on_key=True)
        elif not is_workflow_path(name):
            yield from self._unknown("machine", name, self._known.machines, at)

    def _tools(self, step: RawStep) -> Iterator[Finding]:
        """Check the tools named for a step's model."""
        named = step.value("tools")
        if not isinstance(named, list) or not named or self._known.tools is None:
            return
        known, servers = self._known.tools(), self._known.servers
        for place, name in enumerate(named):
            if not isinstance(name, str) or not name:
                continue
            at = step.at("tools", place)
            try:
                tool = read_tool_name(name, known, OWN_SERVERS if servers is None else servers)
            except ConfigError as error:
                message, _, hint = str(error).partition("; ")
                yield Finding(at, message, hint)
            else:
                yield from self._unknown("MCP server", tool.server, servers, at, "warning")

    def _unknown(
        self,
        kind: str,
        name: Any,
        known: Collection[str] | None,
        at: Loc,
        severity: Severity = "error",
    ) -> Iterator[Finding]:
        """Check a name; other values and an empty text are reported elsewhere."""
        if isinstance(name, str) and name and known is not None and name not in known:
            there = ", ".join(sorted(known)[:10]) or "none"
            hint = self._nearest.hint(name, known) or f"known: {there}"
            yield Finding(at, f"no {kind} is called {name!r}", hint, severity)

    def templates(self, root: Mapping[str, Any]) -> Iterator[Finding]:
        """Check that templates use only steps that end before the step starts, and declared names."""
        numbers = {name: number for number, name in enumerate(self._by_id)}
        before: dict[str, int] = {}
        for name in self._order:
            before[name] = 0
            for needed in self._waiting[name]:
                before[name] |= before[needed] | 1 << numbers[needed]
        checks = TemplateChecks(root, numbers, before, self._nearest, self._deadline)
        for step in self._steps:
            if self._deadline.is_over:
                yield Finding(step.at(), TOO_LONG, "make it smaller")
                return
            if self._by_id.get(step.id) is step:  # another step with this id is reported already
                yield from checks.check(step)

    def schemas(self) -> Iterator[Finding]:
        """Check output schemas."""
        for step in self._steps:
            schema, at = step.value("output_schema"), step.at("output_schema")
            if isinstance(schema, Mapping):
                if self._deadline.is_over:
                    yield Finding(at, TOO_LONG, "make it smaller")
                    return
                yield from schema_findings(schema, at, self._deadline)


def _dependencies(step: RawStep) -> list[tuple[int, str]]:
    """Return the dependencies that are texts, with their list indices."""
    found = step.value("dependencies")
    listed = found if isinstance(found, list) else []
    return [(place, name) for place, name in enumerate(listed) if isinstance(name, str)]


def _inputs(declared: Mapping[str, Any]) -> Iterator[Finding]:
    """Check that defaults and listed values match the input's type."""
    for name, about in declared.items():
        try:
            of = InputDefinition.model_validate(about)
        except ValidationError:
            continue  # the shape check reports it
        allowed = of.model_copy(update={"enum": None})
        for place, value in enumerate(of.enum or ()):
            if problem := allowed.problem_with(value):
                message = f"a listed value of the input {name!r} {problem}"
                yield Finding(("inputs", name, "enum", place), message, "change it, or the type")
        if of.default is not None and (problem := of.problem_with(of.default)):
            message = f"the default of the input {name!r} {problem}"
            yield Finding(("inputs", name, "default"), message, "change it, or what the input may be")
