"""Run a project's five checks (types, lint, tests, build, documentation), or tell if each can run."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from tideate_core.errors import CommandError
from tideate_core.gates.results import CheckResult, CheckStatus, VerificationReport
from tideate_core.process import ProcessLimits, run_program
from tideate_core.project import make_project_state
from tideate_core.toolchain import (
    Check,
    ProjectTrust,
    SelectedTests,
    affected_tools,
    declared_checks,
    make_runner_command,
    missing_program,
    parse_failures,
    run_tests,
    select_tools,
    tool_environment,
    unsearched,
    untrusted_message,
    verification_environment,
)
from tideate_core.util.uncancelled import wait_uncancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from tideate_core.config import VerifyConfig
    from tideate_core.process import CommandResult, OutputLine
    from tideate_core.toolchain import CompletedTests, Tool

OnCheck: TypeAlias = "Callable[[Check, Tool], None]"
OnLines: TypeAlias = "Callable[[Check, Sequence[OutputLine]], None]"
OnResult: TypeAlias = "Callable[[CheckResult], None]"

_TAIL = 8_000
"""Characters of a check's output kept in its result."""

log = logging.getLogger(__name__)


class VerificationPipeline:
    """Runs the project's type check, lint, tests, build and documentation, in this order.

    If tests need build products, the build runs before them.

    The commands are the configured ones, or else the detected ones. Each runs without a shell, in the root or
    in the folder of a part of the project, and only if the person trusts it there, since it runs the
    project's code.

    :param config: `[verify]`.
    :param changed: files of the change, relative to the root: only parts of the project that they affect are
        checked. None: all parts.
    :param trust: None: the person's record of trust.
    :param on_check: called before a check's command starts.
    :param on_lines: called with lines of its output.
    :param on_result: called after each check, even if it did not run.
    """

    def __init__(
        self,
        root: Path,
        config: VerifyConfig,
        *,
        changed: Collection[str] | None = None,
        trust: ProjectTrust | None = None,
        on_check: OnCheck | None = None,
        on_lines: OnLines | None = None,
        on_result: OnResult | None = None,
    ) -> None:
        self._root = root
        self._config = config
        self._changed = changed
        self._trust = trust or ProjectTrust(root)
        self._on_check = on_check
        self._on_lines = on_lines
        self._on_result = on_result
        self._results: list[CheckResult] = []
        self._running: asyncio.Task[None] | None = None

    async def run_all(self) -> VerificationReport:
        """Run all five checks, even if some fail.

        After `cancel` the report marks the cancelled checks. If the task itself is cancelled, the running
        check is stopped and the cancellation continues.

        :raises ConfigError: the record of trusted files cannot be read, or `.tideate` cannot be used.
        """
        begin = time.monotonic()
        self._results = []
        self._running = asyncio.create_task(self._checks())
        try:
            await asyncio.wait({self._running})
            if not self._running.cancelled() and (error := self._running.exception()):
                raise error
        finally:
            # if this task is cancelled, wait until its programs have ended
            await _stop(self._running)
        done = {result.check for result in self._results}
        for check in (check for check in Check if check not in done):
            self._add(
                CheckResult(check=check, status=CheckStatus.CANCELLED, reason="verification was cancelled")
            )
        return VerificationReport(checks=self._results, duration_ms=_since(begin))

    def cancel(self) -> None:
        """Stop the running check and start no further one."""
        if self._running is not None:
            self._running.cancel()

    async def _checks(self) -> None:
        environment = verification_environment(self._root, self._config)
        # in a thread: this reads files
        tools = await asyncio.to_thread(select_tools, self._root, self._config, environment)
        wanted = {tool for found in tools.values() for tool in found}
        if self._changed is not None:
            wanted &= await asyncio.to_thread(affected_tools, self._root, self._config, tools, self._changed)
        beyond = await asyncio.to_thread(unsearched, self._root)
        built: set[str] = set()
        order = list(Check)
        if any(tool.after_build for tool in tools.get(Check.TESTS, ())):
            order.remove(Check.BUILD)
            order.insert(order.index(Check.TESTS), Check.BUILD)
        for check in order:
            if not tools.get(check):
                self._add(_without_command(check, off=check in tools))
            else:
                parts = []
                for tool in tools[check]:
                    parts.append(await self._part(tool, environment, built, wanted=tool in wanted))
                    if check == Check.BUILD and parts[-1].status == CheckStatus.PASSED:
                        # a configured build covers all parts
                        built |= (
                            {tool.folder} if self._config.build is None else {one.folder for one in wanted}
                        )
                result = CheckResult.of_parts(check, parts)
                if beyond and getattr(self._config, check.value) is None:
                    result = result.model_copy(update={"reason": f"{result.reason}; {beyond}"})
                self._add(result)

    async def _part(
        self, tool: Tool, environment: dict[str, str], built: Collection[str], *, wanted: bool
    ) -> CheckResult:
        """Run one command, or return why it is not run.

        :param built: folders with a successful build; tests elsewhere would run stale build products.
        """
        if not wanted:
            place = tool.folder or "the root"
            why = f"the change affects neither {place} nor its dependencies"
            result = _not_run(tool, CheckStatus.SKIPPED, why)
        elif not self._trust.allows(tool):
            result = _not_run(tool, CheckStatus.NOT_TRUSTED, untrusted_message(tool))
        elif tool.after_build and tool.folder not in built:
            why = "not run, because its build failed or is not configured"
            result = _failed(tool, why)
        else:
            result = await self._run(tool, environment)
        return result.model_copy(update={"folder": tool.folder})

    async def _run(self, tool: Tool, environment: dict[str, str]) -> CheckResult:
        if self._on_check is not None:
            self._on_check(tool.check, tool)
        # some commands write their output there
        await asyncio.to_thread(make_project_state, self._root)
        begin = time.monotonic()
        try:
            result = await (self._test if tool.check == Check.TESTS else self._command)(
                tool, tool_environment(self._root, tool, environment)
            )
        except CommandError as error:
            return _failed(tool, str(error))
        log.info("%s: `%s` %s in %d ms", tool.check, tool.words, result.status, _since(begin))
        return result

    async def _command(self, tool: Tool, environment: dict[str, str]) -> CheckResult:
        result = await run_program(
            tool.argv,
            cwd=self._root / tool.folder,
            environment=environment,
            limits=ProcessLimits(timeout_ms=round(self._config.timeout * 1000)),
            on_lines=self._lines_of(tool.check),
            hint=f"install it, or set verify.{tool.check} in .tideate/config.toml",
        )
        return _judge(tool, result, self._root)

    async def _test(self, tool: Tool, environment: dict[str, str]) -> CheckResult:
        done = await run_tests(
            make_runner_command(tool, SelectedTests(), configured=self._config.tests is not None),
            SelectedTests(),
            root=self._root,
            folder=tool.folder,
            environment=environment,
            timeout_ms=round(self._config.timeout * 1000),
            on_lines=self._lines_of(tool.check),
        )
        return _judge_tests(tool, done)

    def _lines_of(self, check: Check) -> Callable[[Sequence[OutputLine]], None] | None:
        on_lines = self._on_lines
        return None if on_lines is None else lambda lines: on_lines(check, lines)

    def _add(self, result: CheckResult) -> None:
        self._results.append(result)
        if self._on_result is not None:
            self._on_result(result)


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    # a second cancellation kills the command at once
    await wait_uncancelled(task, on_cancel=task.cancel)


