"""Conversion of file image pairs to reviewable changes, and reversal of changes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from tideate_core.errors import NotText
from tideate_core.workspace.changes import FileChange, apply_hunks, lines_of
from tideate_core.workspace.documents import Document
from tideate_core.workspace.file_images import ABSENT, FileImage, FileState

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

LARGEST_TEXT: Final = 2 << 20
"""Largest text with visible lines, in bytes."""


@dataclass(slots=True)
class Difference:
    """Difference between two states of files; paths are relative to the root."""

    files: dict[str, tuple[FileImage, FileImage]] = field(default_factory=dict)
    """Images before and after."""
    modes: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Permission bits before and after, of files that exist on both sides."""
    left: dict[str, str] = field(default_factory=dict)
    """Paths that cannot be compared, with the reason."""


def changes_between(difference: Difference, moved: Mapping[str, str]) -> list[FileChange]:
    """Return the changes sorted by path; a mode change follows the text change of the same file.

    :param moved: new path → old path; both are among the files.
    """
    old = set(moved.values())
    changes: list[FileChange] = []
    for path in sorted({*difference.files, *difference.modes} - old):
        if path in difference.files:
            before, after = difference.files[path]
            if path in moved:
                before = difference.files[moved[path]][0]
            changes.append(change_between(path, moved.get(path), before, after))
        if (modes := difference.modes.get(path)) is not None:
            then, now = (FileImage(FileState("file", "", mode)) for mode in modes)
            changes.append(FileChange(path, "modify", None, None, images=(then, now)))
    return changes


def change_between(path: str, moved_from: str | None, before: FileImage, after: FileImage) -> FileChange:
    """Return the change between two images of a file."""
    then, now = document_of(before), document_of(after)
    texts = None if then is None else then.text, None if now is None else now.text
    images = (before, after)
    if moved_from is not None:
        return FileChange(moved_from, "move", *texts, move_to=path, images=images)
    if before.state == ABSENT:
        return FileChange(path, "create", None, texts[1], images=images)
    if after.state == ABSENT:
        return FileChange(path, "delete", texts[0], None, images=images)
    if then is None or now is None:
        return FileChange(path, "modify", None, None, images=images)
    # an empty text does not show whether the other one ends with a line end
    has_style = then.text and now.text and style_of(then) == style_of(now)
    if has_style and before.data == then.encode() and after.data == now.encode():
        return FileChange(path, "modify", *texts)
    return FileChange(path, "modify", before.data.decode(), after.data.decode(), exact=True)


def document_of(image: FileImage) -> Document | None:
    """Decode a file; None if it cannot be shown as text."""
    if image.state.kind != "file" or len(image.data) > LARGEST_TEXT:
        return None
    try:
        return Document.decode(image.data)
    except NotText:
        return None


def style_of(document: Document) -> tuple[str, bool, bool]:
    """Return the line end, whether the last line has one, and whether the text has a byte order mark."""
    return document.newline, document.final_newline, document.bom


def reversed_change(change: FileChange, rejected: Collection[int]) -> FileChange:
    """Return the reverse of an applied change.

    :param rejected: indexes of the hunks to revert; the others stay. A change without hunks is reverted
        whole.
    """
    if not change.whole:
        kept = set(range(len(change.hunks))).difference(rejected)
        left = "\n".join(apply_hunks(lines_of(change.before), change.hunks, kept))
        return replace(change, before=change.after, after=left)
    before, after = change.images or (None, None)
    images = None if before is None or after is None else (after, before)
    action = {"create": "delete", "delete": "create"}.get(change.action, change.action)
    path, move_to = (change.move_to, change.path) if change.move_to else (change.path, None)
    return replace(
        change,
        path=path,
        action=action,  # type: ignore[arg-type]
        before=change.after,
        after=change.before,
        move_to=move_to,
        images=images,
    )


def image_to_write(after: FileImage, found: FileImage, *, moved: bool) -> tuple[FileImage, bool]:
    """Return an image with its final mode, and whether the mode is that of a new file.

    git's images have only executable bits, others the whole mode. A file that is not moved keeps its mode: a
    new mode is a change of its own.
    """
    if after.state.kind != "file":
        return after, False
    mode = after.state.mode
    if found.state.kind != "file":
        # the directory decides who may use a new file
        return FileImage(after.state, after.data), not mode & 0o600
    kept = found.state.mode
    if not moved:
        mode = kept
    elif not mode & 0o600:
        mode = kept | mode if mode else kept & ~0o111
    return FileImage.of_file(after.data, mode, found.metadata), False


def change_note(change: FileChange) -> str:
    """Describe the part of a change that its texts do not show; empty if there is none."""
    if change.exact:
        return _style_note(Document.decode((change.before or "").encode()), (change.after or "").encode())
    if change.images is None:
        is_bytes = change.action in {"delete", "move"} and change.before is change.after is None
        return "no text; as it is" if is_bytes else ""
    before, after = change.images
    modes = before.state.mode, after.state.mode
    if change.is_of_mode:
        return f"mode {modes[0]:o} → {modes[1]:o}"
    shown = change.after if before.state == ABSENT else change.before
    sides = dict.fromkeys(_side(image) for image in change.images if image.state != ABSENT)
    words = [] if shown is not None else [" → ".join(sides)]
    if change.action == "move" and (modes[0] ^ modes[1]) & 0o100:
        words.append(f"{'' if modes[1] & 0o100 else 'not '}executable")
    elif change.action == "create" and modes[1] & 0o100:
        words.append("executable")
    return ", ".join(words)


def _style_note(then: Document, data: bytes) -> str:
    now = Document.decode(data)
    words = []
    if then.newline != now.newline:
        words.append(f"line ends {_LINE_ENDS[then.newline]} → {_LINE_ENDS[now.newline]}")
    if then.text and now.text and then.final_newline != now.final_newline:
        words.append(
            "the last line end is new" if now.final_newline else "no line end at the end of the file"
        )
    if then.bom != now.bom:
        words.append("a byte order mark is new" if now.bom else "without its byte order mark")
    return ", ".join(words)


_LINE_ENDS: Final = {"\n": "LF", "\r\n": "CRLF"}


def _side(image: FileImage) -> str:
    if image.state.kind == "link":
        return f"link to {image.data.decode(errors='replace')}"
    kind = "text" if len(image.data) > LARGEST_TEXT and b"\0" not in image.data else "binary"
    return f"{kind}, {len(image.data):,} bytes"
