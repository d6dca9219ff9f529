"""Trust in definitions: which may run unasked.

A project's definition that can only prompt a model needs no trust, as a machine's file needs none: its steps
are agents, machines, and workflows that can do no more. Steps that run registered code or a server's tool
act with arguments that the file chooses; so a person has to trust exactly this text first.

A run may go on with the definition that it began with, as long as the person did not stop trusting its file:
it is kept in the person's own state, and it was allowed to begin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tideate_core.errors import InvalidDefinition, WorkflowError
from tideate_core.project import Trust, config_dir, find_root, inside, name_in_project
from tideate_core.workflows.definitions import WorkflowDefinition
from tideate_core.workflows.machine_files import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tideate_core.workflows.definitions import WorkflowStep
    from tideate_core.workflows.registry import Registration

__all__ = ["check_kept", "check_trust"]

_Seen: TypeAlias = "set[tuple[str, Path | None]]"


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
    root = _project_of(known)
    if root is None:
        return
    path = shown_path(known.path)
    if not Trust(root).is_trusted(name_in_project(root, known.path), known.text.encode()):
        raise InvalidDefinition(
            f"{path} is a project's file and not trusted as it is now, and {reason}. Read it, then run "
            f"`tideate trust {path}` or `:Workflow trust {path}`"
        )


def check_kept(kept: Registration, find: Callable[[str], Registration]) -> None:
    """Check that a run can and may go on with the definition that it is kept with.

    :param find: gives a workflow by its name; it need not be trusted.
    :raises InvalidDefinition: it has no handlers, or its file is not trusted any more; words for behind "the
        definition".
    :raises ConfigError: what is trusted cannot be read.
    """
    definition = kept.definition
    assert isinstance(definition, WorkflowDefinition)  # noqa: S101 a machine needs no trust
    wanted = [step.handler_name for step in definition.steps if step.kind == "handler"]
    if missing := [name for name in wanted if name not in kept.handlers]:
        raise InvalidDefinition(f"has no handler for: {', '.join(missing)}")
    root, path = _project_of(kept), kept.path
    if root is None or path is None or name_in_project(root, path) in Trust(root).names():
        return
    if reason := _does_more(kept, find, set()):
        raise InvalidDefinition(f"is not trusted any more, and {reason}")


def _project_of(known: Registration) -> Path | None:
    """Return the project that a file may have come with; None of what the person put elsewhere."""
    path = known.path
    if path is None or (known.source == "file" and inside(path, config_dir() / "workflows")):
        return None
    return find_root(path.parent) if known.source in ("project", "file") else None


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
