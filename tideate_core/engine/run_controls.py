"""Controls of the runs that are under way in this process: cancelled, paused, told something, by their id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.engine.recording import now_ms
from tideate_core.engine.step_context import StepRun
from tideate_core.errors import InvalidInput, RunNotFound

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tideate_core.adapters import Reply
    from tideate_core.engine.live_run import LiveRun
    from tideate_core.engine.run import Execution
    from tideate_core.engine.run_store import LazyStore
    from tideate_core.store import CheckpointRow

__all__ = ["RunControls"]


class RunControls:
    """The runs under way, each with what a person can do to it.

    :param store: of the runs.
    """

    def __init__(self, store: LazyStore) -> None:
        self._store = store
        self._running: dict[str, LiveRun] = {}

    @property
    def running(self) -> list[Execution]:
        """The runs under way, newest first."""
        return [live.execution for live in reversed(self._running.values())]

    def execution(self, execution_id: str) -> Execution:
        """Return a run that is under way.

        :raises RunNotFound: nothing of this id is running.
        """
        return self._get(execution_id).execution

    def cancel(self, execution_id: str | None = None) -> list[str]:
        """Cancel a run, or all of them; returns the ids.

        :raises RunNotFound: nothing of this id is running.
        """
        runs = [self._get(execution_id)] if execution_id else list(self._running.values())
        for live in runs:
            live.cancel()
        return [live.execution.id for live in runs]

    def pause(self, execution_id: str) -> None:
        """Stop a run before its next step.

        :raises RunNotFound: nothing of this id is running.
        """
        self._get(execution_id).pause()

    def resume(self, execution_id: str) -> None:
        """Let a paused run go on.

        :raises RunNotFound: nothing of this id is running.
        """
        self._get(execution_id).execution.resume()

    async def say(self, execution_id: str | None, text: str) -> str:
        """Tell a run's model something, as `RunMessages.send`, without an id the newest's; returns the id.

        :raises RunNotFound: nothing of this id is running.
        """
        newest = (run.id for run in self.running if self._running[run.id].parent is None)
        live = self._get(execution_id or next(newest, ""))
        await live.messages.send(text)
        return live.execution.id

    def leave(self, execution_id: str | None = None) -> list[str]:
        """Stop a run, or all, without ending it, so that it can be resumed; returns the ids.

        :param execution_id: with it the run is left that it is within, and those that are compared with it.
        :raises RunNotFound: nothing of this id is running.
        """
        left = list(self._running)
        if execution_id is not None:
            outermost = self._get(execution_id).execution.outermost
            left = [run for run in outermost.request.compared if run in self._running] or [outermost.id]
        for run in left:
            self._get(run).leave()
        return left

    async def wait_until_over(self, runs: Iterable[str]) -> None:
        """Wait until runs are under way no more, and the store knows it."""
        for live in [self._running[run] for run in runs if run in self._running]:
            await live.over.wait()

    async def persist_checkpoint(self, execution_id: str) -> CheckpointRow:
        """Make a checkpoint of a run where it stands.

        :raises RunNotFound: nothing of this id is running.
        :raises StoreError: it cannot be written.
        """
        live = self._get(execution_id)
        store = await self._store.get()
        row = await live.execution.checkpoint(store.checkpoint(execution_id, at=now_ms()))
        live.report_checkpoint(row)
        return row

    async def ask(self, execution_id: str, step: str, prompt: str, system: str = "") -> Reply:
        """Ask a run's adapter for a handler that lives in the front end.

        :raises RunNotFound: nothing of this id is running.
        """
        from tideate_core.adapters import Prompt

        live = self._get(execution_id)
        context = StepRun(live.step_environment, step)
        return await live.execution.run_owned(context.ask(Prompt(prompt, system)))

    def _refuse_twice(self, execution_id: str) -> None:
        if execution_id in self._running:
            raise InvalidInput(f"a run with the id {execution_id!r} is under way")

    def _get(self, execution_id: str) -> LiveRun:
        if execution_id not in self._running:
            raise RunNotFound(execution_id)
        return self._running[execution_id]
