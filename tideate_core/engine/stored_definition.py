"""Definitions stored with runs, and the choice between a run's own and its file's at a resume."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tideate_core.engine.confirmation import ConfirmationRequest
from tideate_core.engine.driver_hooks import driver_hooks
from tideate_core.errors import (
    DefinitionChanged,
    InvalidDefinition,
    InvalidWorkflowFile,
    StoreError,
    UnknownWorkflow,
)
from tideate_core.store import Definition
from tideate_core.workflows import MachineWorkflow, Registration, WorkflowDefinition

if TYPE_CHECKING:
    from tideate_core.engine.confirmation import FrontEnd
    from tideate_core.workflows import Source, TextFormat

__all__ = [
    "WORKFLOW_IDS",
    "Changed",
    "Workflows",
    "changed_since",
    "definition_for",
    "stored_definition",
    "stored_graph",
]

Changed = Literal["ask", "stored", "file"]
"""The definition that counts where a file was changed: as the person says, the run's own, or the file's."""

WORKFLOW_IDS: Final = uuid.UUID("5b0d6f0e-8a53-5d0f-9a6b-3a4c1f6f2d11")
"""Namespace of the ids of workflows, from their source and place."""
_REGISTERED: Final = {
    "builtin": "with tideate itself; this version has it no more",
    "package": "by a package; install it and resume again",
    "editor": "in the editor; open Neovim with the configuration that registers it and resume there",
}
"""By source: where a workflow that is in no file comes from."""


class Workflows(Protocol):
    """Lookup of workflows by name: a `WorkflowRegistry` or a `Catalog`."""

    def get(self, name: str, *, obfuscate: bool = False) -> Registration: ...

    def parse(self, text: str, format: TextFormat, name: str) -> Registration: ...  # noqa: A002

    def kept(self, definition: WorkflowDefinition, source: Source, path: Path | None) -> Registration: ...


@dataclass(frozen=True, slots=True)
class _Found:
    """The catalog's workflow, or the reason that it has none."""

    registration: Registration | None
    why: str = ""


class StoredStep(BaseModel):
    """The part of a stored step that is read of ended runs; written by any version."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    id: str
    idempotent: bool = True
    continue_on_error: bool = Field(default=False, alias="continueOnError")
    workflow: Any = None
    machine: Any = None

    @property
    def is_run(self) -> bool:
        """It is a run of its own."""
        return bool(self.workflow or self.machine)


class StoredGraph(BaseModel):
    """The same of a workflow."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    steps: tuple[StoredStep, ...] = ()
    context: dict[str, Any] = Field(default_factory=dict)


def stored_graph(definition: Definition) -> StoredGraph:
    """Return the steps and the context of a run's definition; a machine has none.

    :raises StoreError: what the store has of it is no definition.
    """
    if definition.kind != "graph":
        return StoredGraph()
    try:
        return StoredGraph.model_validate_json(definition.text)
    except ValidationError as error:
        words = error.errors(include_url=False)[0]["msg"]
        raise StoreError(f"the stored definition of {definition.name!r} cannot be read ({words})") from error


def stored_definition(registration: Registration) -> Definition:
    """Return a definition as a run keeps it; of an obfuscated machine with its tokens."""
    definition = registration.definition
    path = _path_of(registration)
    known = definition.id if isinstance(definition, WorkflowDefinition) else None
    place = str(path or definition.name)
    return Definition(
        str(known or uuid.uuid5(WORKFLOW_IDS, f"{registration.source}\0{place}")),
        definition.name,
        registration.kind,
        _text_of(registration),
        definition.description,
        definition.version if isinstance(definition, WorkflowDefinition) else "1.0.0",
        registration.source,
        str(path) if path else None,
    )


async def definition_for(
    run_id: str,
    stored: Definition,
    catalog: Workflows,
    *,
    changed: Changed = "ask",
    front: FrontEnd,
    obfuscate: bool = False,
) -> Registration:
    """Return what a run goes on with: its own definition, unless the person wants that of its file now.

    :param changed: what counts where they differ.
    :param obfuscate: the run was started so.
    :raises DefinitionChanged: they differ and nobody can be asked, or the person wants neither; or its own
        lacks its handlers, or its file is not trusted any more.
    :raises UnknownWorkflow: the file is wanted and there is none.
    :raises InvalidDefinition: the file is wanted and has mistakes.
    """
    if stored.source == "text":
        return _rebuilt(run_id, stored, _Found(None), catalog, obfuscate)
    if changed == "file":
        return catalog.get(_name_now(stored), obfuscate=obfuscate)
    found = _look_up(catalog, _name_now(stored), obfuscate)
    now = found.registration
    if now is not None and _same(stored, now):
        return now
    rebuilt = _rebuilt(run_id, stored, found, catalog, obfuscate)
    # after it: a yes is to a definition, and never stands for trust in it
    if changed == "ask":
        await _ask(run_id, stored, found, front)
    return rebuilt


def changed_since(stored: Definition, catalog: Workflows, *, obfuscate: bool = False) -> str:
    """Return how the catalog's workflow was changed since a run began with its own; empty: it is the same.

    One that cannot be used any more counts as the same: there is nothing to use in place of the run's own.
    """
    if stored.source == "text":
        return ""
    found = _look_up(catalog, _name_now(stored), obfuscate)
    same = found.registration is None or _same(stored, found.registration)
    return "" if same else _happened(stored, found)


