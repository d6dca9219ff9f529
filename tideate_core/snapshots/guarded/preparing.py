"""Files of a new guarded copy: mirror, delta, git data, layers of ignored directories, record."""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

from tideate_core.errors import ScratchUnavailable, WorkspaceError
from tideate_core.project import private_within
from tideate_core.snapshots.entries import above
from tideate_core.snapshots.gitignore import IgnoreQuery
from tideate_core.snapshots.guarded.git_data import GitStores, copy_git
from tideate_core.snapshots.guarded.layers import copy_path, find_in_layers, finish_directory, whiteout
from tideate_core.snapshots.guarded.mirror import (
    MADE_FROM,
    MIRRORS,
    SESSIONS,
    UNFINISHED,
    Delta,
    Look,
    Mirror,
    build_mirror,
    is_directory,
    locked,
    newest_mirror,
    remove_unused,
    write_listing,
)
from tideate_core.snapshots.guarded.real_copy import make_tree, shrunk
from tideate_core.snapshots.guarded.record import Kept, Record
from tideate_core.snapshots.scratch.cloning import Cloner
from tideate_core.snapshots.scratch.foreign_paths import outside_git
from tideate_core.snapshots.scratch.laying import lay_file
from tideate_core.snapshots.scratch.overlay import check_attributes, check_overlay
from tideate_core.snapshots.scratch.places import claim_place, release_place, sweep_places
from tideate_core.util.atomic_files import fsync_directory
from tideate_core.util.private_files import make_private_directory
from tideate_core.workspace import ABSENT, PROTECTED, FileImage, is_temporary

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping
    from pathlib import Path

    from tideate_core.snapshots.scratch.laying import Content

