"""Workflows before they run: definitions, their order, their prompts, and who registered them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.workflows.catalog import Catalog
    from tideate_core.workflows.checking import KnownNames
    from tideate_core.workflows.definition_files import parse_definition
    from tideate_core.workflows.definitions import (
        KNOWN_AGENTS,
        RESERVED_NAMES,
        ForEach,
        NestedWorkflow,
        ToolCall,
        WorkflowDefinition,
        WorkflowStep,
        check_name,
    )
    from tideate_core.workflows.diagram import draw_steps, step_summary
    from tideate_core.workflows.discovery import is_definition_name, is_definition_path, is_workflow_path
    from tideate_core.workflows.expressions import evaluate, render_task
    from tideate_core.workflows.graph import DependencyGraph, dependency_graph
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
    from tideate_core.workflows.inputs import WORDS, InputDefinition
    from tideate_core.workflows.json_reader import read_json
    from tideate_core.workflows.keys import key_file, workflow_key
    from tideate_core.workflows.limits import LIMITS
    from tideate_core.workflows.machine_files import (
        is_machine_name,
        is_machine_path,
        load_machine,
        shown_path,
    )
    from tideate_core.workflows.machine_text import BOM, read_machine_stream, read_machine_text
    from tideate_core.workflows.machine_workflow import MachineWorkflow
    from tideate_core.workflows.nearest import Nearest
    from tideate_core.workflows.parsing import ParsedWorkflow, WorkflowParser
    from tideate_core.workflows.positions import FileMistake, LineTable, Located, Problem
    from tideate_core.workflows.prompts import PromptLibrary
    from tideate_core.workflows.registry import Registration, Source, WorkflowRegistry
    from tideate_core.workflows.schema import definition_schema
    from tideate_core.workflows.time_limits import persons_time, working_time
    from tideate_core.workflows.yaml_reader import read_yaml

__all__ = [
    "BOM",
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
    "KNOWN_AGENTS",
    "KnownNames",
    "LIMITS",
    "LineTable",
    "Located",
    "MISSING",
    "MachineWorkflow",
    "MemoryAccess",
    "ModelAccess",
    "Nearest",
    "NestedWorkflow",
    "ParsedWorkflow",
    "PersonAccess",
    "Problem",
    "PromptLibrary",
    "RESERVED_NAMES",
    "Registration",
    "RunContext",
    "Selection",
    "Source",
    "StepContext",
    "StepHandler",
    "ToolCall",
    "WORDS",
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
            "definition_files": ("parse_definition",),
            "definitions": (
                "ForEach",
                "KNOWN_AGENTS",
                "NestedWorkflow",
                "RESERVED_NAMES",
                "ToolCall",
                "WorkflowDefinition",
                "WorkflowStep",
                "check_name",
            ),
            "diagram": ("draw_steps", "step_summary"),
            "discovery": (
                "is_definition_name",
                "is_definition_path",
                "is_workflow_path",
            ),
            "expressions": (
                "evaluate",
                "render_task",
            ),
            "graph": (
                "DependencyGraph",
                "dependency_graph",
            ),
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
            "inputs": (
                "InputDefinition",
                "WORDS",
            ),
            "json_reader": ("read_json",),
            "keys": (
                "key_file",
                "workflow_key",
            ),
            "limits": ("LIMITS",),
            "machine_files": (
                "is_machine_name",
                "is_machine_path",
                "load_machine",
                "shown_path",
            ),
            "machine_text": (
                "BOM",
                "read_machine_stream",
                "read_machine_text",
            ),
            "machine_workflow": ("MachineWorkflow",),
            "nearest": ("Nearest",),
            "parsing": (
                "ParsedWorkflow",
                "WorkflowParser",
            ),
            "positions": (
                "FileMistake",
                "LineTable",
                "Located",
                "Problem",
            ),
            "prompts": ("PromptLibrary",),
            "registry": (
                "Registration",
                "Source",
                "WorkflowRegistry",
            ),
            "schema": ("definition_schema",),
            "time_limits": (
                "persons_time",
                "working_time",
            ),
            "yaml_reader": ("read_yaml",),
        },
    )
