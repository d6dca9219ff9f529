"""Run of one program within limits, to a result with its output."""

from __future__ import annotations

import signal
import time
from asyncio import timeout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tideate_core.process.environment import make_environment
from tideate_core.process.group import ProcessGroup
from tideate_core.process.output import LineReader, Output, OutputCapture
from tideate_core.process.programs import check_argv, find_program, start_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tideate_core.process.output import OutputLine, Stream

    OnLines = Callable[[Sequence[OutputLine]], None]
    """Called in the event loop with the lines that came at once, in their order on their stream."""

__all__ = ["CommandResult", "ProcessLimits", "run_program"]


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits of one program's time and output."""

    timeout_ms: int | None = 600_000
    """None: no limit."""
    grace_ms: int = 2_000
    """Between SIGTERM and SIGKILL."""
    drain_ms: int = 500
    """Time that processes it left behind may hold its output open after it ended."""
    output_bytes: int = 1 << 20
    """Kept of each stream: the first and the last half of these."""
    line_characters: int = 8_192
    """Of a line that is passed on live."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The end of a program, with its output."""

    argv: tuple[str, ...]
    exit_code: int | None
    """None if a signal ended it."""
    signal: str | None
    """Its name, as ``SIGKILL``."""
    duration_ms: int
    timed_out: bool
    left_behind: bool
    """The program had ended, and processes that it started had to be ended."""
    stdout: Output
    stderr: Output

    @property
    def ok(self) -> bool:
        """It ended by itself, in time, with status 0."""
        return self.exit_code == 0 and not self.timed_out

    @property
    def ending(self) -> str:
        """Words for its end."""
        if self.timed_out:
            return f"did not end within its time and was ended after {self.duration_ms / 1000:.1f} s"
        if self.signal is not None:
            return f"was ended by {self.signal}"
        return f"ended with status {self.exit_code}"

    @property
    def summary(self) -> str:
        """Words for its end, and for what its output may lack."""
        said = [self.ending]
        if self.left_behind:
            said.append("processes that it left behind were ended")
        if cut := self.stdout.cut + self.stderr.cut:
            said.append(f"{cut:,} bytes in the middle of its output were left out")
        return "; ".join(said)

    @property
    def printed(self) -> str:
        """The kept output of both streams."""
        return "\n".join(output.text for output in (self.stdout, self.stderr) if output.text)


async def run_program(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    limits: ProcessLimits = ProcessLimits(),
    on_lines: OnLines | None = None,
    guarded: bool = True,
    hint: str = "",
    namespace: int | None = None,
) -> CommandResult:
    """Run a program, never through a shell, with nothing on its standard input.

    It has a session and a process group of its own. Nothing of it goes on after this returns or raises:
    when it ends, takes too long or the task is cancelled, all of the group is ended, and on Linux also
    what left the group.

    :param argv: program and arguments; a program with a slash is a path from `cwd`.
    :param environment: all of it; None for that of `make_environment()`.
    :param guarded: end it also when this process is killed. Costs a process and some 15 ms.
    :param hint: what a person should install or configure if the program is missing.
    :param namespace: pid of a process in whose user and mount namespace it runs, always guarded; program
        and `cwd` are what stands there.
    :raises InvalidCommand: `argv` is no command.
    :raises ProgramMissing: there is no such program.
    :raises ProgramNotExecutable: it is there and cannot be run.
    """
    check_argv(argv)
    environment = make_environment() if environment is None else environment
    seen = None if namespace is None else Path(f"/proc/{namespace}/root")
    program = find_program(argv[0], cwd, environment, hint=hint, seen=seen)
    streams = _Streams(limits, on_lines)
    begin = time.monotonic()
    group = ProcessGroup.start(
        program,
        argv,
        cwd=cwd,
        environment=environment,
        on_data=streams.take,
        guarded=guarded or namespace is not None,
        namespace=namespace,
    )
    try:
        timed_out = not await _ends(group, limits)
    finally:
        left = await group.end(limits.grace_ms / 1000)
    if group.failure:
        raise start_error(program, group.failure)
    taken = round((time.monotonic() - begin) * 1000)
    return _result(argv, group.returncode, taken, streams, timed_out=timed_out, left=left and not timed_out)


async def _ends(group: ProcessGroup, limits: ProcessLimits) -> bool:
    """Wait for the program's end and its last output; False if that is too late."""
    try:
        async with timeout(None if limits.timeout_ms is None else limits.timeout_ms / 1000):
            await group.exited.wait()
    except TimeoutError:
        return False
    try:
        async with timeout(limits.drain_ms / 1000):
            await group.closed.wait()
    except TimeoutError:
        pass  # what it left behind holds the pipes, and is ended now
    return True


def _result(
    argv: Sequence[str], status: int, taken: int, streams: _Streams, *, timed_out: bool, left: bool
) -> CommandResult:
    return CommandResult(
        argv=tuple(argv),
        exit_code=status if status >= 0 else None,
        signal=_name(-status) if status < 0 else None,
        duration_ms=taken,
        timed_out=timed_out,
        left_behind=left,
        stdout=streams.captures["stdout"].output(),
        stderr=streams.captures["stderr"].output(),
    )


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class _Streams:
    """Both streams of a program: kept, and passed on by the line."""

    def __init__(self, limits: ProcessLimits, on_lines: OnLines | None) -> None:
        names: tuple[Stream, ...] = ("stdout", "stderr")
        self.captures = {name: OutputCapture(limits.output_bytes) for name in names}
        self._readers = {name: LineReader(name, limits.line_characters) for name in names}
        self._on_lines = on_lines

    def take(self, stream: Stream, data: bytes) -> None:
        self.captures[stream].feed(data)
        if self._on_lines is None:
            return
        if lines := self._readers[stream].feed(data, last=not data):
            self._on_lines(lines)
