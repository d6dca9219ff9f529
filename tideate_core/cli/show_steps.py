"""One step of a run, as `tideate show` tells of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from tideate_core.cli.output import print_json, results, visible
from tideate_core.cli.runs import cost_words, lasted, page, token_words, tokens_json, when
from tideate_core.cli.step_items import item_json, items_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.cli.step_items import Item
    from tideate_core.store import StepRow

__all__ = ["STEP_STYLES", "facts", "show_step", "step_json"]

STEP_STYLES: Final[Mapping[str, tuple[str, str]]] = {
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "pending": ("·", "dim"),
    "running": ("▸", "cyan"),
    "skipped": ("⊘", "dim"),
}


def step_json(row: StepRow, items: list[Item]) -> dict[str, Any]:
    """Return a step as tools get it."""
    shape = {"items": [item_json(item) for item in items]} if items else {}
    return {
        **shape,
        "step": row.step,
        "name": row.name,
        "agent": row.agent,
        "task": row.task,
        "status": row.status,
        "attempts": row.attempts,
        "dependencies": list(row.dependencies),
        "result": row.result,
        "error": row.error,
        "error_code": row.error_code,
        "started_at": row.started_at,
        "completed_at": row.completed_at,
        "duration_ms": row.duration_ms,
        "usage": tokens_json(row.tokens),
        "files": list(row.files),
    }


def show_step(row: StepRow, items: list[Item], *, as_json: bool) -> None:
    """Print a step with its whole result."""
    if as_json:
        print_json({"ok": True, **step_json(row, items)})
        return
    facts(
        {
            "step": row.step if row.name == row.step else f"{row.step} ({row.name})",
            "by": row.agent,
            "after": ", ".join(row.dependencies),
            "status": Text(row.status, style=STEP_STYLES[row.status][1]),
            "tries": str(row.attempts or ""),
            "began": when(row.started_at, seconds=True) if row.started_at else "",
            "took": lasted(row.duration_ms),
            "tokens": ", ".join(filter(None, (token_words(row.tokens), cost_words(row.tokens)))),
            "changed": ", ".join(row.files),
            "task": row.task,
            "error": Text(visible(row.error or ""), style="red"),
        }
    )
    if items:
        page().print(items_table(items))
    if row.status == "completed":
        text = (
            row.result
            if isinstance(row.result, str)
            else json.dumps(row.result, indent=2, ensure_ascii=False)
        )
        results().print(Text(f"\n{visible(text)}"), soft_wrap=True)


def facts(known: Mapping[str, str | Text]) -> None:
    """Print what is known by name, a line each; what is empty is left out."""
    for name, value in known.items():
        text = value if isinstance(value, Text) else Text(visible(value))
        if text.plain:
            results().print(Text.assemble((f"{name:<12}", "dim"), text), soft_wrap=True)
