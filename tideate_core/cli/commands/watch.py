"""`tideate watch`: a snapshot whenever the project's files settle after a change."""

from __future__ import annotations

import json as json_module
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tideate_core.app import open_project, short_id, snapshot_json
from tideate_core.cli.arguments import Root
from tideate_core.cli.process import DONE, run_async
from tideate_core.cli.render.output import note, print_line, report_errors
from tideate_core.cli.render.tables import when
from tideate_core.errors import ConfigError
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from tideate_core.app import Watched


@report_errors
def watch(
    *,
    json: Annotated[bool, Parameter(name="--json", help="Print one JSON object for each snapshot.")] = False,
    root: Root = None,
) -> int:
    """Watch until Ctrl-C; return the exit status."""
    from tideate_core.app import watch_project

    project = open_project(root)
    if project.root is None:
        raise ConfigError("there is no project here to watch; name one with --root")
    for notice in project.loaded.notices:
        note(notice)

    def tell(made: Watched) -> None:
        if json:
            print_line(json_module.dumps({"snapshot": snapshot_json(made.snapshot), "gone": made.gone}))
        else:
            at = when(made.snapshot.timestamp, seconds=True)
            print_line(f"{short_id(made.snapshot.id)} {at} {label(made.snapshot.name)}")

    run_async(watch_project(project.root, project.loaded.config, wait=False, tell=tell, trouble=note))
    return DONE
