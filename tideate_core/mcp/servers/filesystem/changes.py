"""Write, edit and move files and create directories, journalled by id for `tideate rollback`."""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mcp.server.mcpserver.exceptions import ToolError

from tideate_core.errors import OutsideRoot, TideateError, UnusableAnswer
from tideate_core.mcp.servers.filesystem.change_log import (
    change_in_progress,
    forget_change,
    interrupted_change,
    record_change,
)
from tideate_core.mcp.servers.locking import locked_root
from tideate_core.mcp.servers.schemas import hide_outside_paths, short_repr
from tideate_core.mentions import secret_lines, secret_name
from tideate_core.project import make_project_state
from tideate_core.util.escaping import HIDDEN, HIDDEN_LINE
from tideate_core.workspace import (
    FileChange,
    FileWriter,
    Workspace,
    language_of,
    refuse_in_repositories,
    unified_diff,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from tideate_core.mcp.servers.filesystem.schemas import Edit
    from tideate_core.mcp.servers.filesystem.served_root import ServedRoot
    from tideate_core.workspace import Source

log = logging.getLogger(__name__)

DIFF: Final = 30_000
"""Characters of a diff in an answer."""
MESSAGE: Final = 6_000
PATIENCE: float = 30.0
"""Seconds that a call waits for another server."""
BUSY: Final = (
    "another filesystem server is writing in this directory, so nothing was written; try again later"
)


def write_lock(root: Path) -> AbstractAsyncContextManager[None]:
    """Hold the write lock of a root among all filesystem servers.

    :raises ToolError: the lock stays taken or cannot be created.
    """
    return locked_root(root, "filesystem", within=PATIENCE, busy=BUSY)


class Changes:
    """Changes files below a root, one call at a time."""

    def __init__(self, served: ServedRoot) -> None:
        self._served = served
        self._lock = asyncio.Lock()

    async def write(self, path: str, content: str) -> dict[str, Any]:
        """Write a text to a file."""
        name = self._served.resolve(path)

        async def work(run: str) -> str:
            await self._refuse_marks(name, content)
            return await FileWriter(self._served.root).write(name, content.encode(), execution_id=run)

        return await self._change(path, name, work)

    async def edit(self, path: str, edits: Sequence[Edit], *, dry_run: bool) -> dict[str, Any]:
        """Replace parts of a text, all or none."""
        name = self._served.resolve(path)
        self._served.refuse_secret(path, name)
        diff, notes = "", list[str]()

        async def work(run: str) -> str:
            nonlocal diff, notes
            workspace = Workspace(self._served.root)
            refuse_in_repositories(workspace.resolve(name), workspace.root)
            source = await workspace.read(name)
            # many edits of a large text may be slow
            change, diff, notes = await asyncio.to_thread(apply_edits, source, edits)
            if change.before == change.after:
                return "unchanged"
            if not dry_run:
                await workspace.apply([change], execution_id=run)
            return "edited"

        answer = await self._change(path, name, work, dry_run=dry_run)
        shown = diff if len(diff) <= DIFF else f"{diff[:DIFF]}\n[the rest is left out]"
        return {**answer, "diff": shown, "notes": notes}

    async def _refuse_marks(self, name: str, content: str) -> None:
        """Reject a text with a marker of a hidden line, as its content would be lost.

        :raises UnusableAnswer: the text has such a marker.
        """
        mark = next((one for one in (HIDDEN_LINE, HIDDEN) if one in content), "")
        place = self._served.root / name
        if not mark or not await asyncio.to_thread(place.is_file):
            return
        if mark not in (await Workspace(self._served.root).read(name)).text:
            raise UnusableAnswer(
                f"{name}: {mark!r} marks hidden content, which would be lost; change other lines with "
                "`edit_file`"
            )

    async def make_directory(self, path: str) -> dict[str, Any]:
        """Create a directory if it does not exist."""
        name = self._served.resolve(path)

        async def work(run: str) -> str:
            if name == "." or not await FileWriter(self._served.root).make_directory(name, execution_id=run):
                return "unchanged"
            return "made"

        return await self._change(path, name, work)

    async def move(self, source: str, destination: str) -> dict[str, Any]:
        """Move a file or directory."""
        start, end = self._served.entry(source), self._served.entry(destination)
        if secret_name(start) and not secret_name(end):
            self._served.refuse_secret(source, start)

        async def work(run: str) -> str:
            await FileWriter(self._served.root).move(start, end, execution_id=run)
            return "moved"

        return await self._change(source, end, work)

    async def _change(
        self, path: str, name: str, work: Callable[[str], Awaitable[str]], *, dry_run: bool = False
    ) -> dict[str, Any]:
        """Run a change under the lock; return the action and the rollback id.

        :param work: takes the id and returns the action.
        :raises ToolError: the change failed.
        """
        if dry_run:
            try:
                return {"path": name, "action": await work(""), "rollback": None}
            except (TideateError, OSError) as error:
                raise self._failure(path, error) from error
        run, root = uuid.uuid4().hex, self._served.root
        async with self._lock, write_lock(root):
            try:
                await self._recover()
                with change_in_progress(root, run):
                    action = await work(run)
                written = action != "unchanged"
                if written:
                    await asyncio.to_thread(record_change, root, run)
            except (TideateError, OSError) as error:
                raise self._failure(path, error) from error
        return {"path": name, "action": action, "rollback": run if written else None}

    async def _recover(self) -> None:
        """Roll back an interrupted change of a killed server."""
        run = interrupted_change(self._served.root)
        if run is not None:
            done = await Workspace(self._served.root).rollback_best_effort(run)
            await asyncio.to_thread(forget_change, make_project_state(self._served.root), run)
            restored = ", ".join(done.restored) or "nothing"
            log.warning("the change %s was interrupted; rolled back: %s", run, restored)

    def _failure(self, path: str, error: Exception) -> ToolError:
        if isinstance(error, OutsideRoot):
            return ToolError(f"{short_repr(path)} leads out of the root, or belongs to .git or .tideate")
        if isinstance(error, OSError):
            return ToolError(f"{short_repr(path)} cannot be changed: {error.strerror}")
        root = self._served.root
        words = hide_outside_paths(str(error).replace(f"{root}/", ""), root).replace(str(root), ".")
        return ToolError(words if len(words) <= MESSAGE else f"{words[:MESSAGE]}…")


def apply_edits(source: Source, edits: Sequence[Edit]) -> tuple[FileChange, str, list[str]]:
    """Apply edits in order; return the change, its diff, and a note on how each place was found.

    :raises UnusableAnswer: an edit matches no place or several; none is applied.
    """
    # hidden lines cannot be matched
    text, hidden = _without_hidden(source.text)
    before, notes = text, list[str]()
    for number, edit in enumerate(edits, 1):
        text, note = _apply_edit(text, edit, f"edit {number}", language_of(source.path))
        notes.append(note)
    shown = FileChange(source.path, "modify", _filled_in(before, hidden), _filled_in(text, hidden))
    diff = unified_diff(replace(shown, before=_marked(before, hidden), after=_marked(text, hidden)))
    return shown, diff, notes


def _without_hidden(text: str) -> tuple[str, dict[str, str]]:
    """Replace each hidden line by a unique token; return the text and the lines by token."""
    lines, secret, hidden = text.split("\n"), secret_lines(text), dict[str, str]()
    key = uuid.uuid4().hex
    for number in secret:
        hidden[f"{key}{number}."] = lines[number - 1]
        lines[number - 1] = f"{key}{number}."
    return "\n".join(lines), hidden


def _filled_in(text: str, hidden: Mapping[str, str]) -> str:
    return "\n".join(hidden.get(line, line) for line in text.split("\n")) if hidden else text


def _marked(text: str, hidden: Mapping[str, str]) -> str:
    return _filled_in(text, dict.fromkeys(hidden, HIDDEN_LINE))


def _apply_edit(text: str, edit: Edit, name: str, language: str) -> tuple[str, str]:
    old, new = _plain(edit.old_text), _plain(edit.new_text)
    # the last line end is not part of the text, but the search text may include it
    whole = f"{text}\n"
    at = whole.find(old)
    if at >= 0 and whole.find(old, at + 1) < 0:
        _refuse_left_out(new, old, name, language)
        changed = f"{whole[:at]}{new}{whole[at + len(old) :]}"
        line = whole.count("\n", 0, at) + 1
        return changed.removesuffix("\n"), f"{name} was found at line {line} exactly"
    from tideate_core.edits import Part, apply_parts

    part = Part(name, ((_lines(old), _lines(new)),))
    done = apply_parts(text.split("\n"), [part], language=language)
    return "\n".join(done.lines), str(done.places[0])


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _lines(text: str) -> tuple[str, ...]:
    """Split a text into lines; a final line end adds no line."""
    return tuple(text.removesuffix("\n").split("\n")) if text else ()


def _refuse_left_out(new: str, old: str, name: str, language: str) -> None:
    from tideate_core.edits import find_placeholder

    lines = new.split("\n")
    left_out = find_placeholder(lines, old.split("\n"), language, all_replaced=True)
    if left_out is not None:
        raise UnusableAnswer(
            f"{name} has the line {lines[left_out].strip()!r}, a placeholder for omitted lines; write all "
            "lines"
        )
