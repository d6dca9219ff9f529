"""Result schemas of the transitions server, and the text format of its answers.

::

    status: success|error
    current state: <state_name>
    valid transitions:
      - action: <action_name>
        when: <guidance_text>
    guidance: <state_guidance>

Beyond the document: an empty list is its heading alone, an empty text its label alone. A text of several
lines
starts below its label, each line indented by six spaces, deeper than any line of the format; so no guidance
can
imitate a line of the answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, Field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tideate_core.machines.language import Action

INDENT = " " * 6


class ActionShape(BaseModel):
    """A transition that is valid now."""

    action: str = Field(description="The state to name as `next_state`; `*` ends the walk.")
    when: str = Field(description="When to take it; empty if the workflow does not say.")


class Answer(BaseModel):
    """Position in the workflow and the valid next transitions."""

    status: Literal["success", "error"]
    current_state: str = Field(
        description="The state after the call; `*` before the first move and after the last; "
        "empty if it is not known."
    )
    valid_transitions: list[ActionShape] = Field(description="What is allowed from the current state.")
    guidance: str = Field(description="What to do in the current state; for an error what went wrong.")
    ended: bool = Field(default=False, description="The walk has reached its end.")
    position_remembered: bool = Field(
        description="Whether the server remembers the position. If not (a protocol without sessions, "
        "2026-07-28), name the state in every call."
    )

    def text(self) -> str:
        """Return the answer in the document's text format."""
        lines = [f"status: {self.status}", f"current state: {self.current_state}".rstrip()]
        lines.append("valid transitions:")
        for shape in self.valid_transitions:
            lines.append(f"  - action: {shape.action}")
            lines.append(_labelled("    when:", shape.when))
        lines.append(_labelled("guidance:", self.guidance))
        return "\n".join(lines)

    def result(self) -> CallToolResult:
        """Return the answer as a tool result."""
        return CallToolResult(
            content=[TextContent(text=self.text())],
            structured_content=self.model_dump(),
            is_error=self.status == "error",
        )


class StateShape(BaseModel):
    """A state and its next states."""

    name: str
    next: list[str] = Field(description="The states that may follow; `*` ends the walk.")


class StatesShape(BaseModel):
    """A page of the machine's states."""

    workflow: str
    entry: list[str] = Field(description="Where a walk begins: the transitions from `*`.")
    states: list[StateShape]
    total: int = Field(description="How many states the workflow has.")
    next_offset: int | None = Field(description="The `offset` of the next page; null if this was the last.")


class MoveShape(BaseModel):
    """A completed transition."""

    source: str
    target: str
    notes: dict[str, str] = Field(description="The optional arguments that came with it, word for word.")

    @property
    def characters(self) -> int:
        """Its size, for the limit on a session's memory."""
        return len(self.source) + len(self.target) + sum(len(k) + len(v) for k, v in self.notes.items())


class PathShape(BaseModel):
    """The completed transitions and the position."""

    position: str = Field(description="Where the walk stands; `*` before the first move and after the end.")
    moves: list[MoveShape]
    forgotten: int = Field(description="How many of the oldest moves are no longer remembered.")
    shared: bool = Field(description="Whether all clients of this server walk together.")


def shapes(actions: Iterable[Action]) -> list[ActionShape]:
    """Convert the machine's actions to results."""
    return [ActionShape(action=action.action, when=action.when) for action in actions]


def _labelled(label: str, text: str) -> str:
    lines = text.strip("\r\n").splitlines()
    if len(lines) < 2:
        return f"{label} {''.join(lines)}".rstrip()
    return "\n".join([label, *((INDENT + line).rstrip() for line in lines)])
