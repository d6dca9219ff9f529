"""`tideate submit`: submit runs to a fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tideate_core.app import short_id
from tideate_core.cli.arguments import Json, prompt_of, workflow_names
from tideate_core.cli.fleet_options import Progress, RunOptions, Wanted, each_line, opened_fleet
from tideate_core.cli.process import DONE
from tideate_core.cli.render.output import note, print_json, print_message, report_errors

if TYPE_CHECKING:
    from tideate_core.fleet import Submitted


@report_errors
def submit(
    workflow: Annotated[str, Parameter(help="A workflow that the workers have.", completer=workflow_names)],
    /,
    *prompt: Annotated[str, Parameter(help="The prompt; `-` reads it from stdin.")],
    options: RunOptions,
    each: Annotated[
        str | None,
        Parameter(
            name="--each",
            metavar="FILE",
            help="Submit a run for each line of FILE, which replaces `{}` in prompt, URL, REF and inputs.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        Parameter(
            name="--key",
            metavar="TEXT",
            help="Your submissions with the same key, workflow and URL are one run.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Submit runs to a fleet; return the exit status."""
    wanted = Wanted(workflow, prompt_of(prompt), options, key)
    signed = wanted.signed(None if each is None else each_line(each))
    with opened_fleet() as fleet:
        submitted = fleet.submit(signed, Progress("submitted", len(signed)))
        if not fleet.has_queue(options.queue):
            note(f"no worker takes runs from the queue {options.queue}; `tideate worker` starts one")
    if json:
        shape = {"ok": True, "runs": submitted.runs, "new": bool(submitted.new), "known": submitted.known}
        print_json(shape)
    else:
        _tell(workflow, submitted)
    return DONE


def _tell(workflow: str, submitted: Submitted) -> None:
    new, known = len(submitted.new), len(submitted.known)
    if new + known == 1:
        run = short_id(submitted.runs[0])
        done = f"submitted {workflow} as {run}" if new else f"{workflow} was submitted before, as {run}"
        print_message(f"{done}; `tideate fleet show {run}` shows it")
        return
    before = f"; {known:,} were submitted before" if known else ""
    runs = "1 run" if new == 1 else f"{new:,} runs"
    print_message(f"submitted {runs} of {workflow}{before}; `tideate fleet list` lists them")
