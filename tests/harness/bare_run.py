"""A `Run` without a store or a registry, for tests of its parts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from tests.harness.front import Front, in_order
from tideate_core.adapters import NO_MODEL
from tideate_core.config import Config
from tideate_core.engine import Run, RunRequest
from tideate_core.workflows import PromptLibrary, WorkflowDefinition
from tideate_core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tideate_core.engine import Driver, FrontEnd

__all__ = ["bare_run"]


class _Pool:
    def __init__(self, adapter: Any) -> None:
        self._adapter = adapter

    def get(self, name: str) -> Any:
        return self._adapter

    def destination(self, name: str) -> str:
        return name

    def is_recorded(self, name: str) -> bool:
        return False


def bare_run(
    request: RunRequest | None = None,
    *,
    definition: Any = None,
    front: FrontEnd | None = None,
    driver: Driver | None = None,
    adapter: Any = NO_MODEL,
    config: Mapping[str, Any] | None = None,
    root: Path | None = None,
    log: Any = None,
    memos: Mapping[str, Mapping[str, Any]] | None = None,
    registry: Any = None,
) -> Run:
    """Return a run that has begun as far as its parts can tell.

    :param log: takes what is recorded, in place of a `RunLog`.
    :param memos: what earlier processes remembered.
    """

    async def store() -> Any:
        raise AssertionError("this run has no store")

    runner = SimpleNamespace(
        front=front or Front(in_order()),
        hooks=None,
        adapters=_Pool(adapter),
        config=Config.model_validate(config or {}),
        workspace=lambda _request: Workspace(root, private=root / ".tideate" if root else None),
        prompts=PromptLibrary(),
        registry=registry,
        tools=None,
        task=None,
        store=store,
    )
    request = request or RunRequest(name="w")
    past = SimpleNamespace(
        memos=memos, agents=(), checkpoints=(), moves=0, attempts={}, running=frozenset(), adapter=None
    )
    run = Run(cast("Any", runner), request, recorded=cast("Any", past) if memos else None)
    run.definition = definition or WorkflowDefinition.chain("w", ["a"])
    run.registration = cast("Any", SimpleNamespace(definition=run.definition, handlers={}, source="file"))
    run.inputs = request.inputs
    if driver is not None:
        run.driver = driver
    if log is not None:
        run.memory.attach(log)
        run.recorder.attach(log)
    return run
