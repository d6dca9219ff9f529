"""Files of a scratch copy that differ from those on disk: staged edits and unsaved changes of the editor."""

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
    """Contents by path below the root; None: the file is gone."""

    files: dict[str, FileImage | bytes | None] = field(default_factory=dict)
    staged: frozenset[str] = frozenset()
    """Those that staged edits change."""


async def laid_files(context: ToolContext) -> LaidFiles:
    """Return what has to be laid over the project's files, for a program that is to see what the run sees."""
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
    """Return the files that a change leaves."""
    if change.after is None:
        return {change.path: None}
    if change.action == "create":
        return {change.path: Document().encode(change.after)}
    image = _encoded(root, change.path, change.after)
    if change.move_to:
        return {change.path: None, change.move_to: image}
    return {change.path: image}


def _encoded(root: Path, path: str, text: str) -> FileImage:
    """Return a text in the style of what stands at a path: its line ends, its last one, and its mode."""
    found = read_image(root / path)
    try:
        document = Document.decode(found.data)
    except NotText:
        document = Document()
    return FileImage.of_file(document.encode(text), found.state.mode or 0o644)
