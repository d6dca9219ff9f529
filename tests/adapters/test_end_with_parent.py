"""The launcher becomes the program, or reports the reason that it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tideate_core.adapters import end_with_parent

PROGRAM = Path(end_with_parent.__file__)


def _become(parent: int, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", str(PROGRAM), str(parent), *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_program_runs_with_its_arguments_and_its_status_is_returned() -> None:
    ended = _become(os.getpid(), sys.executable, "-c", "import sys; print(sys.argv[1]); sys.exit(3)", "a b")
    assert (ended.stdout, ended.returncode) == ("a b\n", 3)


def test_a_program_that_does_not_exist_is_reported_as_in_a_shell() -> None:
    ended = _become(os.getpid(), "/nonexistent/program")
    assert ended.returncode == end_with_parent.NOT_RUN
    assert ended.stderr.startswith("cannot be run: ")
