"""Read the editable start of a fork from a past run: prompt, inputs and results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tideate_core.app import read_runs, run_json
from tideate_core.engine import RunEdits, plan_fork
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.store import Reader

LONGEST_RESULT: Final = 64 * 1024
"""Characters of an editable result."""
MOST_RESULTS: Final = 30
"""Number of editable results; the last ones are kept."""


async def fork_plan(
    root: Path | None, wanted: str, step: str | None, turn: int | None = None
) -> dict[str, Any]:
    """Return the prompt, the inputs and the reused results of a fork.

    :param turn: repeat this turn of the step's model, with unchanged inputs. If the turn cannot be repeated,
        or nothing comes before it, the plan covers the whole step and `not_at_turn` has the reason.
    :raises TideateError: a fork is impossible; the message says why.
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

    return await read_runs(root, read)


def _turn_plan(reader: Reader, wanted: str, step: str | None, turn: int) -> dict[str, Any] | str:
    """Return the plan of a fork at a turn, or the reason why not, empty if nothing comes before it."""
    try:
        plan = plan_fork(reader, wanted, step, RunEdits(turn=turn), or_whole=True)
    except InvalidInput as error:
        return str(error).partition(";")[0]  # the rest names options of the shell
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
    """Return a value as editable text, as JSON unless it is a text."""
    if isinstance(value, str):
        return {"name": name, "text": value, "json": False}
    return {"name": name, "text": json.dumps(value, ensure_ascii=False, indent=2), "json": True}
