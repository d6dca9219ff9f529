"""What `tideate context` does."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from rich.text import Text

from tideate_core.cli.exits import DECLINED, DONE, status_of
from tideate_core.cli.output import fail, label, messages, print_json, print_text, tell, visible
from tideate_core.cli.runs import page, table
from tideate_core.cli.subject import read_subject
from tideate_core.cli.wiring import open_project
from tideate_core.engine import surroundings_of
from tideate_core.errors import TideateError
from tideate_core.mentions import BUILT_IN, ContextResolver

if TYPE_CHECKING:
    from rich.table import Table

    from tideate_core.mentions import ContextItem, MentionDescription

__all__ = ["ShowOptions", "list_contexts", "names", "show"]


@dataclass(frozen=True, slots=True)
class ShowOptions:
    """What `tideate context show` was given."""

    names: tuple[str, ...]
    format: Literal["prompt", "json", "raw"]
    budget: int | None
    secrets: bool
    file: str | None
    root: str | None


def names() -> list[str]:
    """Return the mentions that can be written here."""
    project = open_project(None)
    return [*ContextResolver(project.root).get_available_mentions(), *BUILT_IN]


def list_contexts(root: str | None, file: str | None, *, as_json: bool) -> int:
    """Print the mentions; returns the exit status."""
    try:
        found = asyncio.run(_described(root, file))
    except TideateError as error:
        fail(error, as_json=as_json)
        return status_of(error)
    if as_json:
        print_json({"ok": True, "mentions": [asdict(one) for one in found]})
    else:
        page().print(_table(found))
    return DONE


def show(options: ShowOptions) -> int:
    """Print what mentions bring; returns the exit status."""
    as_json = options.format == "json"
    try:
        resolver, items = asyncio.run(_resolved(options))
    except TideateError as error:
        fail(error, as_json=as_json)
        return status_of(error)
    if as_json:
        print_json({"ok": True, "items": [{**asdict(item), "tokens": item.tokens} for item in items]})
    elif options.format == "prompt":
        print_text(resolver.format_for_prompt(items))
    else:
        for item in items:
            _write(item.content)
    return _told(items)


async def _described(root: str | None, file: str | None) -> list[MentionDescription]:
    resolver = await _resolver(root, file)
    return await resolver.describe()


async def _resolved(options: ShowOptions) -> tuple[ContextResolver, list[ContextItem]]:
    mentions = [name if name.startswith("@") else f"@{name}" for name in options.names]
    resolver = await _resolver(options.root, options.file, options.budget, cut=True)
    return resolver, await resolver.resolve_all(mentions, consented=mentions if options.secrets else ())


async def _resolver(
    root: str | None, file: str | None, budget: int | None = None, *, cut: bool = False
) -> ContextResolver:
    project = open_project(root)
    subject = await read_subject(file, project)
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
    """Write a content as it is; to a terminal without what it would obey."""
    sys.stdout.write(visible(content) if sys.stdout.isatty() else content)
    sys.stdout.flush()


def _told(items: list[ContextItem]) -> int:
    """Say what is not whole; a secret that was left out is no success."""
    for item in items:
        words = item.cut
        if item.needs_consent:
            words = f"left out, {item.reason}; --secrets shows it"
        if words:
            tell(messages(), Text(visible(f"{item.mention}: {words}"), style="yellow"))
    return DECLINED if any(item.needs_consent for item in items) else DONE
