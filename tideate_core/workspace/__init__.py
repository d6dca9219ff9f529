"""The only room that writes the user's files: reading, changing and taking back, within a root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.lazy import exports

if TYPE_CHECKING:
    from tideate_core.workspace.buffers import BufferEdit, Buffers, BufferText
    from tideate_core.workspace.changing import Applied
    from tideate_core.workspace.contexts import ContextItem, ContextResolutionError, ContextResolver
    from tideate_core.workspace.documents import Document
    from tideate_core.workspace.edits import Action, FileChange, Hunk, apply_hunks, diff_lines, unified_diff
    from tideate_core.workspace.rebasing import rebase
    from tideate_core.workspace.snapshots import (
        FileDiff,
        Recovered,
        Restored,
        Since,
        Snapshot,
        SnapshotLimits,
        SnapshotManager,
    )
    from tideate_core.workspace.unwound import TakenBack
    from tideate_core.workspace.workspace import Source, Workspace

__all__ = [
    "Action",
    "Applied",
    "BufferEdit",
    "BufferText",
    "Buffers",
    "ContextItem",
    "ContextResolutionError",
    "ContextResolver",
    "Document",
    "FileChange",
    "FileDiff",
    "Hunk",
    "Recovered",
    "Restored",
    "Since",
    "Snapshot",
    "SnapshotLimits",
    "SnapshotManager",
    "Source",
    "TakenBack",
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
            "contexts": ("ContextItem", "ContextResolutionError", "ContextResolver"),
            "documents": ("Document",),
            "edits": ("Action", "FileChange", "Hunk", "apply_hunks", "diff_lines", "unified_diff"),
            "rebasing": ("rebase",),
            "snapshots": (
                "FileDiff",
                "Recovered",
                "Restored",
                "Since",
                "Snapshot",
                "SnapshotLimits",
                "SnapshotManager",
            ),
            "unwound": ("TakenBack",),
            "workspace": ("Source", "Workspace"),
        },
    )
