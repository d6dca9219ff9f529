"""Engine: runs workflows with lifecycle, steps, events, confirmation, recovery and rollback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.engine.automatic_rollback import temporary_pin as temporary_pin
    from tideate_core.engine.begun_answers import (
        kept_answer as kept_answer,
        read_begun as read_begun,
        with_decisions as with_decisions,
        with_said as with_said,
    )
    from tideate_core.engine.checkpoints import (
        CheckpointDTO as CheckpointDTO,
        CheckpointManager as CheckpointManager,
        read_checkpoint as read_checkpoint,
        remove_exports as remove_exports,
    )
    from tideate_core.engine.commenting import (
        CommentRounds as CommentRounds,
        PlaceComment as PlaceComment,
        changed_lines as changed_lines,
        follow_renames as follow_renames,
    )
    from tideate_core.engine.comparison import (
        Comparison as Comparison,
        ComparisonResult as ComparisonResult,
        compared_requests as compared_requests,
    )
    from tideate_core.engine.confirmation import (
        ConfirmationRequest as ConfirmationRequest,
        FrontEnd as FrontEnd,
    )
    from tideate_core.engine.continuation import (
        is_continued_from as is_continued_from,
        last_conversation as last_conversation,
        request_of as request_of,
        said_in_step as said_in_step,
    )
    from tideate_core.engine.driver import (
        Driver as Driver,
        Question as Question,
        Settled as Settled,
        Work as Work,
    )
    from tideate_core.engine.driver_hooks import (
        DriverHooks as DriverHooks,
        DriverSummary as DriverSummary,
        PlanCounts as PlanCounts,
        register_driver_hooks as register_driver_hooks,
    )
    from tideate_core.engine.drivers.machine import states_to_confirm as states_to_confirm
    from tideate_core.engine.events import (
        Event as Event,
        EventName as EventName,
        WorkflowHooks as WorkflowHooks,
    )
    from tideate_core.engine.forking import (
        ForkPlan as ForkPlan,
        RunEdits as RunEdits,
        plan_fork as plan_fork,
        split_run_step as split_run_step,
    )
    from tideate_core.engine.inputs import read_input as read_input
    from tideate_core.engine.mentions import (
        before as before,
        earlier_runs as earlier_runs,
        material as material,
        surroundings_of as surroundings_of,
        with_material as with_material,
    )
    from tideate_core.engine.orchestrator import (
        OrchestratorDependencies as OrchestratorDependencies,
        Task as Task,
        WorkflowOrchestrator as WorkflowOrchestrator,
    )
    from tideate_core.engine.policy import (
        PERSONS as PERSONS,
        PolicyFrontEnd as PolicyFrontEnd,
        declined_unasked as declined_unasked,
    )
    from tideate_core.engine.preparation import record_refused_run as record_refused_run
    from tideate_core.engine.preview import PromptPreview as PromptPreview
    from tideate_core.engine.recovery import (
        end_abandoned_run as end_abandoned_run,
        roll_back_abandoned_run as roll_back_abandoned_run,
    )
    from tideate_core.engine.reopening import REOPENED as REOPENED
    from tideate_core.engine.reports import WorkflowSummaryDTO as WorkflowSummaryDTO, iso_time as iso_time
    from tideate_core.engine.result import WorkflowResult as WorkflowResult
    from tideate_core.engine.reused_writes import writers_of as writers_of
    from tideate_core.engine.review import (
        BACK as BACK,
        FIX as FIX,
        ask_for_review as ask_for_review,
        review_and_apply as review_and_apply,
        review_lines as review_lines,
        without_executed as without_executed,
        write_changes as write_changes,
    )
    from tideate_core.engine.review_drafts import (
        KeptReview as KeptReview,
        forget_drafts as forget_drafts,
        kept_review as kept_review,
        write_draft as write_draft,
    )
    from tideate_core.engine.revision import (
        Feedback as Feedback,
        PartlyRevised as PartlyRevised,
        revision_prompt as revision_prompt,
    )
    from tideate_core.engine.rollback import (
        RollbackOutcome as RollbackOutcome,
        RunRollback as RunRollback,
        forget_changes as forget_changes,
        nothing_changed_error as nothing_changed_error,
    )
    from tideate_core.engine.run import Execution as Execution, RunRequest as RunRequest
    from tideate_core.engine.runner import WorkflowRunner as WorkflowRunner
    from tideate_core.engine.scheduler import TaskQueue as TaskQueue
    from tideate_core.engine.selected_text import NO_TEXT as NO_TEXT, Subject as Subject, brief as brief
    from tideate_core.engine.state import StateManager as StateManager
    from tideate_core.engine.step_runner import TaskExecutor as TaskExecutor
    from tideate_core.engine.step_services import Services as Services
    from tideate_core.engine.steps.nested import child_id as child_id
    from tideate_core.engine.stored_definition import Changed as Changed
    from tideate_core.engine.task_components import TaskComponents as TaskComponents
    from tideate_core.engine.text_runs import WorkflowEngine as WorkflowEngine
    from tideate_core.engine.tools.permission import (
        FOR_PROJECT as FOR_PROJECT,
        FOR_RUN as FOR_RUN,
        described as described,
    )
    from tideate_core.engine.written_review import review_written as review_written
    from tideate_core.engine.written_runs import (
        family_members as family_members,
        rolled_back_runs as rolled_back_runs,
        run_families as run_families,
        runs_with_changes as runs_with_changes,
    )
else:
    __getattr__, __dir__, __all__ = exports(
        __name__,
        {
            "automatic_rollback": "temporary_pin",
            "begun_answers": "kept_answer read_begun with_decisions with_said",
            "checkpoints": "CheckpointDTO CheckpointManager read_checkpoint remove_exports",
            "commenting": "CommentRounds PlaceComment changed_lines follow_renames",
            "comparison": "Comparison ComparisonResult compared_requests",
            "confirmation": "ConfirmationRequest FrontEnd",
            "continuation": "is_continued_from last_conversation request_of said_in_step",
            "driver": "Driver Question Settled Work",
            "driver_hooks": "DriverHooks DriverSummary PlanCounts register_driver_hooks",
            "drivers.machine": "states_to_confirm",
            "events": "Event EventName WorkflowHooks",
            "forking": "ForkPlan RunEdits plan_fork split_run_step",
            "inputs": "read_input",
            "mentions": "before earlier_runs material surroundings_of with_material",
            "orchestrator": "OrchestratorDependencies Task WorkflowOrchestrator",
            "policy": "PERSONS PolicyFrontEnd declined_unasked",
            "preparation": "record_refused_run",
            "preview": "PromptPreview",
            "recovery": "end_abandoned_run roll_back_abandoned_run",
            "reopening": "REOPENED",
            "reports": "WorkflowSummaryDTO iso_time",
            "reused_writes": "writers_of",
            "review": "BACK FIX ask_for_review review_and_apply review_lines without_executed write_changes",
            "review_drafts": "KeptReview forget_drafts kept_review write_draft",
            "revision": "Feedback PartlyRevised revision_prompt",
            "rollback": "RollbackOutcome RunRollback forget_changes nothing_changed_error",
            "result": "WorkflowResult",
            "run": "Execution RunRequest",
            "runner": "WorkflowRunner",
            "scheduler": "TaskQueue",
            "state": "StateManager",
            "step_runner": "TaskExecutor",
            "step_services": "Services",
            "steps.nested": "child_id",
            "stored_definition": "Changed",
            "task_components": "TaskComponents",
            "text_runs": "WorkflowEngine",
            "selected_text": "NO_TEXT Subject brief",
            "tools.permission": "FOR_PROJECT FOR_RUN described",
            "written_review": "review_written",
            "written_runs": "family_members rolled_back_runs run_families runs_with_changes",
        },
    )
