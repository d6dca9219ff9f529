"""Engine: run workflows with lifecycle, events, confirmation, recovery and rollback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.engine.agent_work import AgentWork as AgentWork, work_and_land as work_and_land
    from tideate_core.engine.begin import read_input as read_input
    from tideate_core.engine.comparison import (
        Comparison as Comparison,
        ComparisonResult as ComparisonResult,
        compared_requests as compared_requests,
    )
    from tideate_core.engine.context.context import StateManager as StateManager
    from tideate_core.engine.context.continuation import (
        conversation_starts as conversation_starts,
        is_continued_from as is_continued_from,
        last_conversation as last_conversation,
        request_of as request_of,
        said_in_step as said_in_step,
    )
    from tideate_core.engine.context.memory import (
        CONVERSATION as CONVERSATION,
        check_memos as check_memos,
        is_permission as is_permission,
    )
    from tideate_core.engine.context.person import question_digest as question_digest
    from tideate_core.engine.driver import (
        Driver as Driver,
        DriverHooks as DriverHooks,
        DriverSummary as DriverSummary,
        PlanCounts as PlanCounts,
        Question as Question,
        Settled as Settled,
        StateDriver as StateDriver,
        Work as Work,
        driver_hooks as driver_hooks,
        register_driver_hooks as register_driver_hooks,
    )
    from tideate_core.engine.drivers.machine import states_to_confirm as states_to_confirm
    from tideate_core.engine.ending import (
        WorkflowSummaryDTO as WorkflowSummaryDTO,
        iso_time as iso_time,
        temporary_pin as temporary_pin,
    )
    from tideate_core.engine.events import (
        ConfirmationRequest as ConfirmationRequest,
        Event as Event,
        EventName as EventName,
        FrontEnd as FrontEnd,
        WorkflowHooks as WorkflowHooks,
    )
    from tideate_core.engine.families import (
        family_members as family_members,
        rolled_back_runs as rolled_back_runs,
        run_families as run_families,
        runs_with_changes as runs_with_changes,
    )
    from tideate_core.engine.fork.checkpoints import (
        CheckpointDTO as CheckpointDTO,
        CheckpointManager as CheckpointManager,
        read_checkpoint as read_checkpoint,
        remove_exports as remove_exports,
    )
    from tideate_core.engine.fork.forking import (
        REOPENED as REOPENED,
        ForkPlan as ForkPlan,
        RunEdits as RunEdits,
        plan_fork as plan_fork,
        split_run_step as split_run_step,
    )
    from tideate_core.engine.fork.reuse import writers_of as writers_of
    from tideate_core.engine.loop import TaskExecutor as TaskExecutor, TaskQueue as TaskQueue
    from tideate_core.engine.orchestrator import (
        OrchestratorDependencies as OrchestratorDependencies,
        Task as Task,
        TaskComponents as TaskComponents,
        WorkflowEngine as WorkflowEngine,
        WorkflowOrchestrator as WorkflowOrchestrator,
    )
    from tideate_core.engine.past import Changed as Changed, kept_adapter as kept_adapter
    from tideate_core.engine.policy import (
        PERSONS as PERSONS,
        UNASKED as UNASKED,
        LeavingFrontEnd as LeavingFrontEnd,
        PolicyFrontEnd as PolicyFrontEnd,
        RecordedAnswers as RecordedAnswers,
        answer_key as answer_key,
        declined_unasked as declined_unasked,
    )
    from tideate_core.engine.preview import PromptPreview as PromptPreview
    from tideate_core.engine.prompt_material import (
        before as before,
        brief as brief,
        earlier_runs as earlier_runs,
        material as material,
        surroundings_of as surroundings_of,
        tell_truncated as tell_truncated,
        with_material as with_material,
    )
    from tideate_core.engine.recorder import now_ms as now_ms
    from tideate_core.engine.recovery import (
        RollbackOutcome as RollbackOutcome,
        RunRollback as RunRollback,
        end_abandoned_run as end_abandoned_run,
        forget_changes as forget_changes,
        nothing_changed_error as nothing_changed_error,
        roll_back_abandoned_run as roll_back_abandoned_run,
    )
    from tideate_core.engine.request import (
        NO_TEXT as NO_TEXT,
        RunRequest as RunRequest,
        Subject as Subject,
        WorkflowResult as WorkflowResult,
    )
    from tideate_core.engine.review.drafts import (
        KeptReview as KeptReview,
        conflicts_of as conflicts_of,
        draft_folder as draft_folder,
        forget_drafts as forget_drafts,
        kept_answer as kept_answer,
        kept_review as kept_review,
        portable_drafts as portable_drafts,
        read_begun as read_begun,
        with_decisions as with_decisions,
        with_said as with_said,
        write_draft as write_draft,
    )
    from tideate_core.engine.review.landing import Landed as Landed, land_difference as land_difference
    from tideate_core.engine.review.review import (
        BACK as BACK,
        FIX as FIX,
        ask_for_review as ask_for_review,
        listed_points as listed_points,
        review_and_apply as review_and_apply,
        review_lines as review_lines,
        without_executed as without_executed,
        write_changes as write_changes,
    )
    from tideate_core.engine.review.revision import (
        Feedback as Feedback,
        PartlyRevised as PartlyRevised,
        revision_prompt as revision_prompt,
    )
    from tideate_core.engine.review.written import (
        CommentRounds as CommentRounds,
        PlaceComment as PlaceComment,
        changed_lines as changed_lines,
        follow_renames as follow_renames,
        review_written as review_written,
    )
    from tideate_core.engine.run import Run as Run
    from tideate_core.engine.runner import WorkflowRunner as WorkflowRunner
    from tideate_core.engine.steps.nested import child_id as child_id
    from tideate_core.engine.tool_call_events import summarize_call as summarize_call
    from tideate_core.engine.tools import (
        FOR_PROJECT as FOR_PROJECT,
        FOR_RUN as FOR_RUN,
        described as described,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
