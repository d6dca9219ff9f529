"""The private state and the trust of projects in tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.app import apply_trust, plan_trust
from tideate_core.app.wiring import build_catalog
from tideate_core.mcp.servers import repository_programs, trust_programs
from tideate_core.project import Trust, find_root, name_in_project
from tideate_core.project.state import state_directory_name

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["state_below", "trust_all", "trust_file", "trust_repository"]


def state_below(xdg_state: Path, root: Path) -> Path:
    """Return the private state of a project; it may not exist yet.

    :param xdg_state: as `$XDG_STATE_HOME`.
    """
    return xdg_state / "tideate" / "projects" / state_directory_name(root)


def trust_file(path: Path) -> None:
    """Trust the present content of a project's file."""
    root = find_root(path.parent)
    assert root is not None
    Trust(root).trust(name_in_project(root, path), path.read_bytes())


def trust_all(root: Path) -> list[str]:
    """Trust all of a project, as `tideate trust --yes` does; return the names of the trusted items."""
    plan = plan_trust(root, build_catalog(root))
    apply_trust(plan)
    return [item.name for item in plan.items]


def trust_repository(root: Path) -> list[str]:
    """Trust the runnable parts of a repository; return them in words."""
    brought = repository_programs(root)
    if brought is None:
        return []
    trust_programs(brought)
    return brought.labels()
