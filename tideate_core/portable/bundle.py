"""Bundles: a run with its nested runs, its written files and the drafts of its reviews in one file."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from tideate_core import __version__
from tideate_core.engine import RunRequest, draft_folder, portable_drafts
from tideate_core.errors import InvalidBundle, InvalidInput, WorkspaceError
from tideate_core.portable.bundle_format import (
    ChangedFile,
    ChangedMode,
    Copy,
    Draft,
    Image,
    Manifest,
    Record,
    blob_name,
    unpack_bundle,
    write_bundle,
)
from tideate_core.portable.copies import copy_ids, read_copy
from tideate_core.portable.facts import BundleFacts, facts_of
from tideate_core.portable.origin import find_origin, seen_files
from tideate_core.portable.relocation import Relocation
from tideate_core.portable.rows import left_request, pack_rows, unpack_rows
from tideate_core.portable.secrets import refuse_secrets
from tideate_core.project import real_path
from tideate_core.store import RunRows, export_rows
from tideate_core.util.escaping import label
from tideate_core.workspace import (
    ABSENT,
    FileImage,
    FileState,
    Journal,
    PortableFile,
    PortableRecord,
    Root,
    has_rollback_notes,
    journal_directory,
    portable_journal,
    rolled_back_all,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

ENDED: Final = frozenset(("completed", "failed", "cancelled"))


class Blobs:
    """Blobs of a bundle that is being created, by name."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    def put(self, content: bytes) -> str:
        """Add a blob and return its name."""
        name = blob_name(content)
        self.contents[name] = content
        return name


@dataclass(frozen=True, slots=True)
class Bundle:
    """A validated bundle; `Relocation` has not resolved its paths yet."""

    manifest: Manifest
    rows: tuple[RunRows, ...]
    blobs: Mapping[str, bytes]
    facts: BundleFacts

    @property
    def run(self) -> str:
        """Id of the outermost run."""
        return self.rows[0].id

    @property
    def question(self) -> dict[str, Any] | None:
        """The question that was given to `create_bundle`."""
        return self.manifest.question

    def records(self) -> dict[str, list[PortableRecord]]:
        """Return the journal's records by run."""
        found: dict[str, list[PortableRecord]] = {one.id: [] for one in self.rows}
        for record in self.manifest.journal:
            found[record.run].append(self._record(record))
        return found

    def copies(self) -> dict[str, list[PortableFile]]:
        """Return the changes in the guarded copies by the copy's id."""
        return {one.id: self._files(one.files) for one in self.manifest.copies}

    def order(self) -> list[tuple[str, int]]:
        """Return the run of each record and its number within the run, in the order of writing."""
        count: dict[str, int] = {}
        order = []
        for record in self.manifest.journal:
            order.append((record.run, count.setdefault(record.run, 0)))
            count[record.run] += 1
        return order

    def image(self, image: Image) -> FileImage:
        """Return the image of a path.

        :raises InvalidBundle: its content is missing, or a link leads out of the project.
        """
        if image.kind == "absent":
            return FileImage(ABSENT)
        data = self.blobs.get(image.blob or "")
        if data is None:
            raise InvalidBundle("the content of a file is missing")
        return FileImage.of_link(data) if image.kind == "link" else FileImage.of_file(data, image.mode)

    def _files(self, files: Sequence[ChangedFile]) -> list[PortableFile]:
        return [PortableFile(one.path, self.image(one.before), self.image(one.after)) for one in files]

    def _record(self, record: Record) -> PortableRecord:
        return PortableRecord(
            record.step,
            tuple(self._files(record.files)),
            record.made,
            record.removed,
            tuple((one.path, one.before, one.after) for one in record.modes),
        )


