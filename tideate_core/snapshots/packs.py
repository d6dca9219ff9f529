"""Packs: file contents, each stored once, in compressed frames of one or more contents.

A pack is ``MAGIC``, the frames, an index, and a fixed-size tail with the index's offset and blake3. Packs are
never changed. An unreadable pack counts as missing, so that its contents are stored again.
"""

from __future__ import annotations

import os
import secrets
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from blake3 import blake3

from tideate_core.errors import WorkspaceError
from tideate_core.util.atomic_files import DRAFT_SUFFIX, commit_draft, create_draft
from tideate_core.util.regular_files import open_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, KeysView, Set as AbstractSet
    from pathlib import Path
    from typing import BinaryIO

SUFFIX: Final = ".pack"
MAGIC: Final = b"tideate pack 1\n\0"
_FRAME: Final = struct.Struct("<QQQ")  # offset, compressed and uncompressed length, in bytes
_BLOB: Final = struct.Struct("<IQQ")  # number of the frame, offset and length in it
_TAIL: Final = struct.Struct("<QQQ32s")  # frames, blobs, offset of the index, its blake3
_DIGEST: Final = 32
LEVEL: Final = 1
"""Compression level; higher levels cost more time than they save."""


class BlobPlace(NamedTuple):
    """Place of a content in its pack."""

    frame: int
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Frame:
    """Contents compressed together."""

    data: bytes
    whole: int
    """Uncompressed length."""
    blobs: tuple[tuple[str, int, int], ...]
    """Hash, offset and length of each content."""


def compress_contents(contents: Iterable[tuple[str, bytes]]) -> Frame:
    """Compress contents, given with their hashes, into a frame."""
    import zstandard  # here, because guarded copies use only `digest`

    parts: list[bytes] = []
    blobs: list[tuple[str, int, int]] = []
    offset = 0
    for name, data in contents:
        parts.append(data)
        blobs.append((name, offset, len(data)))
        offset += len(data)
    return Frame(zstandard.ZstdCompressor(level=LEVEL).compress(b"".join(parts)), offset, tuple(blobs))


def digest(data: bytes | memoryview) -> str:
    """Return the blake3 of a content, in hex."""
    return blake3(data).hexdigest()


