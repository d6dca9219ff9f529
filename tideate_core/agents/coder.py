"""The coder: answer formats; ask a model for the new text of a range, a place or a file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from tideate_core.agents.attempts import Ask, Draft, until_usable
from tideate_core.edits import (
    NO_CHANGE,
    Insertion,
    extract_code,
    fit_to_range,
    insertion_of,
    is_fence,
    resolve_part,
    resolve_text,
    says_no_change,
    trim_neighbours,
)
from tideate_core.gates import SyntaxProblem, new_errors
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tideate_core.adapters import Prompt, Reply
    from tideate_core.edits import Replacement
    from tideate_core.workflows import StepContext

NEW_TEXT = "one fenced code block with the new text"
LONGEST_WHOLE_FILE = 300
"""Lines up to which a small model rewrites the whole file."""
LONGEST_CHEAP_FILE = 60
"""Lines up to which any model rewrites the whole file."""


@dataclass(frozen=True, slots=True)
class Written:
    """Lines written by a model. `problems` are syntax errors that only a person may accept."""

    lines: list[str]
    problems: list[SyntaxProblem]
    attempts: int
    replies: list[Reply]
    notes: list[str] = field(default_factory=list)
    """Notes on places that were not matched exactly."""
    at: int = 0
    """The line before which they belong, or the first one that they replace; 0-based."""


@dataclass(frozen=True, slots=True)
class EditFormat:
    """Format of an answer that changes a file, with its instructions for the model."""

    name: Literal["whole", "blocks"]
    instructions: str
    short: str = ""
    """Name of the format, for a refusal."""


_WHOLE = EditFormat(
    "whole",
    "You answer with one fenced code block that holds the complete new text of the file, with nothing left "
    "out, and nothing else.",
    "one fenced code block with the complete new text",
)
_WHOLE_WITH_FENCES = EditFormat(
    "whole",
    "You answer with the complete new text of the file, with nothing left out, between two lines of four "
    "backticks (````), and nothing else.",
    "the complete new text between two lines of four backticks",
)
_BLOCKS = EditFormat(
    "blocks",
    "You answer only with search/replace blocks, one for each change, in this form:\n\n"
    "<<<<<<< SEARCH\nlines of the file, copied exactly\n=======\nthe lines that replace them\n"
    ">>>>>>> REPLACE\n\n"
    "The searched lines must be whole lines and stand only once in the file: add lines around them until "
    "they do. Leave nothing out inside a block.",
    "search/replace blocks",
)
_OR_NO_CHANGE = f" If the file is right as it is, you answer only with the words {NO_CHANGE}."


def edit_format(before: str | None, *, small: bool = False) -> EditFormat:
    """Return the answer format for a file: its whole new text if it is short, else search/replace blocks.

    A small model follows the block format in at most half of its answers, so it rewrites files of up to 300
    lines. Other models rewrite up to 60 lines: such a file is little longer than its edits, and always valid.
    """
    lines = before.split("\n") if before is not None else []
    if len(lines) > (LONGEST_WHOLE_FILE if small else LONGEST_CHEAP_FILE):
        return _BLOCKS
    return _WHOLE_WITH_FENCES if any(is_fence(line) for line in lines) else _WHOLE


def or_no_change(form: EditFormat) -> EditFormat:
    """Return the format extended by the words for a file that needs no change."""
    return replace(
        form, instructions=form.instructions + _OR_NO_CHANGE, short=f"{form.short}, or {NO_CHANGE}"
    )


async def edit_range(
    step: StepContext,
    ask: Ask,
    prompt: Prompt,
    *,
    lines: Sequence[str],
    start: int,
    end: int,
    language: str,
    path: str = "",
    buffer: int | None = None,
) -> Written:
    """Ask for the new text of the lines `start` to `end` (0-based, half open) and return it.

    Answers that edit these lines by blocks or a diff are accepted too.

    :param path: path of the file, for answers that name one.
    :param buffer: number of the file's buffer, if it is open.
    :raises UnusableAnswer: no attempt gave an edit that the file can hold.
    """
    old = list(lines[start:end])

    def build(answer: str) -> Draft[Insertion]:
        edited = resolve_part(answer, old, whole="\n".join(lines), path=path, language=language)
        if edited is not None:
            return Draft(Insertion(start, edited.lines), _notes(edited))
        code = extract_code(answer, language=language, old=old, context=lines)
        code = trim_neighbours(code, lines, start, end)
        return Draft(Insertion(start, fit_to_range(code, old, style=lines)))

    def check(new: Insertion) -> list[SyntaxProblem]:
        return new_errors(language, _text(lines), _text([*lines[:start], *new.lines, *lines[end:]]))

    return await _written(step, ask, prompt, build, check, path=path, buffer=buffer)


async def insert_text(
    step: StepContext,
    ask: Ask,
    prompt: Prompt,
    *,
    lines: Sequence[str],
    at: int,
    language: str,
    replaced: int = 0,
    path: str = "",
    buffer: int | None = None,
) -> Written:
    """Ask for new lines and return them with their insertion point: line `at` (0-based), or near definitions.

    :param replaced: number of blank lines above that they replace.
    :param buffer: number of the file's buffer, if it is open.
    :raises UnusableAnswer: no attempt gave lines that the file can hold.
    """

    def build(answer: str) -> Draft[Insertion]:
        code = extract_code(answer, language=language, old=None, context=lines)
        return Draft(insertion_of(trim_neighbours(code, lines, at, at), lines, at, language, replaced))

    def check(new: Insertion) -> list[SyntaxProblem]:
        return new_errors(language, _text(lines), _text([*lines[: new.at], *new.lines, *lines[new.at :]]))

    return await _written(step, ask, prompt, build, check, path=path, buffer=buffer)


async def write_text(
    step: StepContext,
    ask: Ask,
    prompt: Prompt,
    *,
    before: str | None,
    language: str,
    path: str = "",
    form: EditFormat | None = None,
) -> Written:
    """Ask for the new text of a whole file; the prompt must hold the instructions of `edit_format(before)`.

    Answers in another format are accepted too: whole text, blocks, a patch or a diff.

    :param before: the current text; None for a new file.
    :param path: path of the file, for answers that name one.
    :param form: the format named in the prompt; default: that of `before`.
    :raises UnusableAnswer: no attempt gave a text that the file can hold.
    """
    form = form or edit_format(before)

    def build(answer: str) -> Draft[Insertion]:
        if before is not None and says_no_change(answer):
            return Draft(Insertion(0, before.split("\n")))
        edited = resolve_text(answer, before, path=path, language=language, form=form.name)
        return Draft(Insertion(0, edited.lines), _notes(edited))

    def check(new: Insertion) -> list[SyntaxProblem]:
        return new_errors(language, before or "", _text(new.lines))

    return await _written(step, ask, prompt, build, check, form=form.short, path=path)


async def _written(
    step: StepContext,
    ask: Ask,
    prompt: Prompt,
    build: Callable[[str], Draft[Insertion]],
    check: Callable[[Insertion], list[SyntaxProblem]],
    *,
    form: str = NEW_TEXT,
    path: str = "",
    buffer: int | None = None,
) -> Written:
    async def accept(new: Insertion) -> None:
        if path or buffer is not None:
            change = FileChange(path, "modify", "", "\n".join(new.lines), buffer=buffer)
            await step.workspace.refuse_unwritable(change)

    done = await until_usable(step, ask, prompt, build, check, form=form, accept=accept)
    new = done.value
    return Written(new.lines, done.problems, done.attempts, done.replies, done.notes, new.at)


def _notes(edited: Replacement) -> list[str]:
    return [*(str(place) for place in edited.places if not place.is_exact), *edited.notes]


def _text(lines: Sequence[str]) -> str:
    return "\n".join(line.removesuffix("\r") for line in lines)
