"""Answers to requests about stored runs: pages of the history, one run, its events."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from tideate_core.app import (
    CHECK_ENDED,
    GATE_EVENTS,
    ROLLED_BACK,
    TOOL_COMPLETED,
    actions,
    compare_runs,
    compared_texts,
    export_runs,
    history_page,
    read_details,
    read_runs,
    read_step_thread,
    rollback_states,
    rolled_back_ids,
    run_json,
    runs_with,
    step_json,
    waits_for,
    wanted,
)
from tideate_core.engine import is_continued_from
from tideate_core.errors import InvalidInput
from tideate_core.project import project_state
from tideate_core.store import Reader, resumable_runs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tideate_core.app import ExportFormat, Item, RunDetails
    from tideate_core.store import EventRow, RunRow, Status, StepRow

    Here = Mapping[str, Status]

__all__ = [
    "call",
    "diff",
    "diff_texts",
    "events",
    "export",
    "history",
    "interrupted",
    "said",
    "search",
    "show",
]

PAGE: Final = 100
"""Runs of one page."""
MOST_RUNS: Final = 1000
"""Runs of one answer: pages that are read again are read together."""
MOST_EVENTS: Final = 2000
LONGEST_RESULT: Final = 64 * 1024
"""Characters of a result that a window shows."""
LONGEST_TEXTS: Final = 2 * 1024 * 1024
"""Characters of two texts that windows show side by side."""
TASK_EVENTS: Final = frozenset({*GATE_EVENTS, CHECK_ENDED, ROLLED_BACK})
"""Events that say more of a machine's step than its result does."""
TOOL_CALLED: Final = "SD_EVENT_TOOL_CALLED"
SHOWN_EVENTS: Final = frozenset(
    {
        TOOL_COMPLETED,
        "SD_EVENT_MODEL_ANSWERED",
        "SD_EVENT_NOTICE",
        "SD_EVENT_STEP_EXECUTED",
        "SD_EVENT_STEP_RETRYING",
    }
)
"""Events that the turns and tool calls of a step are told by."""
LONGEST_DATA: Final = 300
"""Characters of an event's data on its line."""


async def history(root: Path | None, params: Mapping[str, Any], here: Here) -> dict[str, Any]:
    """Return a page of the runs of a project, the newest first; where words are wanted, each with an excerpt
    as `match`.

    :param params: `filter`, as `history.wanted` reads it; `limit`; of the page before this one when its last
        run started as `before` and that one's id as `before_id`.
    :raises InvalidInput: the filter is none.
    :raises StoreError: the store cannot be read.
    """
    words = str(params.get("filter") or "")
    limit = min(int(params.get("limit") or PAGE), MOST_RUNS)
    before, before_id = params.get("before"), params.get("before_id")
    behind = (int(before), str(before_id)) if before and before_id else None

    def read(reader: Reader) -> dict[str, Any]:
        which = wanted(words, reader.has_workflow)
        back = rolled_back_ids(root, reader) if which.rolled_back else ()
        found, more = history_page(reader, which, limit, behind, back)
        listed = _listed(root, reader, [run for run, _ in found], here)
        matched = zip(listed, found, strict=True)
        return {"runs": [{**run, "match": match or None} for run, (_, match) in matched], "more": more}

    return {"ok": True, **await read_runs(root, read)}


async def search(root: Path | None, params: Mapping[str, Any], here: Here) -> dict[str, Any]:
    """Return the newest runs of a project with some words, each with an excerpt as `match`.

    :param params: `text`; also `workflow`, `file` that they changed, `since` in milliseconds since the epoch,
        `limit`. Without a text all runs that match the rest.
    :raises InvalidInput: there is no word in the text.
    :raises StoreError: the store cannot be read.
    """
    limit, since = min(int(params.get("limit") or PAGE), MOST_RUNS), params.get("since")
    name, file = (params.get(key) or None for key in ("workflow", "file"))

    def read(reader: Reader) -> list[dict[str, Any]]:
        text, start = str(params.get("text") or ""), None if since is None else int(since)
        found = runs_with(reader, text, limit=limit, name=name, file=file, since=start)
        listed = _listed(root, reader, [run for run, _ in found], here)
        return [{**run, "match": excerpt} for run, (_, excerpt) in zip(listed, found, strict=True)]

    return {"ok": True, "runs": await read_runs(root, read)}


