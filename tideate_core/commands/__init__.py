"""Runs programs for a project, knows which ones check it, and reads what they say is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.lazy import exports

if TYPE_CHECKING:
    from tideate_core.commands.detection import Check, Tool, detect
    from tideate_core.commands.environment import make_environment, of_project
    from tideate_core.commands.failures import Failure, Failures, Severity, parse_failures
    from tideate_core.commands.output import Line, Output, Stream
    from tideate_core.commands.running import CommandResult, Limits, run
    from tideate_core.commands.trust import CommandTrust

__all__ = [
    "Check",
    "CommandResult",
    "CommandTrust",
    "Failure",
    "Failures",
    "Limits",
    "Line",
    "Output",
    "Severity",
    "Stream",
    "Tool",
    "detect",
    "make_environment",
    "of_project",
    "parse_failures",
    "run",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "detection": ("Check", "Tool", "detect"),
            "environment": ("make_environment", "of_project"),
            "failures": ("Failure", "Failures", "Severity", "parse_failures"),
            "output": ("Line", "Output", "Stream"),
            "running": ("CommandResult", "Limits", "run"),
            "trust": ("CommandTrust",),
        },
    )
