"""Step handlers of `chat` (a turn of a conversation) and `apply` (a code block for a file)."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.agents import RememberedModel, StagedFiles, editing_model, is_small, may_look
from tideate_core.builtin.agent import work
from tideate_core.builtin.buffer_workflows import question, text_of
from tideate_core.builtin.surroundings import ask_about_secrets, diagnostics
from tideate_core.edits import fence_for, find_placeholder, fit_to_range, resolve_part, resolve_text
from tideate_core.engine import Subject, before, review_and_apply, revision_prompt, write_changes
from tideate_core.errors import InvalidInput, NotParsed, UnusableAnswer
from tideate_core.workspace import FileChange, language_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.engine import Feedback
    from tideate_core.mentions import Definition
    from tideate_core.workflows import EarlierRun, StepContext

IMPORTS: Final = re.compile(
    r"(?:from|import|use|#include|using|require|local \w+ = require|const .* = require)\b"
)
MOSTLY: Final = 0.5
"""Minimum share of a file's lines in a block that replaces the whole file."""


async def reply(step: StepContext) -> dict[str, Any]:
    """Answer a message, then review staged edits; a declined review keeps the answer.

    An agent answers in a guarded copy with its own tools.
    """
    if step.agent() is not None:
        return await work(step)
    subject = Subject.of(step.context)
    subject = subject if subject and subject.selected else None
    await ask_about_secrets(step, subject)
    earlier, small = await step.earlier(), is_small(step)
    conversation = earlier.conversation if earlier else None
    found = diagnostics(step.context, subject) if subject and not small else []
    asked = await question(
        step,
        "ask",
        subject,
        rules=earlier is None,
        cursor=None,
        diagnostics=found,
        tools=may_look(step),
    )
    rendered = step.render("chat", tools=may_look(step), **_outcome(earlier))
    asked = before(asked, rendered.user.strip())
    staged = StagedFiles()
    if not may_look(step):
        if not small:
            asked = replace(asked, system=f"{asked.system}\n\n{rendered.system}")
        answer = await RememberedModel(step, conversation).ask(asked)
        return {"response": text_of(step, answer), "files": []}
    model = await editing_model(step, "chat", staged, earlier=conversation, words=rendered.system)
    said = [text_of(step, await model.ask(asked))]

    async def revise(feedback: Feedback) -> list[FileChange]:
        said.append(text_of(step, await model.ask(revision_prompt(step, feedback, staged=True))))
        return await step.workspace.attach(staged.changes())

    changes = await step.workspace.attach(staged.changes())
    written = await review_and_apply(step, changes, revise) if changes else []
    paths = [change.move_to or change.path for change in written]
    return {"response": "\n\n".join(filter(None, said)), "files": paths}


def _outcome(earlier: EarlierRun | None) -> dict[str, list[str]]:
    """Sort the files edited by the last turn into written and declined ones."""
    if earlier is None:
        return {"written": [], "declined": []}
    results = (result for result in earlier.results.values() if isinstance(result, dict))
    written = [path for result in results for path in result.get("files") or ()]
    edited = [change.move_to or change.path for change in earlier.staged]
    kept = [path for path in edited if path in written]
    return {"written": kept, "declined": [path for path in edited if path not in written]}


async def place(step: StepContext) -> dict[str, Any]:
    """Put a block into its file after a review; a new file named by the person needs none."""
    workspace, how = step.workspace, step.inputs["how"]
    code = str(step.inputs["text"]).replace("\r\n", "\n").removesuffix("\n")
    path = workspace.name_of(workspace.resolve(str(step.inputs["path"])))
    text = (await workspace.read(path)).text if workspace.entry(path).exists() else None
    if how == "create" and text is not None:
        raise InvalidInput(f"{path} exists already; name another file, or replace it")
    after = code if how != "place" or text is None else await asyncio.to_thread(place_block, code, text, path)
    changes = await workspace.attach([FileChange(path, "create" if text is None else "modify", text, after)])
    if how == "create":
        await write_changes(step, changes)
        return {"response": after, "files": [path]}
    written = await review_and_apply(step, changes)
    result: dict[str, Any] = {"response": after, "files": [one.path for one in written]}
    return result if written else {**result, "unchanged": True}


def place_block(code: str, text: str, path: str) -> str:
    """Return a file's text with a code block put in; blocking.

    A diff or search/replace is applied. Otherwise, the block's definitions replace those with the same names,
    or the block replaces the lines from its first to its last line if it repeats most of them, or the whole
    file.

    :raises UnusableAnswer: the block has no clear place, or leaves out lines of a definition.
    """
    if not code.strip():
        raise UnusableAnswer("the block is empty")
    if not text.strip():
        return code
    language, fence = language_of(path), fence_for(code)
    lines, block = text.split("\n"), code.split("\n")
    answer = f"{fence}{language}\n{code}\n{fence}"
    placed = resolve_part(answer, lines, whole=text, path=path, language=language)
    if placed is not None:
        return "\n".join(placed.lines)
    if _is_whole(block, lines) and find_placeholder(block, lines, language) is None:
        return "\n".join(resolve_text(answer, text, path=path, language=language, form="whole").lines)
    found = _at_definitions(block, lines, path) or _between_edges(block, lines)
    if found is None:
        raise UnusableAnswer(
            f"the block has no clear place in {path}: the file has neither its definitions nor its first "
            "and last line; ask for a diff, or copy the block"
        )
    return "\n".join(found)