def _judge(tool: Tool, result: CommandResult, root: Path) -> CheckResult:
    failures = parse_failures(result.printed, root=root, folder=tool.folder, tool=tool.name)
    made = _result(tool, result, result.printed, passed=result.ok, ending=result.summary)
    if result.ok:
        return made
    return made.model_copy(update={"failures": [*failures.found], "more_failures": failures.cut})


def _result(
    tool: Tool, process: CommandResult, output: str, *, passed: bool, ending: str, note: str = ""
) -> CheckResult:
    """Return a command's result without its failures.

    :param ending: description of the end, if it did not pass.
    """
    status = CheckStatus.PASSED if passed else CheckStatus.FAILED
    ending = process.summary.partition("; ")[2] if passed else ending
    return CheckResult(
        check=tool.check,
        status=CheckStatus.TIMED_OUT if process.timed_out else status,
        reason="; ".join(filter(None, (tool.reason, note, ending))),
        command=list(tool.argv),
        duration_ms=process.duration_ms,
        exit_code=process.exit_code,
        signal=process.signal,
        output=output[-_TAIL:],
    )


def _judge_tests(tool: Tool, done: CompletedTests) -> CheckResult:
    """Return the result of the tests; they pass only if their report says so."""
    results, process = done.results, done.process
    # newer versions of these return another exit status if there are no tests
    empty = results.runner in ("unittest", "node") and not results.skipped
    passed = results.status == "passed" or (results.status == "no_tests" and process.ok and not empty)
    note = ""
    if results.status == "no_tests":
        note = "no test ran" if passed else 'no tests were found; set verify.tests to a command or to "off"'
    elif passed and results.passed is None:
        note = "only the exit status is known: no test counts were printed"
    made = _result(tool, process, done.output, passed=passed, ending=results.ending, note=note)
    if passed:
        return made
    failures = [failure.as_failure(results.runner) for failure in results.failures]
    return made.model_copy(update={"failures": failures, "more_failures": results.more_failures})


