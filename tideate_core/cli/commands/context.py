"""`tideate context`: list mentions, and show their contribution to a prompt."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter, validators
from rich.text import Text

from tideate_core.app import open_project
from tideate_core.cli.arguments import Json, Root
from tideate_core.cli.process import DECLINED, DONE, run_async, status_of
from tideate_core.cli.render.output import (
    fail,
    print_json,
    print_message,
    print_text,
    report_errors,
)
from tideate_core.cli.render.tables import page, table
from tideate_core.errors import TideateError
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext
    from rich.table import Table

    from tideate_core.mentions import ContextItem, ContextResolver, MentionDescription

app = App(name="context")


def _complete(context: CompletionContext) -> list[str]:
    """Complete mentions of the project and built-in mentions."""
    from tideate_core.mentions import BUILT_IN, ContextResolver

    project = open_project(None)
    return [*ContextResolver(project.root).get_available_mentions(), *BUILT_IN]


File = Annotated[
    str | None,
    Parameter(
        name="--file", metavar="PATH[:FIRST-LAST]", help="File of @buffer and @selection, as in `run`."
    ),
]


@app.command(name="list")
@report_errors
def list_contexts(*, file: File = None, json: Json = False, root: Root = None) -> int:
    """List the mentions of .tideate/context.json, then the built-in mentions."""

    async def described() -> list[MentionDescription]:
        return await (await _resolver(root, file, None)).describe()

    found = run_async(described())
    if json:
        print_json({"ok": True, "mentions": [asdict(one) for one in found]})
    else:
        page().print(_table(found))
    return DONE


@app.command(usage="tideate context show [OPTIONS] NAME...")
def show(
    first: Annotated[
        str, Parameter(name="NAME", help="A mention, with or without its @.", completer=_complete)
    ],
    /,
    *others: Annotated[str, Parameter(show=False, completer=_complete)],
    format: Annotated[  # noqa: A002 the option's name
        Literal["prompt", "json", "raw"],
        Parameter(name="--format", help="As in a prompt, as a JSON object, or only the contents."),
    ] = "prompt",
    budget: Annotated[
        int | None,
        Parameter(
            name="--budget",
            help="Maximum tokens of all mentions, four characters each. Default: limits.mention_tokens.",
            validator=validators.Number(gte=0),
        ),
    ] = None,
    secrets: Annotated[
        bool, Parameter(name="--secrets", help="Include contents that look like secrets.")
    ] = False,
    file: File = None,
    root: Root = None,
) -> int:
    """Show the text that mentions add to a prompt. No model is called."""
    as_json = format == "json"
    mentions = [name if name.startswith("@") else f"@{name}" for name in (first, *others)]

    async def resolved() -> tuple[ContextResolver, list[ContextItem]]:
        resolver = await _resolver(root, file, budget, cut=True)
        return resolver, await resolver.resolve_all(mentions, consented=mentions if secrets else ())

    try:
        resolver, items = run_async(resolved())
    except TideateError as error:
        fail(error, as_json=as_json)
        return status_of(error)
    if as_json:
        print_json({"ok": True, "items": [{**asdict(item), "tokens": item.tokens} for item in items]})
    elif format == "prompt":
        print_text(resolver.format_for_prompt(items))
    else:
        for item in items:
            sys.stdout.write(visible(item.content) if sys.stdout.isatty() else item.content)
            sys.stdout.flush()
    return _print_omissions(items)


async def _resolver(
    root: str | None, file: str | None, budget: int | None, *, cut: bool = False
) -> ContextResolver:
    from tideate_core.cli.piped_stdin import file_context
    from tideate_core.engine import surroundings_of
    from tideate_core.mentions import ContextResolver

    project = open_project(root)
    subject = await file_context(file, project)
    limits = project.loaded.config.limits
    tokens = limits.mention_tokens if budget is None and cut else budget
    return ContextResolver(
        project.workspace.root,
        workspace=project.workspace,
        around=surroundings_of(subject),
        budget=tokens,
        max_bytes=project.workspace.max_bytes,
    )


def _table(found: list[MentionDescription]) -> Table:
    made = table("mention", "stands for", "type", "")
    for one in found:
        state = Text(visible(one.note), style="yellow" if one.exists else "red")
        if not one.note and not one.exists:
            state = Text("not here", style="dim")
        kind = Text(one.type or "built in", style="dim")
        made.add_row(one.mention, Text(label(one.points_to)), kind, state)
    return made


def _print_omissions(items: list[ContextItem]) -> int:
    """Print truncated and omitted mentions; return 3 for an omitted secret."""
    for item in items:
        words = item.cut
        if item.needs_consent:
            words = f"left out, {item.reason}; --secrets shows it"
        if words:
            print_message(f"{item.mention}: {words}", "yellow")
    return DECLINED if any(item.needs_consent for item in items) else DONE
