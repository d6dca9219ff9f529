"""Detection of a project's tools, tests and builds; parsing of their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.toolchain.detection import detect, detect_clean
    from tideate_core.toolchain.detection.tools import Check, Tool
    from tideate_core.toolchain.failures import parse_failures
    from tideate_core.toolchain.failures.failure import Failure
    from tideate_core.toolchain.selection import (
        CommandTrust,
        ProjectTrust,
        declared_checks,
        select_tools,
        untrusted,
        verification_environment,
    )
    from tideate_core.toolchain.testing.execution import Ran, run_tests
    from tideate_core.toolchain.testing.listing import list_tests, test_files
    from tideate_core.toolchain.testing.results import REPORT, TestResults, write_report
    from tideate_core.toolchain.testing.runners import (
        NotNarrowed,
        Wanted,
        command_for,
        runner_of,
        takes_folders,
    )

__all__ = [
    "Check",
    "CommandTrust",
    "Failure",
    "NotNarrowed",
    "ProjectTrust",
    "REPORT",
    "Ran",
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
            "failures": ("parse_failures",),
            "failures.failure": ("Failure",),
            "selection": (
                "CommandTrust",
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
            "testing.results": (
                "REPORT",
                "TestResults",
                "write_report",
            ),
            "testing.runners": (
                "NotNarrowed",
                "Wanted",
                "command_for",
                "runner_of",
                "takes_folders",
            ),
        },
    )
