"""Detection of the commands that check a project, from its files alone; nothing is run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tideate_core.toolchain.detection.languages import CargoTools, CMakeTools, GoTools, MakeTools, NodeTools
from tideate_core.toolchain.detection.python import PythonTools
from tideate_core.toolchain.detection.tools import Check, ProjectFiles, Tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tideate_core.toolchain.detection.tools import ProjectTools

__all__ = ["detect_clean_command", "detect_tools"]

_KINDS = (PythonTools, NodeTools, CargoTools, GoTools, CMakeTools, MakeTools)
"""In the order in which they are asked: the first that has a check runs it."""


def detect_tools(root: Path, environment: Mapping[str, str] | None = None) -> dict[Check, Tool]:
    """Return the tool of each check that the project has one for.

    :param environment: whose PATH is looked through; None for ours.
    """
    found: dict[Check, Tool] = {}
    for tools in _kinds(root, environment):
        for tool in tools.find():
            found.setdefault(tool.check, tool)
    return {check: found[check] for check in Check if check in found}


def detect_clean_command(root: Path, environment: Mapping[str, str] | None = None) -> Tool | None:
    """Return the command that removes what the project's build made, if it has one."""
    return next((tool for tools in _kinds(root, environment) if (tool := tools.clean())), None)


def _kinds(root: Path, environment: Mapping[str, str] | None) -> Iterator[ProjectTools]:
    files = ProjectFiles(root)
    for kind in _KINDS:
        tools = kind(files, os.environ if environment is None else environment)
        if tools.applies():
            yield tools
