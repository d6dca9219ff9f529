"""Run one program within limits and return its result with output."""

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
    """Called in the event loop with the lines that arrived together, in stream order."""


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits on a program's time and output."""

    timeout_ms: int | None = 600_000
    """None: no limit."""
    grace_ms: int = 2_000
    """Time between SIGTERM and SIGKILL."""
    drain_ms: int = 500
    """Time after the end during which remaining processes may keep the output open."""
    output_bytes: int = 1 << 20
    """Bytes kept of each stream: half from the beginning, half from the end."""
    line_characters: int = 8_192
    """Characters of a line that is passed on live."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A program's end status and output."""

    argv: tuple[str, ...]
    exit_code: int | None
    """None if a signal ended it."""
    signal: str | None
    """The signal's name, such as ``SIGKILL``."""
    duration_ms: int
    timed_out: bool
    left_behind: bool
    """After the program's end, processes that it had started were ended."""
    stdout: Output
    stderr: Output

    @property
    def ok(self) -> bool:
        """It ended by itself, in time, with status 0."""
        return self.exit_code == 0 and not self.timed_out

    @property
    def ending(self) -> str:
        """A phrase that describes the end."""
        if self.timed_out:
            return f"did not end within its time and was ended after {self.duration_ms / 1000:.1f} s"
        if self.signal is not None:
            return f"was ended by {self.signal}"
        return f"ended with status {self.exit_code}"

    @property
    def summary(self) -> str:
        """A phrase that describes the end, and omissions in the output."""
        said = [self.ending]
        if self.left_behind:
            said.append("processes that it left behind were ended")
        if cut := self.stdout.cut + self.stderr.cut:
            said.append(f"{cut:,} bytes in the middle of its output were left out")
        return "; ".join(said)

    @property
    def printed(self) -> str:
        """The captured output of both streams."""
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
    """Run a program without a shell and without standard input.

    It has its own session and process group. None of it continues after this returns or raises: when the
    program ends, exceeds its time or the task is cancelled, the whole group is ended, and on Linux also
    processes that left the group.

    :param argv: program and arguments; a program with a slash is a path relative to `cwd`.
    :param environment: the complete environment; None: `make_environment()`.
    :param guarded: also end the program if this process is killed. Costs a process and about 15 ms.
    :param hint: what a person should install or configure if the program is missing.
    :param namespace: pid of a process with the user and mount namespace to run in, always guarded; program
        and `cwd` are paths in that namespace.
    :raises InvalidCommand: `argv` is not a command.
    :raises ProgramMissing: there is no such program.
    :raises ProgramNotExecutable: it exists but cannot be run.
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
    status = group.returncode
    return CommandResult(
        argv=tuple(argv),
        exit_code=status if status >= 0 else None,
        signal=_name(-status) if status < 0 else None,
        duration_ms=round((time.monotonic() - begin) * 1000),
        timed_out=timed_out,
        left_behind=left and not timed_out,
        stdout=streams.captures["stdout"].output(),
        stderr=streams.captures["stderr"].output(),
    )


async def _ends(group: ProcessGroup, limits: ProcessLimits) -> bool:
    """Wait for the program's end and its last output; False if it exceeds its time."""
    try:
        async with timeout(None if limits.timeout_ms is None else limits.timeout_ms / 1000):
            await group.exited.wait()
    except TimeoutError:
        return False
    try:
        async with timeout(limits.drain_ms / 1000):
            await group.closed.wait()
    except TimeoutError:
        pass  # remaining processes hold the pipes and are ended now
    return True


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class _Streams:
    """Both streams of a program: captured, and passed on by line."""

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
