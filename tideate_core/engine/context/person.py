"""Questions and notices to the person from one attempt of a step."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from tideate_core.engine.events import EventName
from tideate_core.engine.review.drafts import (
    DRAFTED,
    may_have_draft,
    prepare_draft,
    prepare_empty_draft,
)
from tideate_core.util.json_digest import digest_of
from tideate_core.workflows import MISSING, Decision, persons_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.engine.events import ConfirmationRequest
    from tideate_core.engine.run import Run


class StepPerson:
    """Asks and informs the person in one attempt of a step; an answer survives a crash."""

    def __init__(self, run: Run, step: str, attempt: int) -> None:
        self.step = step
        self._attempt = attempt
        self._run = run
        self._memory = run.memory
        self._recorder = run.recorder

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        """Return the answer to a question; durable on return."""
        kind, message, memory = request.kind, request.message, self._memory
        digest = digest_of(kind, message, request.details, _lasting(request.payload))
        key = memory.numbered(self.step, f"{self._attempt}.confirm:{digest}")
        # independent of the changes: unchanged parts stay decided even if others differ after a crash
        review = memory.numbered(self.step, f"{self._attempt}.review") if kind == "review" else None
        kept = memory.recall(self.step, key)
        if kept is not MISSING:
            return Decision.of_json(kept)
        # durable: the store shows the question of a run that no process has
        await self._recorder.durable_event(
            EventName.CONFIRMATION_REQUIRED, {"step": self.step, "kind": kind, "message": message}
        )
        if kind in DRAFTED:
            request = await self._with_draft(request, review or key)
        with persons_time():
            decision = await self._run.front.confirm(request)
        # stored before anything depends on it
        await memory.remember(self.step, key, decision.as_json(), keep=False)
        edited = _edited(decision.value) if kind == "review" else {}
        more = {"edited": edited} if edited else {}
        self.emit(EventName.CONFIRMATION_ANSWERED, kind=kind, accepted=decision.accepted, **more)
        return decision

    async def _with_draft(self, request: ConfirmationRequest, key: str) -> ConfirmationRequest:
        """Return a question with the draft file in which a front end stores the partial answer."""
        if self._run.store is None:
            return request
        place = self._run.store.private, request.execution_id, self.step, key
        try:
            if request.kind == "review":
                draft = await asyncio.to_thread(prepare_draft, *place, request.payload["files"])
            else:
                draft = await asyncio.to_thread(prepare_empty_draft, *place)
        except OSError as error:
            words = f"the draft of this {request.kind} cannot be stored: {error}"
            self.notice(words, level="warn")
            lost = await asyncio.to_thread(may_have_draft, *place)
            return replace(request, unread=f"cannot be read: {error.strerror or error}" if lost else "")
        return replace(request, draft=str(draft))

    def notice(
        self, message: str, *, level: Literal["info", "warn"] = "info", unsaved: Sequence[str] = ()
    ) -> None:
        more = {"unsaved": list(unsaved)} if unsaved else {}
        self.emit(EventName.NOTICE, message=message, level=level, **more)

    def warn_once(self, message: str) -> None:
        """Show a warning once in the run."""
        if message not in self._run.warned:
            self._run.warned.add(message)
            self.notice(message, level="warn")

    def emit(self, event: EventName, /, **data: Any) -> None:
        """Send an event of the step."""
        self._recorder.event(event, {"step": self.step, **data})


def _edited(value: Any) -> dict[str, int]:
    """Return the number of accepted hunks that the person edited in a review, by file."""
    files = value.get("files") if isinstance(value, dict) else None
    counts: dict[str, int] = {}
    for file in (file for file in files or () if isinstance(file, dict)):
        edited, accepted = file.get("edited"), file.get("accepted")
        if isinstance(edited, list) and isinstance(accepted, list):
            count = sum(isinstance(one, dict) and one.get("hunk") in accepted for one in edited)
            counts |= {str(file.get("path") or "the buffer"): count} if count else {}
    return counts


def _lasting(payload: Any) -> Any:
    """Return the part of a review's payload that identifies the question after a restart of the editor.

    Buffer numbers, changedticks and warnings differ then. A modified file is identified by its hunks, any
    other by the digest of its text.
    """
    if not isinstance(payload, dict):
        return payload
    lasting = {key: value for key, value in payload.items() if key != "warnings"}
    if isinstance(lasting.get("files"), list):
        lasting["files"] = [_lasting_file(file) for file in lasting["files"]]
    return lasting


def _lasting_file(file: Any) -> Any:
    if not isinstance(file, dict):
        return file
    passing = {"buffer", "tick", "before"} if "digest" in file else set()
    if file.get("action") == "modify":
        passing = {"buffer", "tick", "before", "digest"}
    return {key: value for key, value in file.items() if key not in passing}
