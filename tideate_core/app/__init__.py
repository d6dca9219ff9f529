"""Use cases that every front end shares: trust, projects and their private state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.util.lazy import exports

if TYPE_CHECKING:
    from tideate_core.app.legacy_state import earlier_state
    from tideate_core.app.opening import (
        interrupted_restore,
        note_project,
        open_store,
        prepare_state,
        recover_before,
        recovery_names,
        recovery_words,
    )
    from tideate_core.app.projects import (
        ProjectView,
        forget_project,
        list_projects,
        move_project,
        moved_from,
        moved_words,
        project_named,
    )
    from tideate_core.app.trust import TrustItem, TrustPlan, apply_trust, plan_trust, revoke_trust

__all__ = [
    "ProjectView",
    "TrustItem",
    "TrustPlan",
    "apply_trust",
    "earlier_state",
    "forget_project",
    "interrupted_restore",
    "list_projects",
    "move_project",
    "moved_from",
    "moved_words",
    "note_project",
    "open_store",
    "plan_trust",
    "prepare_state",
    "project_named",
    "recover_before",
    "recovery_names",
    "recovery_words",
    "revoke_trust",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = exports(
        __name__,
        {
            "legacy_state": ("earlier_state",),
            "opening": (
                "interrupted_restore",
                "note_project",
                "open_store",
                "prepare_state",
                "recover_before",
                "recovery_names",
                "recovery_words",
            ),
            "projects": (
                "ProjectView",
                "forget_project",
                "list_projects",
                "move_project",
                "moved_from",
                "moved_words",
                "project_named",
            ),
            "trust": (
                "TrustItem",
                "TrustPlan",
                "apply_trust",
                "plan_trust",
                "revoke_trust",
            ),
        },
    )
