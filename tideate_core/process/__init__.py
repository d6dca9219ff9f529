"""Programs by argv: process groups, limits, live output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.process.environment import VIRTUAL_ENVIRONMENTS, make_environment, project_environment
    from tideate_core.process.group import GUARD_PROGRAM
    from tideate_core.process.guard import kill_descendants, read_guard_report
    from tideate_core.process.output import OutputCapture, OutputLine, strip_control_sequences
    from tideate_core.process.programs import check_argv, find_on_path, find_program, start_error
    from tideate_core.process.running import CommandResult, ProcessLimits, run_program

__all__ = [
    "GUARD_PROGRAM",
    "VIRTUAL_ENVIRONMENTS",
    "CommandResult",
    "OutputCapture",
    "OutputLine",
    "ProcessLimits",
    "check_argv",
    "find_on_path",
    "find_program",
    "kill_descendants",
    "make_environment",
    "project_environment",
    "read_guard_report",
    "run_program",
    "start_error",
    "strip_control_sequences",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "environment": ("VIRTUAL_ENVIRONMENTS", "make_environment", "project_environment"),
            "group": ("GUARD_PROGRAM",),
            "guard": ("kill_descendants", "read_guard_report"),
            "output": ("OutputCapture", "OutputLine", "strip_control_sequences"),
            "programs": ("check_argv", "find_on_path", "find_program", "start_error"),
            "running": ("CommandResult", "ProcessLimits", "run_program"),
        },
    )
