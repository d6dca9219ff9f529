"""Run the project's checks on a scratch copy with staged edits: model's tool, plan's test step."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field

from tideate_core.agents.tools.check_commands import (
    HOW_TO_CONFIGURE,
    HOW_TO_TRUST,
    allowed_tools,
    installed,
    read_verify_config,
    runnable,
)
from tideate_core.agents.tools.check_reports import (
    MOST_FAILURES,
    STOPPED,
    Before,
    Report,
    end_of,
    failing_places,
    failing_tests,
    file_of_test,
    keep_time,
)
from tideate_core.agents.tools.project_paths import name_in_project, project_root
from tideate_core.agents.tools.scratch_runs import (
    WITHOUT,
    ask_once,
    count_files,
    overlay_files,
    scratch_copy,
    tree_digest,
)
from tideate_core.agents.tools.snippets import RUN_SNIPPET
from tideate_core.agents.tools.tool import Arguments, ToolContext, WorkTool
from tideate_core.errors import CommandError, ConfigError, StepFailed, ToolError
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
    selectable_tests,
    share_files,
    tool_environment,
    verification_environment,
)
from tideate_core.workflows import CheckResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tideate_core.agents.staged_files import StagedFiles
    from tideate_core.agents.tools.scratch_runs import OverlayFiles
    from tideate_core.config import VerifyConfig
    from tideate_core.snapshots import Scratch
    from tideate_core.toolchain import Tool
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

PATHS: Final = re.compile(r"[\w./-]{1,200}")
"""Words of a recipe that may be paths."""


class _SelectionRefused(ToolError):
    """The command cannot be limited to a selection of tests."""


class RunCheck(Arguments):
    """Arguments of `run_check`."""

    check: Literal["type_check", "lint", "tests", "build", "documentation"] | None = Field(default=None)
    files: list[str] = Field(default=[], max_length=50, description="Tests of these files only.")
    pattern: str = Field(default="", max_length=500, description="Tests of these names only.")


async def run_check(context: ToolContext, arguments: RunCheck) -> str:
    """Run a check and report its result; without a check, list the project's checks."""
    root = project_root(context)
    if arguments.check is None and not (arguments.files or arguments.pattern):
        try:
            return await asyncio.to_thread(_described, root)
        except ConfigError as error:
            raise ToolError(str(error)) from error
    return (await _run(context, root, arguments, compare=True))[1]


async def run_staged_tests(step: StepContext, staged: StagedFiles, files: Sequence[str]) -> str:
    """Run tests on a scratch copy with staged edits; return a report for the person.

    :param files: test files; if the command cannot be limited to them, all tests run.
    :raises StepFailed: tests failed, or cannot be run.
    """
    context = ToolContext(step, staged)
    root = project_root(context)
    try:
        try:
            status, told = await _run(context, root, RunCheck(check="tests", files=list(files)))
        except _SelectionRefused:
            status, told = await _run(context, root, RunCheck(check="tests"))
    except ToolError as error:
        raise StepFailed(f"the tests cannot be run: {str(error).removesuffix(WITHOUT).rstrip()}") from error
    if status != "passed":
        raise StepFailed(told)
    return told


async def run_accepted_check(
    step: StepContext, changes: Sequence[FileChange], check: str = ""
) -> CheckResult:
    """Run a trusted check on a scratch copy with changes that the person accepted.

    :param check: name of a check; empty: the only one that can run.
    :returns: the checks to choose from, if there are several and none is named.
    :raises StepFailed: no check can run.
    """
    from tideate_core.agents.staged_files import StagedFiles

    context = ToolContext(step, StagedFiles())
    try:
        root = project_root(context)
        if not check:
            _, tools = await asyncio.to_thread(runnable, root)
            if len(tools) != 1:
                named = tuple(one.value for one in tools)
                if not named:
                    raise StepFailed(f"no check can run here: {HOW_TO_CONFIGURE}, and {HOW_TO_TRUST}")
                return CheckResult(checks=named)
            (found,) = tools
            check = found.value
        if check not in {one.value for one in Check}:
            raise StepFailed(f"there is no check {check!r}")
        status, told = await _run(context, root, RunCheck.model_validate({"check": check}), accepted=changes)
    except ToolError as error:
        raise StepFailed(str(error).removesuffix(WITHOUT).rstrip()) from error
    return CheckResult(check, status, told)


