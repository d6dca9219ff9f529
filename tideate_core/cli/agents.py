"""`tideate agents`: the roles of a task. What a command needs is imported when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from tideate_core.cli.arguments import Json, Root  # noqa: TC001 cyclopts reads them

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

__all__ = ["app"]

app = App(name="agents", help="Who plans, audits, executes, documents and corrects a task.")


def role_names(context: CompletionContext) -> list[str]:
    """Return the names of the roles."""
    from tideate_core.cli.roles import names

    return names()


Name = Annotated[str, Parameter(help="A role; `tideate agents` lists them.", completer=role_names)]


@app.default
def list_roles(*, json: Json = False, root: Root = None) -> int:
    """List the roles: where each comes from, what answers it, and its budgets."""
    from tideate_core.cli.roles import list_roles as command

    return command(root, as_json=json)


@app.command
def show(name: Name, /, *, json: Json = False, root: Root = None) -> int:
    """Print a role as it counts here: its keys and its instructions."""
    from tideate_core.cli.roles import show as command

    return command(name, root, as_json=json)


@app.command
def eject(name: Name, /, *, root: Root = None) -> int:
    """Write the built-in text of a role to .tideate/agents/NAME.md, to change it there.

    A file that is there already is never overwritten.
    """
    from tideate_core.cli.roles import eject as command

    return command(name, root)
