"""The only room that writes the user's files: reading, changing and taking back, within a root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.errors import ContextResolutionError
    from tideate_core.mentions import ContextItem, ContextResolver
    from tideate_core.snapshots import FileDiff, Snapshot, SnapshotManager
    from tideate_core.workspace.adopting import OutsideChanges
    from tideate_core.workspace.buffers import BufferEdit, Buffers, BufferText
    from tideate_core.workspace.changing import Applied
    from tideate_core.workspace.commit import Committed, Committer
    from tideate_core.workspace.diff import matching_blocks
    from tideate_core.workspace.documents import Document
    from tideate_core.workspace.edits import (
        Action,
        FileChange,
        Hunk,
        apply_hunks,
        diff_lines,
        lines_of,
        unified_diff,
    )
    from tideate_core.workspace.executed import Executed
    from tideate_core.workspace.executed_changes import executed_in, executed_paths
    from tideate_core.workspace.files import ABSENT, FileImage, snapshot, text_digest
    from tideate_core.workspace.git import NOT_OURS, SAFE, environment
    from tideate_core.workspace.journal import FamilyJournal, FileEntry, Journal
    from tideate_core.workspace.languages import PROSE, Fit, fit_of_tag, language_of, same_family
    from tideate_core.workspace.manifest import Manifest
    from tideate_core.workspace.new_names import wrong_name
    from tideate_core.workspace.patchset import patch_of, states_of
    from tideate_core.workspace.paths import PROTECTED, Root, journal_of
    from tideate_core.workspace.rebasing import rebase
    from tideate_core.workspace.repositories import refuse_in_repositories
    from tideate_core.workspace.rollback import Rollback
    from tideate_core.workspace.staging import DirectoryOperation, FileOperation, ModeOperation, Plan
    from tideate_core.workspace.unwinding import unwind
    from tideate_core.workspace.unwound import TakenBack, Unwound
    from tideate_core.workspace.verbatim import Verbatim
    from tideate_core.workspace.workspace import MAX_BYTES, Source, Workspace

__all__ = [
    "ABSENT",
    "Action",
    "Applied",
    "BufferEdit",
    "BufferText",
    "Buffers",
    "Committed",
    "Committer",
    "ContextItem",
    "ContextResolutionError",
    "ContextResolver",
    "DirectoryOperation",
    "Document",
    "Executed",
    "FamilyJournal",
    "FileChange",
    "FileDiff",
    "FileEntry",
    "FileImage",
    "FileOperation",
    "Fit",
    "Hunk",
    "Journal",
    "MAX_BYTES",
    "Manifest",
    "ModeOperation",
    "NOT_OURS",
    "OutsideChanges",
    "PROSE",
    "PROTECTED",
    "Plan",
    "Rollback",
    "Root",
    "SAFE",
    "Snapshot",
    "SnapshotManager",
    "Source",
    "TakenBack",
    "Unwound",
    "Verbatim",
    "Workspace",
    "apply_hunks",
    "diff_lines",
    "environment",
    "executed_in",
    "executed_paths",
    "fit_of_tag",
    "journal_of",
    "language_of",
    "lines_of",
    "matching_blocks",
    "patch_of",
    "rebase",
    "refuse_in_repositories",
    "same_family",
    "snapshot",
    "states_of",
    "text_digest",
    "unified_diff",
    "unwind",
    "wrong_name",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "tideate_core.errors": ("ContextResolutionError",),
            "tideate_core.mentions": ("ContextItem", "ContextResolver"),
            "tideate_core.snapshots": ("FileDiff", "Snapshot", "SnapshotManager"),
            "adopting": ("OutsideChanges",),
            "buffers": (
                "BufferEdit",
                "BufferText",
                "Buffers",
            ),
            "changing": ("Applied",),
            "commit": (
                "Committed",
                "Committer",
            ),
            "diff": ("matching_blocks",),
            "documents": ("Document",),
            "edits": (
                "Action",
                "FileChange",
                "Hunk",
                "apply_hunks",
                "diff_lines",
                "lines_of",
                "unified_diff",
            ),
            "executed": ("Executed",),
            "executed_changes": (
                "executed_in",
                "executed_paths",
            ),
            "files": (
                "ABSENT",
                "FileImage",
                "snapshot",
                "text_digest",
            ),
            "git": (
                "NOT_OURS",
                "SAFE",
                "environment",
            ),
            "journal": (
                "FamilyJournal",
                "FileEntry",
                "Journal",
            ),
            "languages": (
                "Fit",
                "PROSE",
                "fit_of_tag",
                "language_of",
                "same_family",
            ),
            "manifest": ("Manifest",),
            "new_names": ("wrong_name",),
            "patchset": (
                "patch_of",
                "states_of",
            ),
            "paths": (
                "PROTECTED",
                "Root",
                "journal_of",
            ),
            "rebasing": ("rebase",),
            "repositories": ("refuse_in_repositories",),
            "rollback": ("Rollback",),
            "staging": (
                "DirectoryOperation",
                "FileOperation",
                "ModeOperation",
                "Plan",
            ),
            "unwinding": ("unwind",),
            "unwound": (
                "TakenBack",
                "Unwound",
            ),
            "verbatim": ("Verbatim",),
            "workspace": (
                "MAX_BYTES",
                "Source",
                "Workspace",
            ),
        },
    )
