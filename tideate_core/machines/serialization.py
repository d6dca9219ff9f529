"""Serialization of state machines as versioned JSON, with checked shapes and types on reading."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidMachineRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION: Final = 1
_KEYS: Final = {"version", "state", "history", "archive"}
_FIELDS: Final = ("from", "to", "event", "at")

Entry = tuple[str, str, str, float]
"""From, to, event, seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Record:
    """A machine's serialized data."""

    state: str
    history: Sequence[Entry]
    archive: Sequence[Sequence[Entry]] = ()
    """Histories ended by a reset, oldest first."""


def write_record(record: Record) -> str:
    """Return the record as JSON."""
    shape = {
        "version": VERSION,
        "state": record.state,
        "history": _steps(record.history),
        "archive": [_steps(history) for history in record.archive],
    }
    return json.dumps(shape, allow_nan=False)


def read_record(text: str) -> Record:
    """Parse the output of `write_record`.

    :raises InvalidMachineRecord: it is not JSON, has another version, or another shape.
    """
    shape = _load(text)
    if shape.get("version") != VERSION or isinstance(shape["version"], bool):
        found = json.dumps(shape["version"]) if "version" in shape else "none"
        raise InvalidMachineRecord(f"version: expected {VERSION}, found {found[:40]}")
    if missing := sorted(_KEYS - shape.keys()):
        raise InvalidMachineRecord(f"{missing[0]}: missing")
    if unknown := sorted(shape.keys() - _KEYS):
        raise InvalidMachineRecord(f"{unknown[0]!r}: unknown key (known: {', '.join(sorted(_KEYS))})")
    archive = enumerate(_list(shape["archive"], "archive"))
    return Record(
        _string(shape["state"], "state"),
        _entries(shape["history"], "history"),
        [_entries(history, f"archive[{number}]") for number, history in archive],
    )


def _steps(history: Sequence[Entry]) -> list[dict[str, Any]]:
    return [dict(zip(_FIELDS, entry, strict=True)) for entry in history]


def _load(text: str) -> dict[str, Any]:
    try:
        shape = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidMachineRecord(f"a machine's record is JSON, and this is not: {error}") from error
    if not isinstance(shape, dict):
        raise InvalidMachineRecord(f"a machine's record is a JSON object, not {_kind(shape)}")
    return shape


def _entries(history: Any, where: str) -> list[Entry]:
    return [_entry(step, f"{where}[{number}]") for number, step in enumerate(_list(history, where))]


def _entry(step: Any, where: str) -> Entry:
    if not isinstance(step, dict) or step.keys() != set(_FIELDS):
        raise InvalidMachineRecord(f"{where}: expected an object with {', '.join(_FIELDS)}")
    source, target, event = (_string(step[name], f"{where}.{name}") for name in _FIELDS[:3])
    return source, target, event, _timestamp(step["at"], f"{where}.at")


def _timestamp(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidMachineRecord(f"{where}: expected seconds since the epoch, found {_kind(value)}")
    try:
        seconds = float(value)
    except OverflowError:
        seconds = math.inf
    if not math.isfinite(seconds) or seconds < 0:
        raise InvalidMachineRecord(f"{where}: {str(value)[:40]} are not seconds since the epoch")
    return seconds


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidMachineRecord(f"{where}: expected a string, found {_kind(value)}")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidMachineRecord(f"{where}: expected a list, found {_kind(value)}")
    return value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
