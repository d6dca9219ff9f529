"""Files that a scratch copy has in place of the saved ones: staged edits, and unsaved changes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tideate_core.errors import NotText
from tideate_core.workspace import Document, FileImage, read_image

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.agents.tools.tool import ToolContext
    from tideate_core.workspace import FileChange

__all__ = ["LaidFiles", "laid_files"]


@dataclass(frozen=True, slots=True)
class LaidFiles:
    """Contents by path below the root; None for a deleted file."""

    files: dict[str, FileImage | bytes | None] = field(default_factory=dict)
    staged: frozenset[str] = frozenset()
    """Paths changed by staged edits."""


async def laid_files(context: ToolContext) -> LaidFiles:
    """Return the files to overlay on the project's, so that a program sees the run's current texts."""
    from tideate_core.agents.tools.project_paths import project_root

    root, workspace = project_root(context), context.step.workspace
    files: dict[str, FileImage | bytes | None] = {}
    for change in context.staged.changes():
        files |= await asyncio.to_thread(_after, root, change)
    staged = frozenset(files)
    for path in await workspace.unsaved_files():
        if path not in staged:
            text = (await workspace.read(path)).text
            files[path] = (await asyncio.to_thread(_encoded, root, path, text)).data
    return LaidFiles(files, staged)


def _after(root: Path, change: FileChange) -> dict[str, FileImage | bytes | None]:
    """Return the contents of the files after a change; None for a deleted one."""
    if change.after is None:
        return {change.path: None}
    if change.action == "create":
        return {change.path: Document().encode(change.after)}
    image = _encoded(root, change.path, change.after)
    if change.move_to:
        return {change.path: None, change.move_to: image}
    return {change.path: image}


def _encoded(root: Path, path: str, text: str) -> FileImage:
    """Encode a text like the file at a path: its line ends, final line end and mode."""
    found = read_image(root / path)
    try:
        document = Document.decode(found.data)
    except NotText:
        document = Document()
    return FileImage.of_file(document.encode(text), found.state.mode or 0o644)
