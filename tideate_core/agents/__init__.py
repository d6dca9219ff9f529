"""Agents: their files and settings, roles of a task, the work loop with tools, attempts at edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.agents.affected_files import (
        report_tool as report_tool,
        split_report as split_report,
        way_to_report as way_to_report,
    )
    from tideate_core.agents.asking import (
        LookingModel as LookingModel,
        RememberedModel as RememberedModel,
        may_look as may_look,
        model_of as model_of,
    )
    from tideate_core.agents.attempts import Ask as Ask
    from tideate_core.agents.auditor import apply_fixes as apply_fixes, audit_plan as audit_plan
    from tideate_core.agents.coder import (
        Written as Written,
        edit_format as edit_format,
        edit_range as edit_range,
        insert_text as insert_text,
        or_no_change as or_no_change,
        write_text as write_text,
    )
    from tideate_core.agents.compaction import CACHED as CACHED
    from tideate_core.agents.corrector import (
        Corrected as Corrected,
        NeededFile as NeededFile,
        correct_task as correct_task,
    )
    from tideate_core.agents.delegation import (
        Delegation as Delegation,
        render_task_prompt as render_task_prompt,
    )
    from tideate_core.agents.documenter import Documented as Documented, document_task as document_task
    from tideate_core.agents.executor import (
        Executed as Executed,
        execute_plan as execute_plan,
        result_of as result_of,
    )
    from tideate_core.agents.file_edits import removes as removes
    from tideate_core.agents.file_plan import (
        Plan as Plan,
        PlannedFile as PlannedFile,
        make_plan as make_plan,
        parse_plan as parse_plan,
        unreadable_files as unreadable_files,
    )
    from tideate_core.agents.guarded_turn import (
        AgentTurn as AgentTurn,
        GuardedAgent as GuardedAgent,
        changes_of as changes_of,
        guarded_agent as guarded_agent,
    )
    from tideate_core.agents.loop import (
        LoopResult as LoopResult,
        Submission as Submission,
        WorkLoop as WorkLoop,
    )
    from tideate_core.agents.model_input import (
        clip as clip,
        is_small as is_small,
        named_files as named_files,
        text_budget as text_budget,
        why_hidden as why_hidden,
    )
    from tideate_core.agents.plan_document import (
        parse_plan_document as parse_plan_document,
        plan_as_markdown as plan_as_markdown,
    )
    from tideate_core.agents.plan_steps import (
        PartOfPlan as PartOfPlan,
        Verdict as Verdict,
        analyse as analyse,
        review_change as review_change,
    )
    from tideate_core.agents.planner import plan_task as plan_task
    from tideate_core.agents.project_files import list_for_model as list_for_model
    from tideate_core.agents.records import MEMORY_FILE as MEMORY_FILE, memory_material as memory_material
    from tideate_core.agents.remembered_texts import (
        first_kept_text as first_kept_text,
        keep_texts as keep_texts,
        kept_texts as kept_texts,
        text_for_answer as text_for_answer,
    )
    from tideate_core.agents.revising import Comments as Comments, EditsInReview as EditsInReview
    from tideate_core.agents.role_files import (
        BUILTIN_ROLES as BUILTIN_ROLES,
        LARGEST_ROLE as LARGEST_ROLE,
        package_file as package_file,
        read_role as read_role,
    )
    from tideate_core.agents.roles import Role as Role, Roles as Roles
    from tideate_core.agents.rules import project_rules as project_rules
    from tideate_core.agents.stage import (
        Stage as Stage,
        TaskBrief as TaskBrief,
        open_stage as open_stage,
    )
    from tideate_core.agents.staged_files import StagedFiles as StagedFiles
    from tideate_core.agents.step_tools import StepTools as StepTools
    from tideate_core.agents.tools.check_commands import runnable_checks as runnable_checks
    from tideate_core.agents.tools.checks import (
        run_accepted_check as run_accepted_check,
        run_staged_tests as run_staged_tests,
    )
    from tideate_core.agents.tools.table import own_tool_names as own_tool_names
    from tideate_core.agents.writer import (
        Bounds as Bounds,
        WrittenWork as WrittenWork,
        calls_after_plan as calls_after_plan,
        editing_model as editing_model,
        planning_model as planning_model,
        within_plan as within_plan,
        write_with_tools as write_with_tools,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
