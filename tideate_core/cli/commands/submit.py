"""`tideate submit`: submit runs to a fleet."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from tideate_core.app import short_id
from tideate_core.cli.arguments import Inputs, Json, prompt_of
from tideate_core.cli.commands.run import parse_inputs
from tideate_core.cli.fleet_options import (
    Accept,
    AdapterName,
    Land,
    Priority,
    QueueName,
    Ref,
    Repo,
    Timeout,
    Wanted,
    each_line,
    opened_fleet,
)
from tideate_core.cli.process import DONE
from tideate_core.cli.render.output import print_json, print_message, report_errors


@report_errors
def submit(
    workflow: Annotated[str, Parameter(help="A workflow that the workers have.")],
    /,
    *prompt: Annotated[str, Parameter(help="The prompt; `-` reads it from stdin.")],
    repo: Repo,
    ref: Ref = "HEAD",
    inputs: Inputs = (),
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
        Parameter(name="--key", metavar="TEXT", help="Submissions with the same key are one run."),
    ] = None,
    adapter: AdapterName = None,
    queue: QueueName = "tideate",
    priority: Priority = 100,
    timeout: Timeout = None,
    accept: Accept = False,
    land: Land = True,
    json: Json = False,
) -> int:
    """Submit runs to a fleet; return the exit status."""
    wanted = Wanted(
        {
            "workflow": workflow,
            "prompt": prompt_of(prompt),
            "repo": repo,
            "ref": ref,
            "inputs": parse_inputs(inputs),
            "adapter": adapter,
            "queue": queue,
            "priority": priority,
            "timeout": timeout,
            "accept": accept,
            "land": land,
        },
        key,
    )
    signed = wanted.signed(None if each is None else each_line(each))
    with opened_fleet() as fleet:
        runs = fleet.submit(signed)
    if json:
        print_json({"ok": True, "runs": runs})
    elif len(runs) == 1:
        print_message(
            f"submitted {workflow} as {short_id(runs[0])}; `tideate fleet show {short_id(runs[0])}` shows it"
        )
    else:
        print_message(f"submitted {len(runs):,} runs of {workflow}; `tideate fleet list` lists them")
    return DONE
