"""Files for a prompt: selected or outlined to fit the model; secret ones only with consent."""

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

SMALL = 16_384
"""Tokens of context up to which a model counts as small."""
WHOLE: Final = 24_000
"""Characters of whole files shown to a model that can read the others itself."""
LONGEST_OUTLINE: Final = 6_000
"""Characters of the outline of another file."""
LONGEST_OF_TESTS: Final = 1_500
"""The same for a file of tests, since few of them matter."""


def text_budget(step: StepContext) -> int | None:
    """Return how many characters of text fit beside the question and the answer; None = no known limit."""
    if step.context_tokens is None:
        return None
    return step.context_tokens * FEWEST_CHARACTERS_PER_TOKEN // 2


def is_small(step: StepContext) -> bool:
    """Return whether a model is too small to follow any answer format but a whole text."""
    return step.demonstration or (step.context_tokens is not None and step.context_tokens <= SMALL)


def clip(step: StepContext, text: str, budget: int | None = None) -> str:
    """Cut a text to the size that the model can read, at a line's end, and notify the person.

    :param budget: characters; None: the size that leaves space for a question.
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
    """A file for a prompt; `text` is None if it does not exist or is not shown whole."""

    path: str
    text: str | None
    language: str
    outline: str | None = None
    """Lines of its definitions, instead of its text; empty if they are not known."""
    lines: int = 0
    """Number of its lines, if it has an outline."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Files for a prompt, and names of files that do not fit or are not text."""

    files: list[ShownFile] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def named_files(plan: ExecutionPlan) -> list[str]:
    """Return the files named in a plan, each once, in order."""
    named = [*plan.files, *(file for step in plan.steps for file in step.files)]
    return list(dict.fromkeys(file for file in named if file.strip()))


def real_names(workspace: Workspace, paths: Iterable[str]) -> list[str]:
    """Return each file once by its name in the workspace, links resolved; an invalid path stays as it is."""
    return list(dict.fromkeys(_real_name(workspace, path) for path in paths))


def _real_name(workspace: Workspace, path: str) -> str:
    try:
        return workspace.name_of(workspace.resolve(path))
    except OutsideRoot:
        return path  # reading it reports the reason


async def read_if_there(workspace: Workspace, path: str) -> Source | None:
    """Read a file with unsaved changes of its buffer; None if it does not exist.

    :raises OutsideRoot: the path is outside the project.
    :raises WorkspaceError: it exists and is not text, too large, or a directory.
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
    """Read files for a prompt in order, as many as the model can take; none is cut."""
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


async def outline_long_files(files: Iterable[ShownFile], room: int | None) -> list[ShownFile]:
    """Show the shortest files whole and the others by their outlines, to a model that can read them.

    :param room: characters of text that the model can take; None = no known limit.
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
        # if all headings are of a lower level, keep them all
        lines = [line for line in lines if not line.partition(": ")[2].startswith(" ")] or lines
        lines = lines[: longest // (max(map(len, lines)) + 1)]
    return replace(file, text=None, outline="\n".join(lines), lines=text.count("\n") + 1)


async def why_hidden(step: StepContext, path: str, text: str) -> str:
    """Return why a model may not see a file with likely secrets; empty if it may, or the person agrees."""
    why = await why_secret(step, path, text)
    if not why:
        return ""
    if await _agreed(step, path, why):
        step.allow_secrets(text)
        return ""
    return why


async def why_not_shown(step: StepContext, path: str, text: str) -> str:
    """Return `why_hidden` in words for the model, which do not tell the place of the secret."""
    from tideate_core.mentions import HIDES_LINES, secret_in

    why = await why_hidden(step, path, text)
    return HIDES_LINES if why and why == secret_in(text) else why


async def why_secret(step: StepContext, path: str, text: str) -> str:
    """Return why a file seems to hold secrets, or an empty text. Its text is then not stored with the run."""
    from tideate_core.mentions import secret_in, secret_name

    return secret_name(path) or await asyncio.to_thread(secret_in, text) or await _linked(step, path)


async def _linked(step: StepContext, path: str) -> str:
    from tideate_core.mentions import HardLinks

    workspace = step.workspace
    try:
        real = workspace.resolve(path)
    except OutsideRoot:
        return ""  # reading it reports the reason
    return await asyncio.to_thread(HardLinks(workspace.root).reason, real)


async def _agreed(step: StepContext, path: str, why: str) -> bool:
    """Ask once in a run; only a person's answer counts, not a policy's."""

    async def decide() -> bool:
        decision = await step.confirm(
            "gate",
            f"Give {label(path)} to the model? {why[:1].upper()}{why[1:]}.",
            details="If you answer no, the model does not see this file.",
            permission=True,
        )
        return decision.accepted and decision.by == "user"

    agreed: bool = await step.choose_for_run(f"permit:secret:{path}", why, decide)
    return agreed
