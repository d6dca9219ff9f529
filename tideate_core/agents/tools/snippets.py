"""Tool that runs a few lines of code on a scratch copy with the staged edits."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field

from tideate_core.agents.tools.check_commands import allowed_tools, read_verify_config, runnable
from tideate_core.agents.tools.check_reports import end_of
from tideate_core.agents.tools.project_paths import project_root
from tideate_core.agents.tools.scratch_runs import ask_once, count_files, overlay_files, scratch_copy
from tideate_core.agents.tools.tool import Arguments, ToolContext, WorkTool
from tideate_core.errors import CommandError, ConfigError, ToolError
from tideate_core.process import ProcessLimits
from tideate_core.toolchain import Check, tool_environment, verification_environment
from tideate_core.util.programs import find_on_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tideate_core.toolchain import Tool

SECONDS: Final = 60
"""Longest time of a snippet."""
INTERPRETERS: Final[Mapping[str, tuple[Sequence[str], str, Sequence[str]]]] = {
    "python": (("python", "python3"), "-c", ("*.py", "pyproject.toml", "setup.py", "setup.cfg")),
    "node": (("node",), "-e", ("package.json",)),
    "ruby": (("ruby",), "-e", ("Gemfile", "*.gemspec")),
    "php": (("php",), "-r", ("composer.json",)),
    "perl": (("perl",), "-e", ("cpanfile", "Makefile.PL")),
    "lua": (("lua", "luajit"), "-e", ("*.rockspec", "*.lua", "lua/*")),
    "elixir": (("elixir",), "-e", ("mix.exs",)),
}
"""Programs by language, their option for code, and signs of the language in a project's root."""


class RunSnippet(Arguments):
    """Arguments of `run_snippet`."""

    code: str = Field(min_length=1, max_length=20_000, description="Code that prints the facts you need.")
    language: str = Field(default="", max_length=20)


async def run_snippet(context: ToolContext, arguments: RunSnippet) -> str:
    """Run code on a scratch copy and return the end of its output."""
    root = project_root(context)
    try:
        config = await asyncio.to_thread(read_verify_config, root)
        overlay = await overlay_files(context)
        touched = sorted(overlay.staged)
        # code of the model needs the trust and the consent that tests of its edits need
        tests = await asyncio.to_thread(allowed_tools, root, root, Check.TESTS, config, touched)
        environment = tool_environment(root, tests[-1], verification_environment(root, config))
        found = await asyncio.to_thread(_interpreters, root, tests, environment)
        language = arguments.language or next(iter(found), "")
        if language not in found:
            known = ", ".join(found) or "none"
            raise ToolError(f"no interpreter of {language or 'the project'} is here (known: {known})")
        program, option = found[language]
        where = f"on a scratch copy with {count_files(len(overlay.staged))}"
        for tool in tests:
            await ask_once(context, tool, f"Run {language} code of the model {where}?", arguments.code)
        limits = ProcessLimits(timeout_ms=round(min(config.timeout, SECONDS) * 1000))
        async with scratch_copy(context, root, overlay.files) as scratch:
            result = await scratch.run(
                [program, option, arguments.code],
                environment=_with_sources(environment, scratch.root) if language == "python" else environment,
                limits=limits,
            )
    except (CommandError, ConfigError) as error:
        raise ToolError(str(error)) from error
    status = "passed" if result.ok else "timed out" if result.timed_out else "failed"
    words = f"snippet {status}: `{language}` {result.summary} in {result.duration_ms / 1000:.1f} s, {where}"
    return f"{words}\n{end_of(result.printed)}".rstrip()


def _with_sources(environment: Mapping[str, str], root: Path) -> dict[str, str]:
    """Return an environment in which Python finds the packages of `src`."""
    if not (root / "src").is_dir():
        return dict(environment)
    paths = [str(root / "src"), environment.get("PYTHONPATH", "")]
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _interpreters(
    root: Path, tests: Sequence[Tool], environment: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Return program and option of the project's languages; blocking. The tests' own Python comes first."""
    found: dict[str, tuple[str, str]] = {}
    for language, (programs, option, signs) in INTERPRETERS.items():
        is_program = re.compile(rf"(?:{'|'.join(programs)})[\d.]*").fullmatch
        of_tests = (one.argv[0] for one in tests if is_program(Path(one.argv[0]).name))
        paths = (find_on_path(name, environment) for name in programs)
        program = next(of_tests, None) or next((str(path) for path in paths if path), None)
        if program and any(next(root.glob(sign), None) for sign in signs):
            found[language] = (program, option)
    return found


def fit_run_snippet(context: ToolContext, tool: WorkTool[RunSnippet]) -> WorkTool[RunSnippet] | None:
    """Return the tool with the project's languages; None without trusted tests or an interpreter."""
    root = context.step.workspace.root
    config, tools = runnable(root) if root is not None else (None, {})
    if root is None or config is None or not (tests := tools.get(Check.TESTS)):
        return None
    found = _interpreters(root, tests, verification_environment(root, config))
    if not found:
        return None
    languages = {"anyOf": [{"enum": [*found], "type": "string"}]}
    return replace(tool, fitted={"language": languages if len(found) > 1 else None})


RUN_SNIPPET: Final[WorkTool[Any]] = WorkTool(
    "run_snippet",
    "Run a few lines of the project's language with your staged edits on a scratch copy.",
    RunSnippet,
    "runs",
    run_snippet,
    fit=fit_run_snippet,
)
