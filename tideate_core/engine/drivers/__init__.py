"""Drivers of graphs and machines; choice of the driver of a run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tideate_core.engine.drivers.graph import GraphDriver
from tideate_core.engine.steps import handler_for
from tideate_core.errors import InvalidInput, did_you_mean
from tideate_core.workflows import WorkflowDefinition, check_dependencies

if TYPE_CHECKING:
    from tideate_core.config import WorkflowConfig
    from tideate_core.engine.driver import Driver
    from tideate_core.engine.run import Run

__all__ = ["driver_for"]


def driver_for(run: Run) -> Driver:
    """Return the driver of a run.

    :raises InvalidDefinition: the machine cannot start, or a step depends on an unknown one.
    :raises InvalidInput: the configuration asks for confirmation before an unknown state, the wanted step
        does not exist, or the states of a task are to be hidden.
    """
    registration, request, config = run.registration, run.request, run.runner.config
    definition = registration.definition
    configured = config.workflows.get(definition.name)
    wanted = configured.confirm if configured else None
    if isinstance(definition, WorkflowDefinition):
        if wanted:
            raise InvalidInput(
                f"workflows.{definition.name}.confirm: {definition.name} has steps, not states to confirm; "
                "remove the key (its steps ask by themselves)"
            )
        _refuse_tools(configured, definition.name, "has steps; name their `tools` in its file")
        if request.step is not None and request.step not in definition.step_names:
            near = did_you_mean(request.step, definition.step_names)
            raise InvalidInput(f"{definition.name} has no step {request.step!r}{near}")
        check_dependencies(definition.steps)
        return GraphDriver(
            definition, partial(handler_for, handlers=registration.handlers), only=request.step
        )
    if request.step is not None:
        raise InvalidInput(f"{definition.name} has states, and no step can be run alone")
    if (own := run.driver_hooks.driver(run)) is not None:
        _refuse_tools(configured, definition.name, "has roles; name their `tools` in the files of its agents")
        return own
    # imported here: few runs need the language
    from tideate_core.engine.drivers.machine import MachineDriver, states_to_confirm, tools_of_states

    confirm = states_to_confirm(definition, wanted or (), {**request.options, **request.inputs})
    return MachineDriver(
        definition,
        confirm=confirm,
        limits=config.limits,
        prompt=request.prompt,
        emit=run.recorder.event,
        tools=tools_of_states(definition, configured),
    )


def _refuse_tools(configured: WorkflowConfig | None, name: str, instead: str) -> None:
    if configured is not None and (configured.tools is not None or configured.states):
        key = "tools" if configured.tools is not None else "states"
        raise InvalidInput(f"workflows.{name}.{key}: {name} {instead}, and remove the key")
