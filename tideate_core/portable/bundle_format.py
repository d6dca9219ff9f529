"""File format of bundles: a digest, then one compressed frame with a manifest and named blobs.

::

    tideate-bundle 1
    DIGEST (blake3 of everything that follows)
    (zstd frame: length of the manifest, manifest, blobs in the manifest's order)

A bundle is untrusted data: sizes are bounded before anything is unpacked, and every name, digest and
value is checked before anything is written.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, ValidationError

from tideate_core.errors import InvalidBundle, InvalidInput
from tideate_core.workspace import name_problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAGIC: Final = b"tideate-bundle "
FORMAT: Final = 1
_DIGEST_LINE: Final = 65
_LENGTH: Final = 8
"""Bytes of the manifest's length."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Maximum sizes of a bundle, in bytes unless stated otherwise."""

    file: int = 256 << 20
    unpacked: int = 512 << 20
    manifest: int = 128 << 20
    blob: int = 64 << 20
    blobs: int = 100_000
    """Number of blobs."""
    runs: int = 10_000
    """Number of runs."""
    window: int = 128 << 20
    """Memory of the decompressor."""


BOUNDS: Final = Bounds()

_INTEGER: Final = 2**63


def _path(path: str) -> str:
    if problem := name_problem(path):
        raise ValueError(f"{path[:200]!r} {problem}")
    return path


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("is not a number")
    return number


RunId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Mode = Annotated[int, Field(ge=0, le=0o777)]
RelativePath = Annotated[str, AfterValidator(_path)]
Integer = Annotated[int, Field(ge=-_INTEGER, lt=_INTEGER)]
Number = Annotated[float, AfterValidator(_finite)]
Name = Annotated[str, Field(max_length=1_000)]


class Model(BaseModel):
    """Part of the manifest."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Image(Model):
    """State of a path; the blob has a file's bytes or a link's target."""

    kind: Literal["absent", "file", "link"]
    blob: Digest | None = None
    mode: Mode = 0


class ChangedFile(Model):
    """Change of one path by one apply."""

    path: RelativePath
    before: Image
    after: Image


class ChangedMode(Model):
    """Change of a path's permission bits."""

    path: RelativePath
    before: Mode
    after: Mode


class Record(Model):
    """One apply in a run's journal."""

    run: RunId
    step: Name | None = None
    files: tuple[ChangedFile, ...] = ()
    made: tuple[RelativePath, ...] = ()
    removed: tuple[RelativePath, ...] = ()
    modes: tuple[ChangedMode, ...] = ()


class Draft(Model):
    """A person's partial answer to a question."""

    run: RunId
    name: Annotated[str, Field(pattern=r"^[0-9a-f]{32}\.jsonl$")]
    blob: Digest


class SeenFile(Model):
    """A file that the run read or wrote."""

    path: RelativePath
    digest: Digest | None = None
    """blake3 of its content when the bundle was made; None: there was no file."""
    written: bool = False


class Origin(Model):
    """Origin and time of a bundle."""

    project: Name
    first_commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")] | None = None
    """Root commit of the repository; None outside of git."""
    base: Annotated[str, Field(pattern=r"^[0-9a-f]{40,64}$")] | None = None
    """Commit that was checked out."""
    made_at: Annotated[int, Field(ge=0, lt=2**53)]
    """Milliseconds since the epoch."""
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z.+-]{1,50}$")]
    """Version of tideate."""


class Workflow(Model):
    """The definition of a run."""

    workflow_id: Name
    name: Name
    kind: Literal["graph", "machine"]
    text: str
    description: str
    version: Name
    source: Literal["builtin", "package", "editor", "file", "user", "project", "text", ""]
    path: str | None


class Rows(Model):
    """Rows of one run; JSON columns are texts, or `@` and the name of a blob."""

    workflow: Workflow
    run: dict[str, JsonValue]
    tables: dict[str, tuple[dict[str, JsonValue], ...]]


class Manifest(Model):
    """All of a bundle except its blobs."""

    origin: Origin
    rows: Annotated[tuple[Rows, ...], Field(min_length=1, max_length=BOUNDS.runs)]
    """Outer runs first."""
    journal: tuple[Record, ...] = ()
    """In the order of writing."""
    drafts: tuple[Draft, ...] = ()
    copies: tuple[Copy, ...] = ()
    seen: tuple[SeenFile, ...] = ()
    left: tuple[str, ...] = ()
    """Changed buffers that are not in the bundle."""
    question: dict[str, JsonValue] | None = None
    blobs: Annotated[tuple[tuple[Digest, int], ...], Field(max_length=BOUNDS.blobs)] = ()
    """Name and size, in order."""


class Copy(Model):
    """Changes in an agent's guarded copy that have not landed."""

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{8,64}$")]
    files: tuple[ChangedFile, ...]


Manifest.model_rebuild()


