"""Real test runners that exit with status 0 before their report do not pass."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING

import pytest

from tideate_core.config import VerifyConfig
from tideate_core.gates import CheckStatus, VerificationPipeline
from tideate_core.toolchain import Check
from tideate_core.toolchain.selection import ProjectTrust, select_tools

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.gates import CheckResult

PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
UNITTEST = [sys.executable, "-m", "unittest", "discover", "-s", "."]
GONE = "import os\nos._exit(0)\n"
IN_A_TEST = "import os\ndef test_a(): pass\ndef test_b():\n    print('9 passed in 0.1s')\n    os._exit(0)\n"
UNITTESTS = """import os
import unittest


class A(unittest.TestCase):
    def test_a(self):
        print("Ran 3 tests in 0.1s\\n\\nOK", flush=True)
        os._exit(0)
"""


async def gate(root: Path, tests: list[str] | None) -> CheckResult:
    config = VerifyConfig(tests=tests, type_check="off", lint="off", build="off", documentation="off")
    trust = ProjectTrust(root)
    trust.trust(chain.from_iterable(select_tools(root, config).values()))
    return (await VerificationPipeline(root, config, trust=trust).run_all()).of(Check.TESTS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "files"),
    [
        (PYTEST, {"test_a.py": IN_A_TEST}),
        (PYTEST, {"test_a.py": "def test_a(): pass\n", "conftest.py": GONE}),
        ([*PYTEST, "--junitxml=own.xml"], {"test_a.py": IN_A_TEST}),
        ([sys.executable, "test_a.py"], {"test_a.py": f"{UNITTESTS}\nunittest.main()\n"}),
        (["./run.sh"], {"test_a.py": UNITTESTS, "run.sh": f"#!/bin/sh\nset -e\n{' '.join(UNITTEST)}\n"}),
    ],
    ids=["test", "conftest", "own-report", "own-main", "script"],
)
async def test_a_runner_that_ends_before_its_report_does_not_pass_the_gate(
    root: Path, command: list[str], files: dict[str, str]
) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
        (root / name).chmod(0o755)
    result = await gate(root, command)
    assert (result.status, result.passed, result.exit_code) == (CheckStatus.FAILED, False, 0)
    assert "ended with status 0, but ended before" in result.reason


@pytest.mark.slow
async def test_one_of_two_runs_that_failed_is_not_lost(root: Path) -> None:
    (root / "test_a.py").write_text("def test_a():\n    assert 1 == 2\n")
    (root / "test_b.py").write_text("def test_b(): pass\n")
    run = " ".join(PYTEST)
    (root / "Makefile").write_text(f"test:\n\t-{run} test_a.py\n\t{run} test_b.py\n")
    result = await gate(root, ["make", "test"])
    assert (result.status, result.exit_code) == (CheckStatus.FAILED, 0)
    assert "its report or output shows failed tests" in result.reason
    assert [(one.file, one.line) for one in result.failures] == [("test_a.py", 2)]


@pytest.mark.slow
@pytest.mark.parametrize("command", [PYTEST, [*PYTEST, "-qq"], ["make", "test"], UNITTEST])
async def test_a_configured_runner_that_is_well_passes(root: Path, command: list[str]) -> None:
    (root / "test_a.py").write_text(
        "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): print('FAIL: b (A.b)')\n"
    )
    (root / "Makefile").write_text(f"test:\n\t{' '.join(PYTEST)}\n")
    result = await gate(root, command)
    assert (result.status, result.failures) == (CheckStatus.PASSED, [])
    assert result.reason == "verify.tests is configured"


@pytest.mark.slow
async def test_unittest_that_finds_nothing_behind_make_does_not_pass(root: Path) -> None:
    (root / "Makefile").write_text(f"test:\n\t-{' '.join(UNITTEST)}\n")
    result = await gate(root, ["make", "test"])
    assert (result.status, "no tests were found" in result.reason) == (CheckStatus.FAILED, True)


async def test_tests_without_counts_are_said_to_be_known_by_their_exit_status(root: Path) -> None:
    result = await gate(root, ["true"])
    assert result.status == CheckStatus.PASSED
    assert result.reason.endswith("only the exit status is known: no test counts were printed")