CACHES: Final = frozenset({"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
"""Ignored directories that programs can fill again."""
MOST_HEAVY: Final = 64
"""Maximum number of ignored directories with layers of their own."""
MOST_SAID: Final = 10
"""Maximum number of notices about paths that could not be copied."""
log = logging.getLogger(__name__)
_LARGEST_DELTA: Final = 256
"""Maximum number of paths of a delta; a new mirror replaces a larger one."""
_LARGEST_DELTA_BYTES: Final = 32 << 20


def prepare_copy(
    project: Path,
    guard: Path,
    files: Mapping[str, Content],
    kind: Literal["auto", "overlay", "copy"],
    stop: threading.Event,
) -> str:
    """Create a guarded copy durably and return its id; blocking.

    The next call removes the files of a killed process.

    :param guard: directory of the project's guarded copies.
    :raises ScratchUnavailable: the copy cannot be created.
    :raises OSError: the directory cannot be used.
    """
    if private_within(project):
        raise ScratchUnavailable(
            f"{project} cannot be guarded, because it contains tideate's own state; guard a project below it"
        )
    sweep_places(guard / UNFINISHED)
    with IgnoreQuery(project) as query, locked(guard) as handle:
        old = newest_mirror(guard)
        look = Look(project, query, {} if old is None else old.folders, handle)
        mirror = build_mirror(guard, look, None, stop) if old is None else old
        place, claimed = claim_place(guard / UNFINISHED)
        (place / MADE_FROM).write_text(str(mirror.number))
    try:
        record = _Preparing(project, guard, place, mirror, look, kind).make(files, may_be_copy=kind == "auto")
        record.write(place)
        make_private_directory(guard / SESSIONS)
        place.rename(guard / SESSIONS / place.name)
        fsync_directory(guard / SESSIONS)
    except BaseException:
        release_place(place, claimed)
        raise
    os.close(claimed)
    return place.name


class _Preparing:
    def __init__(
        self,
        project: Path,
        guard: Path,
        place: Path,
        mirror: Mirror,
        look: Look,
        kind: Literal["auto", "overlay", "copy"],
    ) -> None:
        self._project = project
        self._place = place
        self._guard = guard
        self._final = guard / SESSIONS / place.name
        self._mirror = mirror
        self._look = look
        self._delta = place / "delta"
        self._cloner = Cloner()
        self._notices: list[str] = []
        self._kind = self._kind_here(kind)
        self._layer = Delta(look, mirror, self._delta, whiteouts=self._kind == "overlay")
        self._heavy: list[str] = []
        self._borrowed: list[str] = []

    def make(self, files: Mapping[str, Content], *, may_be_copy: bool) -> Record:
        """Create all files except the record, and return it."""
        kind = self._kind
        make_private_directory(self._delta, exist_ok=False)
        if not self._is_fresh:
            self._layer.write()
        self._copy_git()
        self._make_heavy()
        self._lay(files)
        self._layer.finish()
        outside, stores = self._copy_outside_git()
        self._make_layers(self._place, self._project)
        record = Record(
            str(self._project),
            kind,
            self._mirror.number,
            heavy=tuple(self._heavy),
            borrowed=tuple(self._borrowed),
            outside=outside,
            outside_borrowed=tuple(stores.objects),
            listing=self._list(files),
            kept={} if kind == "overlay" else dict.fromkeys(self._layer.hidden, Kept("absent")),
            notices=tuple(self._notices),
            may_be_copy=may_be_copy,
            is_far=not self._is_fresh and _is_far(self._look),
        )
        return record if kind == "overlay" else make_tree(self._place, self._final, self._layers, record)

    @property
    def _is_fresh(self) -> bool:
        """True if the mirror was just made."""
        return self._look.known is not self._mirror.folders

    @property
    def _layers(self) -> tuple[Path, Path]:
        return (self._delta, self._mirror.tree)

    def _kind_here(self, wanted: Literal["auto", "overlay", "copy"]) -> Literal["overlay", "copy"]:
        if wanted == "copy":
            return "copy"
        try:
            check_overlay(self._project, self._guard)
            check_attributes(self._place)
            whiteout(f"{self._place}/whiteout")
            (self._place / "whiteout").unlink()
        except ScratchUnavailable as error:
            refused, reason = error, str(error)
        except PermissionError as error:
            reason = f"whiteouts of an overlay cannot be made here ({error.strerror})"
            refused = ScratchUnavailable(reason)
        else:
            return "overlay"
        if wanted == "overlay":
            raise refused
        self._notices.append(shrunk(reason))
        return "copy"

    def _copy_git(self) -> None:
        for path in sorted(self._look.found.ignored):
            outer, _, name = path.rpartition("/")
            if name != ".git" or not self._layer.make(outer):
                continue
            source = self._project / path
            if source.is_dir() and not source.is_symlink():
                stores = copy_git(source, self._delta / path, self._cloner)
                self._borrowed += [f"{path}/{inner}".rstrip("/") for inner in stores.objects]
                self._heavy += [f"{path}/{inner}" for inner in stores.stores]
            else:
                with suppress(FileNotFoundError):
                    copy_path(str(source), str(self._delta / path), self._cloner)

    def _copy_outside_git(self) -> tuple[str, GitStores]:
        outside = outside_git(self._project)
        if outside is None:
            return "", GitStores([], [])
        make_private_directory(self._place / "git", exist_ok=False)
        stores = copy_git(outside, self._place / "git/base", self._cloner)
        self._make_layers(self._place / "git", outside)
        return str(outside), stores

    def _make_heavy(self) -> None:
        """Choose the ignored directories that get layers of their own, and create these."""
        names = (path for path in sorted(self._look.found.ignored) if _is_heavy(path.rpartition("/")[2]))
        found = [path for path in names if self._layer.make(path)]
        self._heavy += found[:MOST_HEAVY]
        if rest := found[MOST_HEAVY:]:
            self._notices.append(f"empty in the guarded copy: {', '.join(rest)}")
        for number, path in enumerate(self._heavy):
            self._make_layers(self._place / "heavy" / str(number), self._project / path)

    def _make_layers(self, place: Path, like: Path) -> None:
        for name in ("upper", "work"):
            make_private_directory(place / name, exist_ok=False)
        with suppress(FileNotFoundError):  # removed meanwhile
            finish_directory(str(like), str(place / "upper"))

    def _lay(self, files: Mapping[str, Content]) -> None:
        layers = [str(layer) for layer in self._layers]
        for name, content in files.items():
            for way in above(name):
                if (found := find_in_layers(layers, way)) is not None and not is_directory(found):
                    raise WorkspaceError(
                        f"{name} cannot be written to the guarded copy: {way} is no directory"
                    )
            self._layer.make(name.rpartition("/")[0])
            found = find_in_layers(layers, name)
            if isinstance(content, bytes) and found is not None and stat.S_ISREG(os.lstat(found).st_mode):
                content = FileImage.of_file(content, stat.S_IMODE(os.lstat(found).st_mode))
            lay_file(self._delta, name, content)
            if content is None or (isinstance(content, FileImage) and content.state == ABSENT):
                self._layer.hide(name)

    def _list(self, files: Mapping[str, Content]) -> str:
        """Write the listing of the base, and return its directory; record paths that could not be copied."""
        failed = sorted(self._look.failed.items())
        self._notices += [f"{path} is not in the guarded copy: it {why}" for path, why in failed[:MOST_SAID]]
        if len(failed) > MOST_SAID:
            self._notices.append(f"{len(failed) - MOST_SAID} more paths are not in the guarded copy")
        self._look.failed.update(dict.fromkeys(files, "is not as on disk"))
        folders = self._look.folders() if files or not self._is_fresh else self._mirror.folders
        if folders == self._mirror.folders:
            return f"{MIRRORS}/{self._mirror.number}"
        make_private_directory(self._place / "listing-0")
        write_listing(self._place / "listing-0", folders)
        return f"{SESSIONS}/{self._place.name}/listing-0"


def _is_heavy(name: str) -> bool:
    return name.casefold() not in PROTECTED and name not in CACHES and not is_temporary(name)


def renew_mirror(guard: Path, project: Path, stop: threading.Event) -> bool:
    """Make a new mirror if a guarded copy would now need a large delta, and make it durable; blocking.

    :returns: whether the next copy starts fast.
    """
    try:
        with IgnoreQuery(project) as query, locked(guard) as handle:
            old = newest_mirror(guard)
            look = Look(project, query, {} if old is None else old.folders, handle)
            newest = build_mirror(guard, look, old, stop) if old is None or _is_far(look) else old
            remove_unused(guard)
        if not stop.is_set():
            newest.make_durable()
        sweep_places(guard / UNFINISHED)
    except (OSError, ScratchUnavailable) as error:
        if not stop.is_set():
            log.warning("the next guarded copy starts more slowly: %s", error)
        return False
    return True


def _is_far(look: Look) -> bool:
    """Return whether the project changed so much since the mirror that a new one pays."""
    changed = look.found.changed
    return (
        len(changed) > _LARGEST_DELTA or sum(entry.size for entry in changed.values()) > _LARGEST_DELTA_BYTES
    )
