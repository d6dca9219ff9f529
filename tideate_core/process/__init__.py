"""Programs by argv: process groups, limits, live output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.process.environment import VIRTUAL_ENVIRONMENTS, make_environment, of_project
    from tideate_core.process.group import GUARD
    from tideate_core.process.guard import heard, kill_descendants
    from tideate_core.process.output import Capture, Line, clean
    from tideate_core.process.programs import check_argv, find_program, not_started, on_path
    from tideate_core.process.running import CommandResult, Limits, run

__all__ = [
    "GUARD",
    "heard",
    "kill_descendants",
    "Capture",
    "CommandResult",
    "Limits",
    "Line",
    "VIRTUAL_ENVIRONMENTS",
    "check_argv",
    "clean",
    "find_program",
    "make_environment",
    "not_started",
    "of_project",
    "on_path",
    "run",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "environment": (
                "VIRTUAL_ENVIRONMENTS",
                "make_environment",
                "of_project",
            ),
            "group": ("GUARD",),
            "guard": ("heard", "kill_descendants"),
            "output": (
                "Capture",
                "Line",
                "clean",
            ),
            "programs": (
                "check_argv",
                "find_program",
                "not_started",
                "on_path",
            ),
            "running": (
                "CommandResult",
                "Limits",
                "run",
            ),
        },
    )
