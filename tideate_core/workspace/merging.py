"""Three-way merge of another program's changes with the current files and buffers, as reviewable changes."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tideate_core.errors import NotText, OutsideRoot, WorkspaceError
from tideate_core.workspace.changes import FileChange, apply_hunks, diff_lines, lines_of, merge_hunks
from tideate_core.workspace.documents import Document
from tideate_core.workspace.file_images import ABSENT, FileImage, FileState, read_image_nofollow
from tideate_core.workspace.image_changes import change_between, document_of, style_of
from tideate_core.workspace.patches import find_moves

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tideate_core.workspace.changes import Hunk, OutsideChanges
    from tideate_core.workspace.workspace import Workspace

MOST_MOVES = 1000
"""Maximum number of removed and created files to compare for moves with edits."""


@dataclass(frozen=True, slots=True)
class MergedChanges:
    """Changes of another program, for the files as they are now."""

    changes: list[FileChange]
    left: dict[str, str]
    """Changed paths that cannot be landed, with the reason."""


@dataclass(frozen=True, slots=True)
class _Now:
    """Current state of a path; an unsaved buffer's text counts as the file's."""

    image: FileImage
    unsaved: bool = False


async def merge_outside_changes(
    workspace: Workspace, changes: OutsideChanges, moved: Mapping[str, str], left: Mapping[str, str]
) -> MergedChanges:
    """Merge changes between two known states with the current files and unsaved buffers.

    Changes that both sides made are left out. Overlapping changes of a text are conflict hunks, other
    contradictions are conflicts as a whole.

    :param moved: new path → old path of files moved without an edit.
    :param left: changed paths without images, with the reason.
    :raises WorkspaceError: a current file cannot be read.
    """
    others = dict(left)
    names = [*changes.files, *(path for path in changes.modes if path not in changes.files)]
    places: dict[str, Path] = {}
    for path in names:
        try:
            path.encode()
            places[path] = workspace.lexical(path)
        except UnicodeEncodeError:
            others[path] = "its name is not UTF-8"
        except OutsideRoot as error:
            others[path] = str(error)
    if workspace.buffers is not None and places:
        # a buffer without changes follows its file
        await workspace.buffers.changed_on_disk([*places.values()])
    now, unreadable = await asyncio.to_thread(_read, places)
    others |= unreadable
    await _lay_buffers(workspace, now)
    merge = _Merge(changes, moved, now, others)
    return await asyncio.to_thread(merge.result)


def _read(places: Mapping[str, Path]) -> tuple[dict[str, _Now], dict[str, str]]:
    now: dict[str, _Now] = {}
    unreadable: dict[str, str] = {}
    for path, place in places.items():
        try:
            now[path] = _Now(read_image_nofollow(place))
        except OSError as error:
            unreadable[path] = f"cannot be read: {error.strerror}"
    return now, unreadable


async def _lay_buffers(workspace: Workspace, now: dict[str, _Now]) -> None:
    unsaved = set(await workspace.unsaved_files())
    for path in [*now] if unsaved else ():
        with contextlib.suppress(OutsideRoot):  # a link leads outside: its own image counts
            if workspace.name_of(workspace.resolve(path)) in unsaved:
                text = (await workspace.read(path)).text
                now[path] = _Now(_with_text(now[path].image, text), unsaved=True)


async def unsaved_images(workspace: Workspace) -> dict[str, FileImage]:
    """Return the texts of unsaved buffers as images of their files."""
    images = {}
    for path in await workspace.unsaved_files():
        image = await asyncio.to_thread(read_image_nofollow, workspace.resolve(path))
        images[path] = _with_text(image, (await workspace.read(path)).text)
    return images


def _with_text(image: FileImage, text: str) -> FileImage:
    """Return a file's image with a buffer's text, in the style of the file."""
    try:
        return FileImage.of_file(Document.decode(image.data).encode(text), image.state.mode or 0o644)
    except NotText:
        return FileImage.of_file(text.encode("utf-8", "surrogatepass"), image.state.mode or 0o644)


class _Merge:
    def __init__(
        self,
        changes: OutsideChanges,
        moved: Mapping[str, str],
        now: Mapping[str, _Now],
        left: dict[str, str],
    ) -> None:
        self._files = {path: images for path, images in changes.files.items() if path in now}
        self._modes, self._made = changes.modes, changes.made
        self._now, self._left = now, left
        self._moved = {new: old for new, old in moved.items() if {new, old} <= self._files.keys()}

    def result(self) -> MergedChanges:
        changes: list[FileChange] = []
        done: set[str] = set()
        for new, old in {**self._moved, **self._edited_moves()}.items():
            if (move := self._move(old, new)) is not None:
                changes.append(move)
                done |= {old, new}
        for path, (base, ours) in self._files.items():
            if path not in done and (change := merged_file(path, base, ours, self._now[path])) is not None:
                changes.append(change)
                self._name_line_ends(change, base, ours)
        for path, modes in self._modes.items():
            if (mode := self._mode(path, *modes)) is not None:
                changes.append(mode)
        self._name_directories()
        return MergedChanges(changes, dict(sorted(self._left.items())))

    def _edited_moves(self) -> dict[str, str]:
        known = {*self._moved, *self._moved.values()}
        rest = {path: images for path, images in self._files.items() if path not in known}
        gone = {path: base for path, (base, ours) in rest.items() if _is_gone(base, ours)}
        came = {path: ours for path, (base, ours) in rest.items() if _is_gone(ours, base)}
        if len(gone) > MOST_MOVES or len(came) > MOST_MOVES:
            return {}
        with contextlib.suppress(WorkspaceError):  # without git there are only moves without an edit
            return find_moves(gone, came)
        return {}

    def _move(self, old: str, new: str) -> FileChange | None:
        """Return a move of the current file; None if only a deletion and a new file can be shown."""
        base, ours, now = self._files[old][0], self._files[new][1], self._now[old]
        if self._now[new].image.state != ABSENT or now.image.state.kind != "file":
            return None
        if now.image.state.holds_same_as(base.state) and not now.unsaved:
            return change_between(new, old, base, ours)
        text = document_of(now.image)
        if base.state.holds_same_as(ours.state):
            same = None if text is None else text.text
            return FileChange(old, "move", same, same, move_to=new)
        before, after = document_of(base), document_of(ours)
        if text is None or before is None or after is None or style_of(before) != style_of(after):
            return None
        hunks = merge_hunks(before.text, text.text, after.text)
        if any(hunk.conflict for hunk in hunks):
            return None
        merged = "\n".join(apply_hunks(lines_of(text.text), hunks))
        return FileChange(old, "move", text.text, merged, move_to=new)

    def _mode(self, path: str, base: int, ours: int) -> FileChange | None:
        now = self._now.get(path)
        if now is None or now.image.state.kind != "file":
            if now is not None and now.image.state.kind == "directory":
                self._left[path] = "the permissions of a directory do not land"
            return None
        if now.image.state.mode == ours:
            return None
        images = (
            FileImage(FileState("file", "", now.image.state.mode)),
            FileImage(FileState("file", "", ours)),
        )
        conflict = now.image.state.mode != base
        return FileChange(path, "modify", None, None, images=images, conflict=conflict)

    def _name_line_ends(self, change: FileChange, base: FileImage, ours: FileImage) -> None:
        before, after = document_of(base), document_of(ours)
        if change.exact or before is None or after is None or not _converts(before, after):
            return
        self._left[change.path] = "the program also changed the line ends; land again to review these"

    def _name_directories(self) -> None:
        created = {path for path, (_, ours) in self._files.items() if ours.state != ABSENT}
        filled = {str(parent) for path in created for parent in PurePosixPath(path).parents}
        for path in self._made:
            if path not in filled and not any(left.startswith(f"{path}/") for left in self._left):
                self._left[path] = "is an empty directory"


def _is_gone(before: FileImage, after: FileImage) -> bool:
    return before.state.kind == "file" and bool(before.data) and after.state == ABSENT


def merged_file(path: str, base: FileImage, ours: FileImage, now: _Now) -> FileChange | None:
    """Return the change of a file from `now` to a merge with `ours`; None if `now` has the change already."""
    image = now.image
    if image.state.kind == "directory":
        image = FileImage(ABSENT)
    if image.state.holds_same_as(ours.state):
        return None
    texts = document_of(image), document_of(ours)
    before = Document() if base.state == ABSENT else document_of(base)
    if texts[0] is None or texts[1] is None or before is None:
        if image.state.holds_same_as(base.state) and not now.unsaved:
            return _plain(change_between(path, None, image, ours))
        return _whole_conflict(path, image, ours)
    if image.state.holds_same_as(base.state) and not (now.unsaved or _converts(before, texts[1])):
        return change_between(path, None, image, ours)
    return _merged_text(path, base, (before, texts[0], texts[1]), (image, ours), unsaved=now.unsaved)


def _converts(before: Document, after: Document) -> bool:
    """Return whether a change of a text also converts its line ends, which would hide its other lines."""
    return bool(before.text and after.text) and before.newline != after.newline


def _plain(change: FileChange) -> FileChange:
    """Return a change with lines for a new text file that the default style and mode describe."""
    if change.action != "create" or change.images is None or change.after is None:
        return change
    image = change.images[1]
    is_default = image.state.mode & 0o111 == 0 and image.state.mode & 0o044
    if is_default and Document().encode(change.after) == image.data:
        return replace(change, images=None)
    return change


def _whole_conflict(path: str, image: FileImage, ours: FileImage) -> FileChange:
    texts = [None if document is None else document.text for document in map(document_of, (image, ours))]
    if image.state == ABSENT:
        return FileChange(path, "create", None, texts[1], images=(image, ours), conflict=True)
    if ours.state == ABSENT:
        return FileChange(path, "delete", texts[0], None, images=(image, ours), conflict=True)
    return FileChange(path, "modify", None, None, images=(image, ours), conflict=True)


def _merged_text(
    path: str,
    base: FileImage,
    documents: tuple[Document, Document, Document],
    images: tuple[FileImage, FileImage],
    *,
    unsaved: bool,
) -> FileChange | None:
    """Merge texts; current line ends stay unless the other program changed them."""
    before, current, ours = documents
    is_new = base.state == ABSENT
    exact = not is_new and not (before.text and ours.text and style_of(before) == style_of(ours))
    has_lines = ours.text == current.text
    if not is_new and _converts(before, ours) and ours.text != before.text and not has_lines:
        exact = False  # the line ends are a change of their own, after the lines
    if unsaved and (before.newline, before.bom) == (ours.newline, ours.bom):
        exact = False  # a buffer does not hold the last line end
    texts = [before.text, current.text, ours.text]
    if exact:
        texts = [image.data.decode() for image in (base, *images)]
    if is_new or has_lines:
        conflict = is_new or style_of(current) != style_of(before)
        found = diff_lines(lines_of(texts[1]), lines_of(texts[2]))
        hunks: list[Hunk] = [replace(hunk, conflict=conflict) for hunk in found]
    else:
        hunks = merge_hunks(*texts)
    if not hunks:
        return None
    after = "\n".join(apply_hunks(lines_of(texts[1]), hunks))
    return FileChange(path, "modify", texts[1], after, exact=exact, parts=tuple(hunks))
