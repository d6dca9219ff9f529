"""A runnable workflow: its definition, handlers and source, and the trust that it needs.

A project's definition that can only prompt a model needs no trust, and neither does a machine's file: its
steps are agents, machines, and workflows that do no more. Steps that run registered code or a server's tool
act on arguments that the file chooses, so a person must first trust exactly this text.

A run may continue with its stored definition while the person still trusts the file: the definition is kept
in the person's own state, and it was allowed to start.
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
from tideate_core.workflows.workflow_files import Source as Source, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tideate_core.workflows.handler import StepHandler

_Seen: TypeAlias = "set[tuple[str, Path | None]]"


@dataclass(frozen=True, slots=True)
class Registration:
    """A definition with its handlers and its source.

    :param handlers: by step id, or by the step's `handler`.
    """

    definition: WorkflowDefinition | MachineWorkflow
    handlers: Mapping[str, StepHandler]
    source: Source
    path: Path | None = None
    """The file that the definition was read from."""
    text: str | None = None
    """The whole text of that file; only for definitions in YAML or JSON."""
    continues: tuple[str, ...] = ()
    """Built-in workflows whose runs it can continue; `*`: any workflow's."""
    comparable: bool = False
    """Its runs write nothing before a review, so several can run in parallel until one is accepted."""
    reviewed: bool = False
    """Its file changes are reviewed; without an answer, none is made."""

    @property
    def kind(self) -> Literal["graph", "machine"]:
        return "machine" if isinstance(self.definition, MachineWorkflow) else "graph"

    def obfuscated(self, root: Path | None) -> Registration:
        """Return the registration with tokens in place of state names.

        :param root: the project whose key makes the tokens; None: the person's key.
        :raises InvalidInput: the workflow is a graph.
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

    :param find: returns a workflow by name, trusted or not.
    :raises InvalidDefinition: it may not run; says what it would do and how to trust it.
    :raises ConfigError: the record of trusted files cannot be read.
    """
    definition = known.definition
    if known.path is None or known.text is None or not isinstance(definition, WorkflowDefinition):
        return
    reason = _effect(known, find, set())
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


def check_kept(kept: Registration, find: Callable[[str], Registration], *, opened: bool = False) -> None:
    """Check that a run can and may continue with its stored definition.

    :param find: returns a workflow by name, trusted or not.
    :param opened: the run came in a bundle, whose definition has no trust here.
    :raises InvalidDefinition: it has no handlers, or its file is no longer trusted; the message continues
        "the definition …".
    :raises ConfigError: the record of trusted files cannot be read.
    """
    definition = kept.definition
    assert isinstance(definition, WorkflowDefinition)  # noqa: S101 a machine needs no trust
    wanted = [step.handler_name for step in definition.steps if step.kind == "handler"]
    if missing := [name for name in wanted if name not in kept.handlers]:
        raise InvalidDefinition(f"has no handler for: {', '.join(missing)}")
    if opened:
        if reason := _effect(kept, find, set()):
            raise InvalidDefinition(
                f"came in a bundle, differs from the workflow of this project, and {reason}"
            )
        return
    root, path = _project_of(kept), kept.path
    if root is None or path is None or name_in_project(root, path) in Trust(root).names():
        return
    if reason := _effect(kept, find, set()):
        raise InvalidDefinition(f"is not trusted any more, and {reason}")


def _project_of(known: Registration) -> Path | None:
    """Return the project that a file came with; None if the person keeps the file elsewhere."""
    path = known.path
    if path is None or (known.source == "file" and is_inside(path, config_dir() / "workflows")):
        return None
    return find_root(path.parent) if known.source in ("project", "file") else None


def _effect(known: Registration, find: Callable[[str], Registration], seen: _Seen) -> str:
    """Describe the first action of a workflow beyond prompting a model; empty if there is none.

    :param seen: workflows already visited; they may name each other.
    """
    definition = known.definition
    # two files in two directories may have one name
    place = (definition.name, known.path)
    if not isinstance(definition, WorkflowDefinition) or place in seen:
        return ""
    seen.add(place)
    for step in definition.steps:
        effect = step.effect
        if step.workflow is not None:
            try:
                more = _effect(find(step.workflow.name), find, seen)
            except WorkflowError:
                continue  # the step fails
            effect = f"{effect}, and {more}" if more else ""
        if effect:
            return f"its step {step.id!r} would {effect}"
    return ""
