"""`tideate schedule`: runs of a fleet at set times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from tideate_core.cli.arguments import Json, prompt_of, workflow_names
from tideate_core.cli.fleet_options import RunOptions, Wanted, opened_fleet
from tideate_core.cli.process import DONE
from tideate_core.cli.render.output import print_json, print_message, report_errors
from tideate_core.cli.render.tables import page, table
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

app = App(name="schedule")


def schedule_names(context: CompletionContext) -> list[str]:
    """Complete names of schedules."""
    with opened_fleet() as fleet:
        return [one["name"] for one in fleet.schedules.entries()]


Name = Annotated[str, Parameter(help="Name of the schedule.")]
Known = Annotated[str, Parameter(help="Name of the schedule.", completer=schedule_names)]


@app.command
@report_errors
def create(
    name: Name,
    cron: Annotated[str, Parameter(help="Times as a cron expression, such as '0 3 * * 1-5'.")],
    workflow: Annotated[str, Parameter(help="A workflow that the workers have.", completer=workflow_names)],
    /,
    *prompt: Annotated[str, Parameter(help="The prompt; `-` reads it from stdin.")],
    options: RunOptions,
    zone: Annotated[
        str | None, Parameter(name="--zone", metavar="ZONE", help="Time zone. Default: UTC.")
    ] = None,
    json: Json = False,
) -> int:
    """Create a schedule; each of its runs begins with the commit that REF has at that time."""
    wanted = Wanted(workflow, prompt_of(prompt), options, schedule=(name, cron, zone))
    (signed,) = wanted.signed()
    with opened_fleet() as fleet:
        first = fleet.schedules.create(name, cron, zone, signed)
    return _done(
        f"created the schedule {label(name)}; its first time is {first:%Y-%m-%d %H:%M %Z}", name, json
    )


@app.command(name="list")
@report_errors
def list_schedules(*, json: Json = False) -> int:
    """List the schedules."""
    with opened_fleet() as fleet:
        found = fleet.schedules.entries()
    if json:
        print_json({"ok": True, "schedules": found})
        return DONE
    if not found:
        print_message("the fleet has no schedules; `tideate schedule create` creates one")
        return DONE
    rows = table("name", "status", "times", "zone", "workflow", "repository", "about")
    for one in found:
        names = ("name", "state", "cron", "zone", "workflow", "repo")
        about = visible(one["error"] or one["prompt"]).partition("\n")[0]
        rows.add_row(*(label(one[name]) for name in names), about)
    page().print(rows)
    return DONE


@app.command
@report_errors
def pause(name: Known, /, *, json: Json = False) -> int:
    """Pause a schedule."""
    with opened_fleet() as fleet:
        fleet.schedules.pause(name)
    return _done(f"paused the schedule {label(name)}", name, json)


@app.command
@report_errors
def resume(name: Known, /, *, json: Json = False) -> int:
    """Resume a paused schedule."""
    with opened_fleet() as fleet:
        fleet.schedules.resume(name)
    return _done(f"resumed the schedule {label(name)}", name, json)


@app.command
@report_errors
def delete(name: Known, /, *, json: Json = False) -> int:
    """Delete a schedule, but not its runs."""
    with opened_fleet() as fleet:
        fleet.schedules.delete(name)
    return _done(f"deleted the schedule {label(name)}", name, json)


def _done(words: str, name: str, as_json: bool) -> int:
    if as_json:
        print_json({"ok": True, "name": name})
    else:
        print_message(words)
    return DONE
