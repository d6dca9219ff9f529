"""Consent of a person before a model sees a file that seems to be a private one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tideate_core.errors import OutsideRoot
from tideate_core.util.escaping import label

if TYPE_CHECKING:
    from tideate_core.workflows import StepContext

__all__ = ["why_hidden"]


async def why_hidden(step: StepContext, path: str, text: str) -> str:
    """Say why a model may not see a file: it seems to hold secrets, and nobody agreed; else empty."""
    from tideate_core.mentions import secret_in, secret_name

    why = secret_name(path) or await asyncio.to_thread(secret_in, text) or await _linked(step, path)
    return "" if not why or await _agreed(step, path, why) else why


async def _linked(step: StepContext, path: str) -> str:
    from tideate_core.mentions import HardLinks

    workspace = step.workspace
    try:
        real = workspace.resolve(path)
    except OutsideRoot:
        return ""  # reading it says why it cannot be read
    return await asyncio.to_thread(HardLinks(workspace.root).reason, real)


async def _agreed(step: StepContext, path: str, why: str) -> bool:
    """Ask once in a run. Only a person's yes counts, no policy's."""

    async def decide() -> bool:
        decision = await step.confirm(
            "gate",
            f"Give {label(path)} to the model? {why[:1].upper()}{why[1:]}.",
            details="With a no, the model does not see this file.",
        )
        return decision.accepted and decision.by == "user"

    agreed: bool = await step.choose_for_run(f"secret:{path}", why, decide)
    return agreed
