"""Runs of a comparison: their answers or changes, and a table of duration, tokens, cost and checks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tideate_core.app import short_id
from tideate_core.cli.render.diffs import ReviewedFile
from tideate_core.cli.render.output import markdown_source
from tideate_core.cli.render.tables import table, token_words
from tideate_core.cli.render.words import lasted
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import RenderableType
    from rich.table import Table


def comparison_matter(payload: Mapping[str, Any]) -> list[RenderableType]:
    """Render all answers of a comparison, then a table of the runs."""
    runs: Sequence[Mapping[str, Any]] = payload["runs"]
    shown: list[RenderableType] = []
    for number, run in enumerate(runs, start=1):
        shown.append(Text(f"── {number} {visible(run['adapter'])} ──", style="bold"))
        shown += _answer(run)
    return [*shown, comparison_table(runs)]


def comparison_table(runs: Sequence[Mapping[str, Any]], taken: str | None = None) -> Table:
    """Return a table of the runs of a comparison.

    :param taken: id of the run whose answer was taken.
    """
    numbers = ("took", "tokens", "cost")
    checked = any(run.get("checks") for run in runs)
    rows = table("", "model", "run", *numbers, *(["checks"] if checked else []), "answer", right=numbers)
    for number, run in enumerate(runs, start=1):
        usage = run.get("usage", {})
        mark = "✓" if run["execution_id"] == taken else str(number)
        rows.add_row(
            mark,
            Text(visible(run["adapter"])),
            short_id(run["execution_id"]),
            lasted(run.get("duration_ms")),
            token_words(usage.get("input_tokens", 0), usage.get("output_tokens", 0)),
            f"${usage['cost']:.4f}" if "cost" in usage else "",
            *([_checks(run)] if checked else []),
            _words(run, taken),
        )
    return rows


def _checks(run: Mapping[str, Any]) -> Text:
    checks: Mapping[str, str] = run.get("checks", {})
    good = all(status == "passed" for status in checks.values())
    words = (f"{name.replace('_', ' ')} {status}" for name, status in checks.items())
    return Text(visible(", ".join(words)), style="green" if good else "red")


def _words(run: Mapping[str, Any], taken: str | None) -> Text:
    """Return the state of a run, or the size of its change."""
    if run["execution_id"] == taken:
        return Text("taken", style="green")
    if run.get("error"):
        return Text(visible(" ".join(str(run["error"]).split())), style="red")
    if run.get("cancelled") or run.get("state") == "cancelled":
        return Text("not taken" if run.get("reason") == "declined" else "cancelled", style="dim")
    if run.get("unchanged") or run.get("state") == "unchanged":
        return Text("changes nothing", style="dim")
    if run.get("state") != "review":
        return Text("answered")
    files = [ReviewedFile.of(file) for file in run["files"]]
    hunks = [hunk for file in files for hunk in file.hunks]
    new, old = sum(len(hunk.new) for hunk in hunks), sum(len(hunk.old) for hunk in hunks)
    return Text(f"+{new} -{old} lines in {len(files)} file{'' if len(files) == 1 else 's'}")


def _answer(run: Mapping[str, Any]) -> list[RenderableType]:
    if run["state"] == "review":
        return [ReviewedFile.of(file).patch() for file in run["files"]]
    if run.get("error"):
        return [Text(visible(str(run["error"])), style="red")]
    response = run.get("response")
    if response is None:
        return [Text(run["state"], style="dim")]
    return [markdown_source(response) if isinstance(response, str) else Text(visible(json.dumps(response)))]
