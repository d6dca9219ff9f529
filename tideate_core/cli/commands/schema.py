"""`tideate schema`: print the JSON Schemas of workflow definitions and handoff files."""

from __future__ import annotations

import json
from typing import Annotated

from cyclopts import Parameter

from tideate_core.app import agent_names, locate_project, own_tool_names
from tideate_core.cli.arguments import Out, SchemaName
from tideate_core.cli.files import write_output
from tideate_core.cli.process import DONE
from tideate_core.cli.render.output import report_usage_errors


@report_usage_errors
def schema(
    name: Annotated[SchemaName, Parameter(help="`workflow`, or a handoff file.")] = "workflow",
    /,
    *,
    out: Out = None,
) -> int:
    """Print a schema or write it to a file; return the exit status."""
    if name == "workflow":
        from tideate_core.workflows import definition_schema

        found = definition_schema(agent_names(locate_project(None)), own_tool_names())
    else:
        from tideate_core.builtin import FILES

        found = FILES[name].schema()
    write_output(out, json.dumps(found, indent=2, ensure_ascii=False) + "\n", None)
    return DONE
