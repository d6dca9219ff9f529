"""Workflows of all kinds whose answers depend only on what is asked, so that two runs can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.builtin.test_buffer_workflows import LOOP, analyzed, planned
from tests.engine.test_loop import graph, step
from tideate_core.workflows import Cursor, WorkflowDefinition
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.harness.bench import Bench
    from tideate_core.workflows import StepContext, StepHandler

__all__ = ["KINDS", "arguments"]

MACHINE: Final = """\
* to draft:
  Write a draft of the text.

draft to review:
  Say what is wrong with it.

review to publish:
  Give the final text.

publish to *
"""


def _ask(bench: Bench) -> None:
    bench.write("a.py", LOOP)
    bench.server.answers("why", "Because of the area.")


def _summarize(bench: Bench) -> None:
    bench.write("a.py", LOOP)
    bench.server.answers("Summarize this", "An area.")


def _refactor(bench: Bench) -> None:
    bench.write("a.py", LOOP)
    analyzed(bench)


def _generate(bench: Bench) -> None:
    bench.write("a.py", LOOP)
    bench.server.answers("a constant", "```python\nLIMIT = 3\n```")


def _machine(bench: Bench) -> None:
    bench.machine(MACHINE)
    for state, text in (("draft", "Teh draft."), ("review", "A typo."), ("publish", "The draft.")):
        bench.server.answers(f"The present state is {state}.", text)


def _graph(bench: Bench) -> None:
    bench.write("a.txt", "mine\n")
    (bench.root / "b.bin").write_bytes(b"\0\1\2" * 50)
    inner = WorkflowDefinition.chain("inner", ["first", "second"])
    bench.registry.register(inner, {"first": _creates, "second": _appends})
    handlers: dict[str, StepHandler] = {
        "plan": _plans,
        "each": _creates,
        "moved": _moves,
        "gone": _deletes,
        "sum": _appends,
    }
    items = {"forEach": {"items": "steps.plan.result.items", "maxParallel": 1}}
    graph(
        bench,
        handlers,
        step("plan"),
        step("each", "plan", **items),
        step("moved", "each"),
        {"id": "nested", "workflow": "inner", "dependencies": ["each", "moved"]},
        step("ask", "nested", task="why is it so?"),
        step("gone", "ask"),
        step("sum", "gone", confirm="write the sum?"),
    )
    bench.server.answers("why is it so", "Because.")


async def _plans(step: StepContext) -> Any:
    return {"items": ["x", "y", "z"], "place": str(step.workspace.root)}


async def _creates(step: StepContext) -> str:
    name = step.step.replace("[", "-").replace("]", "")
    change = FileChange(f"out/{name}/made.txt", "create", None, f"{name}\n" * 30)
    await _apply(step, change)
    return name


async def _appends(step: StepContext) -> str:
    text = (await step.workspace.read("a.txt")).text
    await _apply(step, FileChange("a.txt", "modify", text, f"{text}\n{step.step}"))
    return step.step


async def _moves(step: StepContext) -> str:
    await _apply(step, FileChange("c.txt", "create", None, "c\n"))
    await _apply(step, FileChange("c.txt", "move", "c", "c", move_to="d/c.txt"))
    return "moved"


async def _deletes(step: StepContext) -> str:
    text = (await step.workspace.read("d/c.txt")).text
    await _apply(step, FileChange("d/c.txt", "delete", text, None))
    return "deleted"


async def _apply(step: StepContext, *changes: FileChange) -> None:
    applied = await step.workspace.apply(changes, execution_id=step.execution_id)
    step.changed(list(applied.paths))


KINDS: Final[Mapping[str, Callable[[Bench], None]]] = {
    "ask": _ask,
    "summarize": _summarize,
    "refactor": _refactor,
    "generate": _generate,
    "multi_file": planned,
    "walk": _machine,
    "g": _graph,
}
"""By workflow."""


def arguments(kind: str, bench: Bench) -> dict[str, Any]:
    """Return prompt and context of a run of this kind."""
    if kind in ("summarize", "refactor"):
        return {"prompt": "simplify", "context": bench.context("a.py", 4, 6)}
    if kind == "generate":
        cursor = {"cursor": Cursor(line=2)}
        return {"prompt": "a constant", "context": bench.context("a.py").model_copy(update=cursor)}
    return {"prompt": "why is it so"}
