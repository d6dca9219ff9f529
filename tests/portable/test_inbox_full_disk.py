"""Leave, answer and continue a run while the disk of the private state is full, then with room again."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING, Final

import pytest

from tests.cli.interrupted import LOOP, SHORT
from tests.cli.test_full_disk import IMPATIENT, UNSHARE
from tests.harness.shell import COMMAND
from tests.portable.inboxing import CI, LEAVING, site

if TYPE_CHECKING:
    from tests.portable.inboxing import Machine, Site

__all__ = ["site"]

pytestmark = [pytest.mark.slow, pytest.mark.bulk]

ROOM: Final = (0, 24, 64, 128, 256, 280, 310, 340, 400)
"""KiB that are free; an inbox that is empty takes about 100, and a database as much."""
SCRIPT: Final = """
set -u
small={small}
mkdir -p "$small" "$small.after"
cp -a "$small" "$small.before"
mount -t tmpfs -o size=16m tmpfs "$small"
cp -a "$small.before/." "$small"
free=$(df --output=avail -k "$small" | tail -1)
head -c $(((free - {room}) * 1024)) /dev/zero >"$small/filler"
cd {project}
{command}
status=$?
rm "$small/filler"
cp -a "$small/." "$small.after"
umount "$small"
rm -rf "$small" "$small.before"
mv "$small.after" "$small"
exit $status
"""


def with_room(machine: Machine, room: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with this many KiB for the private state."""
    words = {"small": machine.home / "state", "project": machine.project}
    command = shlex.join([COMMAND[0], "-c", IMPATIENT, *arguments])
    script = SCRIPT.format(
        **{name: shlex.quote(str(path)) for name, path in words.items()}, room=room, command=command
    )
    done = subprocess.run(
        [*UNSHARE, "sh", "-c", script],
        env=machine.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert "Traceback" not in done.stderr, (room, done.stderr)
    if done.returncode not in (0, 4):
        assert "No space left on device" in done.stderr or "disk is full" in done.stderr, (room, done.stderr)
    return done


@pytest.mark.parametrize("room", ROOM)
def test_a_full_disk_is_named_and_the_next_try_works(site: Site, room: int) -> None:
    site.asks()
    ci, ana, job = site.machine(CI), site.machine("Ana"), site.machine(CI)
    if with_room(ci, room, *LEAVING).returncode != 4:
        runs = ci.json("history").get("runs", ())
        again = ci.run("inbox", "send", runs[0]["execution_id"]) if runs else ci.run(*LEAVING)
        assert again.returncode == 4, again.stderr
    (waiting,) = site.machine("Ben").waiting()
    run = waiting["run"]
    if with_room(ana, room, "inbox", "answer", run, "--yes").returncode != 0:
        assert site.machine("Ben").waiting()[0]["answered_by"] in (None, "Ana <ana@example.org>")
        ana.ok("inbox", "answer", run, "--yes")
    command = ("resume", "--from", "origin", run, "--land", "branch")
    if with_room(job, room, *command).returncode != 0:
        assert job.read("a.py") in (LOOP, SHORT)
        job.ok(*command)
    assert (job.read("a.py"), job.refs()) == (SHORT, [f"refs/heads/tideate/{run[:8]}"])
    assert len(site.server.requests) <= 2, "the model is asked again only if its answer could not be stored"
