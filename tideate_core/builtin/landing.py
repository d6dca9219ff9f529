"""Step handlers of `land`: review and write a session's changes, then update its copy to the project."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from tideate_core.builtin.review.target import project_root
from tideate_core.engine import Landed, land_difference
from tideate_core.errors import InvalidInput, RunIsOwned, WorkspaceError
from tideate_core.snapshots import (
    GuardedCopy,
    GuardState,
    ScratchDifference,
    find_session,
    finish_session,
    list_sessions,
    may_be_torn,
    note_landing,
)
from tideate_core.util.atomic_files import write_atomic
from tideate_core.util.escaping import label
from tideate_core.util.private_files import open_private
from tideate_core.util.regular_files import read_regular
from tideate_core.workspace import FileImage, unsaved_images

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tideate_core.workflows import StepContext

LOCK: Final = "landing.lock"
LANDED: Final = "landed.json"
"""File of a session with the states of the paths that the last review decided."""
FEEDBACK: Final = "feedback.md"
OWN: Final = (".git", ".tideate")
"""Paths of git and tideate, which programs often change."""
MOST_NAMED: Final = 5
TORN: Final = "the computer restarted before all changes were on the disk; look for cut or empty files"
SHORT: Final = 8
"""Characters of a session's id that are shown."""


async def land(step: StepContext) -> dict[str, Any]:
    """Review a session's changes, and write the accepted ones."""
    copy = await _session(step)
    with _only_landing(copy):
        if await asyncio.to_thread(may_be_torn, copy.project, copy.id):
            step.notice(TORN, level="warn")
        difference = await copy.difference()
        if ignored := [path for path in difference.ignored if path.partition("/")[0] not in OWN]:
            named = ", ".join(map(label, ignored[:MOST_NAMED]))
            more = f" and {len(ignored) - MOST_NAMED} more" if len(ignored) > MOST_NAMED else ""
            step.notice(f"ignored files do not land: {named}{more}")
        landed = await land_difference(step, difference)
        await asyncio.to_thread(_keep, copy, difference, {*landed.undecided, *landed.left})
    messages = await copy.commit_messages() if landed.files else []
    return {
        "session": copy.id,
        "response": _summary(landed),
        "files": landed.files,
        "rejected": landed.rejected,
        "undecided": landed.undecided,
        "left": {label(path): why for path, why in landed.left.items()},
        "feedback": landed.feedback,
        **({"commit_message": "\n\n".join(messages)} if messages else {}),
    }


async def update(step: StepContext) -> dict[str, Any]:
    """Update the copy to the project; undecided and later changes of the program stay."""
    result: dict[str, Any] = step.results["land"]
    copy = await asyncio.to_thread(GuardedCopy.attach, project_root(step.workspace), result["session"])
    with _only_landing(copy):
        difference = await copy.difference()
        landed = await asyncio.to_thread(_decided, copy, difference)
        await copy.update(await unsaved_images(step.workspace), landed=landed)
        await asyncio.to_thread((copy.place / LANDED).unlink, missing_ok=True)
        note = None
        if result["feedback"]:
            try:
                note = await copy.leave_note(FEEDBACK, result["feedback"] + "\n")
            except WorkspaceError as error:  # the program put something else there
                step.notice(f"the program does not get the feedback: {error}", level="warn")
    root = project_root(step.workspace)
    if result["files"]:
        await asyncio.to_thread(note_landing, root, copy.id, step.execution_id)
    if await finish_session(root, copy.id) or note is None:
        return result
    words = f"{result['response']}\nthe program can read your decisions in {note}"
    return {**result, "response": words, "feedback_file": str(note)}


async def _session(step: StepContext) -> GuardedCopy:
    """Return the session to land: the named one, or the only one with changes.

    :raises SessionNotFound: no session has this id.
    :raises InvalidInput: several sessions match, or none has changes.
    """
    root, wanted = project_root(step.workspace), str(step.inputs["session"])
    if wanted:
        session = await asyncio.to_thread(find_session, root, wanted)
        return await asyncio.to_thread(GuardedCopy.attach, root, session.id)

    async def find() -> list[str]:
        known = await asyncio.to_thread(list_sessions, root)
        whole = (session for session in known if session.state is not GuardState.DAMAGED)
        copies = [GuardedCopy.attach(root, session.id) for session in whole]
        return [copy.id for copy in copies if await copy.difference()]

    # after a crash the same session is landed
    changed: list[str] = await step.choose_once(f"session:{step.attempt}", "", find)
    if len(changed) != 1:
        named = ", ".join(one[:SHORT] for one in changed)
        which = f"several sessions have changes; name one: {named}" if changed else ""
        raise InvalidInput(which or "no session has changes to land")
    return await asyncio.to_thread(GuardedCopy.attach, root, changed[0])


@contextmanager
def _only_landing(copy: GuardedCopy) -> Iterator[None]:
    """Keep other processes from landing the same session.

    :raises RunIsOwned: another process is landing the session.
    """
    handle = open_private(copy.place / LOCK, os.O_RDWR | os.O_CREAT)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunIsOwned(
                f"the session {copy.id[:SHORT]} is being landed by another run; finish its review"
            ) from error
        yield
    finally:
        os.close(handle)


def _keep(copy: GuardedCopy, difference: ScratchDifference, still_open: set[str]) -> None:
    """Store the reviewed states, so that `update` recognizes later changes of the program."""
    files = {path: _state(images[1]) for path, images in difference.files.items() if path not in still_open}
    modes = {path: mode for path, (_, mode) in difference.modes.items() if path not in still_open}
    folders = [*difference.made, *difference.removed]
    kept = {"files": files, "modes": modes, "folders": folders}
    write_atomic(copy.place / LANDED, json.dumps(kept).encode())


def _state(image: FileImage) -> list[str]:
    return [image.state.kind, image.state.digest]


def _decided(copy: GuardedCopy, difference: ScratchDifference) -> ScratchDifference:
    """Return the part of a difference that was decided and has not changed since."""
    try:
        kept = json.loads(read_regular(copy.place / LANDED))
    except FileNotFoundError:  # an interrupted update is complete: all differences are new
        return ScratchDifference()
    states, known = kept["files"], difference.files.items()
    files = {path for path, images in known if states.get(path) == _state(images[1])}
    modes = {path for path, mode in difference.modes.items() if kept["modes"].get(path) == mode[1]}
    decided = difference.without({*difference.files, *difference.modes} - {*files, *modes})
    made = [path for path in decided.made if path in kept["folders"]]
    removed = {path: mode for path, mode in decided.removed.items() if path in kept["folders"]}
    return replace(decided, made=made, removed=removed)


def _summary(landed: Landed) -> str:
    words = [f"landed: {_counted(landed.files)}" if landed.files else "nothing was landed"]
    words += [f"rejected parts of {_counted(landed.rejected)}"] if landed.rejected else []
    words += [f"still open: {_counted(landed.undecided)}"] if landed.undecided else []
    words += [f"not landed: {label(path)}: {why}" for path, why in islice(landed.left.items(), MOST_NAMED)]
    return "\n".join(words)


def _counted(paths: list[str]) -> str:
    return f"{len(paths)} file{'' if len(paths) == 1 else 's'}"
