"""`tideate export`: export runs as Markdown or JSON."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from tideate_core.app import ExportFormat, export_runs, locate_project, reader_of
from tideate_core.cli.arguments import Out, Root, run_ids
from tideate_core.cli.files import write_output
from tideate_core.cli.process import DONE
from tideate_core.cli.render.output import report_errors
from tideate_core.errors import InvalidInput


@report_errors
def export(
    *runs: Annotated[str, Parameter(name="RUN", help="IDs of runs, or prefixes of them.", completer=run_ids)],
    form: Annotated[
        ExportFormat, Parameter(name="--format", help="Markdown, the default, or one JSON object.")
    ] = "markdown",
    out: Out = None,
    root: Root = None,
) -> int:
    """Print an export of runs or write it to a file; return the exit status."""
    if not runs:
        raise InvalidInput("name a run; `tideate history` lists them")
    write_output(out, export_runs(reader_of(root), runs, form, locate_project(root)), None)
    return DONE
