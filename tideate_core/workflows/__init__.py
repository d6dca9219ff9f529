"""Workflows before they run: definitions, their order, their prompts, and who registered them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.lazy import exports

if TYPE_CHECKING:
    from tideate_core.workflows.catalog import Catalog
    from tideate_core.workflows.checking import KnownNames
    from tideate_core.workflows.definitions import RESERVED_NAMES, WorkflowDefinition, WorkflowStep
    from tideate_core.workflows.graph import DependencyGraph, dependency_graph
    from tideate_core.workflows.handler import (
        MISSING,
        BufferContext,
        Confirm,
        Cursor,
        Decision,
        Declined,
        RunContext,
        Selection,
        StepContext,
        StepHandler,
    )
    from tideate_core.workflows.keys import workflow_key
    from tideate_core.workflows.machine_files import load_machine
    from tideate_core.workflows.machine_workflow import MachineWorkflow
    from tideate_core.workflows.parsing import ParsedWorkflow, WorkflowParser
    from tideate_core.workflows.positions import FileMistake
    from tideate_core.workflows.prompts import PromptLibrary
    from tideate_core.workflows.registry import Registration, WorkflowRegistry
    from tideate_core.workflows.schema import definition_schema

__all__ = [
    "MISSING",
    "RESERVED_NAMES",
    "BufferContext",
    "Catalog",
    "Confirm",
    "Cursor",
    "Decision",
    "Declined",
    "DependencyGraph",
    "FileMistake",
    "KnownNames",
    "MachineWorkflow",
    "ParsedWorkflow",
    "PromptLibrary",
    "Registration",
    "RunContext",
    "Selection",
    "StepContext",
    "StepHandler",
    "WorkflowDefinition",
    "WorkflowParser",
    "WorkflowRegistry",
    "WorkflowStep",
    "definition_schema",
    "dependency_graph",
    "load_machine",
    "workflow_key",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "catalog": ("Catalog",),
            "checking": ("KnownNames",),
            "definitions": ("RESERVED_NAMES", "WorkflowDefinition", "WorkflowStep"),
            "graph": ("DependencyGraph", "dependency_graph"),
            "handler": (
                "MISSING",
                "BufferContext",
                "Confirm",
                "Cursor",
                "Decision",
                "Declined",
                "RunContext",
                "Selection",
                "StepContext",
                "StepHandler",
            ),
            "keys": ("workflow_key",),
            "machine_files": ("load_machine",),
            "machine_workflow": ("MachineWorkflow",),
            "parsing": ("ParsedWorkflow", "WorkflowParser"),
            "positions": ("FileMistake",),
            "prompts": ("PromptLibrary",),
            "registry": ("Registration", "WorkflowRegistry"),
            "schema": ("definition_schema",),
        },
    )
