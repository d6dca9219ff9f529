"""A workflow that can be run with the handlers of its steps, and the trust that it needs.

A project's definition that can only prompt a model needs no trust, as a machine's file needs none: its steps
are agents, machines, and workflows that can do no more. Steps that run registered code or a server's tool
act with arguments that the file chooses; so a person has to trust exactly this text first.

A run may go on with the definition that it began with, as long as the person did not stop trusting its file:
it is kept in the person's own state, and it was allowed to begin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from tideate_core.errors import InvalidDefinition, InvalidInput, WorkflowError
from tideate_core.project import (
    Trust,
    config_dir,
    find_root,
    is_inside,
    make_project_state,
    name_in_project,
)
from tideate_core.workflows.definitions import MachineWorkflow, WorkflowDefinition
from tideate_core.workflows.workflow_files import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tideate_core.workflows.handler import StepHandler
    from tideate_core.workflows.parts import WorkflowStep

__all__ = ["Registration", "Source", "check_kept", "check_trust"]

Source = Literal["builtin", "package", "editor", "user", "project", "file", "text"]
"""`user` and `project`: a file of theirs; `file`: one that was named by its path; `text`: no file at all."""
_Seen: TypeAlias = "set[tuple[str, Path | None]]"


@dataclass(frozen=True, slots=True)
class Registration:
    """A definition, its handlers, and where it came from.

    :param handlers: by the names that steps have for them: the step's id, or its `handler`.
    """

    definition: WorkflowDefinition | MachineWorkflow
    handlers: Mapping[str, StepHandler]
    source: Source
    path: Path | None = None
    """The file that it was read from."""
    text: str | None = None
    """All of that file, of a definition in YAML or JSON."""
    continues: tuple[str, ...] = ()
    """Names of built-in workflows whose runs it can go on with; `*` for every workflow's."""
    comparable: bool = False
    """Its runs write nothing before a review, so that several can stand side by side until one is taken."""
    reviewed: bool = False
    """What its runs make of files is reviewed: where nobody answers, nothing comes of them."""

    @property
    def kind(self) -> Literal["graph", "machine"]:
        return "machine" if isinstance(self.definition, MachineWorkflow) else "graph"

    def obfuscated(self, root: Path | None) -> Registration:
        """Return the same with tokens for the names of its states.

        :param root: the project whose key makes the tokens; None is the person's.
        :raises InvalidInput: it is a graph.
        :raises ConfigError: the key cannot be used.
        """
        # here, because few runs need it
        from tideate_core.machines.language import Obfuscator
        from tideate_core.workflows.obfuscation_key import workflow_key

        definition = self.definition
        if not isinstance(definition, MachineWorkflow):
            raise InvalidInput(
                f"workflow {definition.name!r} has steps and no states; only states can be obfuscated"
            )
        obfuscator = Obfuscator(workflow_key(make_project_state(root)), definition.machine)
        return Registration(definition.obfuscated(obfuscator), self.handlers, self.source, self.path)


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
    if path is None or (known.source == "file" and is_inside(path, config_dir() / "workflows")):
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
    if step.tools:
        return f"lets a model use the tools {', '.join(step.tools)}"
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
