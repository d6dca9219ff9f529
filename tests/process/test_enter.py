"""Programs in namespaces of another process; tests/snapshots/scratch/ uses real namespaces."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tideate_core.errors import ProgramMissing
from tideate_core.process import Namespaces, Proc, ProcessLimits, Rules, entering, find_program, run_program

NOBODY_HAS = 1 << 30
"""A pid that the system does not give."""


def test_where_nobody_is_any_more_nothing_is_run(tmp_path: Path) -> None:
    command = entering(NOBODY_HAS, tmp_path, [sys.executable, "-c", "print('run')"])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == f"{sys.executable} cannot be run: No such process\n"


@pytest.mark.parametrize("rules", [None, Rules()])
async def test_a_program_that_ends_on_a_signal_has_its_own_status(rules: Rules | None) -> None:
    held = Namespaces.hold([Proc()], rules)
    try:
        done = await run_program(
            ["sh", "-c", "trap 'exit 3' TERM; while :; do sleep 0.01; done"],
            cwd=Path("/"),
            namespace=held.pid,
            limits=ProcessLimits(timeout_ms=1000),
        )
    finally:
        held.close()
    assert (done.timed_out, done.exit_code) == (True, 3)


async def test_a_program_is_looked_for_where_it_is_to_run() -> None:
    with pytest.raises(ProgramMissing):
        await run_program([sys.executable], cwd=Path("/"), namespace=NOBODY_HAS)


def test_paths_are_those_of_the_namespace(tmp_path: Path) -> None:
    program = tmp_path / "opt" / "bin" / "made-up"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    environment = {"PATH": "/nowhere:/opt/bin"}
    assert find_program("made-up", Path("/"), environment, seen=tmp_path) == "/opt/bin/made-up"
    assert find_program("bin/made-up", Path("/opt"), {}, seen=tmp_path) == "/opt/bin/made-up"
    with pytest.raises(ProgramMissing):
        find_program("made-up", Path("/"), environment)
    with pytest.raises(ProgramMissing):
        find_program(sys.executable, Path("/"), {}, seen=tmp_path)
