"""Detection of a project's check commands from its files; runs nothing."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from tideate_core.process import project_environment
from tideate_core.toolchain.detection.ci import ci_tools
from tideate_core.toolchain.detection.languages import CargoTools, CMakeTools, GoTools, NodeTools
from tideate_core.toolchain.detection.parts import find_folders
from tideate_core.toolchain.detection.python import PythonTools, UnittestTools
from tideate_core.toolchain.detection.tables import FORMATS, KINDS, TASKS, TableTools, TaskTools
from tideate_core.toolchain.detection.tools import Check, ProjectFiles, Tool, split_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from tideate_core.toolchain.detection.tools import ProjectTools

    MakeTools = Callable[[ProjectFiles, Mapping[str, str]], ProjectTools]

__all__ = ["detect_clean_command", "detect_tools", "recipe_of"]

_LANGUAGES: Final[Sequence[MakeTools]] = (
    PythonTools,
    NodeTools,
    CargoTools,
    GoTools,
    CMakeTools,
    *(partial(TableTools, kind=kind) for kind in KINDS),
)
"""Kinds that may share a folder; each runs its own checks."""
_OTHERS: Final[Sequence[MakeTools]] = (
    *(partial(TaskTools, tasks=tasks) for tasks in TASKS),
    partial(TableTools, kind=FORMATS),
)
"""Sources of checks that a folder's earlier kinds do not provide."""


def detect_tools(root: Path, environment: Mapping[str, str] | None = None) -> dict[Check, tuple[Tool, ...]]:
    """Return the tools of each available check, the root's first.

    :param environment: supplies PATH; None: ours.
    """
    known = os.environ if environment is None else environment
    top = ProjectFiles(root)
    ci = ci_tools(top)
    found: dict[Check, list[Tool]] = {}
    for files, kinds in _parts(root, known):
        for check, tools in _of_folder(files, known, kinds, ci.pop(files.folder, [])).items():
            found.setdefault(check, []).extend(tools)
    for tools in ci.values():
        for tool in tools:
            if tool.check not in found or all(one.folder == tool.folder for one in found[tool.check]):
                found.setdefault(tool.check, []).append(tool)
    return {check: tuple(found[check]) for check in Check if check in found}


def detect_clean_command(root: Path, environment: Mapping[str, str] | None = None) -> Tool | None:
    """Return the command that removes the root's build output, None if there is none."""
    files, known = ProjectFiles(root), os.environ if environment is None else environment
    kinds = (make(files, known) for make in (*_LANGUAGES, *_OTHERS))
    return next((tool for tools in kinds if tools.applies() and (tool := tools.clean())), None)


def recipe_of(root: Path, argv: Sequence[str]) -> str:
    """Return the project's own text that a task or script runner's command executes; blocking."""
    folder, file, words = split_folder(argv)
    files = ProjectFiles(root, folder)
    known = [TaskTools(files, {}, tasks).text for tasks in TASKS if tasks.command.startswith(f"{argv[0]} ")]
    if known and file:
        return files.text(file)
    return next(filter(None, known), "") or NodeTools(files, {}).recipe([argv[0], *words])


def _parts(root: Path, environment: Mapping[str, str]) -> Iterator[tuple[ProjectFiles, list[ProjectTools]]]:
    """Yield each part's files with its languages, without languages covered by a workspace above."""
    above: dict[str, list[ProjectTools]] = {}
    for folder in ["", *sorted(find_folders(root))]:
        files = ProjectFiles(root, folder)
        kinds = [
            tools for make in _LANGUAGES if (tools := make(files, _environment(files, environment))).applies()
        ]
        own = [tools for tools in kinds if not _is_covered(tools, folder, above)]
        # a covered language does not cover folders below it
        above[folder] = own
        if own or not folder:
            yield files, own


def _is_covered(tools: ProjectTools, folder: str, above: Mapping[str, list[ProjectTools]]) -> bool:
    return not tools.alone and any(
        one.kind == tools.kind and one.covers(folder[len(other) :].lstrip("/"))
        for other, kinds in above.items()
        if folder.startswith(f"{other}/" if other else "")
        for one in kinds
    )


def _of_folder(
    files: ProjectFiles, environment: Mapping[str, str], languages: list[ProjectTools], ci: list[Tool]
) -> dict[Check, list[Tool]]:
    found: dict[Check, list[Tool]] = {}
    for kind in languages:
        for check, tools in _first(kind.find()).items():
            found.setdefault(check, []).extend(tools)
    own = _environment(files, environment)
    others = (kind.find() for make in _OTHERS if (kind := make(files, own)).applies())
    guessed = UnittestTools(files, own)
    for more in (*others, iter(ci), guessed.find() if guessed.applies() else iter(())):
        for check, tools in _first(more).items():
            found.setdefault(check, tools)
    return {check: [replace(tool, folder=files.folder) for tool in tools] for check, tools in found.items()}


def _first(tools: Iterator[Tool]) -> dict[Check, list[Tool]]:
    """Return each check's first tool, and all tools marked `beside`."""
    found: dict[Check, list[Tool]] = {}
    for tool in tools:
        if tool.beside or tool.check not in found:
            found.setdefault(tool.check, []).append(tool)
    return found


def _environment(files: ProjectFiles, environment: Mapping[str, str]) -> Mapping[str, str]:
    return project_environment(files.root, environment) if files.folder else environment
