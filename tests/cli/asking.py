"""Asks about one document at the terminal, as a run does, and prints the answer."""

from __future__ import annotations

import asyncio
import json
import sys

from tideate_core.cli.render.output import messages
from tideate_core.cli.terminal import TerminalFrontEnd
from tideate_core.engine import ConfirmationRequest, PolicyFrontEnd


async def _ask(payload: dict[str, object], policy: PolicyFrontEnd | None) -> None:
    question = "Carry out this plan?"
    request = ConfirmationRequest("a" * 32, "task", "audit", "document", question, payload=payload)
    with TerminalFrontEnd(messages(), policy) as front:
        decision = await front.confirm(request)
    print(json.dumps({"accepted": decision.accepted, "value": decision.value}))


if __name__ == "__main__":
    policies = {"ask": None, "yes": PolicyFrontEnd(True), "no": PolicyFrontEnd(False)}
    asyncio.run(_ask(json.loads(sys.argv[2]), policies[sys.argv[1]]))
