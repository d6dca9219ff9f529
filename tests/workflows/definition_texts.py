"""Texts of definition files, a writer, and a handler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.workflows.definitions import MachineWorkflow
from tideate_core.workflows.loading import load
from tideate_core.workflows.workflow_files import WorkflowFile

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.workflows import StepContext

PLAIN: Final = "description: {}\nsteps:\n  - {{id: draft, task: Write.}}\n"
TEXT: Final = PLAIN.format("a file")
MACHINE: Final = "* to draft: Write.\ndraft to *\n"
BROKEN: Final = "steps:\n  - {id: draft, tsk: Write.}\n  - {id: end, task: End., dependencies: [draff]}\n"


def write(path: Path, text: str = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def load_machine(path: Path, root: Path | None = None) -> MachineWorkflow:
    """Return the machine of a file, read as one of a project if there is a root."""
    definition = load(WorkflowFile(path, "file", root=root), None).definition
    assert isinstance(definition, MachineWorkflow)
    return definition


async def query(_step: StepContext) -> str:
    return "query"
