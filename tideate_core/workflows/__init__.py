"""Workflows before they run: definitions, parsing, templates, prompts, the registry and the catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.workflows.catalog import Catalog
    from tideate_core.workflows.checking import KnownNames
    from tideate_core.workflows.definitions import (
        RESERVED_NAMES,
        MachineWorkflow,
        WorkflowDefinition,
        check_name,
    )
    from tideate_core.workflows.expressions import evaluate, render_task
    from tideate_core.workflows.graph import DependencyGraph, dependency_graph, draw_steps, step_summary
    from tideate_core.workflows.handler import (
        MISSING,
        BufferContext,
        Confirm,
        Cursor,
        Decision,
        DecisionKind,
        Declined,
        MemoryAccess,
        ModelAccess,
        PersonAccess,
        RunContext,
        Selection,
        StepContext,
        StepHandler,
        WorkspaceAccess,
    )
    from tideate_core.workflows.json_reader import read_json
    from tideate_core.workflows.keys import key_file, workflow_key
    from tideate_core.workflows.limits import LIMITS
    from tideate_core.workflows.loading import parse_definition
    from tideate_core.workflows.mistakes import FileMistake, LineTable, Located, Nearest, Problem
    from tideate_core.workflows.parsing import ParsedWorkflow, WorkflowParser
    from tideate_core.workflows.parts import (
        KNOWN_AGENTS,
        WORDS,
        ForEach,
        InputDefinition,
        NestedWorkflow,
        ToolCall,
        WorkflowStep,
    )
    from tideate_core.workflows.prompts import PromptLibrary
    from tideate_core.workflows.registration import Registration, Source
    from tideate_core.workflows.registry import WorkflowRegistry
    from tideate_core.workflows.schema import definition_schema
    from tideate_core.workflows.time_limits import persons_time, working_time
    from tideate_core.workflows.workflow_files import (
        BOM,
        is_definition_name,
        is_definition_path,
        is_machine_name,
        is_machine_path,
        is_workflow_path,
        load_machine,
        read_machine_stream,
        read_machine_text,
        shown_path,
    )
    from tideate_core.workflows.yaml_reader import read_yaml

__all__ = [
    "BOM",
    "KNOWN_AGENTS",
    "LIMITS",
    "MISSING",
    "RESERVED_NAMES",
    "WORDS",
    "BufferContext",
    "Catalog",
    "Confirm",
    "Cursor",
    "Decision",
    "DecisionKind",
    "Declined",
    "DependencyGraph",
    "FileMistake",
    "ForEach",
    "InputDefinition",
    "KnownNames",
    "LineTable",
    "Located",
    "MachineWorkflow",
    "MemoryAccess",
    "ModelAccess",
    "Nearest",
    "NestedWorkflow",
    "ParsedWorkflow",
    "PersonAccess",
    "Problem",
    "PromptLibrary",
    "Registration",
    "RunContext",
    "Selection",
    "Source",
    "StepContext",
    "StepHandler",
    "ToolCall",
    "WorkflowDefinition",
    "WorkflowParser",
    "WorkflowRegistry",
    "WorkflowStep",
    "WorkspaceAccess",
    "check_name",
    "definition_schema",
    "dependency_graph",
    "draw_steps",
    "evaluate",
    "is_definition_name",
    "is_definition_path",
    "is_machine_name",
    "is_machine_path",
    "is_workflow_path",
    "key_file",
    "load_machine",
    "parse_definition",
    "persons_time",
    "read_json",
    "read_machine_stream",
    "read_machine_text",
    "read_yaml",
    "render_task",
    "shown_path",
    "step_summary",
    "workflow_key",
    "working_time",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "catalog": ("Catalog",),
            "checking": ("KnownNames",),
            "definitions": ("MachineWorkflow", "RESERVED_NAMES", "WorkflowDefinition", "check_name"),
            "expressions": ("evaluate", "render_task"),
            "graph": ("DependencyGraph", "dependency_graph", "draw_steps", "step_summary"),
            "handler": (
                "BufferContext",
                "Confirm",
                "Cursor",
                "Decision",
                "DecisionKind",
                "Declined",
                "MISSING",
                "MemoryAccess",
                "ModelAccess",
                "PersonAccess",
                "RunContext",
                "Selection",
                "StepContext",
                "StepHandler",
                "WorkspaceAccess",
            ),
            "json_reader": ("read_json",),
            "keys": ("key_file", "workflow_key"),
            "limits": ("LIMITS",),
            "loading": ("parse_definition",),
            "mistakes": ("FileMistake", "LineTable", "Located", "Nearest", "Problem"),
            "parsing": ("ParsedWorkflow", "WorkflowParser"),
            "parts": (
                "ForEach",
                "InputDefinition",
                "KNOWN_AGENTS",
                "NestedWorkflow",
                "ToolCall",
                "WORDS",
                "WorkflowStep",
            ),
            "prompts": ("PromptLibrary",),
            "registration": ("Registration", "Source"),
            "registry": ("WorkflowRegistry",),
            "schema": ("definition_schema",),
            "time_limits": ("persons_time", "working_time"),
            "workflow_files": (
                "BOM",
                "is_definition_name",
                "is_definition_path",
                "is_machine_name",
                "is_machine_path",
                "is_workflow_path",
                "load_machine",
                "read_machine_stream",
                "read_machine_text",
                "shown_path",
            ),
            "yaml_reader": ("read_yaml",),
        },
    )