async def _run(
    context: ToolContext,
    root: Path,
    arguments: RunCheck,
    *,
    compare: bool = False,
    accepted: Sequence[FileChange] | None = None,
) -> tuple[str, str]:
    """Run a check; return its status, and a report.

    :param compare: if the check fails, also run it without the staged edits, to mark new failures.
    :param accepted: reviewed changes to use instead of the staged edits, without a question.
    """
    check = Check(arguments.check or Check.TESTS)
    if check is not Check.TESTS and (arguments.files or arguments.pattern):
        raise ToolError(f"only tests can be limited to files or names; {check} runs as a whole")
    try:
        config = await asyncio.to_thread(read_verify_config, root)
        files = [name_in_project(context, path) for path in arguments.files]
        await asyncio.to_thread(allowed_tools, root, root, check, config, files)
        overlay = await overlay_files(context, changes=accepted)
        touched = files or sorted(overlay.staged)
        kind = "staged" if accepted is None else "accepted"
        where = f"on a scratch copy with {count_files(len(overlay.staged), kind)}"
        if overlay.staged and accepted is None:
            for tool in await asyncio.to_thread(allowed_tools, root, root, check, config, touched):
                await ask_once(context, tool, f"Run `{tool.words}` {where}?")
        reports = await _reports(context, root, config, (check, touched), arguments, overlay)
        before: Mapping[str, Before] = {}
        if compare and overlay.staged:
            before = await _failures_before(context, root, config, reports, arguments)
    except (CommandError, ConfigError) as error:
        raise ToolError(str(error)) from error
    about = where if overlay.staged else "on a scratch copy"
    states = {report.status for _, report in reports}
    status = "passed" if states == {"passed"} else ", ".join(sorted(states - {"passed"})) or "not run"
    return status, "\n".join(report.text(tool, about, before.get(tool.words)) for tool, report in reports)


async def _reports(
    context: ToolContext,
    root: Path,
    config: VerifyConfig,
    wanted: tuple[Check, Sequence[str]],
    arguments: RunCheck,
    overlay: OverlayFiles,
) -> list[tuple[Tool, Report]]:
    check, touched = wanted
    async with scratch_copy(context, root, overlay.files) as scratch:
        # a staged edit of package.json, for example, may change what the trusted command runs
        tools = await asyncio.to_thread(allowed_tools, root, scratch.view, check, config, touched)
        return await _ScratchRun(context, root, scratch, config).run_all(tools, arguments)


async def _failures_before(
    context: ToolContext,
    root: Path,
    config: VerifyConfig,
    reports: Sequence[tuple[Tool, Report]],
    arguments: RunCheck,
) -> dict[str, Before]:
    """Return the failures without the staged edits, by command, for the failed commands.

    The run stores them for the current files of the project. Only test files with failures run. A command
    that cannot run without the edits is left out.
    """
    failed = [(tool, report) for tool, report in reports if report.failures]
    if not failed:
        return {}
    overlay, check = await overlay_files(context, staged=False), failed[0][0].check
    files = sorted({path for _, report in failed for path in report.files})
    there = [path for path in files if path in overlay.files or (root / path).is_file()]
    if files and not there:  # all failures are in new files
        return {tool.words: Before() for tool, _ in failed}
    can = check is Check.TESTS and all(
        selectable_tests(tool, configured=config.tests is not None).files for tool, _ in failed
    )
    limited = RunCheck(check=check.value, files=there) if can and there else RunCheck(check=check.value)
    if not can and (arguments.files or arguments.pattern):
        limited = arguments.model_copy(update={"check": check.value})

    async def find() -> dict[str, list[Any]]:
        wanted = (check, limited.files or sorted((await overlay_files(context)).staged))
        try:
            ran = await _reports(context, root, config, wanted, limited, overlay)
        except (CommandError, ConfigError, ToolError):
            return {}
        return {
            tool.words: Before.of(report).as_json()
            for tool, report in ran
            if report.failures or report.status in ("passed", "no tests")
        }

    digest = f"{await tree_digest(context, root, overlay)} {limited.model_dump_json()}"
    found: dict[str, list[Any]] = await context.step.choose_for_run(f"failures_before:{check}", digest, find)
    return {words: Before(*kept) for words, kept in found.items()}


