"""`tideate schedule`: runs of a fleet at set times."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

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
    opened_fleet,
)
from tideate_core.cli.process import DONE
from tideate_core.cli.render.output import print_json, print_message, report_errors
from tideate_core.cli.render.tables import page, table
from tideate_core.util.escaping import label, visible

app = App(name="schedule")

Name = Annotated[str, Parameter(help="Name of the schedule.")]


@app.command
@report_errors
def create(
    name: Name,
    cron: Annotated[str, Parameter(help="Times as a cron expression, such as '0 3 * * 1-5'.")],
    workflow: Annotated[str, Parameter(help="A workflow that the workers have.")],
    /,
    *prompt: Annotated[str, Parameter(help="The prompt; `-` reads it from stdin.")],
    repo: Repo,
    ref: Ref = "HEAD",
    inputs: Inputs = (),
    zone: Annotated[
        str | None, Parameter(name="--zone", metavar="ZONE", help="Time zone. Default: UTC.")
    ] = None,
    adapter: AdapterName = None,
    queue: QueueName = "tideate",
    priority: Priority = 100,
    timeout: Timeout = None,
    accept: Accept = False,
    land: Land = True,
    json: Json = False,
) -> int:
    """Create a schedule; each of its runs begins with the commit that REF has at that time."""
    from tideate_core.fleet import Schedule

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
        schedule=Schedule(name=name, cron=cron, zone=zone),
    )
    (signed,) = wanted.signed()
    with opened_fleet() as fleet:
        fleet.create_schedule(name, cron, zone, signed)
    return _done(f"created the schedule {label(name)}", name, json)


@app.command(name="list")
@report_errors
def list_schedules(*, json: Json = False) -> int:
    """List the schedules."""
    with opened_fleet() as fleet:
        found = fleet.schedules()
    if json:
        print_json({"ok": True, "schedules": found})
        return DONE
    if not found:
        print_message("the fleet has no schedules; `tideate schedule create` creates one")
        return DONE
    rows = table("name", "status", "times", "zone", "workflow", "repository", "prompt")
    for one in found:
        names = ("name", "state", "cron", "zone", "workflow", "repo")
        rows.add_row(
            *(label(str(one[name])) for name in names), visible(str(one["prompt"])).partition("\n")[0]
        )
    page().print(rows)
    return DONE


@app.command
@report_errors
def pause(name: Name, /, *, json: Json = False) -> int:
    """Pause a schedule."""
    return _change(name, "pause", json)


@app.command
@report_errors
def resume(name: Name, /, *, json: Json = False) -> int:
    """Resume a paused schedule."""
    return _change(name, "resume", json)


@app.command
@report_errors
def delete(name: Name, /, *, json: Json = False) -> int:
    """Delete a schedule, but not its runs."""
    return _change(name, "delete", json)


def _change(name: str, change: str, as_json: bool) -> int:
    with opened_fleet() as fleet:
        fleet.change_schedule(name, change)
    past = {"pause": "paused", "resume": "resumed", "delete": "deleted"}[change]
    return _done(f"{past} the schedule {label(name)}", name, as_json)


def _done(words: str, name: str, as_json: bool) -> int:
    if as_json:
        print_json({"ok": True, "name": name})
    else:
        print_message(words)
    return DONE
