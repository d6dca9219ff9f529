"""Texts and files for a model: as much as its context window holds, private ones only by consent."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from tideate_core.errors import OutsideRoot, WorkspaceError
from tideate_core.util.cutting import beginning
from tideate_core.util.escaping import label
from tideate_core.util.tokens import FEWEST_CHARACTERS_PER_TOKEN
from tideate_core.workspace import is_test, language_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tideate_core.gates import ExecutionPlan
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import Source, Workspace

__all__ = [
    "Shown",
    "ShownFile",
    "clip",
    "in_part",
    "is_small",
    "named_files",
    "read_if_there",
    "real_names",
    "shown_files",
    "text_budget",
    "why_hidden",
    "why_not_shown",
    "why_secret",
]

SMALL = 16_384
"""Tokens of context up to which a model counts as small."""
WHOLE: Final = 24_000
"""Characters of whole files that a model which can read the others itself is shown."""
LONGEST_OUTLINE: Final = 6_000
"""Characters of an outline beside them."""
LONGEST_OF_TESTS: Final = 1_500
"""The same of a file of tests, of which few matter."""


def text_budget(step: StepContext) -> int | None:
    """Return how many characters of text fit beside the question and the answer; None = no known limit."""
    if step.context_tokens is None:
        return None
    return step.context_tokens * FEWEST_CHARACTERS_PER_TOKEN // 2


def is_small(step: StepContext) -> bool:
    """Tell by its context whether a model is one of those that keep to no form but a whole text."""
    return step.demonstration or (step.context_tokens is not None and step.context_tokens <= SMALL)


def clip(step: StepContext, text: str, budget: int | None = None) -> str:
    """Cut a text to what the model can read, at a line's end, and say so.

    :param budget: characters, None for what a question about the text leaves.
    """
    budget = text_budget(step) if budget is None else budget
    if budget is None or len(text) <= budget:
        return text
    kept = text[:budget].rpartition("\n")[0] or beginning(text, budget)
    lines, total = kept.count("\n") + 1, text.count("\n") + 1
    step.notice(f"only the first {lines} of {total} lines fit this model and were read", level="warn")
    return kept


@dataclass(frozen=True, slots=True)
class ShownFile:
    """A file for a prompt; `text` is None of one that does not exist or is not shown whole."""

    path: str
    text: str | None
    language: str
    outline: str | None = None
    """The lines of its definitions, in place of its text; empty where they are not known."""
    lines: int = 0
    """How many it has, of one with an outline."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Files for a prompt, and the names of those for which there was no room, or that are no text."""

    files: list[ShownFile] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def texts(self) -> list[str]:
        return [file.text or file.outline or "" for file in self.files]


def named_files(plan: ExecutionPlan) -> list[str]:
    """Return the files that a plan names, each once, in its order."""
    named = [*plan.files, *(file for step in plan.steps for file in step.files)]
    return list(dict.fromkeys(file for file in named if file.strip()))


def real_names(workspace: Workspace, paths: Iterable[str]) -> list[str]:
    """Return each file once, as the workspace names it, links followed; what is no file's path stays."""
    return list(dict.fromkeys(_real_name(workspace, path) for path in paths))


def _real_name(workspace: Workspace, path: str) -> str:
    try:
        return workspace.name_of(workspace.resolve(path))
    except OutsideRoot:
        return path  # reading it says why it cannot be read


async def read_if_there(workspace: Workspace, path: str) -> Source | None:
    """Read a file as the person sees it, unsaved changes included; None if there is none.

    :raises OutsideRoot: it is none of the project's.
    :raises WorkspaceError: it is there and no text, too large, or a directory.
    """
    try:
        return await workspace.read(path)
    except OutsideRoot:
        raise
    except WorkspaceError:
        if await asyncio.to_thread(workspace.resolve(path).exists):
            raise
        return None


async def shown_files(step: StepContext, paths: Iterable[str]) -> Shown:
    """Read files for a prompt, as many as the model bears, the first ones first; none is cut."""
    left = text_budget(step)
    shown = Shown()
    for path in paths:
        try:
            source = await read_if_there(step.workspace, path)
        except WorkspaceError:
            shown.left_out.append(path)
            continue
        text = source.text if source else None
        if text and await why_hidden(step, path, text):
            shown.left_out.append(path)
            continue
        if left is not None and len(text or "") > left:
            shown.left_out.append(path)
            continue
        left = None if left is None else left - len(text or "")
        shown.files.append(ShownFile(path, text, language_of(path)))
    return shown


async def in_part(files: Iterable[ShownFile], room: int | None) -> list[ShownFile]:
    """Show the shortest files whole and of the others what they define, to a model that can read them.

    :param room: characters of text that the model bears; None = no known limit.
    """
    files = list(files)
    left = WHOLE if room is None else min(room, WHOLE)
    whole = set[str]()
    for file in sorted(files, key=lambda file: len(file.text or "")):
        left -= len(file.text or "")
        if left >= 0:
            whole.add(file.path)
    return [file if file.path in whole else await _outlined(file) for file in files]


async def _outlined(file: ShownFile) -> ShownFile:
    from tideate_core.mentions import outline

    text = file.text or ""
    lines = await asyncio.to_thread(outline, text, file.path)
    longest = LONGEST_OF_TESTS if is_test(file.path) else LONGEST_OUTLINE
    if sum(map(len, lines)) > longest:
        # a text whose headings all are of a lower level has no outermost ones
        lines = [line for line in lines if not line.partition(": ")[2].startswith(" ")] or lines
        lines = lines[: longest // (max(map(len, lines)) + 1)]
    return replace(file, text=None, outline="\n".join(lines), lines=text.count("\n") + 1)


async def why_hidden(step: StepContext, path: str, text: str) -> str:
    """Say why a model may not see a file: it seems to hold secrets, and nobody agreed; else empty."""
    why = await why_secret(step, path, text)
    if not why:
        return ""
    if await _agreed(step, path, why):
        step.allow_secrets(text)
        return ""
    return why


async def why_not_shown(step: StepContext, path: str, text: str) -> str:
    """Return `why_hidden` in words for the model: they do not tell which line holds what."""
    from tideate_core.mentions import HIDES_LINES, secret_in

    why = await why_hidden(step, path, text)
    return HIDES_LINES if why and why == secret_in(text) else why


async def why_secret(step: StepContext, path: str, text: str) -> str:
    """Say why a file seems to hold secrets; else empty. Such a text is not kept with the run."""
    from tideate_core.mentions import secret_in, secret_name

    return secret_name(path) or await asyncio.to_thread(secret_in, text) or await _linked(step, path)


async def _linked(step: StepContext, path: str) -> str:
    from tideate_core.mentions import HardLinks

    workspace = step.workspace
    try:
        real = workspace.resolve(path)
    except OutsideRoot:
        return ""  # reading it says why it cannot be read
    return await asyncio.to_thread(HardLinks(workspace.root).reason, real)


async def _agreed(step: StepContext, path: str, why: str) -> bool:
    """Ask once in a run. Only a person's yes counts, no policy's."""

    async def decide() -> bool:
        decision = await step.confirm(
            "gate",
            f"Give {label(path)} to the model? {why[:1].upper()}{why[1:]}.",
            details="With a no, the model does not see this file.",
        )
        return decision.accepted and decision.by == "user"

    agreed: bool = await step.choose_for_run(f"secret:{path}", why, decide)
    return agreed
