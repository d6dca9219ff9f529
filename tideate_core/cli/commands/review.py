"""`tideate review`: review existing changes or a patch, or reopen the review of a run."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from tideate_core.app import build_catalog, open_project
from tideate_core.cli.arguments import Json, Root, Yes, review_targets
from tideate_core.cli.process import log_to_file, run_async
from tideate_core.cli.render.output import report_errors
from tideate_core.errors import InvalidInput, RunNotFound
from tideate_core.store import LAST, Reader

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from tideate_core.app import Project
    from tideate_core.cli.terminal import Interaction
    from tideate_core.engine import WorkflowResult, WorkflowRunner
    from tideate_core.store import RunRow

RUN_ID: Final = re.compile(rf"[0-9a-f]{{4,32}}|{LAST}")


@report_errors
def review(
    *what: Annotated[
        str,
        Parameter(
            name="WHAT",
            help="A run with an open or declined review; a commit or branch (`BRANCH...`: its merge base), "
            "a snapshot, or a patch file; a folder or file to review only there. Default: the last commit.",
            completer=review_targets,
        ),
    ],
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Review existing changes and revert rejected hunks, or reopen a run's review; return the exit status."""
    # here, because the help needs no engine
    from tideate_core.cli.terminal import Interaction

    if len(what) > 2:
        raise InvalidInput(f"at most two things are given, a commit and a folder, not {len(what)}")
    log_to_file()
    project = open_project(root)
    if (run := _run_named(what, project)) is not None:
        return run_async(_reopen(run, project, Interaction(yes, json)))
    return run_async(_run(what, project, Interaction(yes, json)))


def _run_named(what: tuple[str, ...], project: Project) -> RunRow | None:
    """Return the run if the only argument is a run id, else None.

    :raises InvalidInput: the prefix is ambiguous.
    """
    if len(what) != 1 or RUN_ID.fullmatch(what[0]) is None or os.path.lexists(what[0]):
        return None
    try:
        return Reader(project.private).run(what[0])
    except RunNotFound:
        return None


async def _reopen(run: RunRow, project: Project, interaction: Interaction) -> int:
    from tideate_core.cli.terminal import run_to_end

    def start(runner: WorkflowRunner) -> Coroutine[Any, Any, WorkflowResult]:
        return runner.review_again(run.id) if run.ended else runner.resume_run(run.id)

    return await run_to_end(project, build_catalog(project.root), interaction, start)


def _is_path(word: str) -> bool:
    return os.path.lexists(word)


async def _places(what: tuple[str, ...], project: Project) -> list[str]:
    """Make paths relative to the working directory absolute; other words are unchanged.

    :raises InvalidInput: the first word is both a path and a commit.
    """
    from tideate_core.git import refuse_commit

    places: list[str] = []
    for word in what:
        is_path = _is_path(word) and (word != "HEAD" or bool(places))
        if is_path and not places and project.root is not None:
            await refuse_commit(project.root, word)
        places.append(str(Path.cwd() / word) if is_path else word)
    return places


async def _run(what: tuple[str, ...], project: Project, interaction: Interaction) -> int:
    from tideate_core.cli.terminal import run_to_end
    from tideate_core.engine import RunRequest

    first, second, *_ = [*await _places(what, project), "", ""]
    request = RunRequest(name="review_changes", inputs={"what": first, "path": second})
    catalog = build_catalog(project.root)
    return await run_to_end(project, catalog, interaction, lambda runner: runner.run(request))
