"""Tool that runs one of the project's trusted checks on a scratch copy with the staged edits."""

from __future__ import annotations

import asyncio
import re
import shlex
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field

from tideate_core.agents.tools.laid_files import laid_files
from tideate_core.agents.tools.project_paths import name_in_project, project_root
from tideate_core.agents.tools.results import bounded_text
from tideate_core.agents.tools.tool import Arguments, WorkTool
from tideate_core.errors import CommandError, ConfigError, ToolError
from tideate_core.process import ProcessLimits
from tideate_core.project import project_state
from tideate_core.toolchain import (
    Check,
    ProjectTrust,
    SelectableTests,
    SelectedTests,
    UnsupportedSelection,
    accepts_directories,
    declared_checks,
    make_runner_command,
    parse_failures,
    run_tests,
    runner_name,
    select_tools,
    selectable_tests,
    untrusted_message,
    verification_environment,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence
    from pathlib import Path

    from tideate_core.agents.tools.tool import ToolContext
    from tideate_core.config import VerifyConfig
    from tideate_core.snapshots import Scratch
    from tideate_core.toolchain import TestResults, Tool

__all__ = ["TOOLS"]

MOST_FAILURES: Final = 60
LONGEST_FAILURE: Final = 600
LONGEST_OUTPUT: Final = 8_000
"""Characters of what a check that failed printed last."""

SAID_AGAIN: Final = re.compile(
    r"^=+ (?:warnings summary|short test summary info)\b.*?"
    r"(?=^=+ |^\d{1,9} [a-z]{2,12}[^\n]{0,400} in \d|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""Sections of pytest's output that say again what the failures say, and warnings."""
UNREVIEWED: Final = (
    "Nobody has reviewed these edits yet, and a check runs the project's code. The scratch copy keeps the "
    "project as it is, but it is no sandbox. The answer counts for all checks of this kind in the run."
)


WITHOUT: Final = "You can hand in without it: say that it was not run."
_SET_UP: Final = "a person can set one in .tideate/config.toml, as `[verify] tests = [...]`"
_TRUST: Final = "a person has to run `tideate trust`"


class RunCheck(Arguments):
    """Arguments of `run_check`."""

    check: Literal["type_check", "lint", "tests", "build", "documentation"] | None = Field(
        default=None, description="Without it you are told which checks there are."
    )
    files: list[str] = Field(default=[], max_length=50, description="Of tests: only these files.")
    pattern: str = Field(default="", max_length=500, description="Of tests: only those of these names.")


async def run_check(context: ToolContext, arguments: RunCheck) -> str:
    """Run a check, and return how it ended; or return which there are."""
    root = project_root(context)
    if arguments.check is None and not (arguments.files or arguments.pattern):
        try:
            return await asyncio.to_thread(_described, root)
        except ConfigError as error:
            raise ToolError(str(error)) from error
    check = Check(arguments.check or Check.TESTS)
    if check is not Check.TESTS and (arguments.files or arguments.pattern):
        raise ToolError(f"only tests can be limited to files or names; {check} runs as a whole")
    try:
        config = await asyncio.to_thread(_config_of, root)
        tool = await asyncio.to_thread(_allowed_tool, root, root, check, config)
        laid = await laid_files(context)
        if laid.staged:
            await _ask_once(context, tool, len(laid.staged))
        async with _scratch(context, root, laid.files) as scratch:
            # a staged edit of package.json, say, makes another command of the one that is trusted
            view = scratch.view
            tool = await asyncio.to_thread(_allowed_tool, root, view, check, config)
            place = _Place(context, root, scratch, config)
            report = await (
                place.run_tests(tool, arguments) if tool.check == Check.TESTS else place.run(tool)
            )
    except (CommandError, ConfigError) as error:
        raise ToolError(str(error)) from error
    about = f"on a scratch copy with {_files(len(laid.staged))}" if laid.staged else "on a scratch copy"
    told = f"{check} {report.status}: `{shlex.join(report.argv)}` {report.ending}, {about}"
    return f"{told}\n{report.text}".rstrip()


def _files(count: int) -> str:
    return f"{count} staged file{'' if count == 1 else 's'}"


def _config_of(root: Path) -> VerifyConfig:
    from tideate_core.config import load_config

    return load_config(root).config.verify


def _described(root: Path) -> str:
    """Return the checks that there are, with their commands, and which of them nobody trusts."""
    config = _config_of(root)
    trust, waiting = ProjectTrust(root), declared_checks(root)
    lines = []
    for check, tool in select_tools(root, config, verification_environment(root, config)).items():
        if getattr(config, check.value) is None and check.value in waiting:
            continue  # what the project says of it counts, once it is trusted
        if tool is not None:
            note = "" if trust.allows(tool) else f" (not trusted: {_TRUST})"
            lines.append(f"{check}: `{shlex.join(tool.argv)}`{note}")
    lines += [f"{one}: as .tideate/config.toml says (not trusted: {_TRUST})" for one in sorted(waiting)]
    return "\n".join(lines) if lines else f"there is no check here: {_SET_UP}. {WITHOUT}"


def _allowed_tool(root: Path, place: Path, check: Check, config: VerifyConfig) -> Tool:
    """Return the command of a check as the files of a place say it, if a person trusts it.

    :param place: the root, or a scratch copy of it.
    :raises ToolError: there is none, or nobody trusts it.
    """
    if getattr(config, check.value) is None and check.value in declared_checks(root):
        raise ToolError(
            f"the project's .tideate/config.toml says how to run {check} and is not trusted; a person has to "
            f"look at it and run `tideate trust` or `:Workflow trust`. {WITHOUT}"
        )
    tools = select_tools(place, config, verification_environment(root, config))
    tool = tools.get(check)
    if tool is None:
        why = "it is turned off" if check in tools else "nothing in the project says how"
        there = ", ".join(one for one, found in tools.items() if found is not None)
        known = f"(checks that there are: {there})" if there else f"({_SET_UP}). {WITHOUT}"
        raise ToolError(f"there is no check {check} here: {why} {known}")
    # what it makes goes to the project's private state, which a scratch copy shares
    own, private = (str(project_state(one)) for one in (place, root))
    tool = replace(tool, argv=tuple(word.replace(own, private) for word in tool.argv))
    if not ProjectTrust(root).allows(tool):
        changed = "staged edits change what it runs, and " if place != root else ""
        raise ToolError(f"{changed}{untrusted_message(tool)}. {WITHOUT}")
    return tool


async def _ask_once(context: ToolContext, tool: Tool, count: int) -> None:
    """Ask, once in a run, whether a check may run edits that nobody has reviewed.

    :raises ToolError: the answer is no.
    """
    command = shlex.join(tool.argv)

    async def decide() -> bool:
        decision = await context.step.confirm(
            "gate",
            f"Run `{command}` on a scratch copy with {_files(count)}?",
            details=UNREVIEWED,
        )
        return decision.accepted

    if not await context.step.choose_for_run(f"check:{tool.check}", tool.meaning, decide):
        raise ToolError(
            f"the person does not want `{command}` to run with edits that nobody has reviewed. {WITHOUT}"
        )


@asynccontextmanager
async def _scratch(context: ToolContext, root: Path, files: dict[str, Any]) -> AsyncIterator[Scratch]:
    from tideate_core.snapshots import open_scratch

    private = context.step.workspace.private
    async with open_scratch(
        root, private and private / "scratch", files, notice=lambda words: context.step.notice(words)
    ) as scratch:
        yield scratch


@dataclass(frozen=True, slots=True)
class _Report:
    """The end of a check."""

    argv: Sequence[str]
    status: str
    ending: str
    text: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Scratch copy in which checks run."""

    context: ToolContext
    root: Path
    scratch: Scratch
    config: VerifyConfig

    @property
    def _limits(self) -> ProcessLimits:
        return ProcessLimits(timeout_ms=round(self.config.timeout * 1000))

    async def run(self, tool: Tool) -> _Report:
        """Run a check that is no run of tests.

        :raises CommandError: it cannot be started.
        """
        result = await self.scratch.run(
            tool.argv,
            environment=verification_environment(self.root, self.config),
            limits=self._limits,
            hint=f"a person has to install it, or set verify.{tool.check} in .tideate/config.toml",
        )
        printed = result.printed
        if result.ok:
            return _Report(tool.argv, "passed", result.ending, _last(printed, 1_000))
        failures = await asyncio.to_thread(
            parse_failures, printed, root=self.scratch.root, tool=tool.name, most=MOST_FAILURES
        )
        found = [str(failure) for failure in failures.found]
        more = ["[there are more]"] if failures.cut else []
        return _Report(tool.argv, "failed", result.summary, _joined(found, more, printed))

    async def run_tests(self, tool: Tool, arguments: RunCheck) -> _Report:
        """Run tests, or some of them.

        :raises ToolError: these cannot be run alone.
        :raises CommandError: they cannot be started.
        """
        configured = self.config.tests is not None
        runner = runner_name(tool, configured=configured)
        files = [self._file(path, folders=accepts_directories(runner)) for path in arguments.files]
        wanted = SelectedTests(tuple(dict.fromkeys(files)), arguments.pattern)
        try:
            command = make_runner_command(tool, wanted, configured=configured)
        except UnsupportedSelection as error:
            raise ToolError(str(error)) from error
        done = await run_tests(
            command,
            wanted,
            root=self.scratch.root,
            environment=verification_environment(self.root, self.config),
            timeout_ms=round(self.config.timeout * 1000),
            run=self.scratch.run,
        )
        results = done.results
        counts = ("passed", "failed", "errors", "skipped")
        numbers = [f"{count} {name}" for name in counts if (count := getattr(results, name))]
        ending = ", ".join([*numbers, results.ending])
        if results.status == "passed":
            return _Report(results.command, "passed", ending, "")
        found = _failures(results)
        more = ["[there are more]"] if results.more_failures or len(results.failures) > MOST_FAILURES else []
        printed = SAID_AGAIN.sub("", done.output) if found else done.output
        return _Report(
            results.command, results.status.replace("_", " "), ending, _joined(found, more, printed)
        )

    def _file(self, path: str, *, folders: bool) -> str:
        name = name_in_project(self.context, path)
        place = self.scratch.view / name
        if not place.is_file() and not (folders and place.is_dir()):
            raise ToolError(f"there is no file of tests {path}; find_files shows which there are")
        return name


def _failures(results: TestResults) -> list[str]:
    found = []
    for one in results.failures[:MOST_FAILURES]:
        place = f"{one.file}:{one.line}" if one.line else one.file
        found.append(": ".join(part for part in (place, one.name, one.message) if part))
    return found


def _joined(failures: Iterable[str], more: Iterable[str], output: str) -> str:
    shown = map(_shown, failures)
    lines = [one if len(one) <= LONGEST_FAILURE else f"{one[:LONGEST_FAILURE]}…" for one in shown]
    printed = _end(_shown(output), LONGEST_OUTPUT)
    return _bounded("\n".join([*lines, *map(_shown, more), "it printed last:", printed]))


def _end(output: str, longest: int) -> str:
    kept = output.rstrip()[-longest:]
    return kept if len(output.rstrip()) <= longest else f"[…]\n{kept.partition(chr(10))[2] or kept}"


def _last(output: str, longest: int) -> str:
    """Return the end of an output, without lines that seem to hold secrets."""
    return _bounded(_end(_shown(output), longest))


def _bounded(text: str) -> str:
    return bounded_text(text, "the output is longer")


def _shown(text: str) -> str:
    """Return a text without the lines that seem to hold secrets; a part of one would not be known for it."""
    from tideate_core.mentions import hide_lines

    return hide_lines(text)


def fit_run_check(context: ToolContext, tool: WorkTool[RunCheck]) -> WorkTool[RunCheck]:
    """Return the tool with the checks that there are, and with those arguments that tests can take here."""
    checks, can = _offered(context)
    ways = {"files": can.files, "names": bool(can.pattern)}
    said = " and ".join(way for way, is_there in ways.items() if is_there)
    limits = f"Tests can be limited to {said}: run few." if said else "Each of them runs as a whole."
    left_out = {"files": can.files, "pattern": bool(can.pattern)}
    return replace(
        tool,
        description=f"{tool.description} {limits}",
        left_out=frozenset(name for name, is_there in left_out.items() if not is_there),
        described={"pattern": f"Of tests: only those of these names, {can.pattern}."} if can.pattern else {},
        choices={"check": checks} if checks else {},
    )


def _offered(context: ToolContext) -> tuple[list[str], SelectableTests]:
    """Return the checks that there are, also those that nobody trusts, and what tests can be limited to."""
    root = context.step.workspace.root
    if root is None:
        return [], SelectableTests()
    try:
        config = _config_of(root)
        waiting = declared_checks(root)
        tools = select_tools(root, config, verification_environment(root, config))
    except ConfigError:
        return [], SelectableTests()  # told by the call
    there = [check.value for check, tool in tools.items() if tool is not None or check.value in waiting]
    tests = tools.get(Check.TESTS)
    if tests is None or (config.tests is None and Check.TESTS.value in waiting):
        return there, SelectableTests()  # what the project says of it counts, once it is trusted
    return there, selectable_tests(tests, configured=config.tests is not None)


TOOLS: tuple[WorkTool[Any], ...] = (
    WorkTool(
        "run_check",
        "Run one of the project's checks with your staged edits on a scratch copy. Returns failures with "
        "file and line, then the end of the output. It can take minutes. Only checks that a person trusts "
        "run; work can be handed in without.",
        RunCheck,
        "runs",
        run_check,
        fit=fit_run_check,
    ),
)
