"""Questions of a step to the person; an answer survives a crash."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tideate_core.engine.context.memory import PERMIT
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
    from tideate_core.engine.context.context import Context
    from tideate_core.engine.events import ConfirmationRequest


async def ask_person(step: Context, request: ConfirmationRequest, *, permission: bool) -> Decision:
    """Return the answer to a question; durable on return, and not asked again after a crash.

    :param permission: the answer counts only on this machine.
    """
    kind, message, memory, name = request.kind, request.message, step.run.memory, step.whole_step
    digest = question_digest(request)
    what = PERMIT if permission else "confirm:"
    key = memory.numbered(name, f"{step.attempt}.{what}{digest}")
    # independent of the changes: unchanged parts stay decided even if others differ after a crash
    review = memory.numbered(name, f"{step.attempt}.review") if kind == "review" else None
    kept = memory.recall(name, key)
    if kept is not MISSING:
        return Decision.of_json(kept)
    request = replace(request, place=digest_of(request.execution_id, name, key))
    recorder = step.run.recorder
    # durable: the store shows the question of a run that no process has
    await recorder.durable_event(
        EventName.CONFIRMATION_REQUIRED, {"step": name, "kind": kind, "message": message}
    )
    if kind in DRAFTED:
        request = await _with_draft(step, request, review or key)
    with persons_time():
        decision = await step.run.front.confirm(request)
    # stored before anything depends on it
    await memory.remember(name, key, decision.as_json(), keep=False)
    answered: dict[str, Any] = {"step": name, "kind": kind, "accepted": decision.accepted}
    if kind == "review" and (edited := _edited(decision.value)):
        answered["edited"] = edited
    recorder.event(EventName.CONFIRMATION_ANSWERED, answered)
    return decision


def question_digest(request: ConfirmationRequest) -> str:
    """Return 32 hexadecimal digits that identify a question after a restart, and on another machine."""
    return digest_of(request.kind, request.message, request.details, _lasting(request.payload))


async def _with_draft(step: Context, request: ConfirmationRequest, key: str) -> ConfirmationRequest:
    """Return a question with the draft file in which a front end stores the partial answer."""
    if step.run.store is None:
        return request
    place = step.run.store.private, request.execution_id, request.step, key
    try:
        if request.kind == "review":
            draft = await asyncio.to_thread(prepare_draft, *place, request.payload["files"])
        else:
            draft = await asyncio.to_thread(prepare_empty_draft, *place)
    except OSError as error:
        step.notice(f"the draft of this {request.kind} cannot be stored: {error}", level="warn")
        lost = await asyncio.to_thread(may_have_draft, *place)
        return replace(request, unread=f"cannot be read: {error.strerror or error}" if lost else "")
    return replace(request, draft=str(draft))


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
    lasting = {key: value for key, value in payload.items() if key not in ("warnings", "checks")}
    if isinstance(lasting.get("files"), list):
        lasting["files"] = [_lasting_file(file) for file in lasting["files"]]
    return lasting


def _lasting_file(file: Any) -> Any:
    if not isinstance(file, dict):
        return file
    passing = {"buffer", "tick", "before", "checked"} if "digest" in file else {"checked"}
    if file.get("action") == "modify":
        passing = {"buffer", "tick", "before", "digest", "checked"}
    return {key: value for key, value in file.items() if key not in passing}