def write_bundle(target: BinaryIO, manifest: Manifest, blobs: Mapping[str, bytes]) -> int:
    """Write a bundle; returns its size in bytes.

    :param blobs: the contents that `manifest.blobs` names.
    :raises InvalidInput: it would be larger than a reader accepts.
    :raises OSError: the target cannot be written.
    """
    import zstandard

    head = manifest.model_dump_json(exclude_defaults=True).encode("utf-8", "surrogatepass")
    parts = [len(head).to_bytes(_LENGTH, "big"), head, *(blobs[name] for name, _ in manifest.blobs)]
    whole = b"".join(parts)
    if len(head) > BOUNDS.manifest or len(whole) > BOUNDS.unpacked:
        limits = f"{BOUNDS.unpacked >> 20} MiB, {BOUNDS.manifest >> 20} MiB without files"
        raise InvalidInput(
            f"the bundle would hold {len(whole) >> 20} MiB, {len(head) >> 20} MiB without files, and the "
            f"limits are {limits}; it was not written"
        )
    body = zstandard.ZstdCompressor(level=10, write_checksum=True).compress(whole)
    if len(body) > BOUNDS.file - 1024:
        raise InvalidInput(f"the bundle would have more than {BOUNDS.file >> 20} MiB; it was not written")
    start = MAGIC + str(FORMAT).encode() + b"\n" + _blake3(body).encode() + b"\n"
    target.write(start)
    target.write(body)
    return len(start) + len(body)


def unpack_bundle(source: BinaryIO) -> tuple[Manifest, dict[str, bytes], int]:
    """Read the manifest, the blobs and the size of a bundle.

    :raises InvalidBundle: it is damaged, too large, not a bundle, or of another version.
    :raises OSError: the source cannot be read.
    """
    data = _read(source)
    whole = _decompressed(_checked_body(data))
    manifest, at = _manifest(whole)
    return manifest, _blobs(manifest.blobs, whole, at), len(data)


def _read(source: BinaryIO) -> bytes:
    data = source.read(BOUNDS.file + 1)
    if len(data) > BOUNDS.file:
        raise InvalidBundle(f"it has more than {BOUNDS.file >> 20} MiB")
    return data


def _checked_body(data: bytes) -> memoryview:
    """Check the digest, and return the compressed frame."""
    line, found, _ = data[:64].partition(b"\n")
    if not found or not line.startswith(MAGIC):
        raise InvalidBundle("it is not a file that `tideate bundle create` wrote")
    version = line[len(MAGIC) :]
    if not re.fullmatch(rb"[1-9][0-9]{0,5}", version):
        raise InvalidBundle("its first line is damaged")
    if int(version) != FORMAT:
        raise InvalidBundle(
            f"it has the format {int(version)}, and this version of tideate reads only {FORMAT}",
            "update tideate here",
        )
    digest = data[len(line) + 1 : len(line) + 1 + _DIGEST_LINE]
    body = memoryview(data)[len(line) + 1 + _DIGEST_LINE :]
    if digest != _blake3(body).encode() + b"\n":
        raise InvalidBundle("its content does not match its digest, so it was cut off or changed")
    return body


def _decompressed(body: memoryview) -> bytes:
    import zstandard

    try:
        size = zstandard.get_frame_parameters(body).content_size
        if not 0 <= size <= BOUNDS.unpacked:
            raise InvalidBundle(f"it would unpack to more than {BOUNDS.unpacked >> 20} MiB")
        reader = zstandard.ZstdDecompressor(max_window_size=BOUNDS.window).decompressobj()
        return _all_of(reader, body, size)
    except zstandard.ZstdError as error:
        raise InvalidBundle("its compressed part is damaged") from error


def _all_of(reader: Any, body: memoryview, size: int) -> bytes:
    # in small pieces: a small input may unpack to far more than the frame declares
    parts, total, piece = [], 0, 1 << 10
    for at in range(0, len(body), piece):
        part = reader.decompress(body[at : at + piece])
        total += len(part)
        if total > size:
            raise InvalidBundle("it unpacks to more than it declares")
        parts.append(part)
        if reader.eof and at + piece < len(body):
            raise InvalidBundle("there is more data after its end")
    if not reader.eof or reader.unused_data or total != size:
        raise InvalidBundle("its compressed part is cut off, or there is more data after it")
    return b"".join(parts)


def _manifest(whole: bytes) -> tuple[Manifest, int]:
    length = int.from_bytes(whole[:_LENGTH], "big")
    end = _LENGTH + length
    if len(whole) < _LENGTH or length > BOUNDS.manifest or end > len(whole):
        raise InvalidBundle("its manifest is too large or cut off")
    try:
        return Manifest.model_validate_json(whole[_LENGTH:end]), end
    except (ValidationError, RecursionError) as error:
        raise InvalidBundle(f"its manifest is damaged ({_first(error)})") from error


def _first(error: ValidationError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    one = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part)[:60] for part in one["loc"][:6])
    return f"{place}: {one['msg'][:200]}"


def _blobs(names: Sequence[tuple[str, int]], whole: bytes, at: int) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name, size in names:
        if not 0 <= size <= BOUNDS.blob or at + size > len(whole):
            raise InvalidBundle("a part of it is too large or cut off")
        content = whole[at : at + size]
        if name in found or _blake3(content) != name:
            raise InvalidBundle("a part of it does not match its name, or appears twice")
        found[name] = content
        at += size
    if at != len(whole):
        raise InvalidBundle("it holds more than its manifest names")
    return found


def blob_name(content: bytes) -> str:
    """Return the name of a blob."""
    return _blake3(content)


def parse_column(text: str) -> Any:
    """Parse the JSON text of a column.

    :raises InvalidBundle: it is not JSON, or is nested too deeply.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidBundle("a value in it is not JSON") from error


def _blake3(content: bytes | memoryview) -> str:
    from blake3 import blake3

    return blake3(content).hexdigest()
