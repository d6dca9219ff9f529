"""Guarded copy of a project: prepare, open, read its changes, update, discard."""

from __future__ import annotations

import fcntl
import json
import os
import select
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

from tideate_core.errors import ScratchUnavailable
from tideate_core.process import (
    Bind,
    EscapeReport,
    KeptFiles,
    Namespaces,
    Overlay,
    Proc,
    entering,
    make_environment,
    open_first_overlay,
)
from tideate_core.project import make_project_state, project_state, real_path
from tideate_core.snapshots.gitignore import IgnoreQuery
from tideate_core.snapshots.guarded.base import Base, state_within
from tideate_core.snapshots.guarded.difference import Found, read_difference
from tideate_core.snapshots.guarded.git_data import BORROWED, GitView, messages_of_commits, own_directory
from tideate_core.snapshots.guarded.ignoring import IgnoredNames
from tideate_core.snapshots.guarded.layers import find_in_layers, names_in_layers
from tideate_core.snapshots.guarded.mirror import (
    MIRRORS,
    SESSIONS,
    UNFINISHED,
    Look,
    load_folders,
    locked,
    remove_unused,
    write_listing,
)
from tideate_core.snapshots.guarded.preparing import prepare_copy, renew_mirror
from tideate_core.snapshots.guarded.real_copy import (
    TREE,
    TREE_LISTING,
    changed_in_tree,
    link_in_copy,
    make_tree,
    shrunk,
)
from tideate_core.snapshots.guarded.record import Record
from tideate_core.snapshots.guarded.updating import CONTENTS, Applying, Planning, changed_paths
from tideate_core.snapshots.guarded.upper import changed_in_upper
from tideate_core.snapshots.scratch.foreign_paths import environment_in_copy
from tideate_core.snapshots.scratch.laying import checked_name, lay_file, lay_parts
from tideate_core.snapshots.scratch.places import move_to_place, release_place, remove_tree, sweep_places
from tideate_core.util.private_files import make_private_directory, open_private
from tideate_core.util.uncancelled import run_in_thread, wait_uncancelled
from tideate_core.workspace import FileImage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Self

    from tideate_core.process import Enclosure, Mount
    from tideate_core.snapshots.guarded.difference import ScratchDifference
    from tideate_core.snapshots.scratch.laying import Content

_T = TypeVar("_T")

DIRECTORY: Final = "guard"
"""Directory in a project's private state for its guarded copies and mirrors."""
OWNER: Final = "owner"
"""File of a guarded copy that its owner locks; it names the process in its namespaces."""
SESSION: Final = "session.json"
"""Record of a copy that waits for a person; others end with their process."""
ABANDONED: Final = 3600.0
"""Seconds after which a copy without an owner and a record is removed."""
OWN_DIRECTORY: Final = ".tideate"
"""Directory of a project for tideate's own files, which never land."""
IGNORING: Final = ".gitignore"
_LONGEST: Final = 4096
_END_WITHIN: Final = 10.0
"""Maximum seconds until the namespaces of a killed owner end."""
GuardedKind: TypeAlias = Literal["overlay", "copy"]


