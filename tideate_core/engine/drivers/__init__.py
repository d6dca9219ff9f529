"""Drivers of graphs and machines, and the choice among them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tideate_core.engine.driver_hooks import driver_hooks
from tideate_core.engine.drivers.graph import GraphDriver
from tideate_core.engine.steps import handler_for
from tideate_core.errors import InvalidInput, did_you_mean
from tideate_core.workflows import WorkflowDefinition, check_dependencies

if TYPE_CHECKING:
    from tideate_core.config import Config, WorkflowConfig
    from tideate_core.engine.driver import Driver
    from tideate_core.engine.run import RunRequest
    from tideate_core.engine.step_services import Services
    from tideate_core.workflows import Registration, StepHandler, WorkflowStep

__all__ = ["driver_for"]


def driver_for(registration: Registration, request: RunRequest, config: Config, services: Services) -> Driver:
    """Return what drives one run of a workflow.

    :raises InvalidDefinition: the machine cannot start, or a step depends on an unknown one.
    :raises InvalidInput: a confirmation is asked for before a state that does not exist; the wanted step does
        not exist; or the states of a task are to be hidden.
    """
    definition = registration.definition
    configured = config.workflows.get(definition.name)
    wanted = configured.confirm if configured else None
    if isinstance(definition, WorkflowDefinition):
        if wanted:
            raise InvalidInput(
                f"workflows.{definition.name}.confirm: {definition.name} has steps, no states to confirm; "
                "remove the key (its steps ask by themselves)"
            )
        _refuse_tools(configured, definition.name, "has steps; name their `tools` in its file")
        if request.step is not None and request.step not in definition.step_names:
            near = did_you_mean(request.step, definition.step_names)
            raise InvalidInput(f"{definition.name} has no step {request.step!r}{near}")
        check_dependencies(definition.steps)
        return GraphDriver(definition, partial(_handler, registration, services), only=request.step)
    if request.step is not None:
        raise InvalidInput(f"{definition.name} has states, and no step can be run alone")
    hooks = driver_hooks(definition.name, registration.kind, registration.source)
    if (own := hooks.driver(definition, request, config, services)) is not None:
        _refuse_tools(configured, definition.name, "has roles; name their `tools` in the files of its agents")
        return own
    # the language is loaded where it is needed
    from tideate_core.engine.drivers.machine import MachineDriver, states_to_confirm
    from tideate_core.engine.drivers.machine_tools import tools_of_states

    confirm = states_to_confirm(definition, wanted or (), {**request.options, **request.inputs})
    return MachineDriver(
        definition,
        confirm=confirm,
        limits=config.limits,
        prompt=request.prompt,
        emit=services.emit,
        tools=tools_of_states(definition, configured),
    )


def _refuse_tools(configured: WorkflowConfig | None, name: str, instead: str) -> None:
    if configured is not None and (configured.tools is not None or configured.states):
        key = "tools" if configured.tools is not None else "states"
        raise InvalidInput(f"workflows.{name}.{key}: {name} {instead}, and remove the key")


def _handler(registration: Registration, services: Services, step: WorkflowStep) -> StepHandler:
    return handler_for(step, registered=registration.handlers.get(step.handler_name), services=services)
