"""Workflows before they run: definitions, their order, their prompts, and who registered them."""

from tideate_core.workflows.catalog import Catalog
from tideate_core.workflows.definitions import RESERVED_NAMES, WorkflowDefinition, WorkflowStep
from tideate_core.workflows.graph import DependencyGraph, dependency_graph
from tideate_core.workflows.handler import (
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
from tideate_core.workflows.prompts import PromptLibrary
from tideate_core.workflows.registry import Registration, WorkflowRegistry

__all__ = [
    "RESERVED_NAMES",
    "BufferContext",
    "Catalog",
    "Confirm",
    "Cursor",
    "Decision",
    "Declined",
    "DependencyGraph",
    "MachineWorkflow",
    "PromptLibrary",
    "Registration",
    "RunContext",
    "Selection",
    "StepContext",
    "StepHandler",
    "WorkflowDefinition",
    "WorkflowRegistry",
    "WorkflowStep",
    "dependency_graph",
    "load_machine",
    "workflow_key",
]
