"""The editor as front end and as the buffers of a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.errors import EditConflict, StepFailed
from tideate_core.workflows import Confirm, Decision
from tideate_core.workspace import BufferText

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tideate_core.editor.asker import Asker
    from tideate_core.engine import ConfirmationRequest, Event
    from tideate_core.workflows import StepContext, StepHandler
    from tideate_core.workspace import BufferEdit

__all__ = ["EditorBuffers", "EditorFrontEnd", "lua_handler"]


class EditorFrontEnd:
    """Sends every event, and asks with the editor's dialogs."""

    def __init__(self, asker: Asker, post: Callable[[dict[str, Any]], None]) -> None:
        self._asker = asker
        self._post = post

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        answer = await self._asker.ask("confirm", request.as_json())
        return Decision(bool(answer["accepted"]), answer.get("value"), reason=answer.get("reason") or "")

    def emit(self, event: Event) -> None:
        self._post({"type": "event", **event.as_json()})

    async def present(self, text: str, filetype: str) -> None:
        await self._asker.ask("buffer_create", {"text": text, "filetype": filetype})


class EditorBuffers:
    """The loaded buffers of the editor: `tideate_core.workspace.Buffers`."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    async def find(self, path: Path) -> BufferText | None:
        return _text(await self._asker.ask("buffer_find", {"path": str(path)}))

    async def read(self, number: int) -> BufferText | None:
        return _text(await self._asker.ask("buffer_read", {"number": number}))

    async def replace(self, edits: Sequence[BufferEdit]) -> list[BufferText]:
        wanted = [
            {"number": edit.number, "tick": edit.tick, "hunks": [hunk.as_json() for hunk in edit.hunks]}
            for edit in edits
        ]
        try:
            answer = await self._asker.ask("buffer_replace", {"edits": wanted})
        except StepFailed as error:
            raise EditConflict(str(error)) from error
        if answer.get("applied"):
            return []
        return [text for item in answer["changed"] if (text := _text(item))]

    async def changed_on_disk(self, paths: Sequence[Path]) -> None:
        await self._asker.ask("checktime", {"paths": [str(path) for path in paths]})

    async def moved(self, old: Path, new: Path) -> None:
        await self._asker.ask("buffer_moved", {"from": str(old), "to": str(new)})


def lua_handler(asker: Asker, workflow: str, step: str) -> StepHandler:
    """Return a handler that is a Lua function."""

    async def handle(context: StepContext) -> Any:
        state = {
            "prompt": context.prompt,
            "context": context.context.model_dump(exclude_none=True),
            "options": dict(context.options),
            "results": dict(context.results),
        }
        params = {"execution_id": context.execution_id, "workflow": workflow, "step": step, "state": state}
        outcome = await asker.ask("handler", params)
        if outcome.get("error") is not None:
            raise StepFailed(str(outcome["error"]))
        if outcome.get("requires_confirmation"):
            message = outcome.get("message") or f"Go on after {step}?"
            return Confirm(outcome.get("value"), message, str(outcome.get("details") or ""))
        return outcome.get("value")

    return handle


def _text(answer: dict[str, Any] | None) -> BufferText | None:
    if answer is None:
        return None
    return BufferText(
        answer["number"], answer["tick"], answer["text"], bool(answer["modified"]), answer["path"]
    )
