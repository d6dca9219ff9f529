"""The only room that writes the user's files: reading, changing and taking back, within a root."""

from __future__ import annotations

from tideate_core.workspace.buffers import BufferEdit, Buffers, BufferText
from tideate_core.workspace.documents import Document
from tideate_core.workspace.edits import Action, FileChange, Hunk, apply_hunks, diff_lines, unified_diff
from tideate_core.workspace.rebase import rebase
from tideate_core.workspace.workspace import Applied, Source, Workspace

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
