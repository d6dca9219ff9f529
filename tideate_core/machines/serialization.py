"""JSON record of a serialized state machine: its schema, version and parser."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tideate_core.errors import InvalidMachineRecord

_STRICT = ConfigDict(extra="forbid", strict=True)


class Entry(BaseModel):
    """One transition; `at` in seconds since the epoch."""

    model_config = _STRICT

    source: str = Field(alias="from")
    to: str
    event: str
    at: float = Field(ge=0, allow_inf_nan=False)


class Record(BaseModel):
    """A machine's serialized data."""

    model_config = _STRICT

    version: Literal[1]
    state: str
    history: list[Entry]
    archive: list[list[Entry]]
    """Histories ended by a reset, oldest first."""


def read_record(text: str) -> Record:
    """Parse a record.

    :raises InvalidMachineRecord: it is not JSON, has another version, or another shape.
    """
    try:
        return Record.model_validate_json(text.encode(errors="surrogatepass"))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "a machine's record"
        raise InvalidMachineRecord(f"{place}: {first['msg']}") from error
