"""Edit the planned files of `multi_file` one at a time with a model that has no tools."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tideate_core.agents import (
    edit_format,
    first_kept_text,
    is_small,
    or_no_change,
    text_budget,
    text_for_answer,
    why_hidden,
    write_text,
)
from tideate_core.builtin.revising import Rewriting, write_lines
from tideate_core.builtin.surroundings import with_memory
from tideate_core.edits import fence_for
from tideate_core.engine import PartlyRevised
from tideate_core.errors import ContextTooLong, TideateError, UnusableAnswer, WorkspaceError
from tideate_core.workflows import Declined
from tideate_core.workspace import FileChange, is_test, language_of, unified_diff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.agents import PlannedFile
    from tideate_core.engine import Feedback
    from tideate_core.workflows import StepContext
    from tideate_core.workspace import Source

NOT_WRITTEN = "the model writes no text here: remove the comment, and accept or reject the change"
INDEXES = frozenset({"__init__", "index", "mod"})
"""Stems of files that are imported under their folder's name."""
WORD = re.compile(r"[\w-]+")
MOST_SHOWN = 60_000
"""Characters of the other files' patches in a prompt."""


class PlannedFiles:
    """Editor of a plan's files; each file is one request.

    :param task: the complete request.
    """

    def __init__(self, step: StepContext, task: str, planned: list[PlannedFile]) -> None:
        self._step = step
        self._task = task
        self._planned = planned
        self._written: dict[str, Rewriting] = {}

    async def change(self, file: PlannedFile, done: Sequence[FileChange]) -> FileChange:
        """Return the change of a file.

        :param done: the changes of other files so far.
        :raises UnusableAnswer: the model's answers hold no usable edit.
        :raises ContextTooLong: the file does not fit the model.
        """
        if file.action == "create":
            return FileChange(file.path, "create", None, await self._write(file, done, None))
        if file.action != "modify" and await is_no_text(self._step, file.path):
            return FileChange(file.path, file.action, None, None, move_to=file.move_to)
        async with text_for_answer(self._step, file.path) as source:
            return await self._change_of(file, done, source)

    async def _change_of(self, file: PlannedFile, done: Sequence[FileChange], source: Source) -> FileChange:
        text = source.text
        change = partial(FileChange, file.path, file.action, text, buffer=source.buffer, tick=source.tick)
        if file.action == "delete":
            return change(None)
        if file.action == "move":
            return change(text, move_to=file.move_to)
        budget = text_budget(self._step)
        if budget is not None and len(text) > budget:
            raise ContextTooLong(f"{file.path} does not fit this model")
        return change(await self._write(file, done, text))

    async def revise(self, changes: Sequence[FileChange], feedback: Feedback) -> list[FileChange]:
        """Rewrite the changed files that have comments, and return all changes.

        :raises PartlyRevised: some files could not be rewritten; the error has the resulting changes.
        :raises TideateError: no file could be rewritten.
        """
        made: dict[str, FileChange] = {}
        failed: dict[str, str] = {}
        stopped: TideateError | None = None
        for change in changes:
            written, about = self._written.get(change.path), feedback.about(change.path)
            if written is None or not about.count:
                continue
            try:
                if stopped is not None:
                    raise stopped
                made[change.path] = replace(change, after="\n".join(await written.again(about)))
            except TideateError as error:
                failed[change.path] = str(error)
                if not isinstance(error, UnusableAnswer | ContextTooLong):
                    stopped = error  # every other file would fail, too
        unheard = bool(failed)
        failed |= self._not_written(changes, feedback)
        if not made:
            raise UnusableAnswer("; ".join(f"{path}: {why}" for path, why in failed.items()) or NOT_WRITTEN)
        now = [made.get(change.path, change) for change in changes]
        if failed:
            raise PartlyRevised(now, failed, unheard=unheard)
        return now

    def _not_written(self, changes: Sequence[FileChange], feedback: Feedback) -> dict[str, str]:
        """Return the commented files without a text from the model, with the reason."""
        said = {comment.path for comment in feedback.comments if comment.text}
        paths = [change.path for change in changes if change.path not in self._written]
        return {path: NOT_WRITTEN for path in paths if path in said}

    async def _write(self, file: PlannedFile, done: Sequence[FileChange], before: str | None) -> str:
        step, language = self._step, language_of(file.path)
        form = edit_format(before, small=is_small(step))
        if before is not None:
            form = or_no_change(form)
        shown = self._shown(done, len(before or ""))
        prompt = step.render(
            "multi_file_write",
            prompt=self._task,
            path=file.path,
            why=file.why,
            plan=self._planned,
            language=language,
            text=before,
            done=shown,
            fence=fence_for(before or "", shown),
            answer_format=form.instructions,
        )

        ask = partial(step.ask, quiet=True)
        write = partial(write_text, step, ask, before=before, language=language, path=file.path, form=form)
        try:
            prompt = await with_memory(step, prompt, paths=[file.path])
            lines, self._written[file.path] = await write_lines(step, write, prompt)
        except UnusableAnswer as error:
            raise UnusableAnswer(f"{file.path}: {error}") from error
        return "\n".join(lines)

    def _shown(self, done: Sequence[FileChange], beside: int) -> str:
        """Return the latest edits of other files as a patch, as many as fit.

        :param beside: characters of the file to edit.
        """
        budget = text_budget(self._step)
        left = MOST_SHOWN if budget is None else min(MOST_SHOWN, (budget - beside) // 2)
        patches: list[str] = []
        for change in reversed(done):
            patch = unified_diff(change)
            left -= len(patch)
            if left < 0:
                break
            patches.insert(0, patch)
        return "".join(patches).rstrip("\n")


async def is_no_text(step: StepContext, path: str) -> bool:
    """Tell whether a path is a regular file that cannot be read as text."""
    try:
        await step.workspace.read(path)
    except WorkspaceError:
        return await asyncio.to_thread(step.workspace.is_regular_file, path)
    return False


async def ask_about_secrets(step: StepContext, planned: list[PlannedFile]) -> None:
    """Ask whether the model may see planned files that may hold secrets.

    :raises Declined: the model may not see a file.
    """
    for file in planned:
        if file.action != "modify":
            continue
        real = step.workspace.name_of(step.workspace.resolve(file.path))
        kept = first_kept_text(step, file.path)
        text = (await step.workspace.read(file.path)).text if kept is None else kept
        if why := await why_hidden(step, real, text):
            raise Declined(f"{file.path}: {why}, and no person agreed to send it to the model")


async def in_order(step: StepContext, files: list[PlannedFile]) -> list[PlannedFile]:
    """Order files after the files they mention, tests last, otherwise as planned.

    After a crash the recorded order is used, because prompts depend on it.
    """
    by_path = {file.path: file for file in files}

    async def paths() -> list[str]:
        return [file.path for file in await _in_order(step, files)]

    key = step.numbered(f"order:{step.attempt}")
    return [by_path[path] for path in await step.choose_once(key, " ".join(by_path), paths)]


async def _in_order(step: StepContext, files: list[PlannedFile]) -> list[PlannedFile]:
    words: dict[str, set[str]] = {}
    for file in files:
        is_read = file.action != "create" and not await is_no_text(step, file.path)
        text = (await step.workspace.read(file.path)).text if is_read else ""
        words[file.path] = set(WORD.findall(f"{file.why}\n{text}"))

    def uses_another(file: PlannedFile, left: list[PlannedFile]) -> bool:
        return any(_module(one) in words[file.path] for one in left if one is not file)

    ordered: list[PlannedFile] = []
    for tests in (False, True):
        left = [file for file in files if is_test(file.path) is tests]
        while left:  # of a cycle the first file is taken
            ordered.append(next((file for file in left if not uses_another(file, left)), left[0]))
            left.remove(ordered[-1])
    return ordered


def _module(file: PlannedFile) -> str:
    """Return the name under which other files import a file: `b` for `a/b.py`, `a` for `a/__init__.py`."""
    path = PurePosixPath(file.move_to or file.path)
    return path.parent.name if path.stem in INDEXES else path.stem
