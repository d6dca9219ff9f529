"""Run git safely: checked repositories, isolated commands, parsed output. No other package runs git."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.git.commits import (
        CommitBase as CommitBase,
        NewEntry as NewEntry,
        PersonsCommit as PersonsCommit,
    )
    from tideate_core.git.layout import find_repository as find_repository
    from tideate_core.git.objects import (
        Tree as Tree,
        TreeEntry as TreeEntry,
        ask_objects as ask_objects,
        empty_repository as empty_repository,
        file_id as file_id,
        object_id as object_id,
        objects_only as objects_only,
        read_objects as read_objects,
        read_tree as read_tree,
    )
    from tideate_core.git.parsing import (
        COMMIT_FIELDS as COMMIT_FIELDS,
        Commit as Commit,
        Status as Status,
        StatusEntry as StatusEntry,
        join_names as join_names,
        parse_attribute as parse_attribute,
        parse_commit as parse_commit,
        parse_commits as parse_commits,
        parse_name_status as parse_name_status,
        parse_status as parse_status,
        printable_path as printable_path,
        printable_text as printable_text,
        split_names as split_names,
    )
    from tideate_core.git.persons import (
        PersonsGit as PersonsGit,
        persons_git as persons_git,
        words_of as words_of,
    )
    from tideate_core.git.program import (
        EXCLUDE_PRIVATE as EXCLUDE_PRIVATE,
        HARDENED as HARDENED,
        LARGEST as LARGEST,
        SAFE_OPTIONS as SAFE_OPTIONS,
        UNSIGNED as UNSIGNED,
        GitOutput as GitOutput,
        Repository as Repository,
        Terminal as Terminal,
        alternates_line as alternates_line,
        config_options as config_options,
        find_git as find_git,
        finish as finish,
        git_environment as git_environment,
        query_git as query_git,
        quoted_path as quoted_path,
        refuse_pipes as refuse_pipes,
        run_as_person as run_as_person,
        run_git as run_git,
        start_git as start_git,
        without_repository as without_repository,
    )
    from tideate_core.git.quarantine import fetch_commits as fetch_commits
    from tideate_core.git.questions import (
        ask_git as ask_git,
        check_place as check_place,
        empty_tree as empty_tree,
        find_commit as find_commit,
        refuse_commit as refuse_commit,
        without_filters as without_filters,
    )
    from tideate_core.git.remote_refs import (
        ABSENT as ABSENT,
        Pushed as Pushed,
        RefChange as RefChange,
        change_refs as change_refs,
        check_branch as check_branch,
        fetch_refs as fetch_refs,
        list_refs as list_refs,
    )
    from tideate_core.git.sealed import (
        SealedCommit as SealedCommit,
        Signature as Signature,
        identity as identity,
        read_sealed as read_sealed,
        read_signature as read_signature,
        write_sealed as write_sealed,
    )
    from tideate_core.git.settings import (
        Settings as Settings,
        identity_variables as identity_variables,
        parse_settings as parse_settings,
        setting_pairs as setting_pairs,
        setting_variables as setting_variables,
    )
    from tideate_core.git.work_tree import (
        LARGEST_LIST as LARGEST_LIST,
        SavedFiles as SavedFiles,
        saved_files as saved_files,
        skipped_files as skipped_files,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
