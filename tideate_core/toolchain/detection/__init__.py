"""Which commands check a project, read off its files; nothing is run for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tideate_core.toolchain.detection.files import ProjectFiles
from tideate_core.toolchain.detection.node import NodeTools
from tideate_core.toolchain.detection.others import CargoTools, CMakeTools, GoTools, MakeTools
from tideate_core.toolchain.detection.python import PythonTools
from tideate_core.toolchain.detection.tools import Check, Tool

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Check", "Tool", "detect", "detect_clean"]

_KINDS = (PythonTools, NodeTools, CargoTools, GoTools, CMakeTools, MakeTools)
"""In the order in which they are asked: the first that has a check runs it."""


def detect(root: Path, environment: Mapping[str, str] | None = None) -> dict[Check, Tool]:
    """Return the tool of each check that the project has one for.

    :param environment: whose PATH is looked through; None for ours.
    """
    files = ProjectFiles(root)
    found: dict[Check, Tool] = {}
    for kind in _KINDS:
        tools = kind(files, os.environ if environment is None else environment)
        if tools.applies():
            for tool in tools.find():
                found.setdefault(tool.check, tool)
    return {check: found[check] for check in Check if check in found}


def detect_clean(root: Path, environment: Mapping[str, str] | None = None) -> Tool | None:
    """Return the command that removes what the project's build made, if it has one."""
    files = ProjectFiles(root)
    for kind in (NodeTools, CargoTools, CMakeTools, MakeTools):
        tools = kind(files, os.environ if environment is None else environment)
        if tools.applies() and (tool := tools.clean()):
            return tool
    return None
