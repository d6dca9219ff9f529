"""Rows of runs in a bundle: written with places instead of paths, and checked as untrusted data."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, get_args

from pydantic import TypeAdapter, ValidationError

from tideate_core.engine import RunRequest, check_memos, is_permission
from tideate_core.errors import InvalidBundle
from tideate_core.portable.bundle_format import Rows, RunId, Workflow, parse_column
from tideate_core.store import (
    DEPTH,
    NULL,
    RUN,
    TABLES,
    Definition,
    RunRows,
    Status,
    StepStatus,
    column_text,
    is_deeper,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pydantic import JsonValue

    from tideate_core.portable.relocation import Relocation

INLINE: Final = 16 * 1024
"""Maximum characters of a value in the manifest; a longer one becomes a blob."""
_DEEPEST: Final = DEPTH + 300
_INTEGER: Final = 2**63
_LONGEST: Final = 4_000
"""Maximum characters of a name."""
_STATUS: Final = frozenset(get_args(Status))
_STEP_STATUS: Final = frozenset(get_args(StepStatus))
_SHAPES: Final[Mapping[str, TypeAdapter[Any]]] = {
    "files": TypeAdapter(list[str]),
    "dependencies": TypeAdapter(list[str]),
    "compared": TypeAdapter(list[str]),
    "nodes": TypeAdapter(list[str]),
    "edges": TypeAdapter(list[tuple[str, str]]),
    "execution_order": TypeAdapter(list[list[str]]),
    "data": TypeAdapter(dict[str, Any]),
    "request": TypeAdapter(dict[str, Any]),
}
"""Shapes of JSON columns that any reader of the store relies on."""
_RUN_ID: Final = TypeAdapter(RunId)


def pack_rows(rows: RunRows, relocation: Relocation, put: Callable[[bytes], str]) -> Rows:
    """Return the rows of a run for a manifest.

    :param put: stores a blob and returns its name.
    """

    def packed(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, JsonValue]:
        return {
            name: _packed(relocation.leave(row[name]), put) if kind.startswith("json") else row[name]
            for name, kind in columns.items()
        }

    definition = rows.definition
    path = None if definition.path is None else relocation.leave(definition.path)
    workflow = Workflow(
        workflow_id=definition.workflow_id,
        name=definition.name,
        kind=definition.kind,
        text=definition.text,
        description=definition.description,
        version=definition.version,
        source=definition.source,  # type: ignore[arg-type] # checked by the model
        path=path if path is not None and path.startswith("\0root/") else None,
    )
    tables = {
        table: tuple(packed(row, TABLES[table]) for row in found) for table, found in rows.tables.items()
    }
    return Rows(workflow=workflow, run=packed(rows.run, RUN), tables=tables)


def _packed(value: Any, put: Callable[[bytes], str]) -> str | None:
    if value is NULL:
        return None
    text = column_text(value)
    return text if len(text) <= INLINE else f"@{put(text.encode())}"


def unpack_rows(packed: Sequence[Rows], blobs: Mapping[str, bytes], version: str) -> tuple[RunRows, ...]:
    """Check the rows of a bundle; paths are still places.

    :param version: version of tideate that created the bundle.
    :raises InvalidBundle: a row is invalid, or the runs are not one run with its nested runs.
    """
    for rows_of in packed:
        _check_columns(rows_of, version)
    rows = tuple(_unpacked(one, blobs) for one in packed)
    seen: set[str] = set()
    for one in rows:
        parent = one.run["parent_id"]
        if one.id in seen or (parent is None) is bool(seen) or (parent is not None and parent not in seen):
            raise InvalidBundle("its runs are not one run with its nested runs")
        seen.add(one.id)
    return rows


def _unpacked(packed: Rows, blobs: Mapping[str, bytes]) -> RunRows:
    workflow = packed.workflow
    if workflow.kind == "graph" and not isinstance(parse_column(workflow.text), dict):
        raise InvalidBundle("the definition of a run is damaged")
    if workflow.path is not None and not workflow.path.startswith("\0root/"):
        raise InvalidBundle("the file of its workflow is outside of the project")
    if packed.tables.keys() - TABLES.keys():
        raise InvalidBundle("it holds rows of an unknown kind")
    run = _row(packed.run, RUN, blobs)
    tables = {
        table: tuple(_row(row, columns, blobs) for row in packed.tables.get(table, ()))
        for table, columns in TABLES.items()
    }
    _check_run(run)
    _check_tables(tables)
    _check_memos(tables["workflow_memos"])
    # a permission to run something, or to read a secret, counts only on the machine that gave it
    tables["workflow_memos"] = tuple(
        row for row in tables["workflow_memos"] if not is_permission(row["key"], row["value"])
    )
    definition = Definition(
        workflow.workflow_id,
        workflow.name,
        workflow.kind,
        workflow.text,
        workflow.description,
        workflow.version,
        workflow.source,
        workflow.path,
    )
    return RunRows(definition, run, tables)


def _check_columns(packed: Rows, version: str) -> None:
    known = [(RUN, packed.run)]
    known += [(TABLES.get(table, {}), row) for table, rows in packed.tables.items() for row in rows]
    if any(row.keys() != columns.keys() for columns, row in known):
        raise InvalidBundle(
            f"its rows have other columns than this version knows; tideate {version} made it",
            "use the same version of tideate on both machines",
        )


def _row(row: Mapping[str, Any], columns: Mapping[str, str], blobs: Mapping[str, bytes]) -> dict[str, Any]:
    return {name: _value(name, row[name], kind, blobs) for name, kind in columns.items()}


def _value(name: str, value: Any, kind: str, blobs: Mapping[str, bytes]) -> Any:
    if value is None and kind.endswith("?"):
        return NULL if kind.startswith("json") else None
    wanted = kind.removesuffix("?")
    if wanted == "json" and isinstance(value, str):
        return _json(name, value, blobs)
    if wanted == "text" and isinstance(value, str):
        return value
    if wanted == "integer" and type(value) is int and -_INTEGER <= value < _INTEGER:
        return value
    if wanted == "number" and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    raise InvalidBundle(f"the column {name!r} of a row has a wrong value")


def _json(name: str, text: str, blobs: Mapping[str, bytes]) -> Any:
    if text.startswith("@"):
        content = blobs.get(text[1:])
        if content is None:
            raise InvalidBundle("a value names a part that is missing")
        text = content.decode("utf-8", "replace")
    value = parse_column(text)
    if text.count("[") + text.count("{") > _DEEPEST and is_deeper(value, _DEEPEST):
        raise InvalidBundle("a value is nested too deeply")
    if name in _SHAPES:
        try:
            _SHAPES[name].validate_python(value)
        except ValidationError as error:
            raise InvalidBundle(f"the column {name!r} of a row has a wrong value") from error
    return value


def _check_run(run: Mapping[str, Any]) -> None:
    ids = (run["id"], run["parent_id"], run["forked_from"])
    try:
        for one in ids:
            if one is not None:
                _RUN_ID.validate_python(one)
        RunRequest.model_validate({**run["request"], "execution_id": run["id"]})
    except ValidationError as error:
        raise InvalidBundle("a run has a wrong id or a wrong request") from error
    if run["status"] not in _STATUS or (run["parent_id"] is None) is not (run["parent_step"] is None):
        raise InvalidBundle("a run has a wrong status")


def _check_tables(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    _unique(tables["workflow_steps"], "step_id")
    _unique(tables["workflow_memos"], "step_id", "key")
    _unique(tables["workflow_checkpoints"], "id")
    events = tables["workflow_events"]
    if [row["sequence"] for row in events] != list(range(1, len(events) + 1)):
        raise InvalidBundle("its events are not in order")
    if any(row["status"] not in _STEP_STATUS for row in tables["workflow_steps"]):
        raise InvalidBundle("a step has a wrong status")
    if len(tables["workflow_graphs"]) > 1 or any(row["wish"] != "say" for row in tables["workflow_wishes"]):
        raise InvalidBundle("it holds rows that a bundle must not have")
    if any(row["manual"] not in (0, 1) or len(row["id"]) != 32 for row in tables["workflow_checkpoints"]):
        raise InvalidBundle("a checkpoint is damaged")
    names = [row["name"] for row in events] + [row["step_id"] for row in tables["workflow_steps"]]
    if any(not name or len(name) > _LONGEST for name in names):
        raise InvalidBundle("a name in it is too long")


def _check_memos(rows: Sequence[Mapping[str, Any]]) -> None:
    memos: dict[str, dict[str, Any]] = {}
    for row in rows:
        memos.setdefault(row["step_id"], {})[row["key"]] = row["value"]
    try:
        check_memos(memos)
    except ValueError as error:
        raise InvalidBundle("a value of a step has another shape than this version knows") from error


def _unique(rows: Sequence[Mapping[str, Any]], *names: str) -> None:
    keys = [tuple(row[name] for name in names) for row in rows]
    if len(set(keys)) != len(keys):
        raise InvalidBundle("a row appears twice")


def arrived_rows(rows: RunRows, relocation: Relocation, root: str) -> RunRows:
    """Return the rows of a run for this machine, without the permissions of its former machine.

    :raises InvalidBundle: a place in it leads out of its directory.
    """
    definition = rows.definition
    path = None if definition.path is None else relocation.arrive(definition.path)
    run = _arrived(rows.run, RUN, relocation)
    run["request"] = _request(run["request"], root)
    tables = {
        table: tuple(_arrived(row, TABLES[table], relocation) for row in found)
        for table, found in rows.tables.items()
    }
    return RunRows(replace(definition, path=path), run, tables)


def _arrived(row: Mapping[str, Any], columns: Mapping[str, str], relocation: Relocation) -> dict[str, Any]:
    return {
        name: relocation.arrive(row[name]) if kind.startswith("json") else row[name]
        for name, kind in columns.items()
    }


def _request(request: dict[str, Any], root: str) -> dict[str, Any]:
    context = dict(request.get("context") or {})
    cwd = str(context.get("cwd") or "")
    if cwd and cwd != root and not cwd.startswith(f"{root}/"):
        context["cwd"] = root
    asks = request.get("require_confirmation")
    return {**request, "context": context, "require_confirmation": asks or None, "opened": True}


def left_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request without the numbers of an editor's buffers."""
    context = dict(request.get("context") or {})
    if isinstance(buffer := context.get("buffer"), dict):
        context["buffer"] = {**buffer, "number": None, "tick": None}
    return {**{key: value for key, value in request.items() if key != "opened"}, "context": context}
