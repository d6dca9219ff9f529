"""Run the project's checks on a scratch copy with staged edits: model's tool, plan's test step."""

from __future__ import annotations

import asyncio
import re
import shlex
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field

from tideate_core.agents.tools.project_paths import name_in_project, project_root
from tideate_core.agents.tools.results import bounded_text
from tideate_core.agents.tools.tool import Arguments, ToolContext, WorkTool
from tideate_core.errors import CommandError, ConfigError, NotText, StepFailed, ToolError
from tideate_core.mentions import hide_lines
from tideate_core.process import ProcessLimits
from tideate_core.project import project_state
from tideate_core.toolchain import (
    Check,
    ProjectTrust,
    SelectableTests,
    SelectedTests,
    UnsupportedSelection,
    accepts_directories,
    affected_tools,
    declared_checks,
    make_runner_command,
    missing_program,
    parse_failures,
    recipe_of,
    run_tests,
    runner_name,
    select_tools,
    selectable_tests,
    share_files,
    tool_environment,
    untrusted_message,
    verification_environment,
)
from tideate_core.workspace import Document, FileImage, read_image

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
    from pathlib import Path

    from tideate_core.agents.staged_files import StagedFiles
    from tideate_core.config import VerifyConfig
    from tideate_core.snapshots import Scratch
    from tideate_core.toolchain import TestResults, Tool
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import FileChange

MOST_FAILURES: Final = 60
LONGEST_FAILURE: Final = 600
LONGEST_OUTPUT: Final = 8_000
"""Characters from the end of a failed check's output."""

