"""Arguments of the commands about runs. What a command needs is imported when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter, validators

from tideate_core.cli.arguments import Json, Root  # noqa: TC001 cyclopts reads them

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.completion import CompletionContext

__all__ = ["Limit", "RunId", "add_to", "run_ids"]


def run_ids(context: CompletionContext) -> list[str]:
    """Return the ids of the newest runs, as lists show them."""
    from tideate_core.cli.runs import reader_of, short

    return [short(run.id) for run in reader_of(None).runs(limit=100)]


Positive = validators.Number(gte=0)
RunId = Annotated[str, Parameter(help="Its id, or the beginning of it.", completer=run_ids)]
Limit = Annotated[int, Parameter(name="--limit", help="How many at most.", validator=Positive)]
Wait = Annotated[
    float, Parameter(name="--wait", help="Seconds to wait until it is done.", validator=Positive)
]
Yes = Annotated[bool | None, Parameter(name="--yes", negative="--no", help="Answer all questions so.")]


def history(
    *,
    limit: Limit = 20,
    name: Annotated[str | None, Parameter(name="--name", help="Only runs of this workflow.")] = None,
    status: Annotated[
        Literal["cancelled", "completed", "failed", "interrupted", "paused", "running"] | None,
        Parameter(name="--status", help="Only runs that stand so."),
    ] = None,
    metrics: Annotated[bool, Parameter(name="--metrics", help="Count by workflow and day.")] = False,
    prune: Annotated[
        bool,
        Parameter(
            name="--prune",
            help="Forget runs that ended, by --keep and --days, else as [history] of the configuration says.",
        ),
    ] = False,
    keep: Annotated[
        int | None,
        Parameter(name="--keep", help="Forget all but so many of each workflow.", validator=Positive),
    ] = None,
    days: Annotated[
        int | None,
        Parameter(
            name="--days",
            help="Forget runs that ended so many days ago. Of --metrics: only so many days.",
            validator=Positive,
        ),
    ] = None,
    changes: Annotated[
        bool,
        Parameter(name="--changes", help="Forget runs, too, that can be rolled back; then none can."),
    ] = False,
    dry_run: Annotated[bool, Parameter(name="--dry-run", help="Say what would be forgotten.")] = False,
    json: Json = False,
    root: Root = None,
) -> int:
    """List the runs of the project, the newest first."""
    from tideate_core.cli.history import HistoryOptions
    from tideate_core.cli.history import history as command

    return command(
        HistoryOptions(limit, name, status, metrics, prune, keep, days, changes, dry_run, json, root)
    )


def gates(
    *,
    days: Annotated[
        int | None,
        Parameter(
            name="--days", help="Only of so many days, today among them.", validator=validators.Number(gte=1)
        ),
    ] = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Count how the gates of tasks decided, and how long they took."""
    from tideate_core.cli.gates import gates as command

    return command(root, days=days, as_json=json)


def show(
    run: RunId,
    /,
    *,
    events: Annotated[bool, Parameter(name="--events", help="All that happened, too.")] = False,
    step: Annotated[str | None, Parameter(name="--step", help="One step and its whole result.")] = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Show a run: its steps, what came of them, and who has it."""
    from tideate_core.cli.show import show as command

    return command(run, root, events=events, step=step, as_json=json)


def resume(
    run: Annotated[
        str | None,
        Parameter(help="Its id, or the beginning of it. Default: the newest that can.", completer=run_ids),
    ] = None,
    /,
    *,
    takeover_after: Annotated[
        float,
        Parameter(
            name="--takeover-after",
            metavar="SECONDS",
            help="Take the run from a process that gave no sign of life for so long.",
            validator=Positive,
        ),
    ] = 10.0,
    definition: Annotated[
        Literal["ask", "stored", "file"],
        Parameter(
            name="--definition",
            help="What counts if the workflow was changed since: the run's own, or the file.",
        ),
    ] = "ask",
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Continue a run that was interrupted or paused.

    Completed steps are not run again, and what was answered is not asked again.
    """
    from tideate_core.cli.resume import ResumeOptions
    from tideate_core.cli.resume import resume as command

    return command(ResumeOptions(run, takeover_after, definition, yes, json, root))


def pause(run: RunId, /, *, wait: Wait = 10.0, json: Json = False, root: Root = None) -> int:
    """Have the process that has a run stop it before its next step."""
    from tideate_core.cli.wishes import pause as command

    return command(run, root, within=wait, as_json=json)


def cancel(run: RunId, /, *, wait: Wait = 10.0, json: Json = False, root: Root = None) -> int:
    """End a run, whether a process has it or not."""
    from tideate_core.cli.wishes import cancel as command

    return command(run, root, within=wait, as_json=json)


def rollback(
    run: Annotated[
        str | None,
        Parameter(
            help="Its id, or the beginning of it. Default: list the runs that changed files.",
            completer=run_ids,
        ),
    ] = None,
    /,
    *,
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Take back what a run wrote; what you changed elsewhere in the same files is kept.

    Where you changed the very lines, nothing is taken back and the files are named. At a terminal it is shown
    and asked first.
    """
    from tideate_core.cli.rollback import rollback as command

    return command(run, root, policy=yes, as_json=json)


def add_to(app: App) -> None:
    """Give the commands to the shell's."""
    for command in (history, show, gates, resume, pause, cancel, rollback):
        app.command(command)
