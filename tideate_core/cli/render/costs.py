"""Table of costs: what models took, by day and model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from tideate_core.app import cost_json, tokens_json
from tideate_core.cli.render.output import messages, print_json, tell
from tideate_core.cli.render.tables import page, table
from tideate_core.cli.render.words import cached_words, count_words
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tideate_core.store import CostRow, Tokens

__all__ = ["show_costs"]


def show_costs(rows: Sequence[CostRow], *, as_json: bool) -> None:
    """Print what models took, and all of it together."""
    total = _total(rows)
    if as_json:
        print_json({"ok": True, "costs": [cost_json(row) for row in rows], "total": tokens_json(total)})
    elif rows:
        _print(rows, total)
    else:
        tell(messages(), Text("no model has been asked yet"))


def _print(rows: Sequence[CostRow], total: Tokens) -> None:
    numbers = ("runs", "answers", "tokens in", "cached", "tokens out", "cost")
    shown = table("day (UTC)", "model", *numbers, right=numbers)
    for row in rows:
        cells = (str(row.runs), str(row.answers), *_tokens(row.tokens, row.unpriced))
        shown.add_row(row.date, Text(visible(row.model)), *cells)
    if len(rows) > 1:
        unpriced = sum(row.unpriced for row in rows)
        answers = str(sum(row.answers for row in rows))
        shown.add_row("all", "", "", answers, *_tokens(total, unpriced), style="bold")
    page().print(shown)
    if total.cost is not None and any(row.unpriced for row in rows):
        tell(messages(), Text("+ and unknown: there are answers of which nobody knows the price"))


def _tokens(tokens: Tokens, unpriced: int) -> tuple[str, str, str, str]:
    cost = "unknown" if tokens.cost is None else f"${tokens.cost:.4f}{'+' if unpriced else ''}"
    cached = cached_words(tokens.cached, tokens.input)
    return count_words(tokens.input), cached, count_words(tokens.output), cost


def _total(rows: Sequence[CostRow]) -> Tokens:
    # here, because the store's records are loaded with a store
    from tideate_core.store import Tokens

    known = [row.tokens.cost for row in rows if row.tokens.cost is not None]
    return Tokens(
        sum(row.tokens.input for row in rows),
        sum(row.tokens.output for row in rows),
        sum(known) if known else None,
        sum(row.tokens.cached for row in rows),
    )
