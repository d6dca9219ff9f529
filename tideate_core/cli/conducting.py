"""A run at the terminal, whether it begins or goes on: what it shows, asks, prints and ends with."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.text import Text

from tideate_core.app import recover_before
from tideate_core.cli.exits import DECLINED, DONE, FAILED, INTERRUPTED, USAGE
from tideate_core.cli.interruption import Interruption
from tideate_core.cli.output import messages, note, path_line, print_json, print_result, tell
from tideate_core.cli.stopping import Stopping
from tideate_core.cli.terminal import TerminalFrontEnd
from tideate_core.cli.wiring import open_runner
from tideate_core.engine import PolicyFrontEnd

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from typing import Any

    from rich.console import Console

    from tideate_core.cli.wiring import Project
    from tideate_core.engine import WorkflowResult, WorkflowRunner
    from tideate_core.workflows import Catalog

__all__ = ["Manner", "conduct"]

INVALID_FILES: Final = frozenset({"ConfigError", "InvalidDefinitionFile", "InvalidWorkflowFile"})
"""Error codes that are wrong usage even when a run comes upon them on its way."""
STORE: Final = frozenset({"RunLost", "StateError", "StoreError", "StoreIsNewer"})
"""Error codes that are none, even when no run has begun."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a run talks to who started it."""

    policy: bool | None = None
    """The answer to every confirmation; None asks a person where there is one."""
    json: bool = False

    @property
    def asks(self) -> bool:
        """A person is asked."""
        return self.policy is None and sys.stdin.isatty() and sys.stderr.isatty()


async def conduct(
    project: Project,
    catalog: Catalog,
    manner: Manner,
    start: Callable[[WorkflowRunner], Coroutine[Any, Any, WorkflowResult]],
    notices: Iterable[str] = (),
) -> int:
    """Have a runner run something to its end; returns the exit status.

    :param notices: of the workflow.
    :raises TideateError: what `start` raises.
    """
    console = messages()
    for notice in (*project.loaded.notices, *notices):
        note(notice)
    await recover_before(project.root, note)
    with TerminalFrontEnd(console, None if manner.asks else PolicyFrontEnd(bool(manner.policy))) as front:
        stopping = Stopping(console)
        with Interruption(stopping.cancel, stopping.told_again, stopping.leave) as interruption:
            async with open_runner(project, catalog, front) as runner:
                result = await stopping.outlast(runner, start(runner))
    interrupted = interruption.happened
    if result is None:
        return INTERRUPTED
    _tell(result, manner, console)
    _print(result, manner, console)
    if result.cancelled:
        return INTERRUPTED if interrupted else DECLINED
    return _status(result, began=front.began)


def _tell(result: WorkflowResult, manner: Manner, console: Console) -> None:
    if result.reason == "declined" and not manner.asks and manner.policy is None:
        console.print("there is no terminal to ask on; --yes accepts", style="yellow")
    if result.path:
        tell(console, path_line([result.path[0]["from"], *(move["to"] for move in result.path)]))
    if result.files and not result.rollback_performed:
        console.print(f"undo: tideate rollback {result.execution_id}", style="dim", soft_wrap=True)


def _print(result: WorkflowResult, manner: Manner, console: Console) -> None:
    if manner.json:
        print_json(result.as_json())
    elif result.ok:
        print_result(result)
    elif result.response is not None:
        words = "unfinished: this is the last text that was written; --json has those of all states"
        tell(console, Text(words, style="yellow"))
        print_result(result)


def _status(result: WorkflowResult, *, began: bool) -> int:
    if result.ok:
        return DONE
    if result.error_code in STORE:
        return FAILED
    return FAILED if began and result.error_code not in INVALID_FILES else USAGE
