"""Files of a stage in memory: their texts as read, and with its staged edits; nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.agents.model_input import read_if_there, why_hidden
from tideate_core.errors import UnusableAnswer, WorkspaceError
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tideate_core.agents.stage import Stage
    from tideate_core.workspace import Source

__all__ = ["StagedFiles"]


class StagedFiles:
    """Texts by path, over what the workspace has. Only files that were loaded are known."""

    def __init__(self) -> None:
        self._sources: dict[str, Source | None] = {}
        self._now: dict[str, str | None] = {}
        self._moved: dict[str, str] = {}
        """The old paths of moved files, by the new ones."""
        self._hidden: dict[str, str] = {}
        """Why a file can be neither shown nor edited."""

    async def load(self, stage: Stage, paths: Iterable[str]) -> None:
        """Read files as the person sees them; one that cannot be used is kept with the reason."""
        for path in paths:
            if path in self._now or path in self._hidden:
                continue
            try:
                source = await read_if_there(stage.step.workspace, path)
            except WorkspaceError as error:
                self._hidden[path] = str(error)
                continue
            if source is not None and (why := await why_hidden(stage.step, path, source.text)):
                self._hidden[path] = f"{why}, and nobody agreed to give it to the model"
                continue
            self._sources[path] = source
            self._now[path] = source.text if source else None

    @property
    def hidden(self) -> dict[str, str]:
        """Return why files can be neither shown nor edited, by path."""
        return dict(self._hidden)

    def knows(self, path: str) -> bool:
        """Tell whether a file was loaded and can be edited."""
        return path in self._now

    def text(self, path: str) -> str | None:
        """Return a file's text as it is wanted, None if there is to be none.

        :raises UnusableAnswer: it was not loaded, or cannot be used.
        """
        if path in self._hidden:
            raise UnusableAnswer(f"it cannot be changed: {self._hidden[path]}")
        if path not in self._now:
            raise UnusableAnswer("it is none of the files that may be changed now")
        return self._now[path]

    def stage(self, changes: Sequence[FileChange]) -> None:
        """Put changes over what there is; they were made for the texts that `text` gives."""
        for change in changes:
            if change.action == "move" and change.move_to is not None:
                self._now[change.path] = None
                self._now[change.move_to] = change.after
                self._moved[change.move_to] = self._moved.pop(change.path, change.path)
            else:
                self._now[change.path] = change.after
                if change.after is None:
                    self._moved.pop(change.path, None)

    def changes(self) -> list[FileChange]:
        """Return what turns the files as they are into what is wanted."""
        moves = {
            old: new
            for new, old in self._moved.items()
            if self._sources.get(old) and not self._sources.get(new) and self._now.get(old) is None
        }
        targets = set(moves.values())
        found = (self._change(path, moves.get(path)) for path in self._now if path not in targets)
        return [change for change in found if change is not None]

    def _change(self, path: str, move_to: str | None) -> FileChange | None:
        source, after = self._sources.get(path), self._now[path]
        if source is None:
            return None if after is None else FileChange(path, "create", None, after)
        if move_to is None and after == source.text:
            return None
        action = "move" if move_to else "delete" if after is None else "modify"
        return FileChange(
            path,
            action,  # type: ignore[arg-type]
            source.text,
            self._now[move_to] if move_to else after,
            move_to=move_to,
            buffer=source.buffer,
            tick=source.tick,
        )
