"""Continuation of an earlier run: checks it, completes the request, reads its conversation and results."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from tideate_core.adapters import Conversation
from tideate_core.engine.context.memory import BEGINS, CONVERSATION, EARLIER, NEXT_RUN, REPLY, RUN
from tideate_core.errors import InvalidInput, WorkspaceError
from tideate_core.workflows import MISSING, EarlierRun, NextRun, RunContext
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from tideate_core.engine.context.memory import Memory
    from tideate_core.engine.request import RunRequest
    from tideate_core.store import Reader, RunRow, Store
    from tideate_core.workflows import Registration
    from tideate_core.workspace import Workspace


LAST: Final = "last"
"""Name of the newest run that has a conversation."""
SHORT: Final = 8
"""Digits of an id in messages."""
_STAGED: Final = ("path", "action", "before", "after", "move_to", "filetype")
ON_A_FILE: Final = frozenset({"text", "lines", "place"})
"""Needs of workflows that work on a text; without one they use the earlier run's."""


async def continued_request(
    request: RunRequest,
    registration: Registration,
    open_store: Callable[[], Awaitable[Store]],
    workspace: Callable[[RunRequest], Workspace],
) -> RunRequest:
    """Complete a request with the run that it continues: id, current file and proposed prompt.

    :raises RunNotFound: there is no such run.
    :raises InvalidInput: the workflow cannot continue that run; says why.
    """
    if request.continues is None:
        return request
    store = await open_store()
    run, context, proposed = await asyncio.to_thread(_check, store.reader(), request, registration)
    change: dict[str, Any] = {"continues": run.id}
    if proposed and proposed["workflow"] == registration.definition.name and not request.prompt.strip():
        change["prompt"] = proposed["prompt"]
    needs = ON_A_FILE.intersection(registration.definition.needs)
    if needs and request.context.buffer is None and context.buffer is not None:
        change["context"] = await _as_it_is_now(context, workspace(request))
    return request.model_copy(update=change)


def request_of(proposed: Mapping[str, Any]) -> RunRequest:
    """Return the request for a proposed next run, from a result's `next_run`."""
    from tideate_core.engine.request import RunRequest

    return RunRequest(
        name=proposed["workflow"],
        prompt=proposed["prompt"],
        continues=proposed["continues"],
        adapter=proposed.get("adapter"),
    )


async def earlier_run(request: RunRequest, memory: Memory, store: Store | None) -> EarlierRun | None:
    """Return the run that a run continues; stored at the first call, because the earlier run may be deleted.

    :raises TideateError: the earlier run is gone.
    """
    if request.continues is None or store is None:
        return None
    kept = memory.recall(RUN, EARLIER)
    if kept is MISSING and request.opened:
        return None  # a bundle names no conversation of this machine
    if kept is MISSING:
        kept = await asyncio.to_thread(_read, store.reader(), request.continues, request.turn)
        memory.note(RUN, BEGINS, len(kept["conversation"]["messages"]))
        await memory.remember(RUN, EARLIER, kept)
    return EarlierRun(
        kept["execution_id"],
        kept["workflow"],
        kept["prompt"],
        Conversation.of_json(kept["conversation"]),
        tuple(FileChange(**change) for change in kept["staged"]),
        RunContext.model_validate(kept["context"]),
        kept["results"],
        NextRun.of_json(kept["proposed"]) if kept.get("proposed") else None,
    )


def kept_conversation(conversation: Conversation, staged: Sequence[FileChange]) -> dict[str, Any]:
    """Return a conversation as stored JSON, without buffers: their numbers change between processes."""
    changes = [{name: getattr(change, name) for name in _STAGED} for change in staged]
    return {**conversation.answered().as_json(), "staged": changes}


def last_conversation(reader: Reader, run_id: str) -> dict[str, Any] | None:
    """Return the stored conversation of the last step that has one; blocking.

    :raises StoreError: the store cannot be read.
    """
    found = _last_conversation(reader, run_id)
    return None if found is None else found[1]


def conversation_starts(reader: Reader, ids: Iterable[str]) -> dict[str, int]:
    """Return for each run the number of earlier runs' messages in its conversation; blocking.

    Runs that continue no other run are left out.

    :raises StoreError: the store cannot be read.
    """
    found: dict[str, int] = reader.memo_of_each(list(ids), RUN, BEGINS)
    return found


def is_continued_from(reader: Reader, run_id: str, step: str) -> bool:
    """Tell whether a run that continues this one gets the conversation of this step; blocking.

    :raises StoreError: the store cannot be read.
    """
    found = _last_conversation(reader, run_id)
    return found is not None and found[0] == step


def _last_conversation(reader: Reader, run_id: str) -> tuple[str, dict[str, Any]] | None:
    kept = reader.memos_of(run_id, RUN, CONVERSATION)
    if not kept:
        return None
    begun = {row.step: (row.started_at or 0, place) for place, row in enumerate(reader.steps(run_id))}
    last = max(kept, key=lambda step: begun.get(step, (0, 0)))
    return last, kept[last]