def _described(root: Path) -> str:
    """List the checks with their commands, and mark the untrusted ones."""
    config = read_verify_config(root)
    trust, waiting = ProjectTrust(root), declared_checks(root)
    lines = []
    for check, tools in installed(root, config).items():
        if getattr(config, check.value) is None and check.value in waiting:
            continue  # the project's declaration counts once it is trusted
        for tool in tools:
            note = "" if trust.allows(tool) else f" (not trusted: {HOW_TO_TRUST})"
            lines.append(f"{check}: `{tool.words}`{note}")
    lines += [f"{one}: set in .tideate/config.toml (not trusted: {HOW_TO_TRUST})" for one in sorted(waiting)]
    return "\n".join(lines) if lines else f"there is no check here: {HOW_TO_CONFIGURE}. {WITHOUT}"


@dataclass(frozen=True, slots=True)
class _ScratchRun:
    """Scratch copy in which checks run."""

    context: ToolContext
    root: Path
    scratch: Scratch
    config: VerifyConfig

    @property
    def _limits(self) -> ProcessLimits:
        return ProcessLimits(timeout_ms=round(self.config.timeout * 1000))

    async def run_all(self, tools: Sequence[Tool], arguments: RunCheck) -> list[tuple[Tool, Report]]:
        """Run the commands of a check; skip tests after a failed build.

        :raises ToolError: the tests cannot be limited to the selection.
        :raises CommandError: a command cannot be started.
        """
        reports: list[tuple[Tool, Report]] = []
        tests = [tool for tool in tools if tool.check == Check.TESTS]
        configured = self.config.tests is not None
        folders = any(accepts_directories(runner_name(tool, configured=configured)) for tool in tests)
        names = dict.fromkeys(self._file(path, folders=folders) for path in arguments.files)
        shares = share_files(tests, list(names), configured=configured)
        if tests and not shares:
            known = ", ".join(tool.folder for tool in tests)
            raise ToolError(f"no tests are run where these files are; tests are run in {known}")
        tools = [tool for tool in tools if tool.check != Check.TESTS or tool in shares]
        for tool in tools:
            failed = any(
                one.check == Check.BUILD and report.status != "passed"
                for one, report in reports
                if self.config.build is not None or one.folder == tool.folder
            )
            if not (tool.after_build and failed):
                await asyncio.to_thread(self._refuse_other_sources, tool)
                inside = self._in_scratch(tool)
                if tool in shares:
                    ran = self.run_tests(inside, SelectedTests(shares[tool], arguments.pattern))
                else:
                    ran = self.run(inside)
                reports.append((tool, await ran))
        # a successful build before tests is not reported
        last = tools[-1].check
        return [(tool, report) for tool, report in reports if tool.check == last or report.status != "passed"]

    def _in_scratch(self, tool: Tool) -> Tool:
        """Return a tool with the build directory of CMake moved into the scratch copy."""
        own, here = str(project_state(self.root) / "scratch"), str(self.scratch.root / ".tideate-build")
        if tool.name not in ("cmake", "ctest"):
            return tool
        return replace(tool, argv=tuple(word.replace(own, here) for word in tool.argv))

    def _refuse_other_sources(self, tool: Tool) -> None:
        """Reject a CMake build directory in a copy: its files refer to the project's own sources.

        :raises ToolError: the command, or its recipe, names such a directory.
        """
        if self.scratch.kind != "copy":
            return
        place = self.scratch.view / tool.folder
        inside = ["."] if tool.name in ("cmake", "ctest", "make", "ninja") else []
        for word in dict.fromkeys([*inside, *tool.argv[1:], *PATHS.findall(tool.recipe)]):
            if _is_file(place / word / "CMakeCache.txt"):
                raise ToolError(
                    f"`{tool.words}` was not run: CMake configured {word} for the project's own sources, so "
                    "it would not build your edits, which are in a scratch copy. If the user removes "
                    f"{word}, tideate builds in the copy. {WITHOUT}"
                )

    async def run(self, tool: Tool) -> Report:
        """Run a check other than tests.

        :raises CommandError: the command cannot be started.
        """
        result = await self.scratch.run(
            tool.argv,
            cwd=tool.folder,
            environment=self._environment(tool),
            limits=self._limits,
            hint=f"a person must install it, or set verify.{tool.check} in .tideate/config.toml",
        )
        printed, took = result.printed, result.duration_ms
        await asyncio.to_thread(keep_time, self.root, tool, took)
        if result.ok:
            return Report(tool.argv, "passed", result.ending, output=end_of(printed, 500), duration_ms=took)
        failures = await asyncio.to_thread(
            parse_failures,
            printed,
            root=self.scratch.root,
            folder=tool.folder,
            tool=tool.name,
            most=MOST_FAILURES,
        )
        found = failing_places(failures.found)
        output = "" if found else end_of(printed)
        return Report(tool.argv, "failed", result.summary, found, output, took, whole=not failures.cut)

    async def run_tests(self, tool: Tool, wanted: SelectedTests) -> Report:
        """Run tests, or a selection of them.

        :raises ToolError: the tests cannot be limited to the selection.
        :raises CommandError: the command cannot be started.
        """
        configured = self.config.tests is not None
        try:
            command = make_runner_command(tool, wanted, configured=configured)
        except UnsupportedSelection as error:
            raise _SelectionRefused(str(error)) from error
        done = await run_tests(
            command,
            wanted,
            root=self.scratch.root,
            folder=tool.folder,
            environment=self._environment(tool),
            timeout_ms=round(self.config.timeout * 1000),
            run=partial(self.scratch.run, cwd=tool.folder),
        )
        results = done.results
        counts = ("passed", "failed", "errors", "skipped")
        numbers = [f"{count} {name}" for name in counts if (count := getattr(results, name))]
        ending = ", ".join([*numbers, results.ending])
        if not wanted:
            await asyncio.to_thread(keep_time, self.root, tool, results.duration_ms)
        failures = failing_tests(results)
        explained = results.status == "passed" or (results.status == "failed" and failures)
        return Report(
            results.command,
            results.status.replace("_", " "),
            ending,
            failures,
            "" if explained else end_of(done.output),
            results.duration_ms,
            sorted({path for one in results.failures if (path := file_of_test(one))}),
            whole=not results.more_failures and STOPPED.search(done.output) is None,
        )

    def _environment(self, tool: Tool) -> dict[str, str]:
        return tool_environment(self.root, tool, verification_environment(self.root, self.config))

    def _file(self, path: str, *, folders: bool) -> str:
        name = name_in_project(self.context, path)
        place = self.scratch.view / name
        if not place.is_file() and not (folders and place.is_dir()):
            raise ToolError(f"there is no file of tests {path}; find_files shows which there are")
        return name


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # the script after `sh -c` may be too long for a file name
        return False


