"""`tideate project`: its arguments. What a command needs is imported when it runs."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from tideate_core.cli.arguments import Json  # noqa: TC001 cyclopts reads it
from tideate_core.cli.run_arguments import Yes  # noqa: TC001 cyclopts reads it

__all__ = ["app"]

app = App(name="project", help="Private state of projects: runs, snapshots, what can be rolled back, trust.")


@app.command(name="list")
def list_projects(*, json: Json = False) -> int:
    """List the projects that have private state, the last used first."""
    from tideate_core.cli.projects import list_projects as command

    return command(as_json=json)


@app.command
def move(
    old: Annotated[str, Parameter(help="The path that the project had.")],
    new: Annotated[str, Parameter(help="The path that it has now.")],
    /,
    *,
    yes: Yes = None,
    json: Json = False,
) -> int:
    """Give the private state of a project that was moved to its new path.

    What was trusted has to be trusted again: trust belongs to one path. Of a project that is still at the old
    path nothing is moved unless --yes.
    """
    from tideate_core.cli.projects import move as command

    return command(old, new, from_living=bool(yes), as_json=json)


@app.command
def forget(
    path: Annotated[str, Parameter(help="The project's path; it may be gone.")],
    /,
    *,
    yes: Yes = None,
    json: Json = False,
) -> int:
    """Remove the private state of a project. The project's files are not touched.

    Runs cannot be resumed or rolled back then. Without a terminal it is declined unless --yes.
    """
    from tideate_core.cli.projects import forget as command

    return command(path, policy=yes, as_json=json)
