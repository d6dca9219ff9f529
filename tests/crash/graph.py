"""Workflow of forty steps with branches, questions, file changes and retries."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from tideate_core.workflows import Confirm, WorkflowDefinition
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tideate_core.workflows import StepContext, StepHandler, WorkflowRegistry

OUTER: Final = "forty"
INNER: Final = "inner"
LEAVES: Final = tuple(f"leaf{number}" for number in range(12))
TAILS: Final = tuple(f"tail{number}" for number in range(8))
CHAIN: Final = ("begin", "read", "split")
END: Final = tuple(f"end{number}" for number in range(6))
QUESTIONS: Final = frozenset({*LEAVES[:3], "plan", "sum"})
"""Steps that ask one question each."""
START: Final[Mapping[str, str]] = {
    "README.md": "# forty\n\nnothing yet\n",
    **{f"src/{tail}.txt": f"{tail}\n" * 40 for tail in TAILS},
}
"""Files before the run."""


def _chain(names: tuple[str, ...], after: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for name in names:
        yield {"id": name, "dependencies": after}
        after = (name,)


def _steps() -> Iterator[dict[str, Any]]:
    yield from _chain(CHAIN, ())
    for number, leaf in enumerate(LEAVES):
        question = {"confirm": f"write for {leaf}?"} if leaf in QUESTIONS else {}
        yield {"id": leaf, "dependencies": ["split"], "duration": number + 1, **question}
    yield {"id": "merge", "dependencies": LEAVES, "parallel": False}
    yield {"id": "plan", "dependencies": ["merge"]}
    items = {"items": "steps.plan.result.items", "maxParallel": 3}
    yield {"id": "each", "dependencies": ["plan"], "forEach": items}
    yield {"id": "flaky", "dependencies": ["plan"], "retries": 2, "retryDelay": 5}
    yield {"id": "charge", "dependencies": ["plan"], "idempotent": False}
    yield {"id": "big", "dependencies": ["plan"]}
    yield {"id": "off", "dependencies": ["plan"], "when": "steps.plan.result.items | length > 9"}
    yield {"id": "after_off", "dependencies": ["off"]}
    yield {"id": "broken", "dependencies": ["plan"], "continueOnError": True}
    yield {"id": "nested", "workflow": INNER, "dependencies": ["plan"]}
    for tail in TAILS:
        yield {"id": tail, "dependencies": ["each", "flaky", "charge", "big"]}
    yield {"id": "sum", "dependencies": [*TAILS, "nested", "broken"]}
    yield from _chain(END, ("sum",))


_DEFINITION: Final = WorkflowDefinition.model_validate(
    {"name": OUTER, "concurrency": 8, "steps": list(_steps())}
)
_INNER: Final = WorkflowDefinition.chain(INNER, ["first", "second", "third"])
DEPENDENCIES: Final = {step.id: step.dependencies for step in (*_DEFINITION.steps, *_INNER.steps)}
"""Dependencies of the steps of both workflows; step names are unique."""


def lay_out(root: Path) -> None:
    """Create the project of the run."""
    for name, text in START.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def register(registry: WorkflowRegistry, ran: Callable[[StepContext], None]) -> None:
    """Register both workflows.

    :param ran: called by every handler first.
    """

    def telling(handler: StepHandler) -> StepHandler:
        async def told(step: StepContext) -> Any:
            ran(step)
            return await handler(step)

        return told

    own = {step.id: telling(_HANDLERS.get(step.id, _work)) for step in _DEFINITION.steps if not step.workflow}
    registry.register(_DEFINITION, own)
    registry.register(_INNER, {step.id: telling(_create) for step in _INNER.steps})


def _seen(step: StepContext) -> str:
    """Return a digest of a step's inputs."""
    before = {name: step.results.get(name) for name in DEPENDENCIES[step.step.partition("[")[0]]}
    return hashlib.sha256(json.dumps(before, sort_keys=True).encode()).hexdigest()


async def _write(step: StepContext, *changes: FileChange) -> None:
    applied = await step.workspace.apply(changes, execution_id=step.execution_id)
    step.changed(list(applied.paths))


async def _work(step: StepContext) -> Any:
    await asyncio.sleep(0.001)
    return {"step": step.step, "seen": _seen(step)}


async def _create(step: StepContext) -> Any:
    seen = _seen(step)
    text = f"{step.step} {seen}\n" * 50
    await _write(
        step,
        FileChange(f"out/{step.step}.txt", "create", None, text),
        FileChange(f"out/{step.step}/more.txt", "create", None, seen),
    )
    return {"wrote": step.step, "seen": seen}


async def _item(step: StepContext) -> Any:
    await asyncio.sleep(0.001)
    return f"{step.values()['item']} done"


async def _merge(step: StepContext) -> Any:
    readme = await step.workspace.read("README.md")
    seen = _seen(step)
    await _write(
        step, FileChange("README.md", "modify", readme.text, readme.text.replace("nothing yet", seen))
    )
    return seen


async def _plan(step: StepContext) -> Any:
    decision = await step.confirm("plan", "these?", payload={"items": ["a", "b", "c", "d", "e"]})
    return decision.value


async def _flaky(step: StepContext) -> Any:
    if step.attempt == 1:
        raise OSError("the first attempt never works")
    return {"attempt": step.attempt}


async def _big(step: StepContext) -> Any:
    return "\n".join(f"{number} {_seen(step)}" for number in range(600))


async def _broken(step: StepContext) -> Any:
    raise OSError("this never works")


async def _rewrite(step: StepContext) -> Any:
    """Change, move or delete a file, in turns."""
    number, path = int(step.step.removeprefix("tail")), f"src/{step.step}.txt"
    text = (await step.workspace.read(path)).text
    if number % 4 == 0:
        change = FileChange(path, "delete", text, None)
    elif number % 4 == 1:
        change = FileChange(path, "move", text, text, move_to=f"moved/{step.step}.txt")
    else:
        change = FileChange(path, "modify", text, f"{text}\n{_seen(step)}")
    await _write(step, change)
    return {"changed": path}


async def _sum(step: StepContext) -> Confirm:
    return Confirm(_seen(step), "is this the sum?")


_HANDLERS: Final[Mapping[str, StepHandler]] = {
    **dict.fromkeys(LEAVES, _create),
    **dict.fromkeys(TAILS, _rewrite),
    "merge": _merge,
    "plan": _plan,
    "each": _item,
    "flaky": _flaky,
    "big": _big,
    "broken": _broken,
    "sum": _sum,
}
"""Handlers of the steps that do more than `_work`."""
