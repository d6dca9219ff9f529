"""Handlers of Lua's read-only requests about runs: history, details, conversations, diffs, exports."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import wraps
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
    list_chats,
    parse_filter,
    read_chat,
    read_details,
    read_runs,
    read_step_thread,
    rollback_states,
    rolled_back_ids,
    run_json,
    session_json,
    step_json,
    title_of,
    waits_for,
)
from tideate_core.editor.projects import FolderRequests
from tideate_core.engine import is_continued_from
from tideate_core.errors import InvalidInput
from tideate_core.project import project_state
from tideate_core.snapshots import list_sessions
from tideate_core.store import Reader, resumable_runs
from tideate_core.util.cutting import beginning

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from tideate_core.app import ExportFormat, Item, RunDetails
    from tideate_core.store import EventRow, RunRow, StepRow

PAGE: Final = 100
"""Runs of a history page."""
MOST_RUNS: Final = 1000
"""Runs of one answer; a reload asks for several pages at once."""
MOST_EVENTS: Final = 2000
LONGEST_RESULT: Final = 64 * 1024
"""Characters of a result shown in a window."""
LONGEST_TEXTS: Final = 2 * 1024 * 1024
"""Characters of two texts shown side by side."""
TASK_EVENTS: Final = frozenset({*GATE_EVENTS, CHECK_ENDED, ROLLED_BACK})
"""Events that explain a step of a machine better than its result."""
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
"""Events that record the turns and tool calls of a step."""
LONGEST_DATA: Final = 300
"""Characters of the data of an event, on one line."""


def _reading(
    read: Callable[[RunViews, Reader, dict[str, Any]], dict[str, Any]],
) -> Callable[[RunViews, dict[str, Any]], Awaitable[dict[str, Any]]]:
    """Make a request of a method that reads the runs of a folder's project; it is called in a thread."""

    @wraps(read)
    async def request(views: RunViews, params: dict[str, Any]) -> dict[str, Any]:
        return await read_runs(views._root(params), lambda reader: read(views, reader, params))

    return request


