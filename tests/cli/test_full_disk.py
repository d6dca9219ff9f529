"""Runs on a full disk: a small real file system, mounted only for the command."""

from __future__ import annotations

import os
import shlex
import subprocess
import threading
from typing import TYPE_CHECKING, Final

import pytest

from tests.cli.interrupted import LOOP, REFACTOR, SHORT, scripted
from tests.harness.shell import COMMAND

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

UNSHARE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
IMPATIENT: Final = (
    "from tideate_core.store import writer; writer.PATIENCE = 1\n"
    "from tideate_core.cli.main import main; main()"
)
"""The command, with less time for a full disk to get room."""
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


def in_mount(shell: Shell, script: str, **places: Path) -> str:
    """Run a script in a mount namespace of its own; return its output.

    :param places: paths in the script, beside those of the project and the commands.
    """
    words = {name: shlex.quote(str(path)) for name, path in {**places, "project": shell.project}.items()}
    command = shlex.join([COMMAND[0], "-c", IMPATIENT, *REFACTOR])
    doctor = shlex.join([*COMMAND, "doctor"])
    done = subprocess.run(
        [*UNSHARE, "sh", "-c", script.format(**words, command=command, doctor=doctor)],
        env=shell.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=100,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize("full", ["project", "home"])
def test_a_full_disk_is_named_and_nothing_is_lost(shell: Shell, answering: ModelServer, full: str) -> None:
    small, seen = shell.project, shell.home / "seen"
    if full == "home":
        (small := shell.home / "state").mkdir()
    shell.write("a.py", LOOP)
    for _ in range(2):
        scripted(answering)
    told = in_mount(shell, SCRIPT, small=small, seen=seen)
    first, _, later = told.partition("full: ")
    assert later, f"this test mounts a small file system with unshare(1):\n{told}"
    assert "No space left on device" in first or "disk is full" in first, first
    assert later.startswith(("1\n", "2\n")), later
    assert seen.read_text() == LOOP
    assert "with room: 0" in later, later
    assert seen.with_name("seen.later").read_text() == SHORT


FILLED: Final = """
set -u
mount -t tmpfs -o size=2m tmpfs {small}
cd {project}
{command} &
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

    steering = threading.Thread(target=steer, daemon=True)
    steering.start()
    told = in_mount(shell, FILLED, small=small, asked=asked, filled=filled)
    steering.join(10)
    assert "✗ state" in told, told
    assert told.count("the disk is full") >= 2, told
    assert "Traceback" not in told
    assert told.endswith("status: 1\n"), told
