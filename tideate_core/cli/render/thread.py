"""Conversation of a run at the terminal: prompts, answers and tool calls, long texts in short."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from tideate_core.cli.render.output import results
from tideate_core.util.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["show_thread"]

WHOLE: Final = 16
"""Lines up to which a prompt is shown whole: it may hold files."""
ENDS: Final = 6
"""Lines of either end of a longer one."""
LONGEST: Final = 100
"""Characters of a call's arguments."""


def show_thread(said: Iterable[Mapping[str, Any]]) -> None:
    """Print what `read_thread` or `read_step_thread` gives; the numbers of the turns are those of `--turn`.

    A turn of an earlier step has none in a step's conversation.
    """
    said = list(said)
    key = "step_turn" if any("step_turn" in one for one in said) else "turn"
    for one in said:
        if one["role"] in ("user", "system"):
            _print_head("you" if one["role"] == "user" else "instructions", "")
            _print_text(_in_short(one["text"]))
        elif one["role"] == "tool":
            lines = one["text"].count("\n") + 1
            words = f"  ← {visible(one['tool'])}: {lines} line{'' if lines == 1 else 's'}"
            results().print(Text(words, style="dim"), soft_wrap=True)
        else:
            _print_head(str(one.get(key, "earlier step")), one["model"])
            _print_text(one["text"])
            for call in one["calls"]:
                results().print(_call(call), soft_wrap=True)


def _print_head(who: str, model: str) -> None:
    results().print(
        Text.assemble((f"── {who}", "bold"), (f" {visible(model)}".rstrip(), "dim")), soft_wrap=True
    )


def _print_text(text: str) -> None:
    if text.strip():
        results().print(Text(visible(text.strip("\n"))), soft_wrap=True)


def _in_short(text: str) -> str:
    lines = text.strip("\n").split("\n")
    if len(lines) <= WHOLE:
        return "\n".join(lines)
    left_out = len(lines) - 2 * ENDS
    return "\n".join([*lines[:ENDS], f"… {left_out} lines …", *lines[-ENDS:]])


def _call(call: Mapping[str, Any]) -> Text:
    arguments = json.dumps(call["arguments"], ensure_ascii=False)
    if len(arguments) > LONGEST:
        arguments = f"{arguments[: LONGEST - 1]}…"
    return Text.assemble((f"  → {visible(call['tool'])} ", "cyan"), (visible(arguments), "dim"))