def _name_now(stored: Definition) -> str:
    return stored.path if stored.source == "file" and stored.path else stored.name


async def _ask(run_id: str, stored: Definition, found: _Found, front: FrontEnd) -> None:
    happened = _happened(stored, found)
    request = ConfirmationRequest(
        run_id,
        stored.name,
        "",
        "gate",
        f"{happened}. Continue with the definition that the run began with?",
        details=_difference(stored, found.registration),
    )
    decision = await front.confirm(request)
    if not decision.accepted:
        raise DefinitionChanged(
            f"{happened}, and it was not confirmed to continue with the definition that the run began with; "
            f"`tideate resume {run_id} --definition=file` continues with the current one, "
            f"`tideate resume {run_id} --definition=stored` with the run's own"
        )


def _happened(stored: Definition, found: _Found) -> str:
    what = stored.path or f"the workflow {stored.name!r}"
    if found.registration:
        return f"{what} was changed since this run began"
    return f"{what} cannot be used now ({found.why})"


def _look_up(catalog: Workflows, name: str, obfuscate: bool) -> _Found:
    try:
        return _Found(catalog.get(name, obfuscate=obfuscate))
    except (InvalidDefinition, InvalidWorkflowFile, UnknownWorkflow) as error:
        return _Found(None, str(error))


def _rebuilt(
    run_id: str, stored: Definition, found: _Found, catalog: Workflows, obfuscate: bool
) -> Registration:
    """Make the run's own definition again, with the handlers that are registered now.

    :raises DefinitionChanged: what it needs beside its text is not there.
    """
    now = found.registration
    if now is None and stored.source in _REGISTERED:
        raise DefinitionChanged(
            f"the workflow {stored.name!r} is not registered now; it was {_REGISTERED[stored.source]}"
        )
    source, path = _source(stored, now), Path(stored.path) if stored.path else None
    if stored.kind == "machine":
        # what drives a machine goes by where it came from
        source = cast("Source", stored.source)
        return Registration(_machine(stored, now, obfuscate), {}, source, path)
    try:
        return catalog.kept(_definition_of(stored), source, path)
    except InvalidDefinition as error:
        registered = _REGISTERED.get(stored.source)
        hint = f"; it was registered {registered}" if registered else ""
        raise DefinitionChanged(
            f"{_happened(stored, found)}, and the definition that the run began with {error}{hint}. "
            f"`tideate resume {run_id} --definition=file` goes on with what there is now"
        ) from error


def _definition_of(stored: Definition) -> WorkflowDefinition:
    try:
        return WorkflowDefinition.model_validate_json(stored.text)
    except ValidationError as error:
        words = error.errors(include_url=False)[0]["msg"]
        raise InvalidDefinition(f"is one that this version cannot read ({words})") from error


def _machine(stored: Definition, now: Registration | None, obfuscate: bool) -> MachineWorkflow:
    # the language is loaded where it is needed
    from tideate_core.machines.language import parse

    machine = parse(stored.text, stored.name).require(stored.name)
    if now is not None and isinstance(now.definition, MachineWorkflow):
        confirm = now.definition.confirm & machine.states.keys()
        return replace(now.definition, machine=machine, confirm=confirm)
    if obfuscate:
        raise DefinitionChanged(
            f"{stored.path or stored.name} is gone, and without it the names of its states cannot be hidden; "
            "bring it back and resume again"
        )
    path = Path(stored.path) if stored.path else None
    return MachineWorkflow(stored.name, machine, description=stored.description, path=path)


def _same(stored: Definition, now: Registration) -> bool:
    """Tell whether a run's definition is the one that there is; a file is never a built-in one."""
    hooks = driver_hooks(now.definition.name, now.kind, now.source)
    if hooks is not driver_hooks(stored.name, stored.kind, stored.source):
        return False
    return now.kind == stored.kind and _text_of(now) == stored.text


def _text_of(registration: Registration) -> str:
    """Return a definition's text: the same for two that differ only in comments or order of keys."""
    definition = registration.definition
    if isinstance(definition, MachineWorkflow):
        # the language is loaded where it is needed
        from tideate_core.machines.language import write_definition

        return write_definition(definition.machine)
    return definition.as_text()


def _difference(stored: Definition, now: Registration | None) -> str:
    """Return, as Markdown, what was changed; empty where there is nothing to compare with."""
    if now is None:
        return ""
    from difflib import unified_diff

    from tideate_core.edits import fence_for

    lines = unified_diff(
        _readable(stored.text, stored.kind).splitlines(),
        _readable(_text_of(now), now.kind).splitlines(),
        "the run's definition",
        "as it is now",
        lineterm="",
    )
    text = "\n".join(lines)
    fence = fence_for(text)
    return f"{fence}diff\n{text}\n{fence}"


def _readable(text: str, kind: Literal["graph", "machine"]) -> str:
    return json.dumps(json.loads(text), indent=2, ensure_ascii=False) if kind == "graph" else text


def _path_of(registration: Registration) -> Path | None:
    definition = registration.definition
    if isinstance(definition, MachineWorkflow):
        return definition.path
    return registration.path


def _source(stored: Definition, now: Registration | None) -> Source:
    return cast("Source", stored.source) if now is None else now.source
