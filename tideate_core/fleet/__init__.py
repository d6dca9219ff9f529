"""Fleets: runs on many machines, with DBOS and PostgreSQL. Only this package imports the extra `fleet`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.fleet.announcing import announce_answer as announce_answer
    from tideate_core.fleet.client import Fleet as Fleet
    from tideate_core.fleet.database import database_url as database_url, require_library as require_library
    from tideate_core.fleet.dev_server import start_server as start_server
    from tideate_core.fleet.legs import State as State
    from tideate_core.fleet.repositories import Repositories as Repositories
    from tideate_core.fleet.seals import fleet_secret as fleet_secret
    from tideate_core.fleet.submission import (
        Schedule as Schedule,
        SignedSubmission as SignedSubmission,
        Submission as Submission,
        check_text as check_text,
        key_file as key_file,
    )
    from tideate_core.fleet.submitting import Submitted as Submitted
    from tideate_core.fleet.views import FleetRun as FleetRun
    from tideate_core.fleet.worker import Worker as Worker, WorkerOptions as WorkerOptions
else:
    __getattr__, __dir__, __all__ = exports(__name__)
