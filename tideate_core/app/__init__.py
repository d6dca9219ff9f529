"""Use cases shared by all front ends: project wiring, runs, history, rollback, snapshots, trust."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.app.branch_landing import (
        LandedBranch as LandedBranch,
        check_landing as check_landing,
        land_branch as land_branch,
    )
    from tideate_core.app.bundle_facts import bundle_lines as bundle_lines
    from tideate_core.app.bundles import (
        BundleHere as BundleHere,
        base_work_tree as base_work_tree,
        beside_project as beside_project,
        bundle_file as bundle_file,
        load_bundle as load_bundle,
        make_bundle as make_bundle,
        open_bundle as open_bundle,
        save_bundle as save_bundle,
    )
    from tideate_core.app.commit import (
        CommitPlan as CommitPlan,
        commit_run as commit_run,
        plan_commit as plan_commit,
    )
    from tideate_core.app.control_requests import (
        Cancellation as Cancellation,
        cancel_run as cancel_run,
        cancel_stored_run as cancel_stored_run,
        continue_paused as continue_paused,
        opened_store as opened_store,
        pause_run as pause_run,
        paused_in as paused_in,
        run_to_resume as run_to_resume,
        say_to_run as say_to_run,
    )
    from tideate_core.app.guard import (
        GUARD_COMMANDS as GUARD_COMMANDS,
        LAND as LAND,
        GuardedProgram as GuardedProgram,
        guarded_agents as guarded_agents,
        open_session as open_session,
        prepare_blocking as prepare_blocking,
        prepare_session as prepare_session,
        refuse_running as refuse_running,
        session_difference as session_difference,
        session_ids as session_ids,
        session_json as session_json,
    )
    from tideate_core.app.history import (
        RunFilter as RunFilter,
        actions as actions,
        history_page as history_page,
        parse_filter as parse_filter,
        rollback_states as rollback_states,
        rolled_back_ids as rolled_back_ids,
        time_of as time_of,
    )
    from tideate_core.app.inbox import (
        ANSWER as ANSWER,
        Continuation as Continuation,
        UnfinishedAnswer as UnfinishedAnswer,
        WaitingRun as WaitingRun,
        end_published as end_published,
        find_published as find_published,
        inbox_remotes as inbox_remotes,
        list_inbox as list_inbox,
        locate_waiting as locate_waiting,
        open_published as open_published,
        opening_lines as opening_lines,
        prune_inbox as prune_inbox,
        publish_run as publish_run,
        published_now as published_now,
        read_published as read_published,
        read_question as read_question,
        take_published as take_published,
        unfinished_answer as unfinished_answer,
        waiting_json as waiting_json,
    )
    from tideate_core.app.opening import (
        interrupted_restore as interrupted_restore,
        note_project as note_project,
        open_store as open_store,
        recover_before as recover_before,
        recovery_names as recovery_names,
        recovery_words as recovery_words,
    )
    from tideate_core.app.projects import (
        ProjectView as ProjectView,
        forget_project as forget_project,
        list_projects as list_projects,
        move_project as move_project,
        moved_from as moved_from,
        moved_words as moved_words,
        project_named as project_named,
    )
    from tideate_core.app.retention import prune_runs as prune_runs, retention_of as retention_of
    from tideate_core.app.reviews import review_names as review_names
    from tideate_core.app.roles import (
        agent_names as agent_names,
        eject_role as eject_role,
        own_tool_names as own_tool_names,
        role_json as role_json,
        role_names as role_names,
        role_origin as role_origin,
        tool_mistakes as tool_mistakes,
    )
    from tideate_core.app.rollback import (
        RunChanges as RunChanges,
        choose_run as choose_run,
        find_changed_runs as find_changed_runs,
        list_changes as list_changes,
        match_run as match_run,
        named_run as named_run,
        preview_rollback as preview_rollback,
        roll_back as roll_back,
        rollback_diffs as rollback_diffs,
        rollback_files as rollback_files,
    )
    from tideate_core.app.run_details import (
        CHECK_ENDED as CHECK_ENDED,
        GATE_EVENTS as GATE_EVENTS,
        ROLLED_BACK as ROLLED_BACK,
        TOOL_COMPLETED as TOOL_COMPLETED,
        Item as Item,
        RunDetails as RunDetails,
        details_json as details_json,
        read_details as read_details,
        step_json as step_json,
        step_named as step_named,
    )
    from tideate_core.app.run_diff import compare_runs as compare_runs, compared_texts as compared_texts
    from tideate_core.app.run_export import ExportFormat as ExportFormat, export_runs as export_runs
    from tideate_core.app.runs import (
        GATES as GATES,
        average_ms as average_ms,
        checkpoint_json as checkpoint_json,
        cost_json as cost_json,
        gates_json as gates_json,
        metrics_json as metrics_json,
        next_command as next_command,
        read_costs as read_costs,
        read_runs as read_runs,
        reader_of as reader_of,
        run_json as run_json,
        short_id as short_id,
        tokens_json as tokens_json,
        waiting_words as waiting_words,
        waits_for as waits_for,
    )
    from tideate_core.app.snapshots import (
        choose_snapshot as choose_snapshot,
        make_snapshot_manager as make_snapshot_manager,
        open_snapshots as open_snapshots,
        snapshot_ids as snapshot_ids,
        snapshot_json as snapshot_json,
    )
    from tideate_core.app.threads import (
        chat_tip as chat_tip,
        list_chats as list_chats,
        read_chat as read_chat,
        read_step_thread as read_step_thread,
        read_thread as read_thread,
        title_of as title_of,
    )
    from tideate_core.app.trust import (
        TrustItem as TrustItem,
        TrustPlan as TrustPlan,
        apply_trust as apply_trust,
        plan_trust as plan_trust,
        revoke_trust as revoke_trust,
    )
    from tideate_core.app.watch import Watched as Watched, watch_project as watch_project
    from tideate_core.app.wiring import (
        Project as Project,
        ProjectRuntime as ProjectRuntime,
        build_catalog as build_catalog,
        locate_project as locate_project,
        make_catalog as make_catalog,
        make_runtime as make_runtime,
        not_utf8 as not_utf8,
        open_project as open_project,
        open_runner as open_runner,
        read_file_context as read_file_context,
    )
    from tideate_core.app.workflow_files import (
        STDIN as STDIN,
        Checked as Checked,
        Source as Source,
        Unreadable as Unreadable,
        check_files as check_files,
        check_machine_files as check_machine_files,
        diagnostic_json as diagnostic_json,
        machine_state as machine_state,
        open_machine as open_machine,
        read_sources as read_sources,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
