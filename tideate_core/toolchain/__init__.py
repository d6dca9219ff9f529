"""Runs programs for a project, knows which ones check it, and reads what they say is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.toolchain.detection import detect, detect_clean
    from tideate_core.toolchain.detection.tools import Check, Tool
    from tideate_core.toolchain.failures import Failures, parse_failures
    from tideate_core.toolchain.failures.failure import Failure, Severity
    from tideate_core.toolchain.results.models import TestResults
    from tideate_core.toolchain.results.report import REPORT, write_report
    from tideate_core.toolchain.selection import (
        ProjectTrust,
        declared_checks,
        select_tools,
        untrusted,
        verification_environment,
    )
    from tideate_core.toolchain.testing.execution import Ran, run_tests
    from tideate_core.toolchain.testing.listing import list_tests, test_files
    from tideate_core.toolchain.testing.runners import (
        NotNarrowed,
        Wanted,
        command_for,
        runner_of,
        takes_folders,
    )
    from tideate_core.toolchain.trust import CommandTrust

__all__ = [
    "Check",
    "CommandTrust",
    "Failure",
    "Failures",
    "NotNarrowed",
    "ProjectTrust",
    "REPORT",
    "Ran",
    "Severity",
    "TestResults",
    "Tool",
    "Wanted",
    "command_for",
    "declared_checks",
    "detect",
    "detect_clean",
    "list_tests",
    "parse_failures",
    "run_tests",
    "runner_of",
    "select_tools",
    "takes_folders",
    "test_files",
    "untrusted",
    "verification_environment",
    "write_report",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "detection": (
                "detect",
                "detect_clean",
            ),
            "detection.tools": (
                "Check",
                "Tool",
            ),
            "failures": (
                "Failures",
                "parse_failures",
            ),
            "failures.failure": (
                "Failure",
                "Severity",
            ),
            "results.models": ("TestResults",),
            "results.report": (
                "REPORT",
                "write_report",
            ),
            "selection": (
                "ProjectTrust",
                "declared_checks",
                "select_tools",
                "untrusted",
                "verification_environment",
            ),
            "testing.execution": (
                "Ran",
                "run_tests",
            ),
            "testing.listing": (
                "list_tests",
                "test_files",
            ),
            "testing.runners": (
                "NotNarrowed",
                "Wanted",
                "command_for",
                "runner_of",
                "takes_folders",
            ),
            "trust": ("CommandTrust",),
        },
    )
