"""Runs that are left at a question: publish them for a reviewer elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tideate_core.app import publish_run, short_id
from tideate_core.cli.confirmations import has_person
from tideate_core.cli.process import FAILED, LEFT
from tideate_core.cli.render.output import fail, note, print_line
from tideate_core.errors import TideateError, WorkspaceError
from tideate_core.util.escaping import label, one_line

if TYPE_CHECKING:
    from tideate_core.app import Project
    from tideate_core.engine import ConfirmationRequest


async def publish_left(
    project: Project,
    run: str,
    request: ConfirmationRequest,
    *,
    remote: str | None = None,
    with_secrets: bool = False,
) -> int:
    """Publish a run that was left at a question, and print one line of JSON; return the exit status.

    If it cannot be published, it waits here.

    :param remote: by default `[ci] remote`.
    """
    where = remote or project.loaded.config.ci.remote
    try:
        made = await publish_run(
            project, run, request, where, with_secrets=with_secrets, terminal=terminal_of_git()
        )
    except TideateError as error:
        fail(WorkspaceError(f"{error}; {_waits(run)}"))
        return FAILED
    question = made.question
    note(f"run {short_id(run)} waits on {label(where)}: {one_line(question.message)}")
    shape = {"n": question.n, "step": question.step, "kind": question.kind, "message": question.message}
    about = {"workflow": question.workflow, "remote": where, "ref": made.ref, "commit": made.commit}
    print_left({"execution_id": run, "answered": False, **about, **shape})
    return LEFT


def _waits(run: str) -> str:
    return f"the run waits here, and `tideate inbox send {short_id(run)}` publishes it"


def terminal_of_git() -> Any:
    """Return whether git may ask for a password at the terminal."""
    return "shared" if has_person() else "none"


def print_left(shape: dict[str, Any]) -> None:
    """Print a run that waits for an answer elsewhere, as one line of JSON."""
    print_line(json.dumps({"ok": False, "left": True, **shape}))
