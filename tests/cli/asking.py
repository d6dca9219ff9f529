"""Program that asks about one document or plan at the terminal, as a run does, and prints the answer."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

from tideate_core.cli.render.output import messages
from tideate_core.cli.terminal import TerminalFrontEnd
from tideate_core.engine import ConfirmationRequest, PolicyFrontEnd

if TYPE_CHECKING:
    from tideate_core.workflows import DecisionKind


async def _ask(payload: dict[str, object], policy: PolicyFrontEnd | None, draft: str = "") -> None:
    question = "Carry out this plan?"
    kind: DecisionKind = "plan" if "files" in payload else "document"
    request = ConfirmationRequest("a" * 32, "task", "audit", kind, question, payload=payload, draft=draft)
    with TerminalFrontEnd(messages(), policy) as front:
        decision = await front.confirm(request)
    print(json.dumps({"accepted": decision.accepted, "value": decision.value}))


if __name__ == "__main__":
    policies = {"ask": None, "yes": PolicyFrontEnd(True), "no": PolicyFrontEnd(False)}
    asyncio.run(_ask(json.loads(sys.argv[2]), policies[sys.argv[1]], *sys.argv[3:]))
