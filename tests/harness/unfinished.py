"""An executor with tools and a budget that ends before its work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.harness.tasks import CODE, documenting

if TYPE_CHECKING:
    from tests.harness.model_rules import Body
    from tests.harness.model_server import ModelServer
    from tests.harness.tasks import Answer, Model

__all__ = ["LAST", "LIMITED", "WORK", "WRITTEN", "documenting_with_tools", "works_until_the_limit"]

LIMITED: Final = (
    'adapter = "fake"\n[adapters.fake]\nbase_url = "{}"\nmodel = "scripted"\n[limits]\nturns = 3\n'
)
"""A configuration, for the address of the server."""
*WRITTEN, LAST = CODE
"""The files that it writes within its budget, and the one that is left."""
WORK: Final = "Carry out this plan completely, in the order in which the files depend on each other."
END: Final = (
    "The limit limits.turns (3) is reached. This is your last turn: call submit_work with what you have"
)
GO_ON: Final = (
    "Your work was broken off: limits.turns (3) was reached. You may go on now. What is staged stays staged: "
)


def works_until_the_limit(model: Model, server: ModelServer) -> None:
    """Let the executor write all files but one, and that one where it may go on."""
    assert len(WRITTEN) == 3
    model.leaves("executor")
    for path in WRITTEN:
        server.calls(WORK, "write_file", {"path": path, "text": CODE[path]}, times=1)
    server.answers(END, "I am not done.", times=1)
    server.calls(GO_ON, "write_file", {"path": LAST, "text": CODE[LAST]}, times=1)
    server.calls(GO_ON, "submit_work", {"summary": "All is done."}, times=1)
    model.says("documenter", documenting_with_tools)


def documenting_with_tools(body: Body) -> Answer:
    """Answer as a documenter does who is asked with tools."""
    names = {tool["function"]["name"] for tool in body.get("tools", ())}
    scripted = documenting()
    assert callable(scripted)
    return scripted({**body, "response_format": {}} if "submit" in names else body)
