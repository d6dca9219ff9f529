"""Resolution of a model's answer to file changes in memory; the `Workspace` writes them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tideate_core.edits.fences import is_fence
from tideate_core.edits.formats.blocks import NO_BLOCK
from tideate_core.edits.formats.code import extract_code
from tideate_core.edits.formats.detection import read_edits, read_files
from tideate_core.edits.formats.file_edits import checked_path, is_same_file, path_in
from tideate_core.edits.matching.replacement import Location, Replacement, apply_parts, fit_whole
from tideate_core.edits.placeholders import refuse_placeholder
from tideate_core.errors import UnusableAnswer
from tideate_core.workspace import FileChange, language_of, new_name_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tideate_core.edits.formats.file_edits import FileEdit, Part

NO_CHANGE = "NO CHANGE"
"""Answer that leaves a file unchanged, if the prompt allows it."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Changes of an answer, with the location of each part."""

    changes: list[FileChange]
    places: list[Location]


def says_no_change(answer: str) -> bool:
    """Tell whether an answer is the agreed "no change"."""
    return answer.strip(" \t\r\n`*.").upper() == NO_CHANGE


def resolve_text(
    answer: str,
    before: str | None,
    *,
    path: str = "",
    language: str = "",
    form: Literal["any", "whole", "blocks"] = "any",
) -> Replacement:
    """Return one file's new lines from an answer with partial edits or the whole text.

    :param before: the current text, None for a new file.
    :param path: the file, for answers that name one.
    :param form: the requested form; other forms are accepted too, but not unfenced prose as text.
    :raises UnusableAnswer: the answer has no usable edit, or edits another file.
    """
    edits = read_edits(answer, known=before or "", language=language)
    if not edits:
        try:
            return _resolve_whole(_without_name(answer, path), before, language, fenced=form != "any")
        except UnusableAnswer as error:
            if form == "blocks":
                raise UnusableAnswer(NO_BLOCK) from error
            raise
    for edit in edits:
        _refuse_other(edit, path, exists=before is not None)
    if before is None:
        return Replacement(_new_text(edits, language), [])
    parts = [part for edit in edits for part in edit.parts]
    return apply_parts(before.split("\n"), parts, language=language)


def _resolve_whole(answer: str, before: str | None, language: str, *, fenced: bool) -> Replacement:
    old = None if before is None else before.split("\n")
    code = extract_code(answer, language=language, old=old, fenced=fenced)
    return Replacement(code, []) if old is None else fit_whole(code, old, language)


def resolve_part(
    answer: str, lines: Sequence[str], *, whole: str, path: str = "", language: str = ""
) -> Replacement | None:
    """Return the new text of these lines from an answer with partial edits; None if there are none.

    :param whole: the surrounding text; format marks that it contains are ignored.
    """
    edits = read_edits(answer, known=whole, language=language)
    for edit in edits:
        _refuse_other(edit, path, exists=True)
    parts = [part for edit in edits for part in edit.parts]
    return apply_parts(lines, parts, language=language) if edits else None


def resolve_files(answer: str, read: Callable[[str], str | None]) -> Resolution:
    """Return the changes of all files that an answer edits, or fail as a whole.

    :param read: returns a file's text, None for a missing file.
    :raises UnusableAnswer: a change cannot be made.
    """
    edits = read_edits(answer) or read_files(answer)
    changes: list[FileChange] = []
    places: list[Location] = []
    for edit in _join_by_file(edits):
        try:
            change, found = _change_of(edit, read)
        except UnusableAnswer as error:
            raise UnusableAnswer(f"{edit.path}: {error}") from error
        changes.append(change)
        places += found
    _refuse_clashes(changes)
    return Resolution(changes, places)


def _without_name(answer: str, path: str) -> str:
    """Remove a line above the fence that names the file: it would become part of a prose text."""
    first, _, rest = answer.lstrip().partition("\n")
    named = path_in(first)
    if not named or not is_fence(rest.lstrip("\n").partition("\n")[0]):
        return answer
    if path and not is_same_file(named, path):
        raise UnusableAnswer(f"it edits {named}, but only {path} is to be changed now")
    return rest


