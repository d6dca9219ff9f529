"""Workspace: the only writer of the person's files; transactions, journal, rollback, paths, buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.errors import ContextResolutionError
    from tideate_core.mentions import ContextItem, ContextResolver
    from tideate_core.snapshots import FileDiff, Snapshot, SnapshotManager
    from tideate_core.workspace.buffers import BufferEdit, Buffers, BufferText
    from tideate_core.workspace.changes import (
        Action,
        FileChange,
        Hunk,
        OutsideChanges,
        apply_hunks,
        diff_lines,
        lines_of,
        unified_diff,
    )
    from tideate_core.workspace.diff import matching_blocks
    from tideate_core.workspace.documents import Document
    from tideate_core.workspace.executable_files import ExecutableFile, executable_changes, executable_paths
    from tideate_core.workspace.file_writer import FileWriter
    from tideate_core.workspace.files import ABSENT, FileImage, is_temporary, read_image, text_digest
    from tideate_core.workspace.git import EXCLUDE_PRIVATE, SAFE_GIT, git_environment, make_patch, read_images
    from tideate_core.workspace.journal import FamilyJournal, Journal
    from tideate_core.workspace.journal_manifest import FileEntry, JournalManifest
    from tideate_core.workspace.languages import PROSE, Fit, fit_of_tag, language_of, same_family
    from tideate_core.workspace.paths import (
        PROTECTED,
        Root,
        journal_directory,
        new_name_problem,
        refuse_in_repositories,
    )
    from tideate_core.workspace.rollback import Rollback, RollbackResult
    from tideate_core.workspace.rollback_planner import plan_rollback
    from tideate_core.workspace.rollback_state import RollbackPlan
    from tideate_core.workspace.staging import DirectoryOperation, FileOperation, ModeOperation, WritePlan
    from tideate_core.workspace.transaction import CommittedPlan, Committer
    from tideate_core.workspace.workspace import MAX_BYTES, Source, Workspace

__all__ = [
    "ABSENT",
    "EXCLUDE_PRIVATE",
    "MAX_BYTES",
    "PROSE",
    "PROTECTED",
    "SAFE_GIT",
    "Action",
    "BufferEdit",
    "BufferText",
    "Buffers",
    "CommittedPlan",
    "Committer",
    "ContextItem",
    "ContextResolutionError",
    "ContextResolver",
    "DirectoryOperation",
    "Document",
    "ExecutableFile",
    "FamilyJournal",
    "FileChange",
    "FileDiff",
    "FileEntry",
    "FileImage",
    "FileOperation",
    "FileWriter",
    "Fit",
    "Hunk",
    "Journal",
    "JournalManifest",
    "ModeOperation",
    "OutsideChanges",
    "Rollback",
    "RollbackPlan",
    "RollbackResult",
    "Root",
    "Snapshot",
    "SnapshotManager",
    "Source",
    "Workspace",
    "WritePlan",
    "apply_hunks",
    "diff_lines",
    "executable_changes",
    "executable_paths",
    "fit_of_tag",
    "git_environment",
    "is_temporary",
    "journal_directory",
    "language_of",
    "lines_of",
    "make_patch",
    "matching_blocks",
    "new_name_problem",
    "plan_rollback",
    "read_image",
    "read_images",
    "refuse_in_repositories",
    "same_family",
    "text_digest",
    "unified_diff",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "tideate_core.errors": ("ContextResolutionError",),
            "tideate_core.mentions": (
                "ContextItem",
                "ContextResolver",
            ),
            "tideate_core.snapshots": (
                "FileDiff",
                "Snapshot",
                "SnapshotManager",
            ),
            "buffers": (
                "BufferEdit",
                "BufferText",
                "Buffers",
            ),
            "changes": (
                "Action",
                "FileChange",
                "Hunk",
                "OutsideChanges",
                "apply_hunks",
                "diff_lines",
                "lines_of",
                "unified_diff",
            ),
            "diff": ("matching_blocks",),
            "documents": ("Document",),
            "executable_files": (
                "ExecutableFile",
                "executable_changes",
                "executable_paths",
            ),
            "file_writer": ("FileWriter",),
            "files": (
                "ABSENT",
                "FileImage",
                "is_temporary",
                "read_image",
                "text_digest",
            ),
            "git": (
                "EXCLUDE_PRIVATE",
                "SAFE_GIT",
                "git_environment",
                "make_patch",
                "read_images",
            ),
            "journal": (
                "FamilyJournal",
                "Journal",
            ),
            "journal_manifest": (
                "FileEntry",
                "JournalManifest",
            ),
            "languages": (
                "PROSE",
                "Fit",
                "fit_of_tag",
                "language_of",
                "same_family",
            ),
            "paths": (
                "PROTECTED",
                "Root",
                "journal_directory",
                "new_name_problem",
                "refuse_in_repositories",
            ),
            "rollback": (
                "Rollback",
                "RollbackResult",
            ),
            "rollback_planner": ("plan_rollback",),
            "rollback_state": ("RollbackPlan",),
            "staging": (
                "DirectoryOperation",
                "FileOperation",
                "ModeOperation",
                "WritePlan",
            ),
            "transaction": (
                "Committer",
                "CommittedPlan",
            ),
            "workspace": (
                "MAX_BYTES",
                "Source",
                "Workspace",
            ),
        },
    )
