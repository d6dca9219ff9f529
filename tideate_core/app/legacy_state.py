"""State that earlier versions kept in `.tideate/`: moved to the private state once, if it is the person's.

Those versions sealed the database and the journal of runs with names and a key of the person's state
directory. What has such a seal is moved. Everything else there may have come with a clone: it is left where
it is, named once, and never read.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from tideate_core.project import open_directory_fd, state_dir
from tideate_core.store import FILE, is_own_database
from tideate_core.util.atomic_files import write_atomic
from tideate_core.util.private_files import make_private_directory, open_private
from tideate_core.util.regular_files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.workspace import JournalManifest

__all__ = ["earlier_state", "move_earlier_state"]

LARGEST: Final = 1024 * 1024 * 1024
"""Bytes of one file that is moved."""
MOST_FILES: Final = 100_000
PRIVATE_NAMES: Final = (FILE, "journal", "keys", "mcp", "objects", "snapshots/journal", "snapshots/packs")
"""Names in `.tideate/` under which earlier versions kept state."""
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_RUN: Final = re.compile(r"[0-9a-f]{32}")
_APPLY: Final = re.compile(r"[0-9]{4,9}")
_OBJECT: Final = re.compile(r"[0-9a-f]{64}")


def earlier_state(root: Path) -> list[str]:
    """Return the names in a project's `.tideate/` under which earlier versions kept state."""
    found = (name for name in PRIVATE_NAMES if os.path.lexists(root / ".tideate" / name))
    return list(dict.fromkeys(name.partition("/")[0] for name in found))


def move_earlier_state(root: Path, private: Path) -> list[str]:
    """Move a database and a journal that this person's tideate made; returns what a person should know.

    Once: where the private state has a database nothing is looked at.

    :param private: the project's private state.
    """
    if (private / FILE).exists() or not os.path.lexists(root / ".tideate" / FILE):
        return []
    stores = state_dir() / "stores"
    if not stores.is_dir():
        return [_left(root, earlier_state(root))]
    try:
        way = open_directory_fd(root, [".tideate"])
    except OSError:
        return [_left(root, earlier_state(root))]
    draft = private / "moving"
    try:
        shutil.rmtree(draft, ignore_errors=True)
        make_private_directory(draft)
        return _moved(root, way, draft, private, stores)
    except OSError as error:
        return [f"the state in {root / '.tideate'} was not moved: {error.strerror} ({error.filename})"]
    finally:
        os.close(way)
        shutil.rmtree(draft, ignore_errors=True)


def _moved(root: Path, way: int, draft: Path, private: Path, stores: Path) -> list[str]:
    for suffix in ("", "-wal"):
        _copy(way, FILE + suffix, draft / (FILE + suffix))
    if not (draft / FILE).is_file() or not is_own_database(draft / FILE, stores):
        return [_left(root, earlier_state(root))]
    kept = [*_journal(way, draft), *_objects(way, draft)]
    for name in ("journal", "objects"):
        if (draft / name).is_dir() and not (private / name).exists():
            (draft / name).rename(private / name)
    # the database last: while it is not there, all of it is done again
    (draft / FILE).rename(private / FILE)
    for name in (*kept, FILE, f"{FILE}-wal", f"{FILE}-shm"):
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=way)
    left = [name for name in earlier_state(root) if name not in ("journal", "objects")]
    notice = f"the runs in {root / '.tideate'} were moved to {private}"
    return [notice, *([_left(root, left)] if left else [])]


def _left(root: Path, names: list[str]) -> str:
    listed = ", ".join(names)
    return (
        f"{root / '.tideate'} has {listed}: state of an earlier version, or of somebody else's tideate. It "
        "is not read; remove it if you do not need it"
    )


def _copy(way: int, name: str, target: Path) -> bool:
    """Copy a regular file that no link leads to; False where it is none, or too large."""
    try:
        descriptor = os.open(name, _READ, dir_fd=way)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST or _has_hole(file, found.st_size):
            return False
        make_private_directory(target.parent)
        with os.fdopen(open_private(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as copy:
            shutil.copyfileobj(file, copy)
            copy.flush()
            os.fsync(copy.fileno())
    return True


def _has_hole(file: BinaryIO, size: int) -> bool:
    """Tell whether a file is larger than what was written of it: its copy would fill the disk for nothing."""
    hole = os.lseek(file.fileno(), 0, os.SEEK_HOLE) if size else 0
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    return hole < size


def _names(way: int, folder: str) -> Iterator[str]:
    """Yield the files below a directory, relative to the one that is held open; no link is followed."""
    with suppress(OSError):
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=way)
        try:
            count = 0
            for directory, _, names, _ in os.fwalk(".", dir_fd=top, follow_symlinks=False):
                for name in names:
                    count += 1
                    if count > MOST_FILES:
                        return
                    yield os.path.normpath(f"{folder}/{directory}/{name}")
        finally:
            os.close(top)


def _objects(way: int, draft: Path) -> list[str]:
    """Copy results that are files of their own; their names are their digests, checked when they are read."""
    return [
        name
        for name in _names(way, "objects")
        if _OBJECT.fullmatch(Path(name).name) and _copy(way, name, draft / name)
    ]


def _journal(way: int, draft: Path) -> list[str]:
    """Copy the applies whose manifest has the person's seal, without that."""
    try:
        key = read_regular(state_dir() / "journal.key")
    except OSError:
        return []
    kept: list[str] = []
    for name in _names(way, "journal"):
        _, run, apply, *rest = Path(name).parts
        if rest != ["manifest.json"] or not _RUN.fullmatch(run) or not _APPLY.fullmatch(apply):
            continue
        folder = str(Path(name).parent)
        if not _copy(way, name, draft / name):
            continue
        manifest = _unsealed(run, (draft / name).read_bytes(), key)
        if manifest is None or not _copy(way, f"{folder}/before", draft / folder / "before"):
            shutil.rmtree(draft / folder)
            continue
        write_atomic(draft / name, manifest.as_text().encode())
        kept += [name, f"{folder}/before"]
    return kept


def _unsealed(run: str, content: bytes, key: bytes) -> JournalManifest | None:
    from tideate_core.workspace import JournalManifest

    try:
        shape: Any = json.loads(content)
        seal = shape.pop("seal")
        manifest = JournalManifest.model_validate(shape)
    except (ValueError, AttributeError, LookupError, TypeError):
        return None
    sealed = f'{run}\n{manifest.as_text()[:-1]},"seal":""}}'
    wanted = hmac.new(key, sealed.encode(), hashlib.sha256).hexdigest()
    return manifest if isinstance(seal, str) and hmac.compare_digest(wanted, seal) else None