class GuardedCopy:
    """Private view of a project in which a program works; on disk until it is discarded.

    The methods may be called by any process, except `open`, `command` and `close`, which its owner calls.

    :param guard: directory of all guarded copies of the project.
    """

    def __init__(self, guard: Path, place: Path, record: Record) -> None:
        self.place = place
        self._guard = guard
        self._record = record
        self._held: Namespaces | None = None
        self._owner: int | None = None
        self._enclosure: Enclosure | None = None
        self._kept = KeptFiles({})
        self._stop = threading.Event()
        self._renewal: threading.Thread | None = None
        self._is_renewed = False

    @classmethod
    async def prepare(
        cls,
        root: Path,
        files: Mapping[str, Content] | None = None,
        *,
        kind: Literal["auto", "overlay", "copy"] = "auto",
        private: Path | None = None,
    ) -> Self:
        """Create a guarded copy on disk, durably; nothing is mounted and no program runs.

        :param root: root of the project.
        :param files: unsaved buffers, as for `Scratch.lay_over`; they become part of the base.
        :param kind: `auto` prefers an overlay.
        :param private: directory of the project's guarded copies, outside of the project; default: in its
            private state.
        :raises ScratchUnavailable: it cannot be created.
        :raises StateError: the private state cannot be used.
        :raises WorkspaceError: see `Scratch.lay_over`.
        """
        project = real_path(root)
        laid = dict(files or {})
        for name in laid:
            checked_name(name)
        import asyncio  # here, because `prepare_blocking` must not wait for it

        stop = threading.Event()
        preparing = asyncio.ensure_future(asyncio.to_thread(cls._prepare, project, laid, kind, private, stop))
        cancelled = await wait_uncancelled(preparing, stop.set)
        if cancelled and (error := preparing.exception()) is not None:
            raise asyncio.CancelledError from error
        prepared = cls.attach(project, preparing.result(), private=private)
        if cancelled:
            await prepared.discard()
            raise asyncio.CancelledError
        return prepared

    @classmethod
    def prepare_blocking(cls, root: Path) -> Self:
        """Create a guarded copy as `prepare` does; blocking."""
        project = real_path(root)
        return cls.attach(project, cls._prepare(project, {}, "auto", None, threading.Event()))

    @staticmethod
    def _prepare(
        project: Path,
        files: Mapping[str, Content],
        kind: Literal["auto", "overlay", "copy"],
        private: Path | None,
        stop: threading.Event,
    ) -> str:
        try:
            guard = real_path(make_project_state(project) / DIRECTORY if private is None else private)
            return prepare_copy(project, guard, files, kind, stop)
        except OSError as error:
            raise ScratchUnavailable(f"no guarded copy can be made: {error}") from error

    @classmethod
    def attach(cls, root: Path, id: str, *, private: Path | None = None) -> Self:  # noqa: A002
        """Return an existing guarded copy; blocking.

        :raises ScratchUnavailable: there is none with this id, or it is damaged.
        :raises StateError: the private state cannot be used.
        """
        guard = real_path(project_state(root) / DIRECTORY if private is None else private)
        if not id.isalnum():
            raise ScratchUnavailable(f"there is no guarded copy {id}")
        place = guard / SESSIONS / id
        return cls(guard, place, Record.read(place))

    @classmethod
    def attach_to_discard(cls, root: Path, id: str, *, private: Path | None = None) -> Self:  # noqa: A002
        """Return an existing guarded copy, which may be damaged: it can only be discarded; blocking.

        :raises ScratchUnavailable: there is none with this id.
        :raises StateError: the private state cannot be used.
        """
        try:
            return cls.attach(root, id, private=private)
        except ScratchUnavailable:
            guard = real_path(project_state(root) / DIRECTORY if private is None else private)
            if not id.isalnum() or not (guard / SESSIONS / id).is_dir():
                raise
            return cls(guard, guard / SESSIONS / id, Record(str(root), "copy", 0))

    @property
    def id(self) -> str:
        return self.place.name

    @property
    def project(self) -> Path:
        """Root of the project."""
        return Path(self._record.project)

    @property
    def kind(self) -> GuardedKind:
        """Overlay at the project's own path, or real copy at another path."""
        return self._record.kind

    @property
    def root(self) -> Path:
        """Root as programs in the guarded copy see it; for an overlay, the project's own path."""
        return self.project if self.kind == "overlay" else self._tree

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices for the user: reason for a real copy, and omissions."""
        return self._record.notices

    def mounts(self) -> tuple[Mount, ...]:
        """Return the mounts that show the guarded copy, in their order; none for a copy elsewhere."""
        return _mounts(self._guard, self.place, self._record)

    async def open(self, enclosure: Enclosure | None = None) -> None:
        """Make the guarded copy visible to programs of this process, until `close` or the process's end.

        :param enclosure: limits for programs in an overlay; None: only the project is a copy.
        :raises ScratchUnavailable: another process has it open, or it cannot be mounted.
        """
        self._enclosure = enclosure
        await run_in_thread(self._open, lambda _: self.close())
        self.renew()

    def open_blocking(self, enclosure: Enclosure, holder: Namespaces) -> None:
        """Make the guarded copy visible as `open` does, without the `renew` for later ones.

        :param holder: started for it.
        """
        self._enclosure = enclosure
        try:
            self._open(holder)
        except BaseException:
            holder.close()
            raise

    def renew(self) -> None:
        """Begin to remove abandoned copies and to make the next one faster; the copy is open."""
        self._renewal = threading.Thread(target=self._tidy, daemon=True)
        self._renewal.start()

    @property
    def slows_next(self) -> bool:
        """True if later copies start slowly, because `renew` was not called or was interrupted."""
        return self._record.is_far and not self._is_renewed

    def renew_blocking(self) -> None:
        """Make the next copy faster, even if this one is closed or discarded."""
        self._is_renewed = renew_mirror(self._guard, self.project, self._stop)

    def command(self, argv: Sequence[str], *, cwd: str = "") -> list[str]:
        """Return the command line that starts a program in the guarded copy.

        For a copy, the caller also has to set the working directory `root / cwd`.

        :param cwd: directory below the root, with ``/``.
        """
        if self._held is None:
            return list(argv)
        return entering(self._held.pid, self.root / cwd, argv)

    @property
    def seen(self) -> Path | None:
        """Location of the programs' `/` in ours; None if it is the same."""
        return None if self._held is None else self._held.view(Path("/"))

    def environment(self, environment: Mapping[str, str] | None = None) -> Mapping[str, str]:
        """Return the environment for a program started with `command`; blocking, reads files.

        :param environment: complete environment; None for `make_environment()`. The result also makes git
            find the right repository.
        """
        known = make_environment() if environment is None else environment
        if self.kind == "copy":
            return environment_in_copy(self.project, self._tree, known)
        # the project's directory is a mount point, and git has to look beyond it
        return {**known, "GIT_DISCOVERY_ACROSS_FILESYSTEM": "1"}

    async def difference(self) -> ScratchDifference:
        """Return the changes of programs since the base, even while programs run.

        Writes to `.git`, `.tideate`, caches and ignored files stay in the guarded copy; the difference lists
        them under `ignored`.

        :raises ScratchUnavailable: the guarded copy is gone.
        :raises OSError: it cannot be read.
        """
        return await self._in_thread(lambda _: self._difference())

    async def commit_messages(self) -> list[str]:
        """Return the messages of the commits that programs made on their branch, the newest last.

        :raises ScratchUnavailable: the guarded copy is gone.
        """
        return await self._in_thread(lambda _: self._commit_messages())

    async def update(
        self, files: Mapping[str, Content] | None = None, *, landed: ScratchDifference | None = None
    ) -> None:
        """Update the guarded copy to the project's present state, which becomes the base.

        :param files: unsaved buffers.
        :param landed: the reviewed changes. Paths that programs changed since the review stay as they are,
            for the next review; None discards all changes.
        :raises ScratchUnavailable: the guarded copy is gone, or cannot be written.
        """
        laid = dict(files or {})
        for name in laid:
            checked_name(name)
        await self._in_thread(lambda lock: self._update(laid, landed, lock))

    async def leave_note(self, name: str, text: str) -> Path:
        """Write a text for programs in the guarded copy; return its path as they see it.

        It never lands, and git ignores it.

        :raises ScratchUnavailable: the guarded copy is gone, or cannot be written.
        :raises WorkspaceError: a program put something else in its place.
        """

        def work(_: int) -> None:
            with self._view() as view:
                lay_parts(view, (OWN_DIRECTORY, name), text.encode())
                if not os.path.lexists(view / OWN_DIRECTORY / IGNORING):
                    lay_parts(view, (OWN_DIRECTORY, IGNORING), b"*\n")

        await self._in_thread(work)
        return self.root / OWN_DIRECTORY / name

    async def write(self, files: Mapping[str, Content]) -> None:
        """Write files as a program in the guarded copy would: they are changes, not part of the base.

        :raises ScratchUnavailable: the guarded copy is gone, or cannot be written.
        :raises WorkspaceError: see `Scratch.lay_over`.
        """

        def work(_: int) -> None:
            with self._view() as view:
                for name, content in files.items():
                    lay_file(view, name, content)

        await self._in_thread(work)

    async def close(self) -> EscapeReport:
        """End all programs in the guarded copy; its files stay.

        :returns: report of programs in an enclosure.
        """
        return await run_in_thread(self.close_blocking)

    def close_blocking(self) -> EscapeReport:
        """End all programs as `close` does."""
        report = EscapeReport()
        self._stop.set()
        if self._renewal is not None:
            self._renewal.join()
            self._renewal = None
        if self._held is not None:
            self._held.close()
            refused = self._kept.keep(self._held.report.get("kept", {}))
            report = EscapeReport.of(self._held.report, refused)
            self._held = None
        if self._owner is not None:
            os.close(self._owner)
            self._owner = None
        self._stop.clear()
        return report

    async def discard(self) -> None:
        """End all programs of this process in the guarded copy, and remove it.

        :raises ScratchUnavailable: another process has it open, or it cannot be removed.
        """
        await run_in_thread(self._discard)

    async def _in_thread(self, work: Callable[[int], _T]) -> _T:
        def locking() -> _T:
            with self._locked() as lock:
                return work(lock)

        return await run_in_thread(locking)

    @property
    def _tree(self) -> Path:
        return self.place / TREE

    @property
    def _layers(self) -> tuple[Path, ...]:
        return (self.place / "delta", self._guard / MIRRORS / str(self._record.mirror) / "tree")

    @property
    def _base(self) -> Base:
        return Base(self._layers, self._record.kept, self.place / CONTENTS)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Hold the lock of the base, with the present record and no update under way; blocking."""
        try:
            handle = open_private(self.place / "lock", os.O_RDWR | os.O_CREAT)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ScratchUnavailable(f"there is no guarded copy {self.id}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            self._record = Record.read(self.place)
            if not self._record.is_settled:
                with self._view() as view:
                    self._settle(view)
            yield handle
        finally:
            os.close(handle)

    def _open(self, holder: Namespaces | None = None) -> None:
        self._owner = self._own()
        try:
            with self._locked():
                if self.kind == "overlay":
                    self._mount(self._owner, holder or Namespaces.start())
                elif holder is not None:
                    holder.close()
        except BaseException:
            self.close_blocking()
            raise

    def _tidy(self) -> None:
        """Remove abandoned copies, and renew the mirror; blocking."""
        sessions = self._guard / SESSIONS
        for place in sessions.iterdir():
            with suppress(ScratchUnavailable, FileNotFoundError):
                if not (place / SESSION).exists() and time.time() - place.stat().st_mtime > ABANDONED:
                    type(self)(self._guard, place, self._record)._discard()  # its own may be damaged
        self.renew_blocking()

    def _mount(self, owner: int, holder: Namespaces) -> None:
        """Mount the overlay, or turn it into a copy if that is allowed and no program has used it."""
        try:
            limits, mounts = self._enclosure, self.mounts()
            if limits is None:
                self._held = holder.mount([*mounts, Proc()])
            else:
                self._kept = KeptFiles.read(limits.kept)
                self._held = holder.mount(limits.mounts(mounts), limits.rules)
        except ScratchUnavailable as error:
            unused = not self._record.generation and not names_in_layers([str(self.place / "upper")], "")
            if not (self._record.may_be_copy and unused):
                raise
            remove_tree(self._tree)
            notices = (*self._record.notices, shrunk(str(error)))
            record = replace(self._record, notices=notices)
            self._record = make_tree(self.place, self.place, self._layers, record)
            self._record.write(self.place)
        else:
            _tell_holder(owner, self._held.pid)

    def _own(self) -> int:
        """Become the owner.

        :raises ScratchUnavailable: another process is the owner, or the guarded copy is gone.
        """
        try:
            handle = open_private(self.place / OWNER, os.O_RDWR | os.O_CREAT)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ScratchUnavailable(f"there is no guarded copy {self.id}") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            raise ScratchUnavailable(f"another process has the guarded copy {self.id} open") from error
        _await_holder(handle)
        return handle

    def _discard(self) -> None:
        self.close_blocking()
        owner = self._own()
        try:
            place, handle = move_to_place(self.place, self._guard / UNFINISHED)
        finally:
            os.close(owner)
        try:
            release_place(place, handle)
        except OSError as error:
            raise ScratchUnavailable(f"{place} cannot be removed: {error.strerror}") from error
        with locked(self._guard):
            remove_unused(self._guard)
        sweep_places(self._guard / UNFINISHED)

    @contextmanager
    def _view(self) -> Iterator[Path]:
        """Yield a path at which this process can write to the copy; blocking."""
        if self.kind == "copy":
            yield self._tree
        elif self._held is not None and self._held.is_there:
            with self._view_of(self._held.pid) as view:
                yield view
        else:
            try:
                owner = self._own()
            except ScratchUnavailable:
                with self._view_of(self._holder_of_owner()) as view:
                    yield view
                return
            try:
                held = Namespaces.hold(self.mounts())
                try:
                    _tell_holder(owner, held.pid)
                    with self._view_of(held.pid) as view:
                        yield view
                finally:
                    held.close()
            finally:
                os.close(owner)

    @contextmanager
    def _view_of(self, holder: int | None) -> Iterator[Path]:
        """Yield the root of the copy in a holder's namespaces; it stays usable if these end."""
        try:
            if holder is None:
                raise ProcessLookupError
            root = open_first_overlay(holder)
        except (FileNotFoundError, ProcessLookupError) as error:
            raise ScratchUnavailable(
                f"the process that has the guarded copy {self.id} open is ending; try again"
            ) from error
        try:
            yield Path(f"/proc/self/fd/{root}")
        finally:
            os.close(root)

    def _holder_of_owner(self) -> int | None:
        """Return the process in the namespaces of the process that has the copy open."""
        handle = open_private(self.place / OWNER, os.O_RDONLY)
        try:
            return _holder(handle)
        finally:
            os.close(handle)

    def _difference(self) -> ScratchDifference:
        base, upper = self._base, self.place / "upper"
        with IgnoredNames(self.project, upper if self.kind == "overlay" else self._tree) as names:
            found = self._found(base, names)
            difference = read_difference(found, base, names, self._as_in_project)
        return replace(difference, ignored=sorted({*difference.ignored, *self._changed_layers()}))

    def _found(self, base: Base, names: IgnoredNames) -> Iterator[Found]:
        """Yield the paths that may differ from the base."""
        if self.kind == "copy":
            yield from changed_in_tree(self._tree, self.place / TREE_LISTING, self.project, names)
            layers = [str(self._tree)]
        else:
            yield from changed_in_upper(self.place / "upper", base.below, names)
            layers = [str(self.place / "upper"), *map(str, self._layers)]
        for path in self._record.kept:  # directories that only updates created leave no trace
            where = find_in_layers(layers, path)
            yield Found(path, None if where is None else Path(where))

    def _changed_layers(self) -> Iterator[str]:
        for number, path in enumerate(self._record.heavy):
            with os.scandir(self.place / "heavy" / str(number) / "upper") as entries:
                if next(entries, None) is not None:
                    yield f"{path}/"

    def _as_in_project(self, image: FileImage) -> FileImage:
        """Convert a link into the real copy to a link into the project."""
        if image.state.kind != "link" or self.kind == "overlay":
            return image
        target = Path(os.fsdecode(image.data))
        if not target.is_relative_to(self._tree):
            return image
        return FileImage.of_link(os.fsencode(self.project / target.relative_to(self._tree)))

    def _as_in_copy(self, target: Path) -> Path:
        return target if self.kind == "overlay" else link_in_copy(self.project, self._tree, target)

    def _commit_messages(self) -> list[str]:
        base, now = self.place / "delta", self.place / "upper"
        common, inner = self.project / ".git", ".git"
        if self._record.outside:
            base, now = self.place / "git/base", self.place / "git/upper"
            common, inner = Path(self._record.outside), ""
        own = own_directory(self.project, common) if self._record.outside else inner
        if self.kind == "copy":
            now = self.place / "git/tree" if self._record.outside else self._tree
        view = GitView(common, [str(base)], [str(now), str(base)], inner, own)
        return messages_of_commits(view)

    def _update(self, files: Mapping[str, Content], landed: ScratchDifference | None, lock: int) -> None:
        found, base = self._difference(), self._base
        listing = f"{SESSIONS}/{self.id}/listing-{self._record.generation + 1}"
        with self._view() as view:
            now = {path: state_within(view, path) for path in changed_paths(found)}
            with IgnoreQuery(self.project) as query:
                look = Look(self.project, query, load_folders(self._guard / self._record.listing), lock)
                steps = Planning(look, base, self.place, found, landed, now, self._record.stale).steps(files)
            make_private_directory(self._guard / listing)
            write_listing(self._guard / listing, look.folders())
            self._record = replace(self._record, pending=tuple(steps), pending_listing=listing)
            self._record.write(self.place)
            self._settle(view)

    def _settle(self, view: Path) -> None:
        """Finish the recorded update."""
        applying = Applying(view, self.place / CONTENTS, self._as_in_copy)
        done = applying.apply(self._record.pending)
        self._record = self._record.settled(done)
        self._record.write(self.place)


