"""Detection of a project's tools, tests and builds; parsing of their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.toolchain.detection import detect_clean_command
    from tideate_core.toolchain.detection.tools import Check, Tool
    from tideate_core.toolchain.failures import parse_failures
    from tideate_core.toolchain.failures.failure import Failure
    from tideate_core.toolchain.selection import (
        CommandTrust,
        ProjectTrust,
        declared_checks,
        select_tools,
        untrusted_message,
        verification_environment,
    )
    from tideate_core.toolchain.testing.execution import CompletedTests, run_tests
    from tideate_core.toolchain.testing.listing import find_test_files, list_tests
    from tideate_core.toolchain.testing.results import TEST_REPORT, TestResults, write_report
    from tideate_core.toolchain.testing.runners import (
        SelectedTests,
        UnsupportedSelection,
        accepts_directories,
        make_runner_command,
        runner_name,
    )

__all__ = [
    "TEST_REPORT",
    "Check",
    "CommandTrust",
    "CompletedTests",
    "Failure",
    "ProjectTrust",
    "SelectedTests",
    "TestResults",
    "Tool",
    "UnsupportedSelection",
    "accepts_directories",
    "declared_checks",
    "detect_clean_command",
    "find_test_files",
    "list_tests",
    "make_runner_command",
    "parse_failures",
    "run_tests",
    "runner_name",
    "select_tools",
    "untrusted_message",
    "verification_environment",
    "write_report",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "detection": ("detect_clean_command",),
            "detection.tools": ("Check", "Tool"),
            "failures": ("parse_failures",),
            "failures.failure": ("Failure",),
            "selection": (
                "CommandTrust",
                "ProjectTrust",
                "declared_checks",
                "select_tools",
                "untrusted_message",
                "verification_environment",
            ),
            "testing.execution": ("CompletedTests", "run_tests"),
            "testing.listing": ("find_test_files", "list_tests"),
            "testing.results": ("TEST_REPORT", "TestResults", "write_report"),
            "testing.runners": (
                "SelectedTests",
                "UnsupportedSelection",
                "accepts_directories",
                "make_runner_command",
                "runner_name",
            ),
        },
    )