def _without_command(check: Check, *, off: bool) -> CheckResult:
    reason = (
        f"no command was found; set verify.{check} in .tideate/config.toml to a command, or to "
        '"off" if the project has no such check'
    )
    reason = f'verify.{check} is "off"' if off else reason
    return CheckResult(check=check, status=CheckStatus.NOT_CONFIGURED, required=not off, reason=reason)


def _not_run(tool: Tool, status: CheckStatus, reason: str) -> CheckResult:
    required = status != CheckStatus.SKIPPED
    return CheckResult(
        check=tool.check, status=status, required=required, reason=reason, command=list(tool.argv)
    )


def _failed(tool: Tool, why: str) -> CheckResult:
    return _not_run(tool, CheckStatus.FAILED, f"{tool.reason}; {why}")


def _since(begin: float) -> int:
    return round((time.monotonic() - begin) * 1000)


@dataclass(frozen=True, slots=True)
class Readiness:
    """The state of one command of a check.

    ``declared``: only the project's configuration names a command, and that file is not trusted.
    ``not_installed``: a program of the command is missing.
    """

    check: Check
    state: Literal["ready", "off", "missing", "declared", "untrusted", "not_installed"]
    tool: Tool | None = None
    advice: str = ""
    """The missing program, and how to install it."""

    @property
    def ready(self) -> bool:
        """True if the check can run, or is turned off."""
        return self.state in ("ready", "off")


def readiness(root: Path, config: VerifyConfig) -> list[Readiness]:
    """Return the state of each command of the five checks, without running any.

    :raises ConfigError: the record of trusted files cannot be read.
    """
    environment = verification_environment(root, config)
    tools = select_tools(root, config, environment)
    trust = ProjectTrust(root)
    declared = declared_checks(root)
    found: list[Readiness] = []
    for check in Check:
        if getattr(config, check.value) is None and check.value in declared:
            # a trusted file counts as configured; the commands of an untrusted one are not ignored
            found.append(Readiness(check, "declared"))
        elif not tools.get(check):
            found.append(Readiness(check, "off" if check in tools else "missing"))
        else:
            found += [
                _readiness_of(tool, missing_program(root, tool, environment), trust) for tool in tools[check]
            ]
    return found


def _readiness_of(tool: Tool, advice: str, trust: ProjectTrust) -> Readiness:
    if advice:
        return Readiness(tool.check, "not_installed", tool, advice)
    return Readiness(tool.check, "ready" if trust.allows(tool) else "untrusted", tool)
