"""Every workflow that can be run, and what runs its steps."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Literal

from tideate_core.errors import InvalidDefinition, UnknownWorkflow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.workflows.definitions import WorkflowDefinition
    from tideate_core.workflows.handler import StepHandler

__all__ = ["ENTRY_POINT_GROUP", "Registration", "Source", "WorkflowRegistry"]

log = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "tideate.workflows"
"""Entry points of packages: each is a function that takes the registry and registers into it."""

Source = Literal["builtin", "package", "editor"]


@dataclass(frozen=True, slots=True)
class Registration:
    """A definition, its handlers by step id, and where it came from."""

    definition: WorkflowDefinition
    handlers: Mapping[str, StepHandler]
    source: Source


@dataclass
class WorkflowRegistry:
    """Workflows by name. A handler may be missing: the run fails when it gets there (SCEN-WORK-006)."""

    notices: list[str] = field(default_factory=list)
    """What went wrong while packages registered theirs."""
    _known: dict[str, Registration] = field(default_factory=dict)

    def register(
        self,
        definition: WorkflowDefinition,
        handlers: Mapping[str, StepHandler],
        *,
        source: Source = "package",
    ) -> None:
        """Add a workflow; one of the same source replaces its namesake.

        :raises InvalidDefinition: the name belongs to another source, or a handler to no step.
        """
        before = self._known.get(definition.name)
        if before and before.source != source:
            raise InvalidDefinition(
                f"workflow {definition.name!r} exists already ({before.source}); choose another name"
            )
        stray = sorted(handlers.keys() - {step.id for step in definition.steps})
        if stray:
            raise InvalidDefinition(
                f"workflow {definition.name!r} has handlers for steps it does not list: {', '.join(stray)}"
            )
        self._known[definition.name] = Registration(definition, dict(handlers), source)

    def get(self, name: str) -> Registration:
        """Return a registered workflow.

        :raises UnknownWorkflow: with the nearest name.
        """
        try:
            return self._known[name]
        except KeyError:
            raise UnknownWorkflow(name, self._known) from None

    def list(self) -> list[Registration]:
        """Return all workflows by name."""
        return [self._known[name] for name in sorted(self._known)]

    def load_packages(self) -> None:
        """Let installed packages register theirs; one that cannot becomes a notice, not a failure."""
        for point in entry_points(group=ENTRY_POINT_GROUP):
            try:
                point.load()(self)
            except Exception as error:  # another's code may raise anything
                log.exception("the entry point %s = %s failed", point.name, point.value)
                words = f"{type(error).__name__}: {error}"
                self.notices.append(f"the package's workflows {point.value!r} were not loaded: {words}")
