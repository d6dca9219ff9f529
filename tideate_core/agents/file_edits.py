"""Edits of several files from one answer: ask, resolve, reject edits out of bounds, stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from tideate_core.agents.attempts import Draft, until_usable
from tideate_core.agents.coder import EditFormat, edit_format
from tideate_core.agents.model_input import is_small, text_budget
from tideate_core.agents.staged_files import shown_of
from tideate_core.agents.tools.edit_report import new_problems
from tideate_core.edits import is_fence, path_in, resolve_files, resolve_text, says_no_change
from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import FileChange, language_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tideate_core.agents.stage import Stage
    from tideate_core.agents.staged_files import StagedFiles
    from tideate_core.workflows import StepContext

_WHOLE: Final = (
    "For each file that you change or create you write its path on a line of its own, below it a fenced code "
    "block that holds the complete new text of the file, with nothing left out, and nothing else. Files that "
    "stay as they are you leave out."
)
_LONGER_FENCE: Final = " Begin and end each of these blocks with four backticks (````)."
_BLOCKS: Final = (
    "You answer only with search/replace blocks, one for each change, each below a line with the path of its "
    "file, in this form:\n\n"
    "path/of/file\n<<<<<<< SEARCH\nlines of the file, copied exactly\n=======\nthe lines that replace them\n"
    ">>>>>>> REPLACE\n\n"
    "The searched lines must be whole lines and stand only once in the file: add lines around them until "
    "they do. Leave nothing out inside a block. A new file is one block that searches nothing."
)


MOST_AT_ONCE: Final = 12
"""Files per answer: longer answers tend to be cut off."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Bounds of an answer with edits.

    :param files: files that may be changed or created; all must be loaded.
    :param wanted: files that must exist afterwards.
    :param removable: files that may be deleted, moved or emptied.
    :param look_at: called with each answer first; an exception that it raises ends the questions.
    """

    files: tuple[str, ...]
    wanted: tuple[str, ...] = ()
    removable: frozenset[str] = frozenset()
    look_at: Callable[[str], None] | None = None


@dataclass(frozen=True, slots=True)
class Edited:
    """The outcome of an answer with staged edits."""

    notes: list[str]
    """Notes on inexact matches and on new syntax errors."""
    no_change: bool
    """The model answered that nothing has to change."""


def can_be_named(path: str) -> bool:
    """Return whether a path is recognised on the line above a block; `Makefile` and `a file.py` are not."""
    return path_in(path) == path


def fit_together(step: StepContext, staged: StagedFiles, files: Sequence[str]) -> bool:
    """Return whether one answer can hold the edits of all files."""
    together = len(files) <= MOST_AT_ONCE and all(map(can_be_named, files))
    if len(files) > 1 and (is_small(step) or not together):
        return False
    size = sum(len(staged.text(path) or "") for path in files)
    return size <= (text_budget(step) or float("inf"))


def files_format(texts: Sequence[str | None], *, small: bool) -> EditFormat:
    """Return the answer format for files: all rewritten if each is short, else search/replace blocks."""
    formats = [edit_format(text, small=small) for text in texts]
    if len(formats) == 1:
        return formats[0]
    if any(each.name == "blocks" for each in formats):
        return EditFormat("blocks", _BLOCKS, "search/replace blocks, each below its file's path")
    nested = any(is_fence(line) for text in texts for line in (text or "").split("\n"))
    short = "a fenced code block for each file, below its path"
    return EditFormat("whole", _WHOLE + (_LONGER_FENCE if nested else ""), short)


async def edit_files(stage: Stage, template: str, staged: StagedFiles, edit: Edit, **values: Any) -> Edited:
    """Ask for edits of files and stage them.

    Edits that still bring syntax errors after all attempts are staged too; the next gate reports them.

    :param template: name of the prompt.
    :param values: values of the prompt beside the files and the answer format.
    :raises UnusableAnswer: no attempt gave edits within the bounds.
    """
    shown = shown_of(staged, edit.files)
    texts = [file.text for file in shown]
    form = files_format(texts, small=is_small(stage.step))
    prompt = stage.render(template, files=shown, answer_format=form.instructions, **values)

    def build(answer: str) -> Draft[list[FileChange]]:
        if edit.look_at is not None:
            edit.look_at(answer)
        if says_no_change(answer) and not edit.wanted:
            return Draft([])
        draft = _resolve(answer, staged, edit, form.name)
        _check_bounds(draft.value, staged, edit)
        return draft

    async def accept(changes: list[FileChange]) -> None:
        for change in changes:
            await stage.step.workspace.refuse_unwritable(change)

    done = await until_usable(
        stage.step, stage.ask, prompt, build, new_problems, form=form.short, accept=accept
    )
    staged.stage(done.value)
    notes = [*done.notes, *(f"{problem} is new" for problem in done.problems)]
    return Edited(notes, not done.value and says_no_change(done.replies[-1].text))


def _resolve(
    answer: str, staged: StagedFiles, edit: Edit, form: Literal["whole", "blocks"]
) -> Draft[list[FileChange]]:
    if len(edit.files) > 1:
        return _resolve_several(answer, staged)
    path = edit.files[0]
    before = staged.text(path)
    try:
        edited = resolve_text(answer, before, path=path, language=language_of(path), form=form)
    except UnusableAnswer as error:
        try:
            return _resolve_several(answer, staged)  # a patch that deletes or moves it
        except UnusableAnswer:
            raise UnusableAnswer(f"{path}: {error}") from error
    places = [str(place) for place in edited.places if not place.is_exact]
    after = "\n".join(edited.lines)
    change = FileChange(path, "create" if before is None else "modify", before, after)
    return Draft([change], [f"{path}: {note}" for note in (*places, *edited.notes)])


def _resolve_several(answer: str, staged: StagedFiles) -> Draft[list[FileChange]]:
    resolved = resolve_files(answer, staged.text)
    notes = [str(place) for place in resolved.places if not place.is_exact]
    return Draft(resolved.changes, notes)


def _check_bounds(changes: Sequence[FileChange], staged: StagedFiles, edit: Edit) -> None:
    """Reject edits outside the bounds."""
    for change in changes:
        _check_paths(change, staged, edit)
        if removes(change) and change.path not in edit.removable:
            raise UnusableAnswer(f"{change.path} may not be deleted, moved or emptied now; change it")
    there = {change.move_to or change.path for change in changes if change.after is not None}
    missing = [path for path in edit.wanted if path not in there and staged.text(path) is None]
    if missing:
        raise UnusableAnswer(
            f"it leaves out {', '.join(missing)}, which the plan creates; answer with all files"
        )


def removes(change: FileChange) -> bool:
    """Return whether a change deletes, moves or empties a file."""
    emptied = change.action == "modify" and not (change.after or "").strip() and bool(change.before)
    return emptied or change.action in {"delete", "move"}


def _check_paths(change: FileChange, staged: StagedFiles, edit: Edit) -> None:
    for path in (change.path, change.move_to):
        if path is not None and path not in edit.files:
            raise UnusableAnswer(
                f"{path} may not be changed now; the files that may are {', '.join(edit.files)}"
            )
    if change.move_to is not None and staged.text(change.move_to) is not None:
        raise UnusableAnswer(f"{change.path}: {change.move_to} exists already")
