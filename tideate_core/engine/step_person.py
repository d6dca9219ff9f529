"""Questions and words to the person in one attempt of a step; an answer is remembered over a crash."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from tideate_core.engine.begun_answers import DRAFTED
from tideate_core.engine.events import EventName
from tideate_core.engine.memory import MISSING, digest_of
from tideate_core.engine.review_drafts import may_have_draft, prepare_draft, prepare_empty_draft
from tideate_core.workflows import Decision, persons_time

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tideate_core.engine.confirmation import ConfirmationRequest, FrontEnd
    from tideate_core.engine.memory import Memory
    from tideate_core.engine.recording import Recorder

__all__ = ["StepPerson"]


class StepPerson:
    """Asks and tells the person in one attempt of a step; an answer is remembered over a crash.

    :param warned: warnings that are not repeated in the run.
    :param private: the project's private state; None of a run that is in no store.
    """

    def __init__(
        self,
        step: str,
        attempt: int,
        *,
        front: FrontEnd,
        memory: Memory,
        recorder: Recorder,
        warned: set[str],
        private: Path | None = None,
    ) -> None:
        self.step = step
        self._attempt = attempt
        self._front = front
        self._memory = memory
        self._recorder = recorder
        self._warned = warned
        self._private = private

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        """Return the answer to a question, which is durable then."""
        kind, message, memory = request.kind, request.message, self._memory
        digest = digest_of(kind, message, request.details, _lasting(request.payload))
        key = memory.numbered(self.step, f"{self._attempt}.confirm:{digest}")
        # not of what is reviewed: where that is another after a crash, what is the same in it stays decided
        review = memory.numbered(self.step, f"{self._attempt}.review") if kind == "review" else None
        kept = memory.recall(self.step, key)
        if kept is not MISSING:
            return Decision.of_json(kept)
        # durable: whoever looks at a run that nobody has is told what it waits for
        await self._recorder.durable_event(
            EventName.CONFIRMATION_REQUIRED, {"step": self.step, "kind": kind, "message": message}
        )
        if kind in DRAFTED:
            request = await self._with_draft(request, review or key)
        with persons_time():
            decision = await self._front.confirm(request)
        # before anything depends on it
        await memory.remember(self.step, key, decision.as_json(), keep=False)
        edited = _edited(decision.value) if kind == "review" else {}
        more = {"edited": edited} if edited else {}
        self.emit(EventName.CONFIRMATION_ANSWERED, kind=kind, accepted=decision.accepted, **more)
        return decision

    async def _with_draft(self, request: ConfirmationRequest, key: str) -> ConfirmationRequest:
        """Return a question with the file in which a front end keeps what the person did so far about it."""
        if self._private is None:
            return request
        place = self._private, request.execution_id, self.step, key
        try:
            if request.kind == "review":
                draft = await asyncio.to_thread(prepare_draft, *place, request.payload["files"])
            else:
                draft = await asyncio.to_thread(prepare_empty_draft, *place)
        except OSError as error:
            words = f"what is decided of this {request.kind} is not kept if it is left: {error}"
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
        """Warn, once in the run."""
        if message not in self._warned:
            self._warned.add(message)
            self.notice(message, level="warn")

    def emit(self, event: EventName, /, **data: Any) -> None:
        """Send an event of the step."""
        self._recorder.event(event, {"step": self.step, **data})


def _edited(value: Any) -> dict[str, int]:
    """Return how many accepted hunks of each file the person wrote themselves in a review."""
    files = value.get("files") if isinstance(value, dict) else None
    counts: dict[str, int] = {}
    for file in (file for file in files or () if isinstance(file, dict)):
        edited, accepted = file.get("edited"), file.get("accepted")
        if isinstance(edited, list) and isinstance(accepted, list):
            count = sum(isinstance(one, dict) and one.get("hunk") in accepted for one in edited)
            counts |= {str(file.get("path") or "the buffer"): count} if count else {}
    return counts


def _lasting(payload: Any) -> Any:
    """Return what makes a review's question the same after a restart of the editor.

    A buffer has another number and changedtick then. Of a modified file its hunks are the question, of
    another one the digest of its text. What went wrong in a round may be told in other words then.
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
