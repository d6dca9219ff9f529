"""Toolchain of a project: detection of its checks, test runs, and parsing of their output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.toolchain.detection import (
        detect_clean_command as detect_clean_command,
        recipe_of as recipe_of,
    )
    from tideate_core.toolchain.detection.parts import unsearched as unsearched
    from tideate_core.toolchain.detection.tools import Check as Check, Tool as Tool
    from tideate_core.toolchain.failures import parse_failures as parse_failures
    from tideate_core.toolchain.failures.failure import Failure as Failure
    from tideate_core.toolchain.selection import (
        ProjectTrust as ProjectTrust,
        affected_tools as affected_tools,
        declared_checks as declared_checks,
        declared_commands as declared_commands,
        missing_program as missing_program,
        select_tools as select_tools,
        share_files as share_files,
        tool_environment as tool_environment,
        untrusted_message as untrusted_message,
        verification_environment as verification_environment,
    )
    from tideate_core.toolchain.testing.execution import (
        CompletedTests as CompletedTests,
        run_tests as run_tests,
    )
    from tideate_core.toolchain.testing.listing import (
        find_test_files as find_test_files,
        list_tests as list_tests,
    )
    from tideate_core.toolchain.testing.results import (
        TEST_REPORT as TEST_REPORT,
        TestFailure as TestFailure,
        TestResults as TestResults,
        write_report as write_report,
    )
    from tideate_core.toolchain.testing.runners import (
        SelectableTests as SelectableTests,
        SelectedTests as SelectedTests,
        UnsupportedSelection as UnsupportedSelection,
        accepts_directories as accepts_directories,
        make_runner_command as make_runner_command,
        runner_name as runner_name,
        selectable_tests as selectable_tests,
    )
else:
    __getattr__, __dir__, __all__ = exports(__name__)