def _mounts(guard: Path, place: Path, record: Record) -> tuple[Mount, ...]:
    """Return the mounts of an overlay, outer ones first."""
    if record.kind == "copy":
        return ()
    project = Path(record.project)
    mirror = guard / MIRRORS / str(record.mirror) / "tree"
    mounts: list[Mount] = [_overlay(project, (place / "delta", mirror), place)]
    if record.outside:
        outside = Path(record.outside)
        mounts.append(_overlay(outside, (place / "git/base",), place / "git"))
        mounts += _borrowing(outside / path for path in record.outside_borrowed)
    mounts += _borrowing(project / path for path in record.borrowed)
    for number, path in enumerate(record.heavy):
        if (project / path).is_dir():
            mounts.append(_overlay(project / path, (project / path,), place / "heavy" / str(number)))
    return tuple(mounts)


def _overlay(path: Path, lowers: tuple[Path, ...], place: Path) -> Overlay:
    return Overlay(path, lowers, place / "upper", place / "work")


def _borrowing(directories: Iterable[Path]) -> list[Mount]:
    """Return the mounts that let copied repositories read the original objects."""
    return [
        Bind(git / "objects", git / BORROWED, writable=False)
        for git in directories
        if (git / "objects").is_dir()
    ]


def _tell_holder(owner: int, pid: int) -> None:
    """Write the pid of the process in the namespaces to the owner's file."""
    told = {"pid": pid, "mounts": _mounts_of(pid)}
    os.ftruncate(owner, 0)
    os.pwrite(owner, json.dumps(told).encode(), 0)


def _holder(owner: int) -> int | None:
    """Return the living process in the namespaces that an owner's file names, or None."""
    with suppress(ValueError, KeyError, OSError):
        told = json.loads(os.pread(owner, _LONGEST, 0))
        if _mounts_of(told["pid"]) == told["mounts"]:
            return int(told["pid"])
    return None


def _mounts_of(pid: int) -> int:
    return Path(f"/proc/{pid}/ns/mnt").stat().st_ino


def _await_holder(owner: int) -> None:
    """Wait until the namespaces of a killed owner are gone: layers must not be mounted twice."""
    pid = _holder(owner)
    if pid is None:
        return
    with suppress(ProcessLookupError):
        process = os.pidfd_open(pid)
        try:
            select.select([process], [], [], _END_WITHIN)
        finally:
            os.close(process)
