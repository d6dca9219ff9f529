"""Rules of the project for a prompt: selected by the files concerned, read once per run, announced."""

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

SHARE: Final = 6
"""Rules may take one part in this many of the text that fits a model."""
MOST: Final = 48_000
"""Characters of all rules in a prompt, for any model."""
UNKNOWN: Final = 16_000
"""Characters for a model whose context window is not known."""


async def project_rules(step: StepContext, paths: Iterable[str] = ()) -> str:
    """Return the rules for work on files, ready for a prompt; empty if there are none.

    They are the person's own, the root's, and those of each directory down to a file. A run keeps the rules
    as it first read them, even after a crash. A small model gets none.

    :param paths: relative to the root, or absolute.
    """
    if step.rules_files is None or is_small(step):
        return ""
    # imported here: runs without project rules do not need it
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
            continue  # rules of directories apply only to files in them
        if name == name.encode(errors="replace").decode():  # the name is stored with the run, as text
            names.append(name)
    return names


def _directories(names: Iterable[str]) -> list[str]:
    """Return the directories of files and their parents, without the root, outermost first."""
    found = {parent.as_posix() for name in names for parent in PurePosixPath(name).parents}
    return sorted(found - {"."}, key=lambda directory: (directory.count("/"), directory))


def _room(step: StepContext) -> int:
    budget = text_budget(step)
    return UNKNOWN if budget is None else min(MOST, budget // SHARE)


async def _kept(
    step: StepContext, directory: str, find: Callable[[], Awaitable[FoundRules]]
) -> list[RulesFile]:
    """Return the rules of a directory, found once per run; the text of a secret is not stored."""
    from tideate_core.mentions import RulesFile

    async def produce() -> list[dict[str, Any]]:
        found = await find()
        for problem in found.problems:
            step.notice(label(problem), level="warn")
        return [asdict(one) for one in found.files]

    kept = await step.choose_for_run(f"rules:{directory}", "", produce)
    return [RulesFile(**{**one, "patterns": tuple(one["patterns"])}) for one in kept]


async def _with_secret(step: StepContext, finder: RulesFinder, rules: RulesFile) -> RulesFile:
    """Return rules that hold a secret with their text, if the person agrees."""
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
    """Notify the person which rules are sent and which are cut, each file once per run."""
    new = [one for one in sent if await _first_time(step, f"{one.rules.path}:{one.cut}")]
    if given := [one for one in new if one.text]:
        size = sum(len(one.text.encode()) for one in given) / 1000
        step.notice(f"rules: {', '.join(label(one.rules.path) for one in given)} ({size:.1f} kB)")
    for one in new:
        if one.cut:
            step.notice(f"{label(one.rules.path)}: {one.cut} this model", level="warn")


async def _first_time(step: StepContext, what: str) -> bool:
    """Return whether this is the run's first call for a key, and record it."""
    new = False

    async def produce() -> bool:
        nonlocal new
        new = True
        return True

    await step.choose_for_run(f"rules_told:{what}", "", produce)
    return new
