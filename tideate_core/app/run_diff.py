"""Comparison of two runs: inputs, steps, responses, edits, checks, tokens, cost and duration."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tideate_core.app.run_details import CHECK_ENDED, read_details, step_named
from tideate_core.app.runs import run_json, tokens_json
from tideate_core.errors import InvalidInput, NotText
from tideate_core.workspace import Document, FileChange, Journal, unified_diff

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tideate_core.app.run_details import RunDetails
    from tideate_core.store import Reader, StepRow

_Texts = tuple[str | None, str | None]
"""Text of a file before and after a run; None if there was no file or its text is not stored."""
_NOTHING: Final[_Texts] = (None, None)
CONTEXT: Final = 3
"""Context lines of a diff."""


def compare_runs(reader: Reader, private: Path, one: str, other: str) -> dict[str, Any]:
    """Return the JSON form of the differences between two runs; blocking.

    `edits` compares the files after either run, from the journal. A file that one run did not write counts
    as the other run found it. Reused results count as the run's own.

    :param private: directory of the project's journal.
    :param one: a run id or a prefix of one, as is `other`.
    :raises RunNotFound: no run has this id.
    :raises StoreError: the store cannot be read.
    :raises WorkspaceError: the journal is damaged.
    """
    both = (read_details(reader, one), read_details(reader, other))
    left, right = both
    requests = [reader.request(details.run.id) for details in both]
    written = [_written(reader, private, details) for details in both]
    return {
        "runs": [run_json(details.run) for details in both],
        "same_definition": left.run.definition_hash == right.run.definition_hash,
        "inputs": _inputs(*requests),
        "steps": _steps(left, right),
        "response": _text_diff(left.response, right.response),
        "edits": _edits(written[0], written[1], left.edited, right.edited),
        "checks": _checks(left, right),
    }


def compared_texts(
    reader: Reader, private: Path, one: str, other: str, *, path: str | None = None, step: str | None = None
) -> _Texts:
    """Return a file's text after two runs, else the results of a step, else the responses; blocking.

    None for a run without this file or step, or if it is not text.

    :param private: directory of the project's journal.
    :raises InvalidInput: neither run wrote this file or has this step.
    :raises RunNotFound: no run has this id.
    :raises StoreError: the store cannot be read.
    :raises WorkspaceError: the journal is damaged.
    """
    left, right = (read_details(reader, wanted) for wanted in (one, other))
    if path is not None:
        texts = _left_texts(_written(reader, private, left), _written(reader, private, right))
        if path not in texts:
            raise InvalidInput(f"neither run wrote a file {path!r}")
        return texts[path]
    if step is not None:
        step_named([*left.steps, *right.steps], step)
        found = [next((row for row in run.steps if row.step == step), None) for run in (left, right)]
        results = [None if row is None or row.result is None else _text_of(row.result) for row in found]
        return results[0], results[1]
    return _text_of(left.response), _text_of(right.response)


def _inputs(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the inputs that differ, with both values."""
    given = [
        {"prompt": request.get("prompt"), "adapter": request.get("adapter"), **(request.get("inputs") or {})}
        for request in (one, other)
    ]
    names = dict.fromkeys([*given[0], *given[1]])
    values = ((name, [request.get(name) for request in given]) for name in names)
    return [{"name": name, "values": pair} for name, pair in values if pair[0] != pair[1]]


def _steps(left: RunDetails, right: RunDetails) -> list[dict[str, Any]]:
    known = [{row.step: row for row in details.steps} for details in (left, right)]
    reused = [details.run.reused for details in (left, right)]
    found = []
    for step in dict.fromkeys([*known[0], *known[1]]):
        rows = [rows.get(step) for rows in known]
        results = [None if row is None else row.result for row in rows]
        ends = [_end(row, count) for row, count in zip(rows, reused, strict=True)]
        found.append({"step": step, "ends": ends, "diff": _text_diff(*results)})
    return found


def _end(row: StepRow | None, reused: int) -> dict[str, Any] | None:
    if row is None:
        return None
    shape: dict[str, Any] = {"status": row.status, "reused": 0 < (row.order or 0) <= reused}
    return {**shape, "duration_ms": row.duration_ms, "usage": tokens_json(row.tokens), "error": row.error}


def _checks(left: RunDetails, right: RunDetails) -> list[dict[str, Any]]:
    """Return the last status of each check in both runs."""
    ends = [
        {
            str(row.data.get("check")): str(row.data.get("status"))
            for row in details.decisions
            if row.name == CHECK_ENDED
        }
        for details in (left, right)
    ]
    return [
        {"check": check, "statuses": [end.get(check) for end in ends]}
        for check in dict.fromkeys([*ends[0], *ends[1]])
    ]


def _written(reader: Reader, private: Path, details: RunDetails) -> dict[str, _Texts]:
    """Return the texts of written files before and after a run, by path."""
    # here, because lists of runs do not need it
    from tideate_core.engine import writers_of

    journal, found = Journal(private), dict[str, _Texts]()
    writers = writers_of(reader, details.run, details.steps)
    for record in journal.records(*writers):
        steps = writers[record.directory.parent.name]
        if steps is not None and (record.manifest.step or "").partition("[")[0] not in steps:
            continue
        for entry in record.manifest.entries:
            if entry.kind == "file":
                before = record.file_before(entry) if entry.before.kind == "file" else None
                texts = _decoded(before), _decoded(record.file_after(entry))
            elif entry.kind == "buffer":
                texts = record.text_before(entry), record.text_after(entry)
            else:
                continue
            earlier = found.get(entry.path)
            found[entry.path] = (texts[0] if earlier is None else earlier[0], texts[1])
    return found


def _decoded(data: bytes | None) -> str | None:
    try:
        return None if data is None else Document.decode(data).text
    except NotText:
        return None


def _edits(
    one: Mapping[str, _Texts],
    other: Mapping[str, _Texts],
    edited_in_one: Mapping[str, int],
    edited_in_other: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Return the files written by either run, with the diff between the two results.

    `edited` counts the hunks that the person edited in the reviews, if any.
    """
    found = []
    for path, (before, after) in _left_texts(one, other).items():
        shape = {"path": path, "written": [path in one, path in other], "diff": _patch(path, before, after)}
        hunks = [edited_in_one.get(path, 0), edited_in_other.get(path, 0)]
        found.append({**shape, "edited": hunks} if any(hunks) else shape)
    return found


def _left_texts(one: Mapping[str, _Texts], other: Mapping[str, _Texts]) -> dict[str, _Texts]:
    """Return the texts after both runs, for each file that either run wrote."""
    found = {}
    for path in dict.fromkeys([*one, *other]):
        left, right = one.get(path), other.get(path)
        # a run that did not write a file left it as the other run found it
        found[path] = (left or (None, (right or _NOTHING)[0]))[1], (right or (None, (left or _NOTHING)[0]))[1]
    return found


def _patch(path: str, before: str | None, after: str | None) -> str:
    if before == after:
        return ""
    action: Any = "create" if before is None else "delete" if after is None else "modify"
    return unified_diff(FileChange(path, action, before, after), CONTEXT)


def _text_diff(one: Any, other: Any) -> str:
    """Return the diff of two values without a file header; empty if they are equal."""
    if one == other:
        return ""
    patch = unified_diff(FileChange("", "modify", _text_of(one), _text_of(other)), CONTEXT)
    return patch[patch.index("@@") :] if "@@" in patch else patch


def _text_of(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, indent=2)
