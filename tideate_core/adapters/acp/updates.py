"""Updates of an agent during its turn, read from unchecked JSON, without control characters, and cut."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from tideate_core.process import strip_control_sequences
from tideate_core.util.half_characters import mended

LONGEST_PIECE: Final = 1 << 20
"""Characters of one piece of text."""
LONGEST_LINE: Final = 200
LONGEST_OUTPUT: Final = 4_000
LONGEST_VALUE: Final = 1_000
"""Characters of a text in a call's arguments."""
MOST_PARTS: Final = 50
"""Entries of a plan, paths of a call, items of a list in its arguments."""
DEEPEST: Final = 4
MOST_DOLLARS: Final = 1e6

CallKind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"
]
CallState: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]
EntryState: TypeAlias = Literal["pending", "in_progress", "completed"]


@dataclass(frozen=True, slots=True)
class SaidText:
    """A piece of the answer, or of the agent's thoughts."""

    text: str
    is_thought: bool = False
    message: str = ""
    """Id of the piece's message, if the agent reports one."""


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """An entry of the agent's plan."""

    text: str
    state: EntryState = "pending"


@dataclass(frozen=True, slots=True)
class PlanUpdate:
    """The agent's whole plan; replaces the last one."""

    entries: tuple[PlanEntry, ...]


@dataclass(frozen=True, slots=True)
class CallUpdate:
    """Start or change of a tool call; None and empty values mean no change."""

    id: str
    title: str = ""
    kind: CallKind | None = None
    state: CallState | None = None
    paths: tuple[str, ...] = ()
    """Labels only: an agent may name any path."""
    arguments: dict[str, Any] = field(default_factory=dict)
    output: str = ""


@dataclass(frozen=True, slots=True)
class CostUpdate:
    """US dollars so far: of the session from the agent, of the turn for `on_update`."""

    amount: float


AgentUpdate: TypeAlias = SaidText | PlanUpdate | CallUpdate | CostUpdate


def read_update(update: Any, root: str = "") -> AgentUpdate | None:
    """Return an agent's update; None for one of another kind, or without content.

    :param root: root of the project for the agent; paths below it are shown relative to it.
    """
    if not isinstance(update, dict):
        return None
    match update.get("sessionUpdate"):
        case "agent_message_chunk" | "agent_thought_chunk" as kind:
            # a character's halves may come in two pieces: joined by the session
            text = strip_control_sequences(_words(update.get("content"))[:LONGEST_PIECE])
            message = one_line(update.get("messageId"))
            return SaidText(text, kind == "agent_thought_chunk", message) if text else None
        case "plan":
            return PlanUpdate(tuple(map(_entry, _dicts(update.get("entries")))))
        case "tool_call" | "tool_call_update":
            return _call(update, root)
        case "usage_update":
            return _cost(update.get("cost"))
    return None


def read_call(call: Any, root: str = "") -> CallUpdate:
    """Return the tool call of a permission request; see `read_update`."""
    return (_call(call, root) if isinstance(call, dict) else None) or CallUpdate("")


def cleaned(text: Any, longest: int = LONGEST_PIECE) -> str:
    """Return an agent's text without control characters, cut; empty for another value."""
    return mended(strip_control_sequences(text[:longest])) if isinstance(text, str) else ""


def one_line(text: Any, longest: int = LONGEST_LINE) -> str:
    """Return an agent's text on one line, cut."""
    words = " ".join(cleaned(text, 10 * longest).split())
    return words if len(words) <= longest else f"{words[: longest - 1]}…"


def _call(update: dict[str, Any], root: str) -> CallUpdate | None:
    identity = update.get("toolCallId")
    if not isinstance(identity, str) or not identity:
        return None
    kind, state = update.get("kind"), update.get("status")
    content = _dicts(update.get("content"))
    diffs = [one for one in content if one.get("type") == "diff"]
    places = [*_dicts(update.get("locations")), *diffs]
    below = f"{root}/" if root else "\0"
    named = (one_line(one.get("path")).removeprefix(below) for one in places)
    paths = dict.fromkeys(filter(None, named))
    arguments = update.get("rawInput")
    return CallUpdate(
        identity[:LONGEST_LINE],
        one_line(update.get("title")).replace(below, ""),
        cast("CallKind", kind if kind in get_args(CallKind) else "other") if kind else None,
        state if state in get_args(CallState) else None,
        tuple(paths),
        bounded(arguments) if isinstance(arguments, dict) else {},
        _output(content, update.get("rawOutput")),
    )


def _output(content: list[dict[str, Any]], raw: Any) -> str:
    texts = [cleaned(_words(one.get("content")), LONGEST_OUTPUT) for one in content]
    text = "\n".join(filter(None, texts))
    if not text and isinstance(raw, dict):
        text = next((raw[key] for key in ("output", "error", "message") if isinstance(raw.get(key), str)), "")
    elif not text and isinstance(raw, str):
        text = raw
    return cleaned(text, LONGEST_OUTPUT)


def _words(content: Any) -> str:
    """Return a content block as text."""
    if not isinstance(content, dict):
        return ""
    match content.get("type"):
        case "text":
            return str(content.get("text") or "")
        case "resource_link":
            return f"{content.get('name') or ''} ({content.get('uri') or ''})"
        case "resource":
            resource = content.get("resource")
            return str(resource.get("text") or "") if isinstance(resource, dict) else ""
        case "image" | "audio" as kind:
            return f"[{kind}]"
    return ""


def _entry(entry: dict[str, Any]) -> PlanEntry:
    state = entry.get("status")
    known = cast("EntryState", state if state in get_args(EntryState) else "pending")
    return PlanEntry(one_line(entry.get("content")), known)


def _cost(cost: Any) -> CostUpdate | None:
    if not isinstance(cost, dict) or cost.get("currency") != "USD":
        return None
    amount = cost.get("amount")
    if not isinstance(amount, int | float) or isinstance(amount, bool) or not 0 <= amount < MOST_DOLLARS:
        return None
    return CostUpdate(float(amount))


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value[:MOST_PARTS] if isinstance(one, dict)] if isinstance(value, list) else []


def bounded(value: Any, depth: int = 0) -> Any:
    """Return a JSON value with long texts and lists cut."""
    match value:
        case str():
            return cleaned(value, LONGEST_VALUE)
        case dict() | list() if depth == DEEPEST:
            return "…"
        case dict():
            pairs = list(value.items())[:MOST_PARTS]
            return {one_line(key, 100): bounded(one, depth + 1) for key, one in pairs}
        case list():
            return [bounded(one, depth + 1) for one in value[:MOST_PARTS]]
        case bool() | None:
            return value
        case _:
            return value if len(text := json.dumps(value)) < LONGEST_LINE else text[:LONGEST_LINE]
