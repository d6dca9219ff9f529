"""Workflow engine: executes workflows that are given as text, from parse to result, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.engine.run import RunMachine, RunRequest
from tideate_core.errors import InvalidInput
from tideate_core.machines import ExecutionState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.engine.result import WorkflowResult
    from tideate_core.engine.runner import WorkflowRunner
    from tideate_core.workflows import TextFormat

__all__ = ["WorkflowEngine"]


class WorkflowEngine:
    """Executes workflows that are in no file.

    A text is trusted like the program that gives it: its steps may run registered handlers and tools. Its
    runs are in the store as any others, and are resumed with the text that they began with.

    :param runner: has the handlers, adapters and the store.
    """

    def __init__(self, runner: WorkflowRunner) -> None:
        self._runner = runner
        self._machine = RunMachine()

    @property
    def state(self) -> ExecutionState:
        """The state of the last execution; `idle` before the first."""
        return self._machine.state

    async def execute(
        self,
        text: str,
        format: TextFormat = "yaml",  # noqa: A002 what everybody calls it
        inputs: Mapping[str, Any] | None = None,
        *,
        request: RunRequest | None = None,
    ) -> WorkflowResult:
        """Run a text to its end. Failures, those of the text too, are results and not exceptions.

        :param inputs: values of what the workflow declares.
        :param request: everything else of the run; its name is the workflow's, by default `workflow`.
        :raises InvalidInput: this engine is executing another one, or left one that can be resumed.
        :raises asyncio.CancelledError: the caller was cancelled; the run is, too.
        """
        machine = self._idle_machine()
        wanted = request or RunRequest(name="workflow")
        wanted = wanted.model_copy(update={"inputs": {**wanted.inputs, **(inputs or {})}})
        return await self._runner.run_text(wanted, text, format, machine=machine)

    async def resume(self, checkpoint_id: str) -> WorkflowResult:
        """Run on from a checkpoint, in a new run; the old one stays as it is.

        :raises InvalidInput: this engine is executing another one, or left one that can be resumed.
        :raises CheckpointNotFound: no checkpoint has this id, nor one that begins so.
        :raises TideateError: it cannot go on; says why.
        """
        machine = self._idle_machine()
        restored = await self._runner.restore_checkpoint(checkpoint_id)
        return await self._runner.resume_run(restored.workflow_id, machine=machine)

    def _idle_machine(self) -> RunMachine:
        machine = self._machine
        if machine.state is not ExecutionState.IDLE and not machine.reset():
            raise InvalidInput(f"this engine is {machine.state.value}; use another one for a run beside it")
        return machine