class RunViews(FolderRequests):
    """Read-only requests about the stored runs of a folder's project."""

    async def history(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return one page of the runs, newest first; with the first page, the guarded sessions.

        :param params: `filter`, in the syntax of `parse_filter`; `limit`; `before` and `before_id`: start
            time and id of the last run of the page before. Each run of a search for words has an excerpt
            as `match`.
        """
        root = self._root(params)
        await self._projects.tell_moved(root)
        words = str(params.get("filter") or "")
        limit = min(int(params.get("limit") or PAGE), MOST_RUNS)
        before, before_id = params.get("before"), params.get("before_id")
        behind = (int(before), str(before_id)) if before and before_id else None

        def read(reader: Reader) -> dict[str, Any]:
            which = parse_filter(words, reader.has_workflow)
            back = rolled_back_ids(root, reader) if which.rolled_back else ()
            found, more = history_page(reader, which, limit, behind, back)
            listed = self._listed(root, reader, [run for run, _ in found])
            matched = zip(listed, found, strict=True)
            return {"runs": [{**run, "match": match or None} for run, (_, match) in matched], "more": more}

        page = await read_runs(root, read)
        if behind is None and root is not None:
            page["sessions"] = [session_json(one) for one in await asyncio.to_thread(list_sessions, root)]
        return page

    @_reading
    def show(self, reader: Reader, params: dict[str, Any]) -> dict[str, Any]:
        """Return a run with its steps; without `execution_id` the newest run."""
        root, prefix = self._root(params), params.get("execution_id")
        details = read_details(reader, prefix or _newest(reader).id)
        run, steps, items = details.run, details.ordered_steps, details.items
        whole = _export_of(run.id)
        return {
            "run": self._listed(root, reader, [run])[0],
            "steps": [_step(step, items.get(step.step, []), whole) for step in steps],
            "lanes": {step: row._asdict() for step, row in details.lanes.items()},
            "response": _text(details.response, whole) if run.ended else None,
            "checkpoints": len(details.checkpoints),
            "next": details.next_run,
            "events": _reported(details),
            "gist": _gist(details) if run.kind == "machine" else {},
            "runs": [{**run_json(child), "parent_step": step} for step, child in details.children],
        }

    @_reading
    def events(self, reader: Reader, params: dict[str, Any]) -> dict[str, Any]:
        """Return the first `MOST_EVENTS` events of a run."""
        run = reader.run(str(params["execution_id"]))
        found = reader.events(run.id, limit=MOST_EVENTS + 1)
        shown = [_event(event) for event in found[:MOST_EVENTS]]
        return {"events": shown, "more": len(found) > MOST_EVENTS}

    @_reading
    def said(self, reader: Reader, params: dict[str, Any]) -> dict[str, Any]:
        """Return the conversation of a step of a run; long texts are cut.

        `continued` tells whether a later run continues this conversation.
        """
        prefix, step = str(params["execution_id"]), str(params["step"])
        found = read_step_thread(reader, prefix, step)
        run = reader.run(prefix)
        continued = run.ended and is_continued_from(reader, run.id, step)
        texts = [{**one, "text": _text(one["text"], _export_of(run.id))} for one in found]
        return {"said": texts, "continued": continued}

    @_reading
    def chat(self, reader: Reader, params: dict[str, Any]) -> dict[str, Any]:
        """Return the chat that ends with a run: its runs, oldest first, with their messages."""
        found = read_chat(reader, str(params["execution_id"]))
        parts = found["runs"]
        shown = self._listed(self._root(params), reader, [part["run"] for part in parts[-1:]])
        rows = [*(run_json(part["run"]) for part in parts[:-1]), *shown]
        return {
            "title": found["title"],
            "runs": [
                {
                    "execution_id": row["execution_id"],
                    "workflow": row["workflow"],
                    "state": row["state"],
                    "ended": part["run"].ended,
                    **{key: row[key] for key in ("error", "reason") if row[key] is not None},
                    "files": row["files"],
                    "messages": part["messages"],
                }
                for row, part in zip(rows, parts, strict=True)
            ],
        }

    @_reading
    def chats(self, reader: Reader, params: dict[str, Any]) -> dict[str, Any]:
        """Return the newest chats of the project, newest first."""
        return {
            "chats": [{"execution_id": run.id, "title": title_of(run.prompt)} for run in list_chats(reader)]
        }

    @_reading
    def call(self, reader: Reader, params: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments and the result of a tool call that its events recorded.

        :param params: `sequence`: the number of the event that ended the call.
        :raises InvalidInput: no call ended at this event.
        """
        sequence = int(params["sequence"])
        run = reader.run(str(params["execution_id"]))
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

    @_reading
    def diff(self, reader: Reader, params: dict[str, Any]) -> dict[str, Any]:
        """Return the differences between the runs `execution_id` and `other`; long texts are cut."""
        one, other = str(params["execution_id"]), str(params["other"])
        shape = compare_runs(reader, project_state(self._root(params)), one, other)
        whole = f"tideate diff {one[:8]} {other[:8]}"
        for part in (*shape["steps"], *shape["edits"]):
            part["diff"] = _text(part["diff"], whole)
        for given in shape["inputs"]:
            values = given["values"]
            given["values"] = [None if value is None else _text(value, whole) for value in values]
        return {**shape, "response": _text(shape["response"], whole)}

    @_reading
    def diff_texts(self, reader: Reader, params: dict[str, Any]) -> dict[str, Any]:
        """Return the uncut `texts` of two runs: of the file `path`, the results of `step`, or the answers.

        :raises InvalidInput: neither run has this text, or it is too long for a window.
        """
        one, other = str(params["execution_id"]), str(params["other"])
        path, step = params.get("path"), params.get("step")
        private = project_state(self._root(params))
        texts = compared_texts(reader, private, one, other, path=path, step=step)
        if sum(len(text or "") for text in texts) > LONGEST_TEXTS:
            raise InvalidInput("that is too long for a window; `tideate diff` in a shell shows it")
        return {"texts": [{"text": text} for text in texts]}

    @_reading
    def export(self, reader: Reader, params: dict[str, Any]) -> dict[str, Any]:
        """Return the runs `execution_ids` as one `text` in a `format`.

        :raises InvalidInput: the format is unknown, or the text is too long for a buffer.
        """
        chosen = [str(one) for one in params["execution_ids"]]
        form = str(params.get("format") or "markdown")
        if form not in ("markdown", "json"):
            raise InvalidInput(f"there is no format {form!r}; there are markdown and json")

        text = export_runs(reader, chosen, cast("ExportFormat", form), self._root(params))
        if len(text) > LONGEST_TEXTS:
            words = "that is too long for a buffer; `tideate export -o FILE` in a shell writes it"
            raise InvalidInput(words)
        return {"text": text}

    def _listed(self, root: Path | None, reader: Reader, runs: list[RunRow]) -> list[dict[str, Any]]:
        """Return runs as a list shows them; the status of a run under way here is newer than its row."""
        if not runs:
            return []
        here = self._projects.under_way
        changed, back = rollback_states(root, reader, runs)
        now = [replace(run, status=here[run.id]) if run.id in here and not run.ended else run for run in runs]
        return [
            {**run_json(run), "can": actions(run, changed), "rolled_back": run.ended and run.id in back}
            for run in now
        ]


async def interrupted(root: Path | None) -> list[dict[str, Any]]:
    """Return the runs of dead processes, newest first, with the kinds of their open questions as `waits`."""

    def read(reader: Reader) -> list[dict[str, Any]]:
        found = [(run, sorted(waits_for(reader, run))) for run in resumable_runs(reader)]
        return [{**run_json(run), "waits": waits} for run, waits in found if waits or run.lease is not None]

    return await read_runs(root, read)


def _newest(reader: Reader) -> RunRow:
    newest = reader.runs(limit=1, as_begun=True)
    if not newest:
        raise InvalidInput("nothing has run in this project yet; :Workflow starts something")
    return newest[0]


def _reported(details: RunDetails) -> list[dict[str, Any]]:
    names = SHOWN_EVENTS | (TASK_EVENTS if details.run.kind == "machine" else frozenset())
    found = [event for event in details.events if event.name in names][:MOST_EVENTS]
    return [{"name": event.name, "sequence": event.sequence, "data": _short(event.data)} for event in found]


def _short(data: Mapping[str, Any]) -> dict[str, Any]:
    """Drop long values that the run page does not show."""
    return {**{key: value for key, value in data.items() if key != "result"}, "entries": []}


def _gist(details: RunDetails) -> dict[str, str]:
    """Return the objective and the audit of a gated task; empty for other machines."""
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
        "words": beginning(words, LONGEST_DATA),
    }


def _text(value: Any, whole: str) -> str:
    """Return a value as text, cut at `LONGEST_RESULT`.

    :param whole: the command that shows the whole text.
    """
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
    if len(text) <= LONGEST_RESULT:
        return text
    return f"{text[:LONGEST_RESULT]}\n… ({len(text)} characters; `{whole}` has them all)"