def _is_whole(block: Sequence[str], lines: Sequence[str]) -> bool:
    """Tell whether a block begins as the file does and repeats most of its lines."""
    given, there = ([line.strip() for line in each if line.strip()] for each in (block, lines))
    return bool(given and there) and (
        given[0] == there[0] and sum(line in set(given) for line in there) >= MOSTLY * len(there)
    )


def _at_definitions(block: Sequence[str], lines: Sequence[str], path: str) -> list[str] | None:
    """Replace the file's definitions by the block's definitions of the same names.

    A new definition follows its predecessor in the block, or precedes the first one that the file has.
    Missing imports go below the file's own. None if the block has another statement, or no definition of the
    file.
    """
    from tideate_core.mentions import definitions_in

    try:
        there = definitions_in("\n".join(lines), path)
        pieces, rest = _pieces(block, definitions_in("\n".join(block), path), lines, language_of(path))
    except NotParsed:
        return None
    edits: list[tuple[int, int, list[str]]] = []
    last: int | None = None
    new: list[list[str]] = []
    for one, piece in pieces:
        same = _same(one, there, indented=piece[0][:1].isspace())
        blanks = [""] * (2 if path.endswith(".py") and not piece[0][:1].isspace() else 1)
        if len(same) > 1:
            return None
        if same:
            start, last = _with_head(lines, same[0].line, language_of(path)) - 1, same[0].last
            edits += [(start, start, other) for other in new]
            edits.append((start, last, fit_to_range(piece, lines[start:last])))
            new.clear()
        elif last is None:
            new.append([*piece, *blanks])
        else:
            edits.append((last, last, [*blanks, *piece]))
    missing = [line for line in rest if line not in lines]
    if last is None or not all(IMPORTS.match(line) for line in missing):
        return None
    if missing:
        at = max((at for at, line in enumerate(lines, 1) if IMPORTS.match(line)), default=0)
        edits.append((at, at, missing))
    done = list(lines)
    edits.sort(key=lambda edit: (edit[0], edit[1]))
    for start, end, piece in edits[::-1]:
        done[start:end] = piece
    return done


def _pieces(
    block: Sequence[str], given: Sequence[Definition], lines: Sequence[str], language: str
) -> tuple[list[tuple[Definition, list[str]]], list[str]]:
    """Return a block's definitions with their lines, and its other lines that stand for no omitted ones.

    Of a definition that leaves out lines there are only the definitions within it.

    :raises UnusableAnswer: the innermost definition leaves out lines.
    """
    pieces, covered = [], set[int]()
    for one in given:
        if one.line in covered:
            continue
        first = _with_head(block, one.line, language)
        piece = list(block[first - 1 : one.last])
        if (left_out := find_placeholder(piece, lines, language)) is None:
            covered.update(range(first, one.last + 1))
            pieces.append((one, piece))
        elif not any(one.line < other.line <= one.last for other in given):
            raise UnusableAnswer(
                f"{piece[left_out].strip()!r} in {one.name} stands for lines that the block leaves out; "
                "ask for all of them"
            )
    rest = [line for at, line in enumerate(block, 1) if at not in covered and line.strip()]
    return pieces, [line for line in rest if find_placeholder([line], (), language) is None]


def _same(one: Definition, there: Sequence[Definition], *, indented: bool) -> list[Definition]:
    """Return the definitions of a name; of several, only the ones at the same level."""
    same = [other for other in there if other.name == one.name]
    inside = indented and not one.container  # a method without its class
    level = [
        other for other in same if (bool(other.container) if inside else other.container == one.container)
    ]
    return level if len(same) > 1 and level else same


def _with_head(lines: Sequence[str], first: int, language: str) -> int:
    """Return the first line (from 1) of a definition with its decorators and the comments above it."""
    while (
        first > 1
        and re.match(r"[ \t]*(?:@\w|//|#(?!include)|--|\*|/\*)", lines[first - 2])
        and find_placeholder([lines[first - 2]], (), language) is None
    ):
        first -= 1
    return first


def _between_edges(block: Sequence[str], lines: Sequence[str]) -> list[str] | None:
    """Replace the lines from the block's first to its last line; None if these are not unique."""
    given = [line.strip() for line in block if line.strip()]
    if len(given) < 2:
        return None
    starts, ends = (
        [at for at, line in enumerate(lines) if line.strip() == edge] for edge in (given[0], given[-1])
    )
    if len(starts) != 1 or not (after := [at for at in ends if at > starts[0]]):
        return None
    old = lines[starts[0] : after[0] + 1]
    filled = [at for at, line in enumerate(block) if line.strip()]
    kept = [line.strip() in given for line in old if line.strip()]
    if sum(kept) < MOSTLY * len(kept):
        return None
    return [
        *lines[: starts[0]],
        *fit_to_range(block[filled[0] : filled[-1] + 1], old),
        *lines[after[0] + 1 :],
    ]
