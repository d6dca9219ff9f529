"""`tideate context`: list mentions, and show what they add to a prompt."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter, validators
from rich.text import Text

from tideate_core.app import open_project, read_file_context
from tideate_core.cli.arguments import Json, Root
from tideate_core.cli.process import DECLINED, DONE, run_async, status_of
from tideate_core.cli.render.output import fail, messages, print_json, print_text, report_errors, tell
from tideate_core.cli.render.tables import page, table
from tideate_core.errors import TideateError
from tideate_core.util.escaping import label, visible

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext
    from rich.table import Table

    from tideate_core.mentions import ContextItem, ContextResolver, MentionDescription

__all__ = ["app"]

app = App(name="context")


def _complete(context: CompletionContext) -> list[str]:
    """Complete the mentions of the project, and the built-in ones."""
    from tideate_core.mentions import BUILT_IN, ContextResolver

    project = open_project(None)
    return [*ContextResolver(project.root).get_available_mentions(), *BUILT_IN]


File = Annotated[
    str | None,
    Parameter(
        name="--file", metavar="PATH[:FIRST-LAST]", help="File that @buffer and @selection mean, as in `run`."
    ),
]


@app.command(name="list")
@report_errors
def list_contexts(*, file: File = None, json: Json = False, root: Root = None) -> int:
    """List the mentions: those of .tideate/context.json, then the built-in ones."""
    found = run_async(_described(root, file))
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
            help="Most tokens of all mentions, four characters each. Default: limits.mention_tokens.",
            validator=validators.Number(gte=0),
        ),
    ] = None,
    secrets: Annotated[
        bool, Parameter(name="--secrets", help="Show contents that look like secrets, too.")
    ] = False,
    file: File = None,
    root: Root = None,
) -> int:
    """Show what mentions add to a prompt. No model is asked."""
    as_json = format == "json"
    mentions = [name if name.startswith("@") else f"@{name}" for name in (first, *others)]
    try:
        resolver, items = run_async(_resolved(mentions, root, file, budget, secrets=secrets))
    except TideateError as error:
        fail(error, as_json=as_json)
        return status_of(error)
    if as_json:
        print_json({"ok": True, "items": [{**asdict(item), "tokens": item.tokens} for item in items]})
    elif format == "prompt":
        print_text(resolver.format_for_prompt(items))
    else:
        for item in items:
            _write(item.content)
    return _print_omissions(items)


async def _described(root: str | None, file: str | None) -> list[MentionDescription]:
    resolver = await _resolver(root, file)
    return await resolver.describe()


async def _resolved(
    mentions: list[str], root: str | None, file: str | None, budget: int | None, *, secrets: bool
) -> tuple[ContextResolver, list[ContextItem]]:
    resolver = await _resolver(root, file, budget, cut=True)
    return resolver, await resolver.resolve_all(mentions, consented=mentions if secrets else ())


async def _resolver(
    root: str | None, file: str | None, budget: int | None = None, *, cut: bool = False
) -> ContextResolver:
    from tideate_core.engine import surroundings_of
    from tideate_core.mentions import ContextResolver

    project = open_project(root)
    subject = await read_file_context(file, project)
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


def _write(content: str) -> None:
    """Write a content as it is; to a terminal without control characters."""
    sys.stdout.write(visible(content) if sys.stdout.isatty() else content)
    sys.stdout.flush()


def _print_omissions(items: list[ContextItem]) -> int:
    """Print mentions that were cut or left out; a secret that was left out is no success."""
    for item in items:
        words = item.cut
        if item.needs_consent:
            words = f"left out, {item.reason}; --secrets shows it"
        if words:
            tell(messages(), Text(visible(f"{item.mention}: {words}"), style="yellow"))
    return DECLINED if any(item.needs_consent for item in items) else DONE
