"""`tideate schema`: the JSON Schemas of what other programs write and read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tideate_core.cli.files import write_output
from tideate_core.cli.output import fail
from tideate_core.errors import TideateError

if TYPE_CHECKING:
    from tideate_core.cli.arguments import SchemaName

__all__ = ["schema"]


def schema(name: SchemaName, out: str | None) -> int:
    """Print a schema or write it to a file; returns the exit status."""
    if name == "workflow":
        from tideate_core.workflows import definition_schema

        found = definition_schema()
    else:
        from tideate_core.builtin import FILES

        found = FILES[name].schema()
    try:
        write_output(out, json.dumps(found, indent=2, ensure_ascii=False) + "\n", None)
    except TideateError as error:
        fail(error)
        return 2
    return 0
