"""Records of guarded sessions: the program, its state, and its landings, on disk beside the copy."""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput, RunIsOwned, ScratchUnavailable, SessionNotFound, WorkspaceError
from tideate_core.project import project_state
from tideate_core.util.atomic_files import write_atomic
from tideate_core.util.file_locks import is_locked, take_lock
from tideate_core.util.power_loss import boot_id, sync_file_system
from tideate_core.util.private_files import open_private
from tideate_core.util.regular_files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Self

    from tideate_core.machines import Table
    from tideate_core.snapshots.guarded.copy import GuardedCopy

RECORD: Final = "session.json"
OWNER: Final = "owner.lock"
"""Lock file of the process that runs the program."""
LANDING: Final = "landing.lock"
"""Lock file of the run that lands the changes."""
LOOKED_AT: Final = 0.5
"""Seconds to wait for the lock: a process that checks for an owner holds it briefly."""
SHORT: Final = 8
MOST_NAMED: Final = 5
DAMAGED: Final = "(damaged record)"
"""Shown in place of the command."""


class GuardState(StrEnum):
    """State of a session."""

    PREPARED = "prepared"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    """The process that ran the program was killed."""
    WAITING = "waiting"
    """The program ended, and changes are not landed; a session without changes is discarded."""
    DAMAGED = "damaged"
    """The record of the copy cannot be read: the session can only be discarded."""


class GuardEvent(StrEnum):
    """Event of a session."""

    START = "start"
    LOSE = "lose"
    END = "end"
    LAND = "land"


_S, _E = GuardState, GuardEvent
_WITHOUT_PROGRAM: Final = {_E.START: _S.RUNNING, _E.LAND: _S.WAITING}
GUARD_TABLE: Final[Table[GuardState, GuardEvent]] = {
    _S.PREPARED: {_E.START: _S.RUNNING},
    _S.RUNNING: {
        _E.END: _S.WAITING,
        _E.LOSE: _S.INTERRUPTED,
        _E.LAND: _S.RUNNING,
    },
    _S.INTERRUPTED: _WITHOUT_PROGRAM,
    _S.WAITING: _WITHOUT_PROGRAM,
    _S.DAMAGED: {},
}


@dataclass(frozen=True, slots=True)
class GuardSession:
    """Record of one session."""

    id: str
    argv: tuple[str, ...]
    created: int
    """Milliseconds since the epoch, as `ended`."""
    folder: str = ""
    """Working directory of the program, relative to the root."""
    agent: str | None = None
    """Name of the known agent that the program is."""
    ended: int | None = None
    state: GuardState = GuardState.PREPARED
    status: int | None = None
    """Exit status of the program."""
    landings: tuple[str, ...] = ()
    """Ids of the runs that landed changes, oldest first."""
    report: dict[str, Any] | None = None
    """Escape report of the last program."""
    run: str | None = None
    """Id of the run whose agent works in the copy, and which lands the changes itself."""
    boot: str = ""
    """Boot of the system in which the program wrote its changes; empty when they survive a power loss."""

    @property
    def short(self) -> str:
        """Prefix of the id in lists."""
        return self.id[:SHORT]

    def as_json(self) -> dict[str, Any]:
        lists = {"argv": list(self.argv), "landings": list(self.landings)}
        return {**asdict(self), **lists, "state": self.state.value}

    @classmethod
    def of(cls, shape: dict[str, Any]) -> Self:
        """Return the session of a JSON form.

        :raises ValueError: it is none; also TypeError and KeyError.
        """
        lists = {name: tuple(map(str, shape[name])) for name in ("argv", "landings")}
        made = cls(**{**shape, **lists, "state": GuardState(shape["state"])})
        if not (made.argv and isinstance(made.id, str) and isinstance(made.created, int)):
            raise ValueError("it names no program")
        return made


def sessions_directory(root: Path) -> Path:
    """Return the directory of a project's guarded copies; it may not exist."""
    return project_state(root) / "guard" / "sessions"