def fit_run_check(context: ToolContext, tool: WorkTool[RunCheck]) -> WorkTool[RunCheck] | None:
    """Return the tool with the checks that can run, and the arguments that its tests support."""
    root = context.step.workspace.root
    config, tools = runnable(root) if root is not None else (None, {})
    if config is None or not tools:
        return None
    can = _selectable(config, tools.get(Check.TESTS, []))
    names = {"description": f"Tests of these names only: {can.pattern}."}
    fitted: dict[str, Mapping[str, Any] | None] = {
        "check": {"anyOf": [{"enum": [check.value for check in tools], "type": "string"}]},
        "files": {} if can.files else None,
        "pattern": names if can.pattern else None,
    }
    return replace(tool, fitted=fitted)


def _selectable(config: VerifyConfig, tests: Sequence[Tool]) -> SelectableTests:
    """Return the selections of tests that all commands support."""
    ways = [selectable_tests(one, configured=config.tests is not None) for one in tests]
    same = {one.pattern for one in ways}
    files = bool(ways) and all(one.files for one in ways)
    return SelectableTests(files, same.pop() if len(same) == 1 else "")


TOOLS: tuple[WorkTool[Any], ...] = (
    WorkTool(
        "run_check",
        "Run a check of the project with your staged edits on a scratch copy. Returns each failure with "
        "place and error, and whether it is new.",
        RunCheck,
        "runs",
        run_check,
        fit=fit_run_check,
    ),
    RUN_SNIPPET,
)
