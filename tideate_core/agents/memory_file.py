"""Memory file of a project: notes from earlier tasks, read by the roles and updated by the documenter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.agents.model_input import read_if_there, why_hidden
from tideate_core.edits import fence_for
from tideate_core.errors import OutsideRoot, WorkspaceError

if TYPE_CHECKING:
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import Workspace

__all__ = ["MEMORY_FILE", "UPDATE_MEMORY", "has_memory", "memory_material"]

MEMORY_FILE: Final = "MEMORY.md"
"""In the project's root; without the file there is no memory."""
LONGEST_MEMORY: Final = 12_000
"""Characters shown to a role."""
UPDATE_MEMORY: Final = (
    f"Update {MEMORY_FILE}: add in a line or two what later tasks have to know and cannot see in the code, "
    "and take out what is no longer true. Keep everything else as it is."
)


def has_memory(workspace: Workspace) -> bool:
    """Return whether the project has a memory file; blocking."""
    try:
        return workspace.resolve(MEMORY_FILE).is_file()
    except OutsideRoot:
        return False  # a link out of the project


async def memory_material(step: StepContext) -> str:
    """Return the memory for a prompt; empty if there is none or it may not be shown."""
    try:
        source = await read_if_there(step.workspace, MEMORY_FILE)
    except WorkspaceError as error:
        step.notice(f"the project's memory was not read: {error}", level="warn")
        return ""
    if source is None or not source.text.strip():
        return ""
    if why := await why_hidden(step, MEMORY_FILE, source.text):
        step.notice(f"{MEMORY_FILE} was left out: {why}", level="warn")
        return ""
    text = source.text
    if len(text) > LONGEST_MEMORY:
        text = f"{text[:LONGEST_MEMORY]}\n… and more that is not shown here"
    fence = fence_for(text)
    return f"Notes of earlier tasks on this project ({MEMORY_FILE}):\n\n{fence}markdown\n{text}\n{fence}"