REPEATED_OUTPUT: Final = re.compile(
    r"^=+ (?:warnings summary|short test summary info)\b.*?"
    r"(?=^=+ |^\d{1,9} [a-z]{2,12}[^\n]{0,400} in \d|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""Sections of pytest's output that repeat the failures or list warnings."""
PATHS: Final = re.compile(r"[\w./-]{1,200}")
"""Words of a recipe that may be paths."""
UNREVIEWED: Final = (
    "These edits are not reviewed yet, and a check runs the project's code. The scratch copy protects the "
    "project's files, but it is not a sandbox. Your answer applies to all checks of this kind in this run."
)


WITHOUT: Final = "You can hand in without it: say that it was not run."
_HOW_TO_CONFIGURE: Final = "a person can set one in .tideate/config.toml, as `[verify] tests = [...]`"
_HOW_TO_TRUST: Final = "a person has to run `tideate trust`"


class _SelectionRefused(ToolError):
    """The command cannot be limited to a selection of tests."""


class RunCheck(Arguments):
    """Arguments of `run_check`."""

    check: Literal["type_check", "lint", "tests", "build", "documentation"] | None = Field(
        default=None, description="Without it you are told which checks there are."
    )
    files: list[str] = Field(default=[], max_length=50, description="Of tests: only these files.")
    pattern: str = Field(default="", max_length=500, description="Of tests: only those of these names.")


async def run_check(context: ToolContext, arguments: RunCheck) -> str:
    """Run a check and report its result; without a check, list the project's checks."""
    root = project_root(context)
    if arguments.check is None and not (arguments.files or arguments.pattern):
        try:
            return await asyncio.to_thread(_described, root)
        except ConfigError as error:
            raise ToolError(str(error)) from error
    return (await _run(context, root, arguments))[1]


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


async def _run(context: ToolContext, root: Path, arguments: RunCheck) -> tuple[str, str]:
    """Run a check; return its status, and a report."""
    check = Check(arguments.check or Check.TESTS)
    if check is not Check.TESTS and (arguments.files or arguments.pattern):
        raise ToolError(f"only tests can be limited to files or names; {check} runs as a whole")
    try:
        config = await asyncio.to_thread(_config_of, root)
        files = [name_in_project(context, path) for path in arguments.files]
        await asyncio.to_thread(_allowed_tools, root, root, check, config, files)
        overlay = await overlay_files(context)
        touched = files or sorted(overlay.staged)
        if overlay.staged:
            for tool in await asyncio.to_thread(_allowed_tools, root, root, check, config, touched):
                await _ask_once(context, tool, len(overlay.staged))
        async with _scratch(context, root, overlay.files) as scratch:
            # a staged edit of package.json, for example, may change what the trusted command runs
            view = scratch.view
            tools = await asyncio.to_thread(_allowed_tools, root, view, check, config, touched)
            place = _ScratchRun(context, root, scratch, config)
            reports = await place.run_all(tools, arguments)
    except (CommandError, ConfigError) as error:
        raise ToolError(str(error)) from error
    about = f"on a scratch copy with {_files(len(overlay.staged))}" if overlay.staged else "on a scratch copy"
    states = {report.status for _, report in reports}
    status = "passed" if states == {"passed"} else ", ".join(sorted(states - {"passed"})) or "not run"
    return status, "\n".join(_report_text(tool, report, about) for tool, report in reports)


def _report_text(tool: Tool, report: _Report, about: str) -> str:
    where = f" in {tool.folder}" if tool.folder else ""
    words = f"{tool.check} {report.status}: `{shlex.join(report.argv)}`{where} {report.ending}, {about}"
    return f"{words}\n{report.text}".rstrip()


def _files(count: int) -> str:
    return f"{count} staged file{'' if count == 1 else 's'}"


def _config_of(root: Path) -> VerifyConfig:
    from tideate_core.config import load_config

    return load_config(root).config.verify


def _described(root: Path) -> str:
    """List the checks with their commands, and mark the untrusted ones."""
    config = _config_of(root)
    trust, waiting = ProjectTrust(root), declared_checks(root)
    lines = []
    for check, tools in _installed(root, config).items():
        if getattr(config, check.value) is None and check.value in waiting:
            continue  # the project's declaration counts once it is trusted
        for tool in tools:
            note = "" if trust.allows(tool) else f" (not trusted: {_HOW_TO_TRUST})"
            lines.append(f"{check}: `{tool.words}`{note}")
    lines += [
        f"{one}: as .tideate/config.toml says (not trusted: {_HOW_TO_TRUST})" for one in sorted(waiting)
    ]
    return "\n".join(lines) if lines else f"there is no check here: {_HOW_TO_CONFIGURE}. {WITHOUT}"


def _installed(root: Path, config: VerifyConfig) -> dict[Check, list[Tool]]:
    """Return the installed tools of each check."""
    environment = verification_environment(root, config)
    found = select_tools(root, config, environment).items()
    there = {
        check: [one for one in tools if not missing_program(root, one, environment)] for check, tools in found
    }
    return {check: tools for check, tools in there.items() if tools}


def _allowed_tools(
    root: Path, place: Path, check: Check, config: VerifyConfig, touched: Sequence[str]
) -> list[Tool]:
    """Return the commands of a check as declared in a directory, if a person trusts them.

    A build that the tests need comes first.

    :param place: the root, or a scratch copy of it.
    :param touched: files, relative to the root: select the parts of the project that they affect; none: all.
    :raises ToolError: there is no command, one cannot run, or it is not trusted.
    """
    if getattr(config, check.value) is None and check.value in declared_checks(root):
        raise ToolError(
            f"the project's .tideate/config.toml says how to run {check} and is not trusted; a person has to "
            f"look at it and run `tideate trust` or `:Workflow trust`. {WITHOUT}"
        )
    environment = verification_environment(root, config)
    tools = select_tools(place, config, environment)
    if not tools.get(check):
        why = "it is turned off" if check in tools else "nothing in the project says how"
        there = ", ".join(one for one, found in tools.items() if found)
        known = f"(checks that there are: {there})" if there else f"({_HOW_TO_CONFIGURE}). {WITHOUT}"
        raise ToolError(f"there is no check {check} here: {why} {known}")
    wanted = affected_tools(place, config, tools, touched)
    chosen = [tool for tool in tools[check] if tool in wanted]
    if not chosen:
        having = ", ".join(tool.folder or "the root" for tool in tools[check])
        raise ToolError(f"the check {check} is only in {having}, which these files do not touch. {WITHOUT}")
    built = {tool.folder for tool in chosen if tool.after_build}
    places = built if config.build is None else {""}
    builds = [tool for tool in tools.get(Check.BUILD, ()) if built and tool.folder in places]
    if built and not builds:
        raise ToolError(
            f"the tests run what is built, and no build is configured: {_HOW_TO_CONFIGURE}. {WITHOUT}"
        )
    return [_allowed(root, place, tool, environment) for tool in [*builds, *chosen]]


def _allowed(root: Path, place: Path, tool: Tool, environment: Mapping[str, str]) -> Tool:
    # build products go to the project's private state, which a scratch copy shares
    own, private = (str(project_state(one)) for one in (place, root))
    tool = replace(tool, argv=tuple(word.replace(own, private) for word in tool.argv))
    if advice := missing_program(place, tool, environment):
        raise ToolError(f"`{tool.words}` cannot run: {advice}. {WITHOUT}")
    if not ProjectTrust(root).allows(tool if place == root else _as_in_project(root, tool)):
        changed = "staged edits change what it runs, and " if place != root else ""
        raise ToolError(f"{changed}{untrusted_message(tool)}. {WITHOUT}")
    return tool


def _as_in_project(root: Path, tool: Tool) -> Tool:
    """Return a tool of a scratch copy, no longer the person's own if staged edits change what it runs."""
    return replace(tool, own=tool.own and recipe_of(root, tool.argv) == tool.recipe)


async def _ask_once(context: ToolContext, tool: Tool, count: int) -> None:
    """Ask, once in a run, whether a check may run unreviewed edits.

    :raises ToolError: the answer is no.
    """
    command = tool.words

    async def decide() -> bool:
        decision = await context.step.confirm(
            "gate",
            f"Run `{command}` on a scratch copy with {_files(count)}?",
            details=UNREVIEWED,
        )
        return decision.accepted

    if not await context.step.choose_for_run(
        f"check:{tool.check}{tool.folder and ':'}{tool.folder}", tool.meaning, decide
    ):
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
    """The result of a check."""

    argv: Sequence[str]
    status: str
    ending: str
    text: str


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

    async def run_all(self, tools: Sequence[Tool], arguments: RunCheck) -> list[tuple[Tool, _Report]]:
        """Run the commands of a check; skip tests after a failed build.

        :raises ToolError: the tests cannot be limited to the selection.
        :raises CommandError: a command cannot be started.
        """
        reports: list[tuple[Tool, _Report]] = []
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

    async def run(self, tool: Tool) -> _Report:
        """Run a check other than tests.

        :raises CommandError: the command cannot be started.
        """
        result = await self.scratch.run(
            tool.argv,
            cwd=tool.folder,
            environment=self._environment(tool),
            limits=self._limits,
            hint=f"a person has to install it, or set verify.{tool.check} in .tideate/config.toml",
        )
        printed = result.printed
        if result.ok:
            shown = bounded_text(_end(hide_lines(printed), 1_000), "the output is longer")
            return _Report(tool.argv, "passed", result.ending, shown)
        failures = await asyncio.to_thread(
            parse_failures,
            printed,
            root=self.scratch.root,
            folder=tool.folder,
            tool=tool.name,
            most=MOST_FAILURES,
        )
        found = [str(failure) for failure in failures.found]
        more = ["[there are more]"] if failures.cut else []
        return _Report(tool.argv, "failed", result.summary, _joined(found, more, printed))

    async def run_tests(self, tool: Tool, wanted: SelectedTests) -> _Report:
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
        if results.status == "passed":
            return _Report(results.command, "passed", ending, "")
        found = _failures(results)
        more = ["[there are more]"] if results.more_failures or len(results.failures) > MOST_FAILURES else []
        printed = REPEATED_OUTPUT.sub("", done.output) if found else done.output
        return _Report(
            results.command, results.status.replace("_", " "), ending, _joined(found, more, printed)
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


def _failures(results: TestResults) -> list[str]:
    found = []
    for one in results.failures[:MOST_FAILURES]:
        place = f"{one.file}:{one.line}" if one.line else one.file
        found.append(": ".join(part for part in (place, one.name, one.message) if part))
    return found


def _joined(failures: Iterable[str], more: Iterable[str], output: str) -> str:
    # whole texts: a part of a secret would not be recognised
    shown = map(hide_lines, failures)
    lines = [one if len(one) <= LONGEST_FAILURE else f"{one[:LONGEST_FAILURE]}…" for one in shown]
    printed = _end(hide_lines(output), LONGEST_OUTPUT)
    text = "\n".join([*lines, *more, "it printed last:", printed])
    return bounded_text(text, "the output is longer")


def _end(output: str, longest: int) -> str:
    kept = output.rstrip()[-longest:]
    return kept if len(output.rstrip()) <= longest else f"[…]\n{kept.partition(chr(10))[2] or kept}"


def fit_run_check(context: ToolContext, tool: WorkTool[RunCheck]) -> WorkTool[RunCheck]:
    """Return the tool with the project's checks, and the arguments that its tests support."""
    checks, can = _offered(context)
    said = " and ".join(filter(None, ("files" if can.files else "", "names" if can.pattern else "")))
    limits = f"Tests can be limited to {said}: run few." if said else "Each of them runs as a whole."
    names = {"description": f"Of tests: only those of these names, {can.pattern}."}
    fitted: dict[str, Mapping[str, Any] | None] = {
        "check": {"anyOf": [{"enum": checks, "type": "string"}]} if checks else {},
        "files": {} if can.files else None,
        "pattern": names if can.pattern else None,
    }
    return replace(tool, description=f"{tool.description} {limits}", fitted=fitted)


def _offered(context: ToolContext) -> tuple[list[str], SelectableTests]:
    """Return the project's checks, including untrusted ones, and the supported selection of tests."""
    root = context.step.workspace.root
    if root is None:
        return [], SelectableTests()
    try:
        config = _config_of(root)
        waiting = declared_checks(root)
        tools = _installed(root, config)
    except ConfigError:
        return [], SelectableTests()  # the call reports it
    there = [check.value for check in Check if check in tools or check.value in waiting]
    tests = tools.get(Check.TESTS, [])
    if not tests or (config.tests is None and Check.TESTS.value in waiting):
        return there, SelectableTests()  # the project's declaration counts once it is trusted
    ways = [selectable_tests(one, configured=config.tests is not None) for one in tests]
    same = {one.pattern for one in ways}
    return there, SelectableTests(all(one.files for one in ways), same.pop() if len(same) == 1 else "")


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


@dataclass(frozen=True, slots=True)
class OverlayFiles:
    """Contents by path below the root; None for a deleted file."""

    files: dict[str, FileImage | bytes | None] = field(default_factory=dict)
    staged: frozenset[str] = frozenset()
    """Paths changed by staged edits."""


async def overlay_files(context: ToolContext) -> OverlayFiles:
    """Return the files to overlay on the project's, so that a program sees the run's current texts."""
    root, workspace = project_root(context), context.step.workspace
    files: dict[str, FileImage | bytes | None] = {}
    for change in context.staged.changes():
        files |= await asyncio.to_thread(_files_after, root, change)
    staged = frozenset(files)
    for path in await workspace.unsaved_files():
        if path not in staged:
            text = (await workspace.read(path)).text
            files[path] = (await asyncio.to_thread(_encoded, root, path, text)).data
    return OverlayFiles(files, staged)


def _files_after(root: Path, change: FileChange) -> dict[str, FileImage | bytes | None]:
    """Return the contents of the files after a change; None for a deleted one."""
    if change.after is None:
        return {change.path: None}
    if change.action == "create":
        return {change.path: Document().encode(change.after)}
    image = _encoded(root, change.path, change.after)
    if change.move_to:
        return {change.path: None, change.move_to: image}
    return {change.path: image}


def _encoded(root: Path, path: str, text: str) -> FileImage:
    """Encode a text like the file at a path: its line ends, final line end and mode."""
    found = read_image(root / path)
    try:
        document = Document.decode(found.data)
    except NotText:
        document = Document()
    return FileImage.of_file(document.encode(text), found.state.mode or 0o644)