def said_in_step(
    reader: Reader, run_id: str, step: str
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Return a step's stored conversation and its models' replies; blocking.

    A conversation is stored when the step's models have finished, each reply when it arrives.

    :param step: the step, or an item of its list.
    :raises StoreError: the store cannot be read.
    """
    conversation = reader.memos_of(run_id, RUN, f"{CONVERSATION}{step}").get("")
    replies: list[dict[str, Any]] = []
    for name in dict.fromkeys((step, step.partition("[")[0])):
        memos = reader.memos_of(run_id, name, "")
        found = [memos[key] for key in sorted(memos) if REPLY in key]
        found.sort(key=lambda one: one.get("place", 0))
        # turns of an item may be stored with its step, under the item's name
        replies += (one for one in found if one.get("of", name) == step)
    return conversation, [one.get("turn", one) for one in replies]


def _check(
    reader: Reader, request: RunRequest, registration: Registration
) -> tuple[RunRow, RunContext, dict[str, Any] | None]:
    """Return the continued run, its context, and its proposed next run."""
    name = registration.definition.name
    run = _find(reader, request.continues or LAST)
    short = run.id[:SHORT]
    if not registration.continues:
        raise InvalidInput(f"{name} cannot continue other runs; `ask` can continue any run's conversation")
    if not run.ended:
        raise InvalidInput(f"run {short} has not ended; `tideate resume {short}` resumes it if it stopped")
    if not _fits(run, registration.continues):
        known = ", ".join(registration.continues)
        raise InvalidInput(
            f"run {short} is one of {run.name}, and {name} continues only runs of {known}; "
            "`ask` continues any run"
        )
    _kept(reader, run.id, request.turn)
    context = RunContext.model_validate(reader.request(run.id).get("context") or {})
    return run, context, _proposed(reader, run) if request.turn is None else None


def _fits(run: RunRow, continues: tuple[str, ...]) -> bool:
    return "*" in continues or (run.name in continues and run.source == "builtin")


def _find(reader: Reader, wanted: str) -> RunRow:
    if wanted != LAST:
        return reader.run(wanted)
    found = reader.runs(limit=1, with_memo=CONVERSATION, as_begun=True)
    if not found:
        raise InvalidInput("no run has a conversation to continue yet")
    return found[0]


def _kept(reader: Reader, run_id: str, turn: int | None) -> tuple[Conversation, list[Any]]:
    """Return a run's conversation and the edits made in it; no edits if it is cut at a turn."""
    kept = last_conversation(reader, run_id)
    if kept is None:
        raise InvalidInput(f"run {run_id[:SHORT]} has no conversation to continue")
    conversation = Conversation.of_json(kept)
    if turn is None:
        return conversation, kept["staged"]
    return conversation.after(turn), []


def _proposed(reader: Reader, run: RunRow) -> dict[str, Any] | None:
    """Return a run's proposed next run; for an unfinished run, the run's own prompt."""
    own: dict[str, Any] | None = reader.memos_of(run.id, RUN, NEXT_RUN).get("")
    if own or run.status == "completed":
        return own
    before: dict[str, Any] = reader.memos_of(run.id, RUN, EARLIER).get("", {})
    return before.get("proposed")


def _read(reader: Reader, run_id: str, turn: int | None) -> dict[str, Any]:
    """Return the continued run as stored JSON."""
    run, request = reader.run(run_id), reader.request(run_id)
    conversation, staged = _kept(reader, run.id, turn)
    before = reader.memos_of(run.id, RUN, EARLIER).get("", {"prompt": ""})
    return {
        "execution_id": run.id,
        "workflow": run.name,
        "prompt": "\n\n".join(filter(None, [before["prompt"], str(request.get("prompt") or "")])),
        "conversation": conversation.as_json(),
        "staged": staged,
        "context": request.get("context") or {},
        "results": {row.step: row.result for row in reader.steps(run.id) if row.status == "completed"},
        "proposed": _proposed(reader, run) if turn is None else None,
    }


async def _as_it_is_now(context: RunContext, workspace: Workspace) -> RunContext:
    """Return the context of a run with the current text and without a selection.

    :raises InvalidInput: the text no longer exists.
    """
    buffer = context.buffer
    assert buffer is not None  # noqa: S101 the caller looked
    if not buffer.path:
        raise InvalidInput("the text of that run has no name and cannot be found; select it again")
    try:
        source = await workspace.read(buffer.path)
    except WorkspaceError as error:
        raise InvalidInput(f"the text of that run cannot be found again: {error}") from error
    change = {"text": source.text, "number": source.buffer, "tick": source.tick}
    now: dict[str, Any] = {"buffer": buffer.model_copy(update=change)}
    if source.buffer is None and workspace.root is not None:
        now["cwd"] = str(workspace.root)  # paths of edits to files are relative to the root
    return context.model_copy(update={**now, "selection": None, "cursor": None, "diagnostics": None})
