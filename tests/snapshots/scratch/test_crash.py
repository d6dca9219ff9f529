"""A killed owner of a scratch copy leaves no process or mount, and the next one removes its files."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.snapshots.trees import REPOSITORY
from tideate_core.snapshots import open_scratch

if TYPE_CHECKING:
    from tests.harness.processes import Brood

OWNER = """
import asyncio, sys
from pathlib import Path
from tideate_core.process import make_environment
from tideate_core.snapshots import open_scratch

PROGRAM = '''
import os, signal, subprocess, sys
child = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('away', flush=True)"
child += "; signal.pause()"
away = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, start_new_session=True)
away.stdout.readline()
open("changed", "w").close()
print("ready", flush=True)
signal.pause()
'''

async def main():
    root, private, kind, mark = sys.argv[1:]
    environment = make_environment(dict([mark.split("=")]))
    async with open_scratch(Path(root), Path(private), {"laid": b"over"}, kind=kind) as scratch:
        say = lambda lines: [print(line.text, flush=True) for line in lines]
        await scratch.run([sys.executable, "-c", PROGRAM], environment=environment, on_lines=say)

asyncio.run(main())
"""


def mounts(root: Path) -> list[str]:
    """Return the processes that see an overlay at a path."""
    found = []
    for mountinfo in Path("/proc").glob("[0-9]*/mountinfo"):
        with contextlib.suppress(OSError):
            lines = mountinfo.read_text().splitlines()
            if any(line.split()[4] == str(root) and " overlay " in line for line in lines):
                found.append(mountinfo.parent.name)
    return found


def names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


async def look_at_the_next(root: Path, private: Path) -> None:
    before = names(private)
    async with open_scratch(root, private) as scratch:
        assert len(names(private)) == 1
        assert names(private) != before
        assert "changed" not in names(scratch.view)


@pytest.mark.slow
@pytest.mark.crash
def test_a_killed_owner_leaves_nothing(root: Path, private: Path, kind: str, brood: Brood) -> None:
    root = root.rename(root.with_name("project"))  # /proc escapes blanks
    before = sorted(os.walk(root))
    name, value = next(iter(brood.environment().items()))
    command = [sys.executable, "-c", OWNER, str(root), str(private), kind, f"{name}={value}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPOSITORY) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"ready\n"
        assert len(brood.pids()) >= 2
        assert bool(mounts(root)) is (kind == "overlay")
        owner.send_signal(signal.SIGKILL)
    assert brood.gone(60), brood.commands()
    end = time.monotonic() + 60
    while mounts(root) and time.monotonic() < end:
        time.sleep(0.02)
    assert mounts(root) == []
    assert names(private) != []
    asyncio.run(look_at_the_next(root, private))
    assert not private.exists()
    assert sorted(os.walk(root)) == before
