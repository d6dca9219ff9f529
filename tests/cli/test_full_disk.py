"""Projects and homes on a file system without room: a real one, small and full, seen only by the command."""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
from typing import TYPE_CHECKING, Final

import pytest

from tests.cli.conftest import COMMAND
from tests.cli.interrupted import LOOP, REFACTOR, SHORT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell
    from tests.support.model_server import ModelServer

pytestmark = pytest.mark.slow

UNSHARE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
SCRIPT = """
set -u
small={small}
cp -r "$small" "$small.before"
mount -t tmpfs -o size=256k tmpfs "$small"
cp -r "$small.before/." "$small"
dd if=/dev/zero of="$small/filler" bs=1k count=1000 2>/dev/null
cd {project}
{command}
echo "full: $?"
cat a.py > {seen}
rm "$small/filler"
mount -o remount,size=64m "$small"
{command}
echo "with room: $?"
cat a.py > {seen}.later
"""


def in_small(shell: Shell, server: ModelServer, small: Path) -> tuple[str, str, str, str]:
    """Refactor while `small` is full, and again with room; returns both outputs and the file after each."""
    shell.write("a.py", LOOP)
    for _ in range(2):
        server.answers("what does the code do", "- it adds up")
        server.answers("Rewrite these lines", f"```python\n{SHORT}```")
    seen = shell.home / "seen"
    words = {"small": small, "project": shell.project, "seen": seen}
    quoted = {name: shlex.quote(str(value)) for name, value in words.items()}
    script = SCRIPT.format(**quoted, command=shlex.join([*COMMAND, *REFACTOR]))
    done = subprocess.run(
        [*UNSHARE, "sh", "-c", script],
        env=shell.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    first, _, later = done.stdout.partition("full: ")
    assert later, f"this test mounts a small file system with unshare(1):\n{done.stdout}"
    return first, later, seen.read_text(), seen.with_name("seen.later").read_text()


def test_a_project_on_a_full_disk_keeps_its_file_and_the_run_says_so(
    shell: Shell, answering: ModelServer
) -> None:
    first, later, then, after = in_small(shell, answering, shell.project)
    assert "No space left on device" in first or "disk is full" in first, first
    assert later.startswith(("1\n", "2\n")), later
    assert then == LOOP
    assert "with room: 0" in later, later
    assert after == SHORT


def test_a_home_on_a_full_disk_is_said_and_nothing_is_lost(shell: Shell, answering: ModelServer) -> None:
    state = shell.home / "state"
    state.mkdir()
    first, later, then, after = in_small(shell, answering, state)
    assert "No space left on device" in first or "disk is full" in first, first
    assert later.startswith(("1\n", "2\n")), later
    assert then == LOOP
    assert "with room: 0" in later, later
    assert after == SHORT


FILLED: Final = """
set -u
mount -t tmpfs -o size=2m tmpfs {small}
cd {project}
{run} &
pid=$!
read _ < {asked}
dd if=/dev/zero of={small}/filler bs=1k count=4000 2>/dev/null
{doctor} | grep state
echo > {filled}
wait $pid
echo "status: $?"
"""


def test_a_state_disk_that_fills_up_in_a_run_is_named_and_the_status_is_a_failure(
    shell: Shell, answering: ModelServer
) -> None:
    shell.write("a.py", LOOP)
    gate = answering.holds("what does the code do", text="- it adds up", before_first=True)
    (small := shell.home / "state").mkdir()
    asked, filled = shell.home / "asked", shell.home / "filled"
    os.mkfifo(asked)
    os.mkfifo(filled)

    def steer() -> None:
        gate.wait_started()
        asked.write_text("\n")
        filled.read_text()
        gate.release()

    places = {"small": small, "project": shell.project, "asked": asked, "filled": filled}
    script = FILLED.format(
        **{name: shlex.quote(str(path)) for name, path in places.items()},
        run=shlex.join([*COMMAND, *REFACTOR]),
        doctor=shlex.join([*COMMAND, "doctor"]),
    )
    steering = threading.Thread(target=steer, daemon=True)
    steering.start()
    done = subprocess.run(
        [*UNSHARE, "sh", "-c", script],
        env=shell.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    steering.join(10)
    assert "✗ state" in done.stdout, done.stdout
    assert done.stdout.count("the disk is full") >= 2, done.stdout
    assert "Traceback" not in done.stdout
    assert done.stdout.endswith("status: 1\n"), done.stdout
