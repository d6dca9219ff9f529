"""Rules of the project for a prompt: those of the files concerned, read once in a run, and told of."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents.model_input import is_small, text_budget, why_hidden
from tideate_core.errors import OutsideRoot, TideateError
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from tideate_core.mentions import FoundRules, RulesFile, RulesFinder, SentRules
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import Workspace

__all__ = ["project_rules"]

SHARE: Final = 6
"""The part of the text for a model that rules may take: one in so many."""
MOST: Final = 48_000
"""Characters of all rules in a prompt, however much a model reads."""
UNKNOWN: Final = 16_000
"""Characters for a model whose window is not known."""


async def project_rules(step: StepContext, paths: Iterable[str] = ()) -> str:
    """Return the rules for work on files, ready for a prompt; empty without any.

    They are the person's own, those of the root, and those of each directory down to a file. A run has them
    as they were when it first needed them, also after a crash. A small model gets none.

    :param paths: relative to the root, or absolute.
    """
    if step.rules_files is None or is_small(step):
        return ""
    # here, because a run without a project's rules needs none of it
    from tideate_core.mentions import RulesFinder, fit_rules, format_rules

    finder = RulesFinder(step.workspace, step.rules_files)
    names = _names(step.workspace, paths)
    found = await _kept(step, "", finder.of_root)
    for directory in _directories(names):
        found += await _kept(step, directory, partial(finder.of_directory, directory))
    shown = [await _with_secret(step, finder, one) for one in found if one.is_for(names)]
    sent = fit_rules(shown, _room(step))
    await _tell(step, sent)
    return format_rules(sent, [one for one in found if one.on_request and one.about])


def _names(workspace: Workspace, paths: Iterable[str]) -> list[str]:
    names = []
    for path in paths:
        try:
            name = workspace.name_of(workspace.resolve(path))
        except OutsideRoot:
            continue  # rules of directories are for what is in them
        if name == name.encode(errors="replace").decode():  # it is kept with the run, as text
            names.append(name)
    return names


def _directories(names: Iterable[str]) -> list[str]:
    """Return the directories of files and those above, without the root, the outer ones first."""
    found = {parent.as_posix() for name in names for parent in PurePosixPath(name).parents}
    return sorted(found - {"."}, key=lambda directory: (directory.count("/"), directory))


def _room(step: StepContext) -> int:
    budget = text_budget(step)
    return UNKNOWN if budget is None else min(MOST, budget // SHARE)


async def _kept(
    step: StepContext, directory: str, find: Callable[[], Awaitable[FoundRules]]
) -> list[RulesFile]:
    """Return what a place has, found once in the run. The text of a secret is not kept."""
    from tideate_core.mentions import RulesFile

    async def produce() -> list[dict[str, Any]]:
        found = await find()
        for problem in found.problems:
            step.notice(label(problem), level="warn")
        return [asdict(one) for one in found.files]

    kept = await step.choose_for_run(f"rules:{directory}", "", produce)
    return [RulesFile(**{**one, "patterns": tuple(one["patterns"])}) for one in kept]


async def _with_secret(step: StepContext, finder: RulesFinder, rules: RulesFile) -> RulesFile:
    """Return rules that hold a secret with their text, where a person agrees."""
    if not rules.secret:
        return rules
    try:
        read = await finder.reread(rules)
        why = await why_hidden(step, rules.path, read.text)
    except (OSError, TideateError) as error:
        why = str(error)
    else:
        if not why:
            return read
    if await _first_time(step, f"left out:{rules.path}"):
        step.notice(f"{label(rules.path)} was left out: {why}", level="warn")
    return rules


async def _tell(step: StepContext, sent: Sequence[SentRules]) -> None:
    """Say what is sent, and what of it is cut, each file once in the run."""
    new = [one for one in sent if await _first_time(step, f"{one.rules.path}:{one.cut}")]
    if given := [one for one in new if one.text]:
        size = sum(len(one.text.encode()) for one in given) / 1000
        step.notice(f"rules: {', '.join(label(one.rules.path) for one in given)} ({size:.1f} kB)")
    for one in new:
        if one.cut:
            step.notice(f"{label(one.rules.path)}: {one.cut} this model", level="warn")


async def _first_time(step: StepContext, what: str) -> bool:
    """Tell whether something was not told of yet in the run."""
    new = False

    async def produce() -> bool:
        nonlocal new
        new = True
        return True

    await step.choose_for_run(f"rules_told:{what}", "", produce)
    return new
