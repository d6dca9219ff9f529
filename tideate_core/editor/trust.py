"""Trust in the editor: what would be trusted is shown first, and exactly that is trusted."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from tideate_core.app import apply_trust
from tideate_core.errors import ConfigError

if TYPE_CHECKING:
    from tideate_core.app import TrustPlan
    from tideate_core.editor.projects import Projects

__all__ = ["TrustRequests"]

MOST_PLANS: Final = 8
"""Plans that wait for an answer; older ones are dropped."""


class TrustRequests:
    """Requests about trust; a plan that was shown is kept until it is answered."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects
        self._shown: dict[str, TrustPlan] = {}

    async def trust(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return what would be trusted; with the `token` of what was shown, trust exactly that.

        :raises ConfigError: there is nothing to trust, or the token is of nothing that was shown.
        """
        if token := params.get("token"):
            plan = self._shown.pop(str(token), None)
            if plan is None:
                raise ConfigError("what was shown is not known any more; run :Workflow trust again")
            await asyncio.to_thread(apply_trust, plan)
            return {"ok": True, "paths": [item.name for item in plan.waiting]}
        plan = await asyncio.to_thread(self._projects.plan_trust, params.get("path"), params.get("folder"))
        self._shown[plan.token] = plan
        for old in list(self._shown)[:-MOST_PLANS]:
            del self._shown[old]
        return {"ok": True, "plan": plan.as_json()}