async def show(root: Path | None, prefix: str | None, here: Here) -> dict[str, Any]:
    """Return a run with its steps, the newest without a prefix.

    :param here: as of `history`.
    :raises RunNotFound: there is no such run.
    :raises StoreError: the store cannot be read.
    """

    def read(reader: Reader) -> dict[str, Any]:
        details = read_details(reader, prefix or _newest(reader).id)
        run, steps, items = details.run, details.ordered_steps, details.items
        whole = _export_of(run.id)
        return {
            "run": _listed(root, reader, [run], here)[0],
            "steps": [_step(step, items.get(step.step, []), whole) for step in steps],
            "lanes": {step: row._asdict() for step, row in details.lanes.items()},
            "response": _text(details.response, whole) if run.ended else None,
            "checkpoints": len(details.checkpoints),
            "next": details.next_run,
            "events": _reported(details),
            "gist": _gist(details) if run.kind == "machine" else {},
            "runs": [{**run_json(child), "parent_step": step} for step, child in details.children],
        }

    return {"ok": True, **await read_runs(root, read)}


async def events(root: Path | None, prefix: str) -> dict[str, Any]:
    """Return the events of a run, the first `MOST_EVENTS` of them.

    :raises RunNotFound: there is no such run.
    :raises StoreError: the store cannot be read.
    """

    def read(reader: Reader) -> dict[str, Any]:
        run = reader.run(prefix)
        found = reader.events(run.id, limit=MOST_EVENTS + 1)
        return {
            "events": [_event(event) for event in found[:MOST_EVENTS]],
            "more": len(found) > MOST_EVENTS,
        }

    return {"ok": True, **await read_runs(root, read)}


async def said(root: Path | None, prefix: str, step: str) -> dict[str, Any]:
    """Return what was said in a step of a run, as `read_step_thread` does, with long texts cut.

    As `continued` whether a run that goes on with this one has that conversation.

    :raises RunNotFound: there is no such run.
    :raises StoreError: the store cannot be read.
    """

    def read(reader: Reader) -> dict[str, Any]:
        found = read_step_thread(reader, prefix, step)
        run = reader.run(prefix)
        continued = run.ended and is_continued_from(reader, run.id, step)
        texts = [{**one, "text": _text(one["text"], _export_of(run.id))} for one in found]
        return {"said": texts, "continued": continued}

    return {"ok": True, **await read_runs(root, read)}


async def call(root: Path | None, prefix: str, sequence: int) -> dict[str, Any]:
    """Return the arguments and the result of a tool call, as far as events have them.

    :param sequence: the place of the call's end among the run's events.
    :raises InvalidInput: no call ended there.
    :raises RunNotFound: there is no such run.
    :raises StoreError: the store cannot be read.
    """

    def read(reader: Reader) -> dict[str, Any]:
        run = reader.run(prefix)
        found = reader.events(run.id, after=sequence - 1, limit=1)
        if not found or found[0].name != TOOL_COMPLETED:
            raise InvalidInput(f"run {run.id[:8]} has no tool call that ended at its event {sequence}")
        data = found[0].data
        began = (
            event.data.get("arguments")
            for event in reversed(reader.events(run.id, limit=sequence))
            if event.name == TOOL_CALLED
            and all(event.data.get(key) == data.get(key) for key in ("call", "step"))
        )
        return {"data": data, "arguments": next(began, None)}

    return {"ok": True, **await read_runs(root, read)}


async def diff(root: Path | None, one: str, other: str) -> dict[str, Any]:
    """Return how two runs differ, as `compare_runs` does, with long differences cut.

    :raises RunNotFound: there is no such run.
    :raises StoreError: the store cannot be read.
    """

    def read(reader: Reader) -> dict[str, Any]:
        shape = compare_runs(reader, project_state(root), one, other)
        whole = f"tideate diff {one[:8]} {other[:8]}"
        for part in (*shape["steps"], *shape["edits"]):
            part["diff"] = _text(part["diff"], whole)
        for given in shape["inputs"]:
            given["values"] = [None if value is None else _text(value, whole) for value in given["values"]]
        return {**shape, "response": _text(shape["response"], whole)}

    return {"ok": True, **await read_runs(root, read)}


