"""The only writer of a project's files: transactions, journal, rollback, paths and editor buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.workspace.buffers import (
        BufferEdit as BufferEdit,
        Buffers as Buffers,
        BufferText as BufferText,
    )
    from tideate_core.workspace.changes import (
        Action as Action,
        FileChange as FileChange,
        Hunk as Hunk,
        HunkIndex as HunkIndex,
        OutsideChanges as OutsideChanges,
        apply_hunks as apply_hunks,
        diff_lines as diff_lines,
        hunk_diff as hunk_diff,
        lines_of as lines_of,
        merge_hunks as merge_hunks,
        merge_text as merge_text,
        rebase as rebase,
        rebase_each as rebase_each,
        unified_diff as unified_diff,
    )
    from tideate_core.workspace.diff import matching_blocks as matching_blocks
    from tideate_core.workspace.documents import (
        Document as Document,
        image_with_text as image_with_text,
        keep_line_ends as keep_line_ends,
        with_kept_line_ends as with_kept_line_ends,
    )
    from tideate_core.workspace.executable_files import (
        ExecutableFile as ExecutableFile,
        executable_changes as executable_changes,
        executable_paths as executable_paths,
    )
    from tideate_core.workspace.file_images import (
        ABSENT as ABSENT,
        FileImage as FileImage,
        FileState as FileState,
        file_or_link as file_or_link,
        is_temporary as is_temporary,
        read_image as read_image,
        read_image_nofollow as read_image_nofollow,
        text_digest as text_digest,
    )
    from tideate_core.workspace.file_writer import FileWriter as FileWriter
    from tideate_core.workspace.image_changes import (
        Difference as Difference,
        change_note as change_note,
        changes_between as changes_between,
        reversed_change as reversed_change,
    )
    from tideate_core.workspace.journal import (
        FileEntry as FileEntry,
        Journal as Journal,
        JournalManifest as JournalManifest,
        KeptMetadata as KeptMetadata,
    )
    from tideate_core.workspace.languages import (
        PROSE as PROSE,
        Fit as Fit,
        fit_of_tag as fit_of_tag,
        is_test as is_test,
        language_of as language_of,
        same_family as same_family,
    )
    from tideate_core.workspace.listing import repositories_of as repositories_of
    from tideate_core.workspace.merging import (
        MergedChanges as MergedChanges,
        merge_outside_changes as merge_outside_changes,
        unsaved_images as unsaved_images,
    )
    from tideate_core.workspace.patches import (
        find_moves as find_moves,
        make_patch as make_patch,
        patched_images as patched_images,
        read_images as read_images,
    )
    from tideate_core.workspace.paths import (
        PROTECTED as PROTECTED,
        Root as Root,
        journal_directory as journal_directory,
        name_problem as name_problem,
        new_name_problem as new_name_problem,
        refuse_in_repositories as refuse_in_repositories,
    )
    from tideate_core.workspace.portable_changes import (
        MergedJournals as MergedJournals,
        PortableFile as PortableFile,
        PortableJournal as PortableJournal,
        PortableRecord as PortableRecord,
        merge_image as merge_image,
        merge_journals as merge_journals,
        portable_journal as portable_journal,
    )
    from tideate_core.workspace.rollback import Rollback as Rollback, RollbackResult as RollbackResult
    from tideate_core.workspace.rollback_notes import (
        has_rollback_notes as has_rollback_notes,
        rolled_back_all as rolled_back_all,
    )
    from tideate_core.workspace.rollback_plan import (
        RollbackPlan as RollbackPlan,
        plan_rollback as plan_rollback,
    )
    from tideate_core.workspace.staging import (
        DirectoryOperation as DirectoryOperation,
        FileOperation as FileOperation,
        ModeOperation as ModeOperation,
        WritePlan as WritePlan,
        is_writable as is_writable,
    )
    from tideate_core.workspace.transaction import (
        AppliedChanges as AppliedChanges,
        CommittedPlan as CommittedPlan,
        Committer as Committer,
    )
    from tideate_core.workspace.workspace import (
        MAX_BYTES as MAX_BYTES,
        SavedFiles as SavedFiles,
        Source as Source,
        Workspace as Workspace,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
