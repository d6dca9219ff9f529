"""Build command lines of test runners for selected files or names; validate the selection.

Only here, files and patterns of a client become arguments. A file exists and is passed relative to the root
with ``./`` before it, so that no runner reads it as an option or a special word; a pattern must match the
characters of the runner's patterns, and is passed in one argument with its option.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tideate_core.toolchain.detection.tools import Tool

Report: TypeAlias = Literal["junit", "jest", "go", ""]
"""Format of a runner's report; empty: only its output."""

_WORDS: Final = re.compile(r"[\w .:,+\-\[\]()/=<>@%!]{1,500}")
"""A name, or an expression of names."""
_GLOB: Final = re.compile(r"[\w .:,+\-\[\]()/=<>@%!*?]{1,500}")
_REGEX: Final = re.compile(r"[\w .:,+\-\[\]()/=<>@%!^$*?|{}\\'\"#~&]{1,500}")
_PYTEST_REPORT: Final = "--junitxml={path} -o junit_family=xunit1"
_PYTEST_SAYS: Final = "--verbosity=2"
"""Overrides the project's `-q`, which hides the start and the outcome of a run."""
_TOX_PASSES: Final = "testenv.pass_env+=PYTEST_ADDOPTS;env_run_base.pass_env+=PYTEST_ADDOPTS"
_JOINED: Final = {"PYTHONPATH": os.pathsep, "PYTEST_ADDOPTS": " ", "NODE_OPTIONS": " ", "TOX_OVERRIDE": ";"}
_OTHER_REPORT: Final = ("junit", "no:terminal", "--collect-only", "--co ", "--version", "--help")
"""Options of a pytest command that already writes a report, or prints none."""
_SCRIPT: Final = re.compile(r"(?:npx )?(?P<runner>jest|vitest)(?P<rest>(?: [\w./=:@,-]{1,200}){0,20})")
"""A script in package.json that only runs one of these runners."""


class UnsupportedSelection(Exception):
    """A runner cannot run only these tests; the message has the reason and the possible selections."""


@dataclass(frozen=True, slots=True)
class SelectedTests:
    """Tests to run; empty: all."""

    files: tuple[str, ...] = ()
    """Existing files, relative to the root and inside it."""
    pattern: str = ""

    def __bool__(self) -> bool:
        return bool(self.files or self.pattern)


@dataclass(frozen=True, slots=True)
class SelectableTests:
    """Selections that a command supports."""

    files: bool = False
    pattern: str = ""
    """Description of a name pattern; empty: not supported."""