class Pack:
    """One pack, open for reading.

    :raises WorkspaceError: it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name.removesuffix(SUFFIX)
        try:
            with os.fdopen(open_regular(path), "rb") as file:
                self.frames, self._hashes, self._blobs = _index(file)
        except (OSError, ValueError, struct.error) as error:
            raise WorkspaceError(f"{path} is damaged ({error})") from error
        self._numbers: dict[str, int] | None = None
        self._frame = (-1, b"")

    @property
    def hashes(self) -> KeysView[str]:
        """Hashes of its contents."""
        if self._numbers is None:  # lazy: most snapshots do not need it
            hexes, width = self._hashes.hex(), 2 * _DIGEST
            self._numbers = {hexes[at : at + width]: at // width for at in range(0, len(hexes), width)}
        return self._numbers.keys()

    def place(self, content: str) -> BlobPlace:
        """Return the place of one of its contents."""
        if content not in self.hashes or self._numbers is None:
            raise KeyError(content)
        return BlobPlace(*_BLOB.unpack_from(self._blobs, self._numbers[content] * _BLOB.size))

    def read(self, content: str) -> bytes:
        """Return a content.

        :raises WorkspaceError: it is damaged.
        """
        place = self.place(content)
        whole = self._whole(place.frame)
        data = whole[place.offset : place.offset + place.length]
        if digest(data) != content:
            raise WorkspaceError(f"{self.path} is damaged: a digest does not match; nothing was restored")
        return data

    def compressed(self, number: int) -> bytes:
        """Return a compressed frame.

        :raises WorkspaceError: it cannot be read.
        """
        offset, length, _ = self.frames[number]
        try:
            with os.fdopen(open_regular(self.path), "rb") as file:
                file.seek(offset)
                return file.read(length)
        except OSError as error:
            raise WorkspaceError(f"{self.path} cannot be read: {error.strerror}") from error

    def _whole(self, number: int) -> bytes:
        import zstandard

        if self._frame[0] != number:
            _, _, whole = self.frames[number]
            try:
                data = zstandard.ZstdDecompressor().decompress(self.compressed(number), max_output_size=whole)
            except zstandard.ZstdError as error:
                raise WorkspaceError(f"{self.path} is damaged ({error}); nothing was restored") from error
            self._frame = (number, data)
        return self._frame[1]


def _index(file: BinaryIO) -> tuple[list[tuple[int, int, int]], bytes, bytes]:
    """Return offset, compressed and uncompressed length of each frame, the hashes, and the places."""
    size = os.fstat(file.fileno()).st_size
    if file.read(len(MAGIC)) != MAGIC:
        raise ValueError("it is not a pack")
    end = size - _TAIL.size
    file.seek(end)
    frames, blobs, start, known = _TAIL.unpack(file.read(_TAIL.size))
    if start + frames * _FRAME.size + blobs * (_DIGEST + _BLOB.size) != end:
        raise ValueError("it is cut off")
    file.seek(start)
    index = file.read(end - start)
    if blake3(index).digest() != known:
        raise ValueError("its index does not match its digest")
    hashes_at = frames * _FRAME.size
    blobs_at = hashes_at + blobs * _DIGEST
    return list(_FRAME.iter_unpack(index[:hashes_at])), index[hashes_at:blobs_at], index[blobs_at:]


class PackWriter:
    """Writes one pack; it gets its name once it is complete and on disk."""

    def __init__(self, directory: Path) -> None:
        self.id = secrets.token_hex(8)
        self.path = directory / f"{self.id}{SUFFIX}"
        self._temp = self.path.with_name(self.path.name + DRAFT_SUFFIX)
        self._file: BinaryIO | None = None
        self._frames: list[tuple[int, int, int]] = []
        self._blobs: list[BlobPlace] = []
        self._hashes: list[str] = []

    def add(self, frame: Frame) -> None:
        """Append a frame."""
        if self._file is None:
            self._file = os.fdopen(create_draft(self._temp), "wb")
            self._file.write(MAGIC)
        number, offset = len(self._frames), self._file.tell()
        self._file.write(frame.data)
        self._frames.append((offset, len(frame.data), frame.whole))
        for content, start, length in frame.blobs:
            self._hashes.append(content)
            self._blobs.append(BlobPlace(number, start, length))

    def close(self) -> bool:
        """Finish the pack; return False if there is no frame."""
        if self._file is None:
            return False
        index = b"".join(
            [
                *(_FRAME.pack(*frame) for frame in self._frames),
                bytes.fromhex("".join(self._hashes)),
                *(_BLOB.pack(*blob) for blob in self._blobs),
            ]
        )
        start = self._file.tell()
        self._file.write(index)
        self._file.write(_TAIL.pack(len(self._frames), len(self._blobs), start, blake3(index).digest()))
        commit_draft(self._file, self.path)
        self._file.close()
        self._file = None
        return True

    def abort(self) -> None:
        """Delete an unfinished pack."""
        if self._file is not None:
            self._file.close()
            self._file = None
            self._temp.unlink(missing_ok=True)


class Packs:
    """All packs of a project at the time of creation."""

    def __init__(self, directory: Path) -> None:
        self._packs: list[Pack] = []
        self.damaged: list[str] = []
        """Reasons for unusable packs."""
        for path in sorted(directory.glob(f"*{SUFFIX}")):
            try:
                self._packs.append(Pack(path))
            except WorkspaceError as error:
                self.damaged.append(str(error))

    def add(self, path: Path) -> None:
        """Add a new pack.

        :raises WorkspaceError: it is damaged.
        """
        self._packs.append(Pack(path))

    def __contains__(self, content: object) -> bool:
        return any(content in pack.hashes for pack in self._packs)

    def __iter__(self) -> Iterator[Pack]:
        return iter(self._packs)

    def has_all(self, ids: Iterable[str]) -> bool:
        """Return whether these packs exist with intact indexes."""
        return {pack.id for pack in self._packs}.issuperset(ids)

    def ids(self, contents: AbstractSet[str]) -> set[str]:
        """Return the packs that hold some of these contents."""
        return {pack.id for pack in self._packs if not contents.isdisjoint(pack.hashes)}

    def _of(self, content: str) -> Pack | None:
        return next((pack for pack in self._packs if content in pack.hashes), None)

    def read(self, content: str) -> bytes:
        """Return a content.

        :raises WorkspaceError: it is missing or damaged.
        """
        pack = self._of(content)
        if pack is None:
            why = "; ".join(self.damaged) or "its pack is gone"
            raise WorkspaceError(f"a content of the snapshot cannot be read ({why}); nothing was restored")
        return pack.read(content)

    def order(self, content: str) -> tuple[str, int]:
        """Return a sort key that makes each frame decompress only once."""
        pack = self._of(content)
        return ("", 0) if pack is None else (pack.id, pack.place(content).frame)
