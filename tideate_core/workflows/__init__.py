"""Workflow definitions: parsing, checks, templates, prompts, registry and catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.workflows.catalog import Catalog as Catalog
    from tideate_core.workflows.checking import KnownNames as KnownNames
    from tideate_core.workflows.definitions import (
        MOST_CONCURRENT as MOST_CONCURRENT,
        RESERVED_NAMES as RESERVED_NAMES,
        MachineWorkflow as MachineWorkflow,
        WorkflowDefinition as WorkflowDefinition,
        check_name as check_name,
    )
    from tideate_core.workflows.expressions import (
        evaluate as evaluate,
        holds as holds,
        render_task as render_task,
    )
    from tideate_core.workflows.graph import (
        check_dependencies as check_dependencies,
        dependency_graph as dependency_graph,
        draw_steps as draw_steps,
        step_summary as step_summary,
    )
    from tideate_core.workflows.handler import (
        COMPARISON as COMPARISON,
        MISSING as MISSING,
        Allowance as Allowance,
        CallReport as CallReport,
        CheckAccepted as CheckAccepted,
        CheckResult as CheckResult,
        Confirm as Confirm,
        Decision as Decision,
        DecisionKind as DecisionKind,
        Declined as Declined,
        EditorAccess as EditorAccess,
        MemoryAccess as MemoryAccess,
        ModelAccess as ModelAccess,
        PersonAccess as PersonAccess,
        StepContext as StepContext,
        StepHandler as StepHandler,
        WorkspaceAccess as WorkspaceAccess,
    )
    from tideate_core.workflows.json_reader import read_json as read_json
    from tideate_core.workflows.limits import LIMITS as LIMITS
    from tideate_core.workflows.loading import (
        TextFormat as TextFormat,
        parse_definition as parse_definition,
    )
    from tideate_core.workflows.mistakes import (
        FileMistake as FileMistake,
        LineTable as LineTable,
        Located as Located,
        Nearest as Nearest,
        Problem as Problem,
    )
    from tideate_core.workflows.obfuscation_key import key_file as key_file, workflow_key as workflow_key
    from tideate_core.workflows.parsing import (
        ParsedWorkflow as ParsedWorkflow,
        WorkflowParser as WorkflowParser,
    )
    from tideate_core.workflows.prompts import PromptLibrary as PromptLibrary
    from tideate_core.workflows.references import names_in_task as names_in_task
    from tideate_core.workflows.registration import Registration as Registration
    from tideate_core.workflows.registry import WorkflowRegistry as WorkflowRegistry
    from tideate_core.workflows.run_context import (
        BufferContext as BufferContext,
        Cursor as Cursor,
        DiagnosticContext as DiagnosticContext,
        EarlierRun as EarlierRun,
        FileToChange as FileToChange,
        NextRun as NextRun,
        RunContext as RunContext,
        Selection as Selection,
    )
    from tideate_core.workflows.schema import definition_schema as definition_schema
    from tideate_core.workflows.shape import check_output_schema as check_output_schema
    from tideate_core.workflows.step_definition import (
        ACP as ACP,
        DEFAULT_AGENT as DEFAULT_AGENT,
        KNOWN_AGENTS as KNOWN_AGENTS,
        WORDS as WORDS,
        ForEach as ForEach,
        InputDefinition as InputDefinition,
        NestedWorkflow as NestedWorkflow,
        ToolCall as ToolCall,
        WorkflowStep as WorkflowStep,
    )
    from tideate_core.workflows.template_checks import use_of_prompt as use_of_prompt
    from tideate_core.workflows.time_limits import (
        persons_time as persons_time,
        stopwatch as stopwatch,
        working_time as working_time,
    )
    from tideate_core.workflows.tool_names import (
        LOOK as LOOK,
        OWN as OWN,
        NamedTool as NamedTool,
        read_tool_name as read_tool_name,
    )
    from tideate_core.workflows.workflow_files import (
        BOM as BOM,
        Source as Source,
        is_definition_name as is_definition_name,
        is_definition_path as is_definition_path,
        is_machine_name as is_machine_name,
        is_machine_path as is_machine_path,
        is_workflow_path as is_workflow_path,
        read_workflow_stream as read_workflow_stream,
        read_workflow_text as read_workflow_text,
        shown_path as shown_path,
    )
    from tideate_core.workflows.yaml_reader import read_yaml as read_yaml
else:
    __getattr__, __dir__, __all__ = exports(__name__)
