"""`tideate fleet`: list, show, cancel, retry and prune runs of a fleet; release a dead worker's runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter, validators
from rich.text import Text

from tideate_core.app import short_id
from tideate_core.cli.arguments import Json, Limit
from tideate_core.cli.fleet_options import opened_fleet
from tideate_core.cli.process import DONE
from tideate_core.cli.render.output import print_json, print_message, report_errors
from tideate_core.cli.render.tables import facts, page, table, when
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

    from tideate_core.fleet import FleetRun

app = App(name="fleet")


def fleet_run_ids(context: CompletionContext) -> list[str]:
    """Complete the short ids of the newest runs of the fleet."""
    with opened_fleet() as fleet:
        return [short_id(one.run) for one in fleet.page(100)]


StateName = Literal["queued", "running", "waiting", "completed", "declined", "failed", "cancelled", "refused"]
FleetRunId = Annotated[
    str, Parameter(name="RUN", help="ID of the run, or a prefix of it.", completer=fleet_run_ids)
]
STYLES = {
    "queued": "dim",
    "running": "bold blue",
    "waiting": "cyan",
    "completed": "green",
    "failed": "red",
    "refused": "red",
}


@app.command(name="list")
@report_errors
def list_runs(
    *,
    state: Annotated[
        StateName | None,
        Parameter(name="--state", help="List only runs in this state. Default: all."),
    ] = None,
    limit: Limit = 50,
    offset: Annotated[
        int,
        Parameter(
            name="--offset", metavar="N", help="Skip the N newest runs.", validator=validators.Number(gte=0)
        ),
    ] = 0,
    json: Json = False,
) -> int:
    """List the runs of the fleet, newest first."""
    from tideate_core.fleet import State

    with opened_fleet() as fleet:
        runs = fleet.runs(state and State(state), limit, offset)
    if json:
        print_json({"ok": True, "runs": [run.as_json() for run in runs]})
        return DONE
    if not runs:
        print_message("the fleet has no runs; `tideate submit` submits one")
        return DONE
    rows = table("id", "status", "when", "workflow", "worker", "repository", "about")
    for run in runs:
        shown = Text(run.state.value, style=STYLES.get(run.state.value, "yellow"))
        about = visible(run.message or run.prompt)
        rows.add_row(
            short_id(run.run),
            shown,
            when(run.submitted_at),
            label(run.workflow),
            label(run.worker),
            label(run.repo),
            about.partition("\n")[0],
        )
    page().print(rows)
    return DONE


@app.command
@report_errors
def show(run: FleetRunId, /, *, json: Json = False) -> int:
    """Show a run of the fleet."""
    with opened_fleet() as fleet:
        found = fleet.show(run)
    return _report(found, json)


@app.command
@report_errors
def cancel(run: FleetRunId, /, *, json: Json = False) -> int:
    """Cancel a run of the fleet, whether it is queued, running or waiting."""
    with opened_fleet() as fleet:
        found = fleet.cancel(run)
    return _report(found, json)


@app.command
@report_errors
def retry(run: FleetRunId, /, *, json: Json = False) -> int:
    """Retry a failed, cancelled, declined or refused run of the fleet, from its last answer."""
    with opened_fleet() as fleet:
        found = fleet.retry(run)
    return _report(found, json)


@app.command
@report_errors
def release(
    name: Annotated[str, Parameter(help="Name of a worker that will not return.")],
    /,
    *,
    json: Json = False,
) -> int:
    """Return the runs of a dead worker to their queues, for other workers.

    tideate does not release the runs of a worker that is connected to the database.
    """
    with opened_fleet() as fleet:
        runs = fleet.release(name)
    if json:
        print_json({"ok": True, "worker": name, "runs": runs})
    else:
        found = f"released {len(runs):,} runs" if runs else "there are no runs to release"
        print_message(f"{found} of the worker {label(name)}")
    return DONE


@app.command
@report_errors
def prune(
    *,
    older_than: Annotated[
        int,
        Parameter(
            name="--older-than",
            metavar="DAYS",
            help="Remove runs that ended more than DAYS days ago. Default: 30.",
            validator=validators.Number(gte=0),
        ),
    ] = 30,
    json: Json = False,
) -> int:
    """Remove ended runs from the fleet, with their bundles. Pushed branches stay."""
    with opened_fleet() as fleet:
        runs = fleet.prune(int((time.time() - older_than * 86_400) * 1000))
    if json:
        print_json({"ok": True, "runs": runs})
    else:
        print_message(f"removed {len(runs):,} runs")
    return DONE


def _report(run: FleetRun, as_json: bool) -> int:
    if as_json:
        print_json({"ok": True, **run.as_json()})
        return DONE
    state = run.state.value
    facts(
        {
            "run": run.run,
            "state": Text(state, style=STYLES.get(state, "yellow")),
            "question" if state == "waiting" else "message": run.message,
            "inbox": run.inbox,
            "workflow": run.workflow,
            "prompt": run.prompt,
            "repository": f"{run.repo} {run.ref}",
            "branch": run.branch or "",
            "by": run.by,
            "submitted": when(run.submitted_at),
            "changed": when(run.updated_at, seconds=True),
            "worker": run.worker,
            "queue": f"{run.queue}, priority {run.priority}" if run.queue else "",
            "legs": str(run.legs),
            "steps": ", ".join(run.steps),
        }
    )
    return DONE
