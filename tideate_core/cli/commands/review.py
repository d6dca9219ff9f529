"""`tideate review`: review what something else wrote, or a patch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tideate_core.app import build_catalog, open_project
from tideate_core.cli.arguments import Json, Root, Yes, review_targets
from tideate_core.cli.location import log_to_file
from tideate_core.cli.process import run_async
from tideate_core.cli.render.output import report_errors
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from tideate_core.app import Project
    from tideate_core.cli.terminal import Interaction
    from tideate_core.engine import RunRequest

__all__ = ["review"]


@report_errors
def review(
    *what: Annotated[
        str,
        Parameter(
            name="WHAT",
            help="A commit or branch (`BRANCH...`: its merge base), a snapshot, or a patch file; a folder or "
            "file, to look only there. Default: the last commit.",
            completer=review_targets,
        ),
    ],
    yes: Yes = None,
    json: Json = False,
    root: Root = None,
) -> int:
    """Review what something else wrote, and revert what is rejected; return the exit status."""
    # here, because the help needs no engine
    from tideate_core.cli.terminal import Interaction
    from tideate_core.engine import RunRequest

    if len(what) > 2:
        raise InvalidInput(f"at most two things are given, a commit and a folder, not {len(what)}")
    log_to_file()
    first, second = [_absolute(word) for word in (*what, "", "")][:2]
    request = RunRequest(name="review_changes", inputs={"what": first, "path": second})
    return run_async(_run(request, open_project(root), Interaction(yes, json)))


def _absolute(word: str) -> str:
    """Return a path as the working directory means it; other words are left as they are."""
    return str(Path.cwd() / word) if word and os.path.lexists(word) else word


async def _run(request: RunRequest, project: Project, interaction: Interaction) -> int:
    from tideate_core.cli.terminal import run_to_end

    catalog = build_catalog(project.root)
    return await run_to_end(project, catalog, interaction, lambda runner: runner.run(request))
