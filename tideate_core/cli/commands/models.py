"""`tideate models`: list available models with their context windows and prices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.text import Text

from tideate_core.app import locate_project
from tideate_core.cli.arguments import Json, Root
from tideate_core.cli.process import DONE, run_async
from tideate_core.cli.render.output import (
    note,
    print_json,
    print_message,
    report_errors,
)
from tideate_core.cli.render.tables import page, table
from tideate_core.cli.render.words import count_words
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from tideate_core.adapters import ListedModel, ModelList


@report_errors
def models(
    name: Annotated[
        str | None,
        Parameter(
            name="PROVIDER",
            help="A provider or a configured adapter, which is asked for its models. Default: list known "
            "models, without a request.",
        ),
    ] = None,
    /,
    *,
    json: Json = False,
    root: Root = None,
) -> int:
    """List models; return the exit status."""
    # here, because other commands need no adapters
    from tideate_core.adapters import list_models
    from tideate_core.config import load_config

    loaded = load_config(locate_project(root))
    for notice in loaded.notices:
        note(notice)
    listed = run_async(list_models(loaded.config, name))
    if json:
        print_json(listed.as_json())
    else:
        _print(listed)
    return DONE


def _print(listed: ModelList) -> None:
    numbers = ("window", "$ in", "$ out")
    rows = table("adapter", "model", *numbers, "", right=numbers)
    for one in listed.models:
        rows.add_row(*_row(one, listed.default))
    page().print(rows)
    for words in listed.notes:
        print_message(words)
    if any(one.price for one in listed.models):
        print_message("prices: US dollars for a million tokens")


def _row(one: ListedModel, default: str) -> tuple[str | Text, ...]:
    price = one.price
    return (
        Text(visible(one.adapter), style="bold" if one.adapter == default else ""),
        Text(visible(one.model)),
        count_words(one.context_tokens) if one.context_tokens else "",
        f"{price.input:g}" if price else "",
        f"{price.output:g}" if price else "",
        "the default" if one.adapter == default else "",
    )