@dataclass(frozen=True, slots=True)
class RunnerCommand:
    """Command line of a test runner."""

    runner: str
    argv: tuple[str, ...]
    report: Report = ""
    report_options: tuple[str, ...] = ()
    """Options after `argv` that make the runner write a report to `{path}`."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of every check; `{path}` is the report's location."""

    def with_report(self, path: str) -> list[str]:
        """Return the command with the report's location."""
        return [*self.argv, *(option.replace("{path}", path) for option in self.report_options)]

    def environment_with_report(self, path: str, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment with the report's location.

        :param environment: environment of all checks; variables set in both are joined.
        """
        own = {name: value.replace("{path}", shlex.quote(path)) for name, value in self.environment.items()}
        for name, between in _JOINED.items():
            if name in own and name in environment:
                both = (own[name], environment[name])
                own[name] = between.join(both if name == "PYTHONPATH" else both[::-1])
        return {**environment, **own}


def accepts_directories(runner: str) -> bool:
    """Return whether a runner accepts directories in place of files."""
    return runner in ("go", "pytest", "vitest")


def runner_name(tool: Tool, *, configured: bool) -> str:
    """Return the runner behind a command, as far as it is known without running it."""
    if tool.name in _MAKERS or configured:
        return tool.name
    script = _SCRIPT.fullmatch(tool.recipe.strip())
    return script["runner"] if script else tool.name


def selectable_tests(tool: Tool, *, configured: bool) -> SelectableTests:
    """Return the selections that a command supports, as far as known without running it.

    A configured command supports them by `{files}` and `{pattern}`, or as a known runner: files can be added
    only if the command names none, names only if it is not limited to any.
    """
    if tool.template:
        words = _PATTERNS[""][1] if "{pattern}" in tool.template else ""
        return SelectableTests("{files}" in tool.template, words)
    runner = runner_name(tool, configured=configured)
    if runner not in _MAKERS:
        return SelectableTests()
    words = _PATTERNS[runner][1]
    if not configured:
        return SelectableTests(runner != "ctest", words)
    options = tool.argv[1:]
    if "--" in options or (runner in ("cargo", "go") and options[:1] != ("test",)):
        return SelectableTests()
    limited = any(word.startswith(_NAME_OPTIONS.get(runner, ())) for word in options)
    return SelectableTests(_takes_files(tool, runner), "" if limited else words)


def _takes_files(tool: Tool, runner: str) -> bool:
    """Return whether files can be added to a configured command."""
    if runner == "go":  # its packages are replaced
        return all(word.startswith(".") for word in tool.argv[2:])
    return runner not in ("ctest", "unittest") and not tool.names_paths


def make_runner_command(tool: Tool, wanted: SelectedTests, *, configured: bool = False) -> RunnerCommand:
    """Return the command that runs the selected tests.

    :param tool: a tool of the check `tests`.
    :param configured: a person configured the command: for all tests it runs unchanged, and only its output
        is read.
    :raises UnsupportedSelection: the command cannot run only these tests.
    """
    runner = runner_name(tool, configured=configured)
    if wanted:
        _refuse_unselectable(tool, wanted, configured=configured)
    if wanted and tool.template:
        tool, make = replace(tool, argv=fill_template(tool.template, wanted)), None
    else:
        make = _MAKERS.get(runner) if wanted or not configured else None
    return make(tool, wanted) if make else _as_it_stands(tool, runner)


def _as_it_stands(tool: Tool, runner: str) -> RunnerCommand:
    """Return the unchanged command, with a report requested from a configured pytest by the environment."""
    words = " ".join(tool.argv)
    starts_it = Path(tool.argv[0]).name in ("pytest", "py.test") or tool.argv[1:3] == ("-m", "pytest")
    if runner != "pytest" or not starts_it or any(word in words for word in _OTHER_REPORT):
        # any other program may also run pytest
        plain = "no:terminal" in words or "no:terminal" in tool.recipe
        says = {} if plain else {"PYTEST_ADDOPTS": _PYTEST_SAYS, "TOX_OVERRIDE": _TOX_PASSES}
        return RunnerCommand(runner, tool.argv, environment=says)
    return RunnerCommand(runner, tool.argv, "junit", environment={"PYTEST_ADDOPTS": _PYTEST_REPORT})


def _refuse_unselectable(tool: Tool, wanted: SelectedTests, *, configured: bool) -> None:
    can = selectable_tests(tool, configured=configured)
    command = shlex.join(tool.template or tool.argv)
    if not (can.files or can.pattern):
        why = "verify.tests is configured, and is" if configured else "it runs its tests its own way, and is"
        raise UnsupportedSelection(
            f"`{command}` cannot be limited to files or names: {why} run as it stands; "
            "leave out `files` and `pattern`"
        )
    if runner_name(tool, configured=configured) == "ctest" and wanted.files:
        raise UnsupportedSelection("ctest knows no files; give the name of a test as `pattern`")
    if wanted.files and not can.files:
        raise UnsupportedSelection(f"`{command}` can be limited to names, not to files; leave out `files`")
    if wanted.pattern and not can.pattern:
        raise UnsupportedSelection(f"`{command}` can be limited to files, not to names; leave out `pattern`")


def fill_template(words: Sequence[str], wanted: SelectedTests) -> tuple[str, ...]:
    """Return a configured command with the selected tests, each as its own argument.

    `{files}` becomes one argument for each file, none for all tests; `{pattern}` always becomes one.

    :raises UnsupportedSelection: a value would be read as an option, or is not allowed.
    """
    for file in wanted.files:
        if file.startswith("-"):
            raise UnsupportedSelection(f"{file[:200]!r} begins with `-` and would be taken for an option")
    pattern = _named(wanted, "", "")
    argv: list[str] = []
    for word in words:
        if word == "{files}":
            argv += wanted.files
        else:
            argv.append("".join(pattern) if word == "{pattern}" else word)
    return tuple(argv)


def _pytest(tool: Tool, wanted: SelectedTests) -> RunnerCommand:
    # one line for each test, so that the last test before a crash or timeout is known
    argv = [*tool.argv, "-vv" if "-q" in tool.argv else "-v", *_named(wanted, "-k=", "pytest")]
    options = tuple(_PYTEST_REPORT.split())
    files = [f"./{file}" for file in wanted.files]
    for file in files:
        if "::" in file or "[" in file:
            raise UnsupportedSelection(f"pytest would read {file[:200]!r} as the id of a test, not as a file")
    return RunnerCommand("pytest", (*argv, *files), "junit", options)


def _unittest(tool: Tool, wanted: SelectedTests) -> RunnerCommand:
    pattern = _named(wanted, "-k=", "unittest")
    if not wanted.files:
        return RunnerCommand("unittest", (*tool.argv, "-v", *pattern))
    options = list(tool.argv[tool.argv.index("discover") + 1 :])
    # `discover` imports modules relative to its folder, or to the root for a package
    folder = "" if "-t" in options else f"{options[options.index('-s') + 1]}/"
    modules = [_module(file, folder) for file in wanted.files]
    argv = tool.argv[: tool.argv.index("discover")]
    extra = {"PYTHONPATH": folder.rstrip("/")} if folder else {}
    return RunnerCommand("unittest", (*argv, "-v", *pattern, *modules), environment=extra)


def _module(file: str, folder: str) -> str:
    parts = file.removeprefix(folder).removesuffix(".py").split("/")
    if not file.endswith(".py") or not file.startswith(folder) or not all(map(str.isidentifier, parts)):
        raise UnsupportedSelection(
            f"{file[:200]!r} is not a module that unittest could import from {folder or 'the root'}"
        )
    return ".".join(parts)


def _jest(tool: Tool, wanted: SelectedTests) -> RunnerCommand:
    by_path = ("--runTestsByPath", *(f"./{file}" for file in wanted.files)) if wanted.files else ()
    options = ("--json", "--outputFile={path}", "--testLocationInResults")
    return RunnerCommand("jest", (*_program(tool), *_regex(wanted), *by_path), "jest", options)


def _vitest(tool: Tool, wanted: SelectedTests) -> RunnerCommand:
    argv = (*_program(tool), *_regex(wanted), *(f"./{file}" for file in wanted.files))
    options = ("--reporter=default", "--reporter=json", "--outputFile.json={path}")
    return RunnerCommand("vitest", argv, "jest", options)


def _program(tool: Tool) -> tuple[str, ...]:
    """Return the runner's own command if a script of package.json runs it."""
    script = _SCRIPT.fullmatch(tool.recipe.strip())
    if script is None:
        return tool.argv
    rest = script["rest"].split()
    once = {"vitest": "run", "jest": "--ci"}[script["runner"]]
    rest = [word for word in rest if word not in ("run", "watch", "dev", "--watch", "--watchAll", "--ci")]
    # the project's own programs are first in PATH, as for the script
    return (script["runner"], once, *rest)


def _regex(wanted: SelectedTests) -> tuple[str, ...]:
    return _named(wanted, "--testNamePattern=", "jest")


def _go(tool: Tool, wanted: SelectedTests) -> RunnerCommand:
    packages = list(dict.fromkeys(_package(file) for file in wanted.files)) or list(tool.argv[2:])
    named = _named(wanted, "-run=", "go")
    return RunnerCommand("go", (*tool.argv[:2], "-json", *named, *packages), "go")


def _package(file: str) -> str:
    if not file.endswith(".go"):
        return f"./{file}"
    folder = file.rpartition("/")[0]
    return f"./{folder}" if folder else "."


def _cargo(tool: Tool, wanted: SelectedTests) -> RunnerCommand:
    targets = []
    for file in wanted.files:
        match = re.fullmatch(r"tests/(\w[\w-]{0,200})(?:\.rs|/main\.rs)", file)
        if match is None:
            raise UnsupportedSelection(
                f"cargo runs tests by file only where it is one of tests/*.rs, which {file[:200]!r} is not; "
                "give the name of a test as `pattern`"
            )
        targets.append(f"--test={match[1]}")
    # only after `--`, where no word is an option
    name = _named(wanted, "", "cargo")
    on = () if "--no-fail-fast" in tool.argv else ("--no-fail-fast",)
    return RunnerCommand("cargo", (*tool.argv, *on, *targets, *(("--", *name) if name else ())))


def _ctest(tool: Tool, wanted: SelectedTests) -> RunnerCommand:
    name = _named(wanted, "", "ctest")
    argv = (*tool.argv, *(("-R", *name) if name else ()))
    return RunnerCommand("ctest", argv, "junit", ("--output-junit", "{path}"))


def _named(wanted: SelectedTests, option: str, runner: str) -> tuple[str, ...]:
    """Return the pattern with its option as one argument."""
    if not wanted.pattern:
        return ()
    allowed, what = _PATTERNS[runner]
    if wanted.pattern.startswith("-") or not allowed.fullmatch(wanted.pattern):
        raise UnsupportedSelection(
            f"the pattern is not one that this runner takes: it is {what}, of at most 500 characters, that "
            "does not begin with `-`"
        )
    return (f"{option}{wanted.pattern}",)


_PATTERNS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "cargo": (_WORDS, "a part of a test's path, as `parser::tests`"),
    "ctest": (_REGEX, "a regular expression"),
    "go": (_REGEX, "a regular expression"),
    "jest": (_REGEX, "a regular expression"),
    "pytest": (_WORDS, "names joined by `and`, `or` and `not`"),
    "unittest": (_GLOB, "a part of a test's name, or a name with `*`"),
    "vitest": (_REGEX, "a regular expression"),
    "": (_REGEX, "a name, or what else the command takes"),
}
"""Allowed patterns by runner with a description; the empty name: configured commands with `{pattern}`."""

_NAME_OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "ctest": ("-R", "--tests-regex"),
    "go": ("-run", "--run"),
    "jest": ("-t", "--testNamePattern"),
    "pytest": ("-k",),
    "unittest": ("-k",),
    "vitest": ("-t", "--testNamePattern"),
}
"""Options that limit a runner to names; a second one would override the first."""

_MAKERS: Final[Mapping[str, Callable[[Tool, SelectedTests], RunnerCommand]]] = {
    "cargo": _cargo,
    "ctest": _ctest,
    "go": _go,
    "jest": _jest,
    "pytest": _pytest,
    "unittest": _unittest,
    "vitest": _vitest,
}