async def diff_texts(
    root: Path | None, one: str, other: str, *, path: str | None, step: str | None
) -> dict[str, Any]:
    """Return as `texts` two texts of two runs whole, as `compared_texts` does.

    :raises InvalidInput: neither run has it, or it is longer than a window shows.
    :raises RunNotFound: there is no such run.
    :raises StoreError: the store cannot be read.
    """

    def read(reader: Reader) -> dict[str, Any]:
        texts = compared_texts(reader, project_state(root), one, other, path=path, step=step)
        if sum(len(text or "") for text in texts) > LONGEST_TEXTS:
            raise InvalidInput("that is too long for a window; `tideate diff` in a shell shows it")
        return {"texts": [{"text": text} for text in texts]}

    return {"ok": True, **await read_runs(root, read)}


async def export(root: Path | None, wanted: list[str], form: str) -> dict[str, Any]:
    """Return runs as one `text`, as `export_runs` does.

    :raises InvalidInput: there is no such format, or it is longer than a buffer should be.
    :raises RunNotFound: there is no such run.
    :raises StoreError: the store cannot be read.
    """
    if form not in ("markdown", "json"):
        raise InvalidInput(f"there is no format {form!r}; there are markdown and json")

    def read(reader: Reader) -> dict[str, Any]:
        text = export_runs(reader, wanted, cast("ExportFormat", form), root)
        if len(text) > LONGEST_TEXTS:
            raise InvalidInput("that is too long for a buffer; `tideate export -o FILE` in a shell writes it")
        return {"text": text}

    return {"ok": True, **await read_runs(root, read)}


async def interrupted(root: Path | None) -> list[dict[str, Any]]:
    """Return the runs whose process ended before they did, the newest first.

    Each with what it waits for, `waits`: kinds of questions that the person has not answered.

    :raises StoreError: the store cannot be read.
    """

    def read(reader: Reader) -> list[dict[str, Any]]:
        found = [(run, sorted(waits_for(reader, run))) for run in resumable_runs(reader)]
        return [{**run_json(run), "waits": waits} for run, waits in found if waits or run.lease is not None]

    return await read_runs(root, read)


def _newest(reader: Reader) -> RunRow:
    newest = reader.runs(limit=1, as_begun=True)
    if not newest:
        raise InvalidInput("nothing has run in this project yet; :Workflow starts something")
    return newest[0]


def _listed(root: Path | None, reader: Reader, runs: list[RunRow], here: Here) -> list[dict[str, Any]]:
    if not runs:
        return []
    changed, back = rollback_states(root, reader, runs)
    now = [replace(run, status=here[run.id]) if run.id in here and not run.ended else run for run in runs]
    return [
        {**run_json(run), "can": actions(run, changed), "rolled_back": run.ended and run.id in back}
        for run in now
    ]


def _reported(details: RunDetails) -> list[dict[str, Any]]:
    names = SHOWN_EVENTS | (TASK_EVENTS if details.run.kind == "machine" else frozenset())
    found = [event for event in details.events if event.name in names][:MOST_EVENTS]
    return [{"name": event.name, "sequence": event.sequence, "data": _short(event.data)} for event in found]


def _short(data: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is long and not shown in the page."""
    return {**{key: value for key, value in data.items() if key != "result"}, "entries": []}


def _gist(details: RunDetails) -> dict[str, str]:
    """Return what a gated task was to reach, and what its audit said; other machines have neither."""
    plan, audit = details.plan, details.audit
    gist = {
        "plan": plan.get("objective") if plan else None,
        "audit": audit.get("approval") if audit else None,
    }
    return {key: value for key, value in gist.items() if isinstance(value, str)}


def _step(row: StepRow, items: list[Item], whole: str) -> dict[str, Any]:
    return {**step_json(row, items), "result": None if row.result is None else _text(row.result, whole)}


def _export_of(run: str) -> str:
    return f":Workflow export {run[:8]} json"


def _event(event: EventRow) -> dict[str, Any]:
    data = {key: value for key, value in event.data.items() if key != "step"}
    words = json.dumps(data, ensure_ascii=False) if data else ""
    return {
        "sequence": event.sequence,
        "at": event.at,
        "name": event.name.removeprefix("SD_EVENT_"),
        "step": str(event.data.get("step") or ""),
        "words": words if len(words) <= LONGEST_DATA else f"{words[: LONGEST_DATA - 1]}…",
    }


def _text(value: Any, whole: str) -> str:
    """Return a text to be read, cut where it is too long.

    :param whole: the command that gives all of it.
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    if len(text) <= LONGEST_RESULT:
        return text
    return f"{text[:LONGEST_RESULT]}\n… ({len(text)} characters; `{whole}` has them all)"
