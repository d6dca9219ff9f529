"""Whether a definition may run unasked.

A project's definition that can only prompt a model needs no trust, as a machine's file needs none: its steps
are agents, machines, and workflows that can do no more. Steps that run registered code or a server's tool
act with arguments that the file chooses; so a person has to trust exactly this text first.

A run is kept with its definition in the project's database, which may have come with the project, as the
files did. So what such a definition may do is not for the database to say: it was seen in a file that the
person trusted, or the person's own, or it can only prompt a model.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeAlias

from tideate_core.errors import ConfigError, InvalidDefinition, WorkflowError
from tideate_core.project import Trust, config_dir, find_root, inside
from tideate_core.workflows.definitions import WorkflowDefinition
from tideate_core.workflows.machine_files import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tideate_core.workflows.definitions import WorkflowStep
    from tideate_core.workflows.registry import Registration

__all__ = ["check_kept", "check_trust"]

_Seen: TypeAlias = "set[tuple[str, Path | None]]"

log = logging.getLogger(__name__)


def check_trust(known: Registration, find: Callable[[str], Registration]) -> None:
    """Check that a workflow may run: it can only prompt a model, or the person trusts its file as read.

    :param find: gives a workflow by its name; it need not be trusted.
    :raises InvalidDefinition: it may not; says what it would do and how to trust it.
    :raises ConfigError: what is trusted cannot be read.
    """
    definition = known.definition
    if known.path is None or known.text is None or not isinstance(definition, WorkflowDefinition):
        return
    reason = _does_more(known, find, set())
    if not reason:
        return
    trust, path = Trust(), shown_path(known.path)
    if _of_project(known) and not trust.is_trusted(known.path, known.text.encode()):
        raise InvalidDefinition(
            f"{path} is a project's file and not trusted as it is now, and {reason}. Read it, then run "
            f"`tideate trust {path}` or `:Workflow trust {path}`"
        )
    try:
        trust.keep_definition(known.path, definition.as_text())
    except ConfigError as error:
        log.warning("a run of %s will not go on once the file was changed: %s", path, error)


def check_kept(kept: Registration, now: Registration | None, find: Callable[[str], Registration]) -> None:
    """Check that a run can and may go on with the definition that it is kept with.

    :param now: the workflow of this name as it is now, permitted to run; None where there is none.
    :param find: gives a workflow by its name; it need not be trusted.
    :raises InvalidDefinition: it may not, or has no handlers; words for behind "the definition".
    :raises ConfigError: what is trusted cannot be read.
    """
    definition = kept.definition
    assert isinstance(definition, WorkflowDefinition)  # noqa: S101 a machine needs no trust
    wanted = [step.handler_name for step in definition.steps if step.kind == "handler"]
    if missing := [name for name in wanted if name not in kept.handlers]:
        raise InvalidDefinition(f"has no handler for: {', '.join(missing)}")
    reason = _does_more(kept, find, set())
    if not reason or (now is not None and now.text is None and _does_no_more(definition, now)):
        return
    if kept.path is None or not Trust().knows_definition(kept.path, definition.as_text()):
        raise InvalidDefinition(f"is not trusted, and {reason}")


def _does_no_more(kept: WorkflowDefinition, now: Registration) -> bool:
    """Tell whether all that a definition does is done by a workflow that was registered by code."""
    if not isinstance(now.definition, WorkflowDefinition):
        return False
    done = [_deed(step) for step in now.definition.steps]
    return all(step.agent or step.machine or _deed(step) in done for step in kept.steps)


def _deed(step: WorkflowStep) -> object:
    return step.tool or step.workflow or step.handler_name


def _of_project(known: Registration) -> bool:
    """Tell whether a file may have come with a project; what the person put elsewhere is the person's."""
    if known.source == "project":
        return True
    path = known.path
    if known.source != "file" or path is None or inside(path, config_dir() / "workflows"):
        return False
    return find_root(path.parent) is not None


def _does_more(known: Registration, find: Callable[[str], Registration], seen: _Seen) -> str:
    """Say what a workflow does beyond prompting a model; empty if that is nothing.

    :param seen: workflows that are looked at already: they may name each other.
    """
    definition = known.definition
    # two files in two directories may have one name
    place = (definition.name, known.path)
    if not isinstance(definition, WorkflowDefinition) or place in seen:
        return ""
    seen.add(place)
    for step in definition.steps:
        if reason := _more_than_a_prompt(step, find, seen):
            return f"its step {step.id!r} {reason}"
    return ""


def _more_than_a_prompt(step: WorkflowStep, find: Callable[[str], Registration], seen: _Seen) -> str:
    if step.tool is not None:
        return f"calls the tool {step.tool.name!r} of the MCP server {step.tool.server!r}"
    if step.kind == "handler":
        return f"runs the code of the handler {step.handler_name!r}"
    if step.workflow is None:
        return ""
    try:
        nested = find(step.workflow.name)
    except WorkflowError:
        return ""  # the step fails
    more = _does_more(nested, find, seen)
    return f"runs the workflow {step.workflow.name!r}, and {more}" if more else ""
