"""Program that asks questions at a terminal, as runs do, and prints the answers.

The questions are read from a JSON file, each with `kind`, `message`, `details`, `payload`; for a tool,
`arguments`, `name` and `description` stand for the details; `executed` lists paths with reasons.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tideate_core.cli.render.output import messages
from tideate_core.cli.terminal import TerminalFrontEnd
from tideate_core.engine import ConfirmationRequest
from tideate_core.engine.tools import described
from tideate_core.mcp.client import Tool
from tideate_core.workspace.executable_files import ExecutableFile


def _details(shape: dict[str, Any]) -> str:
    if "arguments" not in shape:
        return str(shape.get("details", ""))
    tool = Tool("files", shape.get("name", "write"), shape.get("description", "It writes."))
    return described(tool, shape["arguments"])


async def _ask(shapes: list[dict[str, Any]]) -> None:
    with TerminalFrontEnd(messages(), None) as front:
        for number, shape in enumerate(shapes):
            print(f"«{number}»", flush=True)
            request = ConfirmationRequest(
                "a" * 32,
                "flow",
                "step",
                shape["kind"],
                shape.get("message", "Go on?"),
                _details(shape),
                shape.get("payload", {}),
                executed=[ExecutableFile(**one) for one in shape.get("executed", [])],
            )
            decision = await front.confirm(request)
            answer = {"accepted": decision.accepted, "value": decision.value}
            print(f"answered {json.dumps(answer)}", flush=True)


if __name__ == "__main__":
    asyncio.run(_ask(json.loads(Path(sys.argv[1]).read_text())))
