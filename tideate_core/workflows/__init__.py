"""Workflows before they run: definitions, their order, their prompts, and who registered them."""

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
from tideate_core.workflows.prompts import PromptLibrary
from tideate_core.workflows.registry import Registration, WorkflowRegistry

__all__ = [
    "RESERVED_NAMES",
    "BufferContext",
    "Confirm",
    "Cursor",
    "Decision",
    "Declined",
    "DependencyGraph",
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
]