def _refuse_other(edit: FileEdit, path: str, *, exists: bool) -> None:
    if edit.path and path and not is_same_file(edit.path, path):
        raise UnusableAnswer(f"it edits {edit.path}, but only {path} is to be changed now")
    wanted = "modify" if exists else "create"
    if edit.action != wanted and not (edit.action == "modify" and not exists):
        raise UnusableAnswer(f"it is to {wanted} {path or 'the file'}, not to {edit.action} it")


def _new_text(edits: Sequence[FileEdit], language: str) -> list[str]:
    """Return a new file's lines from a patch that adds it, or from blocks with an empty search."""
    text: list[str] = []
    for edit in edits:
        text += edit.text or apply_parts([""], edit.parts, language=language).lines
    refuse_placeholder(text, (), language)
    return text


def _join_by_file(edits: Sequence[FileEdit]) -> list[FileEdit]:
    """Join the edits of each file, and reject incompatible ones."""
    found: dict[str, FileEdit] = {}
    parts: dict[str, list[Part]] = {}
    for given in edits:
        target = None if given.move_to is None else checked_path(given.move_to)
        edit = replace(given, path=checked_path(given.path), move_to=target)
        before = found.get(edit.path)
        if before is None:
            found[edit.path], parts[edit.path] = edit, list(edit.parts)
        elif edit.parts and before.parts and edit.action == "modify":
            parts[edit.path] += edit.parts
        else:
            raise UnusableAnswer(f"it has two edits of {edit.path} that cannot go together; make one of them")
    return [replace(edit, parts=tuple(parts[path])) for path, edit in found.items()]


def _change_of(edit: FileEdit, read: Callable[[str], str | None]) -> tuple[FileChange, list[Location]]:
    before = read(edit.path)
    language = language_of(edit.path)
    _refuse_wrong_name(edit.move_to or "")
    if before is None and edit.action == "modify" and edit.parts and all(map(_only_adds, edit.parts)):
        _refuse_wrong_name(edit.path)
        return FileChange(edit.path, "create", None, "\n".join(_new_text([edit], language))), []
    if edit.action == "create" or (before is None and edit.text is not None):
        if before is not None:
            raise UnusableAnswer("it exists already; change it in place of adding it")
        _refuse_wrong_name(edit.path)
        text = list(edit.text or ())
        refuse_placeholder(text, (), language)
        return FileChange(edit.path, "create", None, "\n".join(text)), []
    if before is None:
        raise UnusableAnswer("there is no such file; name one that exists, or add it as a new one")
    if edit.action == "delete":
        return FileChange(edit.path, "delete", before, None), []
    done = _rewrite(edit, before.split("\n"), language)
    after = "\n".join(done.lines)
    return FileChange(edit.path, edit.action, before, after, move_to=edit.move_to), done.places


def _refuse_wrong_name(new: str) -> None:
    if wrong := new_name_problem(new):
        raise UnusableAnswer(f"{new!r} is not a name for a new file: {wrong}")


def _only_adds(part: Part) -> bool:
    """Tell whether a part searches for nothing, as in a block that creates a file."""
    return all(not any(line.strip() for line in old) for old, _ in part.readings)


def _rewrite(edit: FileEdit, old: list[str], language: str) -> Replacement:
    if edit.text is None:
        return apply_parts(old, edit.parts, language=language)
    refuse_placeholder(edit.text, old, language)
    return fit_whole(edit.text, old, language)


def _refuse_clashes(changes: Sequence[FileChange]) -> None:
    taken = Counter(path for change in changes for path in (change.path, change.move_to) if path)
    twice = next((path for path, count in taken.items() if count > 1), None)
    if twice is not None:
        raise UnusableAnswer(f"{twice} is named by two changes; make one of them")
