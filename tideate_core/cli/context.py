"""`tideate context`: its arguments. What a command needs is imported when it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter, validators

from tideate_core.cli.arguments import Json, Root  # noqa: TC001 cyclopts reads them

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext

__all__ = ["app"]

app = App(name="context", help="Mentions: what @Name, @file:PATH and others bring into a prompt.")


def mention_names(_context: CompletionContext) -> list[str]:
    """Return the mentions of the project here, and the built-in ones."""
    from tideate_core.cli.contexts import names

    return names()


File = Annotated[
    str | None,
    Parameter(
        name="--file", metavar="PATH[:FIRST-LAST]", help="What @buffer and @selection are, as in `run`."
    ),
]


@app.command(name="list")
def list_contexts(*, file: File = None, json: Json = False, root: Root = None) -> int:
    """List the mentions: those of .tideate/context.json, then the built-in ones."""
    from tideate_core.cli.contexts import list_contexts as command

    return command(root, file, as_json=json)


@app.command(usage="tideate context show [OPTIONS] NAME...")
def show(
    first: Annotated[
        str, Parameter(name="NAME", help="A mention, with its @ or without.", completer=mention_names)
    ],
    /,
    *others: Annotated[str, Parameter(show=False, completer=mention_names)],
    format: Annotated[  # noqa: A002 the option's name
        Literal["prompt", "json", "raw"],
        Parameter(name="--format", help="As a model gets it, as an object, or the bare contents."),
    ] = "prompt",
    budget: Annotated[
        int | None,
        Parameter(
            name="--budget",
            help="Tokens for all of them, four characters each. Default: limits.mention_tokens.",
            validator=validators.Number(gte=0),
        ),
    ] = None,
    secrets: Annotated[
        bool, Parameter(name="--secrets", help="Show what seems to be a secret, too.")
    ] = False,
    file: File = None,
    root: Root = None,
) -> int:
    """Show what mentions bring into a prompt. No model is asked."""
    from tideate_core.cli.contexts import ShowOptions
    from tideate_core.cli.contexts import show as command

    return command(ShowOptions((first, *others), format, budget, secrets, file, root))
