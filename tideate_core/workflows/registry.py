"""In-memory registry: workflows and step handlers by name, also from installed packages."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tideate_core.errors import InvalidDefinition, UnknownWorkflow
from tideate_core.workflows.definitions import MachineWorkflow
from tideate_core.workflows.registration import Registration, check_kept
from tideate_core.workflows.step_definition import NAME_PATTERN

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tideate_core.workflows.definitions import WorkflowDefinition
    from tideate_core.workflows.handler import StepHandler
    from tideate_core.workflows.loading import TextFormat
    from tideate_core.workflows.workflow_files import Source

log = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "tideate.workflows"
"""Entry points of packages: functions that take the registry and register workflows."""


@dataclass
class WorkflowRegistry:
    """Workflows by name. A handler may be missing: the run fails at that step."""

    notices: list[str] = field(default_factory=list)
    """Packages whose workflows could not be registered, with the reason."""
    _known: dict[str, Registration] = field(default_factory=dict)
    _functions: dict[str, StepHandler] = field(default_factory=dict)

    def register(
        self,
        definition: WorkflowDefinition | MachineWorkflow,
        handlers: Mapping[str, StepHandler],
        *,
        source: Source = "package",
        continues: tuple[str, ...] = (),
        comparable: bool = False,
        reviewed: bool = False,
    ) -> None:
        """Add a workflow; replaces one of the same name and source.

        :param continues: see `Registration`, as for `comparable` and `reviewed`.
        :raises InvalidDefinition: the name belongs to another source, or a handler to no step.
        """
        before = self._known.get(definition.name)
        if before and before.source != source:
            raise InvalidDefinition(
                f"workflow {definition.name!r} exists already ({before.source}); choose another name"
            )
        stray = sorted(handlers.keys() - _step_ids(definition))
        if stray:
            raise InvalidDefinition(
                f"workflow {definition.name!r} has handlers for steps it does not list: {', '.join(stray)}"
            )
        self._known[definition.name] = Registration(
            definition,
            dict(handlers),
            source,
            continues=continues,
            comparable=comparable,
            reviewed=reviewed,
        )

    def get(self, name: str, *, obfuscate: bool = False) -> Registration:
        """Return a registered workflow.

        :param obfuscate: replace the names of states by tokens, made with the person's key.
        :raises UnknownWorkflow: with the nearest name.
        :raises InvalidInput: only a machine can be obfuscated.
        """
        try:
            known = self._known[name]
        except KeyError:
            raise UnknownWorkflow(name, self._known) from None
        return known.obfuscated(None) if obfuscate else known

    def parse(self, text: str, format: TextFormat, name: str) -> Registration:  # noqa: A002
        """Return the workflow of a text that is not in a file.

        :raises TideateError: as `parse_text`.
        """
        # here, because most runs need no parser
        from tideate_core.workflows.checking import KnownNames
        from tideate_core.workflows.loading import parse_text

        machines = frozenset(one for one, known in self._known.items() if known.kind == "machine")
        names = KnownNames(frozenset(self.handlers_for(name)), frozenset(self._known), machines, None)
        return self.with_handlers(parse_text(text, format, name, names))

    def list(self) -> list[Registration]:
        """Return all workflows sorted by name."""
        return [self._known[name] for name in sorted(self._known)]

    def register_handler(self, name: str, handler: StepHandler) -> None:
        """Register a function for definition files, which name it as `handler: NAME`.

        :raises InvalidDefinition: the name is invalid or belongs to another function.
        """
        if not re.fullmatch(NAME_PATTERN, name):
            raise InvalidDefinition(
                f"{name!r} is not a name for a handler (a letter or _, then letters, digits, _ . -)"
            )
        if self._functions.get(name, handler) is not handler:
            raise InvalidDefinition(f"the handler {name!r} exists already; choose another name")
        self._functions[name] = handler

    def handlers_for(self, workflow: str) -> dict[str, StepHandler]:
        """Return the handlers that a definition file may name.

        They are functions registered by name, `WORKFLOW.STEP` for each step of a registered workflow, and, by
        step, the handlers of the registered workflow with the file's name.
        """
        steps = {
            f"{name}.{step}": handler
            for name, known in self._known.items()
            for step, handler in known.handlers.items()
        }
        own = self._known.get(workflow)
        return {**steps, **self._functions, **(own.handlers if own else {})}

    def with_handlers(self, known: Registration) -> Registration:
        """Return a workflow with the registered handlers that its steps name."""
        if isinstance(known.definition, MachineWorkflow):
            return known
        handlers = self.handlers_for(known.definition.name)
        wanted = {step.handler_name for step in known.definition.steps if step.kind == "handler"}
        return replace(known, handlers={name: handlers[name] for name in wanted & handlers.keys()})

    def kept(
        self, definition: WorkflowDefinition, source: Source, path: Path | None, *, opened: bool = False
    ) -> Registration:
        """Return a run's stored workflow, for a run that started with another definition.

        :param definition: the definition that the run started with.
        :param opened: the run came in a bundle.
        :raises InvalidDefinition: the run cannot or may not continue; the message continues "the definition
            …".
        """
        kept = self.with_handlers(Registration(definition, {}, source, path))
        check_kept(kept, self.get, opened=opened)
        return kept

    def load_packages(self) -> None:
        """Register workflows of installed packages; a failing package becomes a notice."""
        from importlib.metadata import entry_points

        for point in entry_points(group=ENTRY_POINT_GROUP):
            try:
                point.load()(self)
            except Exception as error:  # foreign code may raise anything
                log.exception("the entry point %s = %s failed", point.name, point.value)
                words = f"{type(error).__name__}: {error}"
                self.notices.append(f"the package's workflows {point.value!r} were not loaded: {words}")


def _step_ids(definition: WorkflowDefinition | MachineWorkflow) -> set[str]:
    return set() if isinstance(definition, MachineWorkflow) else set(definition.step_names)
