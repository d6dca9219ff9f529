"""The steps for a terminal or a buffer: batch by batch, each step with those that it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tideate_core.machines.language import columns, cut, one_line, padded
from tideate_core.workflows.drawing.words import doer, notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tideate_core.workflows.definitions import WorkflowDefinition, WorkflowStep
    from tideate_core.workflows.graph import DependencyGraph

__all__ = ["draw_text"]

NARROWEST: Final = 20
WIDEST_COLUMN: Final = 30
GAP: Final = "  "


def draw_text(definition: WorkflowDefinition, graph: DependencyGraph, width: int, current: str | None) -> str:
    """List the batches from above; no line is wider than `width`, `▶` stands before the current step."""
    steps = {step.id: step for step in definition.steps}
    head = (
        f"{one_line(definition.title)}: {_counted(len(steps), 'step')} in "
        f"{_counted(len(graph.execution_order), 'batch', 'batches')}"
    )
    width = max(width, NARROWEST)
    lines = [head, *_lines(steps, graph, current)]
    return "".join(f"{cut(line, width).rstrip()}\n" for line in lines)


def _lines(steps: Mapping[str, WorkflowStep], graph: DependencyGraph, current: str | None) -> Iterator[str]:
    number = len(str(len(graph.execution_order)))
    names = _column(map(one_line, steps))
    doers = _column(map(doer, steps.values()))
    yield ""
    for place, batch in enumerate(graph.execution_order, 1):
        if place > 1:
            yield f"{' ' * number}  │"
        for at, name in enumerate(batch):
            step = steps[name]
            before = "" if at else str(place)
            branch = "●" if len(batch) == 1 else "┌" if at == 0 else "└" if at == len(batch) - 1 else "├"
            mark = "▶" if name == current else " "
            yield GAP.join(
                filter(
                    None,
                    (
                        f"{before:>{number}} {mark}{branch} {padded(one_line(name), names)}",
                        padded(doer(step), doers),
                        _waits(step),
                        notes(step),
                    ),
                )
            )


def _waits(step: WorkflowStep) -> str:
    return f"← {', '.join(map(one_line, step.dependencies))}" if step.dependencies else ""


def _column(words: Iterator[str]) -> int:
    return min(WIDEST_COLUMN, max(map(columns, words)))


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
