"""Failed tests of go by package, and of pytest by id."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.toolchain.test_failures import parsed
from tideate_core.toolchain.failures.failure import ToolOutput
from tideate_core.toolchain.failures.test_runners import parse_pytest

if TYPE_CHECKING:
    from pathlib import Path


def test_the_files_of_go_tests_are_found_in_their_package(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module example.com/x\n\ngo 1.22\n")
    text = (
        "--- FAIL: TestA (0.00s)\n    a_test.go:5: got 1\n    --- FAIL: TestA/sub (0.00s)\n"
        "        a_test.go:9: got 2\nFAIL\nFAIL\texample.com/x/pkg/sub\t0.01s\nok  \texample.com/x\t0.1s\n"
    )
    assert parsed("go", text, tmp_path) == [
        ("pkg/sub/a_test.go", 5, None, "TestA: got 1", "", "error"),
        ("pkg/sub/a_test.go", 9, None, "TestA/sub: got 2", "", "error"),
    ]


PARAMETERS = ("a b", "c - d", "e]f g", "plain")
MODULE = f"""
import pytest

@pytest.mark.parametrize("x", {list(PARAMETERS)!r})
def test_blank(x):
    assert x == "no"

@pytest.fixture
def broken():
    raise ValueError("no")

@pytest.mark.parametrize("x", ["a b"])
def test_error(broken, x):
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("style", ["short", "line", "no", "auto"])
def test_parameters_with_blanks_stay_with_their_test_and_each_is_counted_once(
    tmp_path: Path, style: str
) -> None:
    (tmp_path / "test_blank.py").write_text(MODULE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--tb={style}", "--rootdir=."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    found = [failure.test for failure in parse_pytest(ToolOutput(done.stdout, tmp_path, "pytest"))]
    wanted = [*(f"test_blank[{one}]" for one in PARAMETERS), "test_error[a b]"]
    assert sorted(found) == sorted(wanted), done.stdout
