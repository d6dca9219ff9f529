"""Worker processes from the runner's side: start under strace, jobs, outcomes."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from tests.hostile.cases import Outcome
from tests.hostile.servers import Servers
from tests.hostile.started import REPOSITORY, strace_command

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Worker"]

_BOUND: Final = ("--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all")


def bound_by_permissions() -> list[str]:
    """Return the prefix that binds a command by permissions even if root runs it.

    :raises FileNotFoundError: root runs it, and util-linux is not installed.
    """
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise FileNotFoundError("root needs setpriv, of util-linux, so that permissions bind a test")
    return [setpriv, *_BOUND]


class Worker:
    """Process that runs cases sequentially.

    :param module: module to run.
    :param directory: new directory for it.
    """

    def __init__(self, module: str, directory: Path) -> None:
        self._servers = Servers()
        _lay_out(directory)
        log = directory / "started.log"
        log.touch()
        self._said = (directory / "worker.log").open("wb")
        self._process = subprocess.Popen(
            [
                *bound_by_permissions(),
                *strace_command(log),
                *(sys.executable, "-m", module, str(directory / "place"), str(log)),
                *(self._servers.model_url, self._servers.evil_url),
            ],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": REPOSITORY, "HOME": str(directory / "place")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
        )

    def __enter__(self) -> Self:
        self._servers.__enter__()
        return self

    def wait_ready(self) -> None:
        """Wait until its directories are created."""
        if self._line() != b"ready\n":
            raise RuntimeError(f"a worker could not begin:\n{self.words()}")

    def run(self, job: object) -> Iterator[Outcome]:
        """Send a job; yield the outcome of each case."""
        self._servers.problems()
        self._say(json.dumps(job).encode())
        while line := self._line().strip():
            shape = json.loads(line)
            yield Outcome.from_json({**shape, "problems": [*shape["problems"], *self._servers.problems()]})
            self._say(b"")

    def _say(self, line: bytes) -> None:
        assert self._process.stdin
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def _line(self) -> bytes:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            raise RuntimeError(f"a worker ended:\n{self.words()}")
        return line

    def words(self) -> str:
        """Return its standard error."""
        return Path(self._said.name).read_text(errors="replace")[-4000:]

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(60)
        self._said.close()
        self._servers.__exit__()


def _lay_out(directory: Path) -> None:
    """Create the directories, and a device or, without the right to, a link."""
    pool = directory / "place" / "pool"
    pool.mkdir(parents=True)
    if os.geteuid() == 0:
        with suppress(PermissionError):
            os.mknod(pool / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
