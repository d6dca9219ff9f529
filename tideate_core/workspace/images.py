"""What a record kept of files and buffers, checked against its digests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.errors import NotText, WorkspaceError
from tideate_core.workspace.documents import Document
from tideate_core.workspace.files import ABSENT, FileImage, text_digest
from tideate_core.workspace.journal import MoveEntry

if TYPE_CHECKING:
    from tideate_core.workspace.journal import BufferEntry, FileEntry, Record

__all__ = ["file_before", "image", "kept_text", "text_before", "took_buffer"]


def image(record: Record, entry: FileEntry) -> bytes:
    """Return what a path held before.

    :raises WorkspaceError: the journal is damaged.
    """
    data = record.before(entry)
    if entry.before.kind == "file" and not FileImage.of_file(data, 0).state.holds_same_as(entry.before):
        raise _damaged(record)
    return data


def text_before(record: Record, entry: BufferEntry) -> str:
    """Return what a buffer held before.

    :raises WorkspaceError: the journal is damaged.
    """
    text = record.before(entry).decode("utf-8", "surrogatepass")
    if text_digest(text) != entry.before:
        raise _damaged(record)
    return text


def kept_text(record: Record, entry: BufferEntry) -> str | None:
    """Return what was written to a buffer, None where it was not kept."""
    data = record.after(entry)
    return None if data is None else data.decode("utf-8", "surrogatepass")


def file_before(record: Record, entry: BufferEntry, document: Document, before: str, mode: int) -> FileImage:
    """Return what the file of a buffer held when the buffer had a text, in the style that it has now else.

    :raises NotText: the text cannot be encoded.
    """
    if entry.disk is not None and entry.disk.kind == "absent" and not before:
        return FileImage(ABSENT)
    data = record.disk(entry)
    if data is not None and _text(data) == before:
        return FileImage.of_file(data, mode)
    return FileImage.of_file(document.encode(before), mode)


def took_buffer(record: Record, entry: FileEntry) -> bool:
    """Whether a moved file took its buffer along."""
    return any(isinstance(other, MoveEntry) and other.new == entry.path for other in record.manifest.entries)


def _text(data: bytes) -> str | None:
    try:
        return Document.decode(data).text
    except NotText:
        return None


def _damaged(record: Record) -> WorkspaceError:
    return WorkspaceError(f"{record.directory} is damaged: a pre-image is another one; nothing was restored")