def create_session(place: Path, session: GuardSession) -> None:
    """Write the record of a prepared copy, if it has none.

    :param place: directory of the copy.
    :raises WorkspaceError: it cannot be written.
    """
    if not (place / RECORD).exists():
        _write(place, session)


def list_sessions(root: Path) -> list[GuardSession]:
    """Return all sessions, newest first; blocking.

    Those of living runs are left out. A session whose process was killed is interrupted.

    :raises WorkspaceError: the directory cannot be read.
    """
    found = []
    try:
        places = [entry for entry in sessions_directory(root).iterdir() if entry.is_dir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise WorkspaceError(f"the guarded sessions cannot be read: {error.strerror}") from error
    for place in places:
        with suppress(SessionNotFound):  # a copy in preparation, or discarded meanwhile
            found.append(_listed(place))
    found = [one for one in found if one.run is None or one.state is not GuardState.RUNNING]
    return sorted(found, key=lambda session: (-session.created, session.id))


def find_session(root: Path, wanted: str | None) -> GuardSession:
    """Return a session by its id or a prefix of it; without one, the only session; blocking.

    :raises SessionNotFound: no session has this id, or there is none.
    :raises InvalidInput: several sessions match.
    """
    known = list_sessions(root)
    found = [one for one in known if one.id.startswith(wanted or "")]
    if wanted and not found:
        raise SessionNotFound(f"no guarded session has the id {wanted!r}; `tideate guard list` names them")
    if not found:
        raise SessionNotFound("there is no guarded session; `tideate guard COMMAND` starts one")
    if len(found) > 1:
        names = ", ".join(f"{one.short} ({one.argv[0]})" for one in found[:MOST_NAMED])
        raise InvalidInput(f"there are {len(found)} guarded sessions; name one of them: {names}")
    return found[0]


def is_owned(root: Path, session_id: str) -> bool:
    """Return whether a living process runs the program of a session."""
    return is_locked(sessions_directory(root) / session_id / OWNER)


@contextmanager
def owning(root: Path, session: GuardSession) -> Iterator[None]:
    """Own a session: only its owner runs the program.

    :raises RunIsOwned: another living process owns it.
    """
    path = sessions_directory(root) / session.id / OWNER
    end = time.monotonic() + LOOKED_AT
    while (handle := take_lock(path)) is None:
        if time.monotonic() > end:
            raise RunIsOwned(f"the program of session {session.short} is running in another process")
        time.sleep(LOOKED_AT / 50)
    try:
        if _read(path.parent).state is GuardState.RUNNING:  # the last owner was killed
            change_session(root, session.id, GuardEvent.LOSE)
        yield
    finally:
        os.close(handle)


def change_session(
    root: Path,
    session_id: str,
    event: GuardEvent | None = None,
    *,
    landing: str | None = None,
    **changes: Any,
) -> GuardSession:
    """Apply an event and other changes to the record, atomically among processes; blocking.

    :param landing: id of a run to add to the landings.
    :raises SessionNotFound: the session was discarded.
    :raises InvalidTransition: the event is not allowed now.
    """
    from tideate_core.machines import StateMachine  # here, because help and lists need none

    place = sessions_directory(root) / session_id
    with _record_locked(place):
        now = _read(place) if event is GuardEvent.LOSE else _seen(place)
        if landing is not None:
            changes["landings"] = (*now.landings, landing)
        if event is not None:
            machine = StateMachine(GUARD_TABLE, now.state)
            machine.require(event)
            changes["state"] = machine.state
        changed = replace(now, **changes)
        _write(place, changed)
    return changed


def note_landing(root: Path, session_id: str, run: str) -> None:
    """Record a run that landed changes of a session; a copy without a session is ignored; blocking."""
    with suppress(SessionNotFound):
        change_session(root, session_id, GuardEvent.LAND, landing=run)


async def finish_session(root: Path, session_id: str) -> bool:
    """Discard an ended session without changes; return whether it is gone."""
    # here, because lists of sessions need neither
    import asyncio

    from tideate_core.snapshots.guarded.copy import GuardedCopy

    try:
        if await asyncio.to_thread(is_owned, root, session_id):
            return False
        copy = await asyncio.to_thread(GuardedCopy.attach, root, session_id)
        if await copy.difference():
            await asyncio.to_thread(_make_durable, root, copy)
            return False
        await copy.discard()
    except ScratchUnavailable:
        return not (sessions_directory(root) / session_id).exists()
    return True


def _make_durable(root: Path, copy: GuardedCopy) -> None:
    with suppress(SessionNotFound):
        if _read(copy.place).boot:
            sync_file_system(copy.place)
            change_session(root, copy.id, boot="")


def may_be_torn(root: Path, session_id: str) -> bool:
    """Return whether the system was started again before a program's changes were durable; blocking."""
    try:
        return _read(sessions_directory(root) / session_id).boot not in ("", boot_id())
    except SessionNotFound:  # a copy without a session
        return False


async def discard_session(root: Path, session: GuardSession) -> None:
    """Delete a session with all its open changes.

    :raises RunIsOwned: a living process runs its program, or reviews its changes.
    :raises ScratchUnavailable: it is gone, or cannot be removed.
    """
    # here, because lists of sessions need neither
    import asyncio

    from tideate_core.snapshots.guarded.copy import GuardedCopy

    with owning(root, session):
        copy = await asyncio.to_thread(GuardedCopy.attach_to_discard, root, session.id)
        if is_locked(copy.place / LANDING):
            raise RunIsOwned(
                f"the changes of session {session.short} are being reviewed; end the review first"
            )
        await copy.discard()


def relocate_sessions(root: Path) -> None:
    """Record the new path of a moved project in its guarded copies; blocking."""
    from tideate_core.snapshots.guarded.record import Record

    directory = sessions_directory(root)
    for place in directory.iterdir() if directory.is_dir() else ():
        with suppress(ScratchUnavailable):  # damaged, as before
            replace(Record.read(place), project=str(root)).write(place)


def ended_now() -> int:
    """Return the time of a record: milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def _seen(place: Path) -> GuardSession:
    """Read a record; the session of a killed process is interrupted.

    :raises SessionNotFound: there is no record.
    """
    session = _read(place)
    if session.state is GuardState.RUNNING and not is_locked(place / OWNER):
        return replace(session, state=GuardState.INTERRUPTED)
    return session


def _listed(place: Path) -> GuardSession:
    """Read a record; the session of a damaged copy is damaged.

    :raises SessionNotFound: there is no record.
    """
    from tideate_core.snapshots.guarded.record import Record  # here, because few commands need it

    session = _seen(place)
    try:
        Record.read(place)
    except ScratchUnavailable:
        return session if session.state is GuardState.RUNNING else replace(session, state=GuardState.DAMAGED)
    return session


def _read(place: Path) -> GuardSession:
    try:
        return GuardSession.of(json.loads(read_regular(place / RECORD)))
    except FileNotFoundError as error:
        raise SessionNotFound(f"the guarded session {place.name[:SHORT]} was discarded") from error
    except (OSError, ValueError, TypeError, KeyError):  # the copy can still be reviewed or discarded
        return GuardSession(id=place.name, argv=(DAMAGED,), created=0, state=GuardState.WAITING)


def _write(place: Path, session: GuardSession) -> None:
    try:
        write_atomic(place / RECORD, json.dumps(session.as_json()).encode())
    except OSError as error:
        raise WorkspaceError(f"{place / RECORD} cannot be written: {error.strerror}") from error


@contextmanager
def _record_locked(place: Path) -> Iterator[None]:
    try:
        handle = open_private(place / "record.lock", os.O_RDWR | os.O_CREAT)
    except FileNotFoundError as error:
        raise SessionNotFound(f"the guarded session {place.name[:SHORT]} was discarded") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