def create_bundle(
    root: Path,
    private: Path,
    run_id: str,
    target: BinaryIO,
    *,
    question: dict[str, Any] | None = None,
    with_secrets: bool = False,
    running: bool = False,
) -> BundleFacts:
    """Write a bundle of a run that waits or has ended; blocking.

    :param root: the project.
    :param private: its private state.
    :param run_id: the complete id.
    :param question: the open question of the run, as JSON.
    :param with_secrets: include texts that seem to hold secrets.
    :param running: the run may be active; the bundle then holds its stored state, as after a crash.
    :raises RunNotFound: no run has this id.
    :raises RunIsOwned: a living process has the run.
    :raises InvalidInput: the run cannot be moved, or it seems to hold secrets.
    :raises WorkspaceError: the journal is damaged, or content that the run wrote was not kept.
    :raises StoreError: the store cannot be read.
    :raises OSError: the target cannot be written.
    """
    # before the journal: the rows then lack a later write, and it is rolled back as after a crash
    rows = export_rows(private, run_id, running=running)
    _refuse_fixed(rows)
    blobs = Blobs()
    relocation = Relocation((root, real_path(root)))
    journal, left = _journal(root, private, rows, blobs)
    drafts = _drafts(private, rows, blobs)
    copies = [*filter(None, (_copy(root, one, blobs) for one in copy_ids(rows)))]
    origin = find_origin(root, __version__, time.time_ns() // 1_000_000)
    seen = seen_files(root, rows, journal)
    if not with_secrets:
        refuse_secrets(root, origin.base, rows, [*journal, *copies], drafts, blobs.contents, question)
    packed = tuple(pack_rows(_without_machine(one), relocation, blobs.put) for one in rows)
    try:
        manifest = Manifest(
            origin=origin,
            rows=packed,
            journal=tuple(journal),
            drafts=tuple(drafts),
            copies=tuple(copies),
            seen=tuple(seen),
            left=tuple(left),
            question=relocation.leave(question),
            blobs=tuple((name, len(content)) for name, content in blobs.contents.items()),
        )
        size = write_bundle(target, manifest, blobs.contents)
    except ValueError as error:  # pydantic's errors are ValueErrors
        raise InvalidInput(f"run {run_id[:8]} cannot be put into a bundle: {error}") from error
    return facts_of(manifest, rows, size)


def read_bundle(source: BinaryIO) -> Bundle:
    """Read and check a bundle, without writing anything.

    :raises InvalidBundle: it is damaged, too large, of another version, or not a bundle.
    :raises OSError: it cannot be read.
    """
    manifest, blobs, size = unpack_bundle(source)
    rows = unpack_rows(manifest.rows, blobs, manifest.origin.version)
    bundle = Bundle(manifest, rows, blobs, facts_of(manifest, rows, size))
    _check(bundle)
    return bundle


def _check(bundle: Bundle) -> None:
    """Check the references between the parts of a bundle.

    :raises InvalidBundle: a part is missing, doubled or not allowed.
    """
    runs = {one.id for one in bundle.rows}
    manifest = bundle.manifest
    if any(record.run not in runs for record in manifest.journal):
        raise InvalidBundle("it holds changes of another run")
    if any(draft.run not in runs or draft.blob not in bundle.blobs for draft in manifest.drafts):
        raise InvalidBundle("a draft is missing")
    if len({(draft.run, draft.name) for draft in manifest.drafts}) != len(manifest.drafts):
        raise InvalidBundle("it holds a draft twice")
    if len({copy.id for copy in manifest.copies}) != len(manifest.copies):
        raise InvalidBundle("it holds a guarded copy twice")
    files = [file for record in manifest.journal for file in record.files]
    files += [file for copy in manifest.copies for file in copy.files]
    for file in files:
        _check_image(bundle, file.path, file.before)
        _check_image(bundle, file.path, file.after)
    relocation = Relocation(())
    for one in bundle.rows:
        for place in (one.definition.path, one.run, *one.tables.values()):
            relocation.arrive(list(place) if isinstance(place, tuple) else place)


def _check_image(bundle: Bundle, path: str, image: Image) -> None:
    data = bundle.image(image).data
    if image.kind == "link" and leads_out(path, data):
        raise InvalidBundle(f"the link {label(path)} leads out of the project")


def leads_out(path: str, target: bytes) -> bool:
    """Tell whether the target of a link at a path may be outside of the project."""
    parts = target.split(b"/")
    if not target or target.startswith(b"/") or b"\0" in target or b".git" in target.lower():
        return True
    up = parts.count(b"..")
    # a later `..` may follow another link to a place further up
    return up > path.count("/") or parts[:up] != [b".."] * up


def _refuse_fixed(rows: Sequence[RunRows]) -> None:
    """Reject runs that cannot continue elsewhere.

    :raises InvalidInput: with the reason.
    """
    run = rows[0].run
    if run["parent_id"] is not None:
        raise InvalidInput(
            f"run {run['id'][:8]} is a step of the run {run['parent_id'][:8]}; create a bundle of that run"
        )
    if run["status"] in ENDED:
        return
    request = RunRequest.model_validate({**run["request"], "execution_id": run["id"]})
    if request.compared:
        raise InvalidInput(
            f"run {run['id'][:8]} is part of a comparison; finish it with "
            f"`tideate compare --resume {run['id'][:8]}` first"
        )
    if request.obfuscate:
        raise InvalidInput(
            f"run {run['id'][:8]} hides the names of its states with a key that stays on this machine; "
            "finish it here"
        )


def _without_machine(rows: RunRows) -> RunRows:
    run = {**rows.run, "request": left_request(rows.run["request"])}
    return RunRows(rows.definition, run, rows.tables)


def _journal(
    root: Path, private: Path, rows: Sequence[RunRows], blobs: Blobs
) -> tuple[list[Record], list[str]]:
    """Return the records of the runs, and the changed buffers that have no file."""
    runs = [one.id for one in rows if not _is_rolled_back(private, one.id)]
    records = Journal(private).records(*runs)
    portable = portable_journal(Root(root), records)
    found = [
        _packed_record(record.directory.parent.name, one, blobs)
        for record, one in zip(records, portable.records, strict=True)
    ]
    return found, portable.left


def _is_rolled_back(private: Path, run: str) -> bool:
    directory = journal_directory(private, run)
    if not has_rollback_notes(directory):
        return False
    applies = sorted(directory.glob("*/manifest.json"), key=lambda path: int(path.parent.name))
    if applies and rolled_back_all(applies[-1].parent):
        return True
    raise InvalidInput(
        f"run {run[:8]} was rolled back only in part; `tideate rollback {run[:8]}` rolls back the rest"
    )


def _copy(root: Path, copy: str, blobs: Blobs) -> Copy | None:
    difference = read_copy(root, copy)
    if difference is None:
        return None
    files = [PortableFile(path, before, after) for path, (before, after) in difference.files.items()]
    return Copy(id=copy, files=_changed(files, blobs))


def _changed(files: Sequence[PortableFile], blobs: Blobs) -> tuple[ChangedFile, ...]:
    """Return changed files for a manifest.

    :raises InvalidInput: a link leads out of the project.
    """
    for file in files:
        for image in (file.before, file.after):
            if image.state.kind == "link" and leads_out(file.path, image.data):
                raise InvalidInput(
                    f"{label(file.path)} is a link out of the project, which a bundle cannot hold; the "
                    "bundle was not written"
                )
    return tuple(
        ChangedFile(path=one.path, before=_image(one.before, blobs), after=_image(one.after, blobs))
        for one in files
    )


def _packed_record(run: str, record: PortableRecord, blobs: Blobs) -> Record:
    return Record(
        run=run,
        step=record.step,
        files=_changed(record.files, blobs),
        made=record.made,
        removed=record.removed,
        modes=tuple(
            ChangedMode(path=path, before=before & 0o777, after=after & 0o777)
            for path, before, after in record.modes
        ),
    )


def _image(image: FileImage, blobs: Blobs) -> Image:
    state: FileState = image.state
    if state.kind not in ("file", "link"):
        return Image(kind="absent")
    kind: Any = state.kind
    return Image(kind=kind, blob=blobs.put(image.data), mode=state.mode & 0o777 if kind == "file" else 0)


def _drafts(private: Path, rows: Sequence[RunRows], blobs: Blobs) -> list[Draft]:
    found: list[Draft] = []
    for one in rows:
        try:
            drafts = portable_drafts(private, one.id)
        except OSError as error:
            raise WorkspaceError(f"{draft_folder(private, one.id)} cannot be read: {error}") from error
        found += [Draft(run=one.id, name=name, blob=blobs.put(content)) for name, content in drafts.items()]
    return found
