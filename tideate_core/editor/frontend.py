"""Front end in Neovim: sends events and questions to Lua, reads and writes the editor's buffers."""

from __future__ import annotations

import asyncio
import base64
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tideate_core.editor.commands_named import with_editor_commands
from tideate_core.engine import EventName, declined_unasked
from tideate_core.errors import EditConflict, InvalidInput, StepFailed, ToolError, WorkspaceError
from tideate_core.workflows import Confirm, Decision
from tideate_core.workspace import BufferText

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tideate_core.engine import ConfirmationRequest, Event, RecordedAnswers
    from tideate_core.machines.diagrams import LaneRow
    from tideate_core.workflows import CheckAccepted, StepContext, StepHandler
    from tideate_core.workspace import BufferEdit

BEGINNINGS: Final = (EventName.WORKFLOW_STARTED, EventName.WORKFLOW_RESTORED)
"""Events with the root of the paths of a run and the lanes beside its steps."""
PLACES: Final = ("failures", "entries")
"""Keys of event data with quickfix entries, with paths relative to the project's root."""


class EditorQuestions:
    """Questions to Lua: show a dialog, read or change a buffer, call a function.

    There is no time limit: an editor cannot answer while it waits for a key, and could still make a change
    after a time limit here. Cancelling the caller withdraws the question.
    """

    def __init__(self, post: Callable[[dict[str, Any]], None]) -> None:
        self._post = post
        self._ids = itertools.count(1)
        self._open: dict[str, asyncio.Future[Any]] = {}
        self._runs: dict[str, str] = {}

    @property
    def waiting_runs(self) -> set[str]:
        """Ids of the runs with an open question."""
        return set(self._runs.values())

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Return Lua's result.

        :raises StepFailed: the editor refused; the message is from Lua.
        """
        key = str(next(self._ids))
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._open[key] = answer
        if method == "confirm":
            self._runs[key] = params["execution_id"]
        self._post({"type": "ask", "id": key, "method": method, "params": params})
        try:
            return await answer
        except asyncio.CancelledError:
            self._post({"type": "withdraw", "id": key})
            raise
        finally:
            del self._open[key]
            self._runs.pop(key, None)

    def answer(self, params: dict[str, Any]) -> None:
        """Pass an answer to its question; ignore an answer to a withdrawn question."""
        waiting = self._open.get(str(params["id"]))
        if waiting is None or waiting.done():
            return
        if params.get("ok", True):
            waiting.set_result(params.get("result"))
        else:
            waiting.set_exception(StepFailed(str(params.get("error") or "the editor refused")))


class EditorQueries:
    """Questions to Lua with a time limit: an implementation of `tideate_core.workflows.EditorAccess`."""

    def __init__(self, asker: EditorQuestions) -> None:
        self._asker = asker

    async def query(self, name: str, arguments: Mapping[str, Any], *, within: float) -> Any:
        """Return Lua's answer.

        :param within: seconds.
        :raises ToolError: the editor refused, or did not answer in time.
        """
        try:
            async with asyncio.timeout(within):
                return await self._asker.ask("query", {"name": name, "arguments": dict(arguments)})
        except StepFailed as error:
            raise ToolError(str(error)) from error
        except TimeoutError as error:
            raise ToolError(f"{name}: the editor did not answer within {within:g} s") from error


class EditorFrontEnd:
    """Front end that sends all events to Lua and asks with dialogs of the editor.

    :param root_of: returns the root of the project of a run, None if unknown.
    :param lanes_of: returns the lanes beside the steps of a run, by the name of the step.
    :param outermost_of: returns the outermost run around a run.
    """

    def __init__(
        self,
        asker: EditorQuestions,
        post: Callable[[dict[str, Any]], None],
        root_of: Callable[[str], Path | None] = lambda _: None,
        lanes_of: Callable[[str], Mapping[str, LaneRow]] = lambda _: {},
        outermost_of: Callable[[str], str] = str,
    ) -> None:
        self.editor = EditorQueries(asker)
        self._asker = asker
        self._post = post
        self._root_of = root_of
        self._lanes_of = lanes_of
        self._outermost_of = outermost_of
        self.recorded: dict[str, RecordedAnswers] = {}
        """Answers that were given elsewhere, by the outermost run."""
        self._checks: dict[str, CheckAccepted] = {}
        """Functions that check the accepted part of an open review, by run."""

    async def check_review(self, params: dict[str, Any]) -> dict[str, Any]:
        """Run a check on the accepted hunks of an open review.

        :param params: `execution_id` of the run; `files` of an answer; `check`, if there are several.
        :raises InvalidInput: the run has no open review with a check.
        """
        check = self._checks.get(str(params["execution_id"]))
        if check is None:
            raise InvalidInput("the review is not open any more")
        done = await check({"files": params["files"]}, str(params.get("check") or ""))
        return with_editor_commands(done.as_json())

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        recorded = self.recorded.get(self._outermost_of(request.execution_id))
        decision = (recorded.take(request) if recorded else None) or declined_unasked(request)
        if decision is not None:
            return decision
        if request.check is not None:
            self._checks[request.execution_id] = request.check
        try:
            answer = await self._asker.ask("confirm", with_editor_commands(request.as_json()))
        finally:
            self._checks.pop(request.execution_id, None)
        if not isinstance(answer, dict) or not isinstance(answer.get("accepted"), bool):
            raise StepFailed(f"the editor gave no answer to the question {request.message!r}; try again")
        return Decision(answer["accepted"], answer.get("value"), reason=answer.get("reason") or "")

    def emit(self, event: Event) -> None:
        message = {**event.as_json(), "data": with_editor_commands(event.data)}
        if event.name in BEGINNINGS and (root := self._root_of(event.execution_id)) is not None:
            lanes = {step: row._asdict() for step, row in self._lanes_of(event.execution_id).items()}
            message = {**message, "data": {**message["data"], "root": str(root), "lanes": lanes}}
        for key in PLACES:
            if event.data.get(key):
                root = self._root_of(event.execution_id)
                data = {**message["data"], key: [_placed(entry, root) for entry in event.data[key]]}
                message = {**message, "data": data}
        self._post({"type": "event", **message})

    async def present(self, text: str, filetype: str) -> None:
        await self._asker.ask("buffer_create", {"text": text, "filetype": filetype})


class EditorBuffers:
    """Loaded buffers of the editor: an implementation of `tideate_core.workspace.Buffers`."""

    def __init__(self, asker: EditorQuestions) -> None:
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

    async def missing_characters(self, number: int, text: str) -> tuple[str, str]:
        answer = await self._asker.ask("buffer_missing", {"number": number, "text": text})
        return "".join(answer["characters"]), answer["encoding"]

    async def encoded(self, number: int, texts: Sequence[str]) -> list[bytes]:
        answer = await self._asker.ask("buffer_bytes", {"number": number, "texts": list(texts)})
        return [base64.b64decode(data) for data in answer["files"]]

    async def save(self, numbers: Sequence[int]) -> dict[int, str]:
        try:
            answer = await self._asker.ask("buffer_save", {"numbers": list(numbers)})
        except StepFailed as error:
            raise WorkspaceError(str(error)) from error
        return {buffer["number"]: buffer["reason"] for buffer in answer["unsaved"]}

    async def modified(self, root: Path) -> list[Path]:
        answer = await self._asker.ask("buffers_modified", {"root": str(root)})
        return [Path(path) for path in answer["paths"]]


def lua_handler(asker: EditorQuestions, workflow: str, step: str) -> StepHandler:
    """Return a step handler that calls a Lua function."""

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
            message = outcome.get("message") or f"Continue after {step}?"
            return Confirm(outcome.get("value"), message, str(outcome.get("details") or ""))
        return outcome.get("value")

    return handle


def _placed(entry: dict[str, Any], root: Path | None) -> dict[str, Any]:
    """Return a quickfix entry with an absolute path."""
    name = entry.get("filename")
    return {**entry, "filename": str(root / name)} if name and root is not None else entry


def _text(answer: dict[str, Any] | None) -> BufferText | None:
    if answer is None:
        return None
    return BufferText(
        answer["number"],
        answer["tick"],
        answer["text"],
        bool(answer["modified"]),
        answer["path"],
        bool(answer["gone"]),
    )
