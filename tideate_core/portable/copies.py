"""Guarded copies of agents in a bundle: changes that have not landed go into new copies."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput, ScratchUnavailable
from tideate_core.snapshots import GuardedCopy, GuardSession, create_session
from tideate_core.util.escaping import label
from tideate_core.workspace import merge_image, read_image_nofollow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from tideate_core.snapshots import ScratchDifference
    from tideate_core.store import RunRows
    from tideate_core.workspace import FileImage, PortableFile, Root

_KEY: Final = re.compile(r"own:(?:[0-9]+:)?agent:.*:copy", re.DOTALL)
"""Key of a step's memo that names its copy."""
_ENDED: Final = frozenset(("completed", "failed", "skipped"))


def copy_ids(rows: Sequence[RunRows]) -> list[str]:
    """Return the ids of the copies that unfinished steps work in."""
    return list(dict.fromkeys(row["value"] for one in rows for row in _memos(one)))


def read_copy(root: Path, copy: str) -> ScratchDifference | None:
    """Return the changes in a copy, or None if it is gone; blocking, and not for use in an event loop.

    :raises InvalidInput: a bundle cannot hold a change.
    """
    try:
        difference = asyncio.run(GuardedCopy.attach(root, copy).difference())
    except ScratchUnavailable:
        return None
    if difference.modes:
        names = ", ".join(map(label, list(difference.modes)[:5]))
        raise InvalidInput(
            f"the agent changed the permissions of {names}, which a bundle cannot hold; resume "
            "the run here, and review the agent's work first"
        )
    return difference


def merged_copy(
    root: Root, files: Sequence[PortableFile], written: Mapping[Path, FileImage]
) -> tuple[dict[str, FileImage | None], dict[str, str]]:
    """Merge an agent's changes with the files here; blocking.

    :param written: images of the files after the run's own changes, by path.
    :returns: images by path, None for a deletion, and conflicts with the reason.
    """
    images: dict[str, FileImage | None] = {}
    conflicts: dict[str, str] = {}
    for file in files:
        path = root.lexical(file.path)
        theirs = written.get(path) or read_image_nofollow(path)
        merged = merge_image(file.before, file.after, theirs)
        if merged is None:
            conflicts[file.path] = "was changed both here and in the agent's copy"
        elif not merged.state.holds_same_as(theirs.state):
            images[file.path] = None if merged.state.kind == "absent" else merged
    return images, conflicts


async def make_copy(root: Path, files: Mapping[str, FileImage | None]) -> GuardedCopy:
    """Create a guarded copy of the project here with an agent's changes.

    :raises ScratchUnavailable: it cannot be created.
    """
    copy = await GuardedCopy.prepare(root)
    try:
        await copy.write(files)
    except BaseException:
        await copy.discard()
        raise
    return copy


def with_copies(rows: Sequence[RunRows], made: Mapping[str, str]) -> list[RunRows]:
    """Return rows with the ids of the new copies.

    :param made: new ids by the ids in the bundle.
    """
    return [_with_copies(one, made) for one in rows]


def keep_copies(rows: Sequence[RunRows], copies: Sequence[GuardedCopy], at: int) -> None:
    """Record that the copies belong to a waiting run, so that they are kept; blocking.

    :raises WorkspaceError: a record cannot be written.
    """
    run = {row["value"]: one.id for one in rows for row in _memos(one)}
    for copy in copies:
        session = GuardSession(id=copy.id, argv=("agent",), created=at, run=run.get(copy.id))
        create_session(copy.place, session)


def _with_copies(rows: RunRows, made: Mapping[str, str]) -> RunRows:
    memos = tuple(
        {**row, "value": made[row["value"]]} if _is_copy(row) and row["value"] in made else row
        for row in rows.tables["workflow_memos"]
    )
    return replace(rows, tables={**rows.tables, "workflow_memos": memos})


def _memos(rows: RunRows) -> Iterator[Mapping[str, Any]]:
    """Yield the memos of unfinished steps that name a copy."""
    ended = {row["step_id"] for row in rows.tables["workflow_steps"] if row["status"] in _ENDED}
    for row in rows.tables["workflow_memos"]:
        if row["step_id"] not in ended and _is_copy(row):
            yield row


def _is_copy(row: Mapping[str, Any]) -> bool:
    return _KEY.fullmatch(row["key"]) is not None and isinstance(row["value"], str)
