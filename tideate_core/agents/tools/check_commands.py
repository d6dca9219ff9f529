"""Commands of the project's checks: declared, installed and trusted ones."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tideate_core.agents.tools.check_reports import last_times
from tideate_core.agents.tools.scratch_runs import WITHOUT
from tideate_core.errors import ConfigError, ToolError
from tideate_core.project import project_state
from tideate_core.toolchain import (
    Check,
    ProjectTrust,
    affected_tools,
    declared_checks,
    missing_program,
    recipe_of,
    select_tools,
    untrusted_message,
    verification_environment,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tideate_core.config import VerifyConfig
    from tideate_core.toolchain import Tool
    from tideate_core.workflows import StepContext

HOW_TO_CONFIGURE: Final = "a person can set one in .tideate/config.toml, as `[verify] tests = [...]`"
HOW_TO_TRUST: Final = "a person must run `tideate trust`"


def read_verify_config(root: Path) -> VerifyConfig:
    """Return the project's configuration of checks; blocking."""
    from tideate_core.config import load_config

    return load_config(root).config.verify


def installed(root: Path, config: VerifyConfig) -> dict[Check, list[Tool]]:
    """Return the installed tools of each check."""
    environment = verification_environment(root, config)
    found = select_tools(root, config, environment).items()
    there = {
        check: [one for one in tools if not missing_program(root, one, environment)] for check, tools in found
    }
    return {check: tools for check, tools in there.items() if tools}


def allowed_tools(
    root: Path, place: Path, check: Check, config: VerifyConfig, touched: Sequence[str]
) -> list[Tool]:
    """Return the commands of a check as declared in a directory, if a person trusts them.

    A build that the tests need comes first.

    :param place: the root, or a scratch copy of it.
    :param touched: files relative to the root; only the parts of the project that they affect are checked.
        Without files, all parts are.
    :raises ToolError: there is no command, one cannot run, or it is not trusted.
    """
    if getattr(config, check.value) is None and check.value in declared_checks(root):
        raise ToolError(
            f"the project's .tideate/config.toml sets the command of {check} and is not trusted; a person "
            f"must look at it and run `tideate trust` or `:Workflow trust`. {WITHOUT}"
        )
    environment = verification_environment(root, config)
    tools = select_tools(place, config, environment)
    if not tools.get(check):
        why = "it is turned off" if check in tools else "no command is known"
        there = ", ".join(one for one, found in tools.items() if found)
        known = f"(known checks: {there})" if there else f"({HOW_TO_CONFIGURE}). {WITHOUT}"
        raise ToolError(f"the check {check} cannot run here: {why} {known}")
    wanted = affected_tools(place, config, tools, touched)
    chosen = [tool for tool in tools[check] if tool in wanted]
    if not chosen:
        having = ", ".join(tool.folder or "the root" for tool in tools[check])
        raise ToolError(f"the check {check} covers only {having}, and these files are elsewhere. {WITHOUT}")
    built = {tool.folder for tool in chosen if tool.after_build}
    places = built if config.build is None else {""}
    builds = [tool for tool in tools.get(Check.BUILD, ()) if built and tool.folder in places]
    if built and not builds:
        raise ToolError(f"the tests need a build, and no build is configured: {HOW_TO_CONFIGURE}. {WITHOUT}")
    return [_allowed(root, place, tool, environment) for tool in [*builds, *chosen]]


def _allowed(root: Path, place: Path, tool: Tool, environment: Mapping[str, str]) -> Tool:
    # build products go to the project's private state, which a scratch copy shares
    own, private = (str(project_state(one)) for one in (place, root))
    tool = replace(tool, argv=tuple(word.replace(own, private) for word in tool.argv))
    if advice := missing_program(place, tool, environment):
        raise ToolError(f"`{tool.words}` cannot run: {advice}. {WITHOUT}")
    if not ProjectTrust(root).allows(tool if place == root else _as_in_project(root, tool)):
        changed = "staged edits change the code that it runs, and " if place != root else ""
        raise ToolError(f"{changed}{untrusted_message(tool)}. {WITHOUT}")
    return tool


def _as_in_project(root: Path, tool: Tool) -> Tool:
    """Return the tool of a scratch copy; staged edits of its programs end the person's trust."""
    return replace(tool, own=tool.own and recipe_of(root, tool.argv) == tool.recipe)


def runnable(root: Path) -> tuple[VerifyConfig | None, dict[Check, list[Tool]]]:
    """Return the configuration, and the installed and trusted tools of each check; blocking."""
    try:
        config = read_verify_config(root)
        trust, waiting = ProjectTrust(root), declared_checks(root)
        found = installed(root, config).items()
    except ConfigError:
        return None, {}
    # the project's declaration counts once it is trusted
    there = {
        check: tools
        for check, tools in found
        if all(map(trust.allows, tools)) and not (getattr(config, check.value) is None and check in waiting)
    }
    return config, there


async def runnable_checks(step: StepContext) -> list[str]:
    """Describe the checks that can run, for a prompt: command and last duration."""
    root = step.workspace.root
    return [] if root is None else await asyncio.to_thread(_described, root)


def _described(root: Path) -> list[str]:
    times = last_times(root)

    def described(tool: Tool) -> str:
        took = times.get(tool.words)
        return f"`{tool.words}`" + (f", {took / 1000:.1f} s" if took is not None else "")

    return [f"{check} ({'; '.join(map(described, tools))})" for check, tools in runnable(root)[1].items()]
