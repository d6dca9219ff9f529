"""The only room that writes the user's files: reading, changing and taking back, within a root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.lazy import exports

if TYPE_CHECKING:
    from tideate_core.workspace.buffers import BufferEdit, Buffers, BufferText
    from tideate_core.workspace.changing import Applied
    from tideate_core.workspace.documents import Document
    from tideate_core.workspace.edits import Action, FileChange, Hunk, apply_hunks, diff_lines, unified_diff
    from tideate_core.workspace.rebasing import rebase
    from tideate_core.workspace.workspace import Source, Workspace

__all__ = [
    "Action",
    "Applied",
    "BufferEdit",
    "BufferText",
    "Buffers",
    "Document",
    "FileChange",
    "Hunk",
    "Source",
    "Workspace",
    "apply_hunks",
    "diff_lines",
    "rebase",
    "unified_diff",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "buffers": ("BufferEdit", "Buffers", "BufferText"),
            "changing": ("Applied",),
            "documents": ("Document",),
            "edits": ("Action", "FileChange", "Hunk", "apply_hunks", "diff_lines", "unified_diff"),
            "rebasing": ("rebase",),
            "workspace": ("Source", "Workspace"),
        },
    )
