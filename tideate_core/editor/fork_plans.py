"""Plans of forks, as a person in Neovim edits them: prompt, inputs and results, or a turn of a model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tideate_core.app import read_runs, run_json
from tideate_core.engine import RunEdits, plan_fork
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store import Reader

__all__ = ["fork_plan"]

LONGEST_RESULT: Final = 64 * 1024
"""Characters of a result that is edited."""
MOST_RESULTS: Final = 30
"""Results of a run that are edited in one text; the last ones."""


async def fork_plan(
    root: Path | None, wanted: str, step: str | None, turn: int | None = None
) -> dict[str, Any]:
    """Return what a fork of a run begins with: its prompt, its inputs, the results that it reuses.

    :param turn: of the step's model that is taken anew, then these are as they were; where that cannot be,
        or nothing is before it, the plan is one of all of the step, without a `turn`, and says why.
    :raises TideateError: there can be none; says why.
    """

    def read(reader: Reader) -> dict[str, Any]:
        found = "" if turn is None else _turn_plan(reader, wanted, step, turn)
        if isinstance(found, dict):
            return found
        plan = plan_fork(reader, wanted, step, RunEdits(), or_whole=True)
        request = plan.request
        kept = [_editable(row.step, row.result) for row in plan.reused if row.result is not None]
        results = [one for one in kept if len(one["text"]) <= LONGEST_RESULT][-MOST_RESULTS:]
        return {
            "run": run_json(plan.source),
            "step": plan.step,
            "all": plan.whole,
            "not_at_turn": found,
            "prompt": request.prompt,
            "adapter": request.adapter,
            "inputs": [_editable(name, value) for name, value in request.inputs.items()],
            "results": results,
            "reused": len(plan.reused),
            "more": len(kept) - len(results),
        }

    return {"ok": True, **await read_runs(root, read)}


def _turn_plan(reader: Reader, wanted: str, step: str | None, turn: int) -> dict[str, Any] | str:
    """Return the plan of a fork at a turn, or the reason that there is none; nothing before it is none."""
    try:
        plan = plan_fork(reader, wanted, step, RunEdits(turn=turn), or_whole=True)
    except InvalidInput as error:
        return str(error).partition(";")[0]  # what follows names the shell's options
    if turn == 1 and not plan.hears:
        return ""
    fixed = {
        "all": False,
        "reused": len(plan.reused),
        "inputs": [],
        "results": [],
        "more": 0,
        "prompt": plan.request.prompt,
    }
    place = {"run": run_json(plan.source), "step": plan.step, "turn": turn, "hears": plan.hears}
    return {**place, **fixed, "adapter": plan.request.adapter}


def _editable(name: str, value: Any) -> dict[str, Any]:
    """Return a value as a person edits it: JSON where it is no text."""
    if isinstance(value, str):
        return {"name": name, "text": value, "json": False}
    return {"name": name, "text": json.dumps(value, ensure_ascii=False, indent=2), "json": True}
