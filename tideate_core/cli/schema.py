"""`tideate schema`: the JSON Schema that editors complete and check definitions by."""

from __future__ import annotations

import json

from tideate_core.cli.files import write_output
from tideate_core.cli.output import fail
from tideate_core.errors import TideateError
from tideate_core.workflows.schema import definition_schema

__all__ = ["schema"]


def schema(out: str | None) -> int:
    """Print the schema or write it to a file; returns the exit status."""
    try:
        write_output(out, json.dumps(definition_schema(), indent=2, ensure_ascii=False) + "\n", None)
    except TideateError as error:
        fail(error)
        return 2
    return 0
