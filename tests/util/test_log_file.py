"""The log file is private, and a failing disk is reported in one line."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from tests.harness.modes import umask, wider_than_private

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PROGRAM: Final = """
import logging, sys
from pathlib import Path
from tideate_core.util.log_file import log_to
log_to(Path(sys.argv[1]))
for number in range(3):
    logging.getLogger("here").warning("record %d", number)
print("went on")
"""


def log(path: Path, *, largest: int = resource.RLIM_INFINITY) -> subprocess.CompletedProcess[str]:
    """Log three records in a process with a limited file size."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_is_private_and_begun_with_the_first_record(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir(mode=0o700)
    with umask(0o000):
        done = log(tmp_path / "logs/a.log")
    assert (done.stdout, done.stderr) == ("went on\n", "")
    assert (tmp_path / "logs/a.log").read_text().count("WARNING here: record") == 3
    assert wider_than_private(tmp_path / "logs") == []


def test_a_disk_that_takes_no_record_is_told_once_and_the_work_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    done = log(path, largest=0)
    assert (done.stdout, done.stderr) == (
        "went on\n",
        f"warning: the log {path} cannot be written: File too large\n",
    )


def test_a_pipe_in_its_place_is_told_and_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    os.mkfifo(path)
    done = log(path)
    assert done.stdout == "went on\n"
    assert done.stderr.count("\n") == 1
    assert "it is a named pipe, not a regular file; move it away" in done.stderr
