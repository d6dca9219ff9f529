"""OpenTelemetry spans from run events: runs, steps, model turns, tool calls (GenAI semantic conventions)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from tideate_core.engine import EventName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

    from tideate_core.engine import Event

MILLISECOND: Final = 1_000_000
"""Nanoseconds in a millisecond: spans count nanoseconds, events milliseconds."""
LONGEST_NAME: Final = 200
"""Maximum characters of a name from a model or a workflow."""
LONGEST_CONTENT: Final = 60_000

_BEGINNINGS: Final = (EventName.WORKFLOW_STARTED, EventName.WORKFLOW_RESTORED)
_ENDINGS: Final[Mapping[EventName, str]] = {
    EventName.WORKFLOW_COMPLETED: "completed",
    EventName.WORKFLOW_FAILED: "failed",
    EventName.WORKFLOW_CANCELLED: "cancelled",
}
_MARKS: Final[Mapping[EventName, str]] = {
    EventName.WORKFLOW_PAUSED: "paused",
    EventName.WORKFLOW_RESUMED: "resumed",
    EventName.STEP_SKIPPED: "step skipped",
    EventName.STEP_RETRYING: "retrying",
    EventName.CONFIRMATION_REQUIRED: "confirmation required",
    EventName.CONFIRMATION_ANSWERED: "confirmation answered",
    EventName.GATE_PASSED: "gate passed",
    EventName.GATE_FAILED: "gate failed",
    EventName.ROLLED_BACK: "rolled back",
}
"""Span events of run events."""
_MARKED: Final = ("step", "kind", "gate", "attempt", "error_code", "accepted", "reason")
"""Attributes of span events: names, without quoted content."""
_REASONS: Final = frozenset({"cancelled", "declined", "interrupted"})
"""Reasons to export; any other text may quote a workflow."""


class RunIds(RandomIdGenerator):
    """Generator of span and trace ids; a resumed run keeps its trace in another process."""

    def __init__(self) -> None:
        self.run = ""
        """Id of the run of the next root span; empty for any other trace."""

    def generate_trace_id(self) -> int:
        if not self.run:
            return super().generate_trace_id()
        digest = hashlib.blake2b(self.run.encode(), digest_size=16, person=b"tideate").digest()
        return int.from_bytes(digest, "big") or super().generate_trace_id()


@dataclass(slots=True)
class _Run:
    root: Span
    adapter: str
    steps: dict[str, Span] = field(default_factory=dict)
    called: dict[tuple[str, str, str], list[tuple[int, Any]]] = field(default_factory=dict)
    """Start times and arguments of running tool calls, by step, server and tool."""
    streamed: dict[str, list[str]] = field(default_factory=dict)
    """Streamed pieces of the current answer, by step."""

    def above(self, step: str) -> Span:
        """Return the span of a step, for a list item that of the whole step."""
        return self.steps.get(step) or self.steps.get(step.partition("[")[0], self.root)


class RunSpans:
    """Converter of run events to spans; not thread-safe.

    :param model_of: returns provider and model of an adapter, empty if unknown.
    :param content: include prompts, answers, arguments and error messages.
    """

    def __init__(
        self,
        tracer: Tracer,
        ids: RunIds,
        model_of: Callable[[str], tuple[str, str]],
        *,
        content: bool = False,
    ) -> None:
        self._tracer = tracer
        self._ids = ids
        self._model_of = model_of
        self._content = content
        self._runs: dict[str, _Run] = {}
        self._handlers: Mapping[EventName, Callable[[_Run, Event], None]] = {
            **dict.fromkeys(_ENDINGS, self._end_run),
            EventName.STEP_STARTED: self._begin_step,
            EventName.STEP_COMPLETED: self._end_step,
            EventName.STEP_FAILED: self._end_step,
            EventName.TOKEN: self._stream,
            EventName.MODEL_ANSWERED: self._turn,
            EventName.TOOL_CALLED: self._begin_call,
            EventName.TOOL_COMPLETED: self._call,
        }

    def take(self, event: Event) -> None:
        """Begin, annotate or end the spans of an event."""
        if event.name in _BEGINNINGS:
            self._begin_run(event)
        elif (run := self._runs.get(event.execution_id)) is not None:
            handler = self._handlers.get(event.name, self._mark)
            handler(run, event)

    def end_all(self) -> None:
        """End the spans of all unfinished runs."""
        for run in self._runs.values():
            for span in (*run.steps.values(), run.root):
                span.set_attribute("tideate.outcome", "left")
                span.end()
        self._runs.clear()

    def _begin_run(self, event: Event) -> None:
        name, adapter = _word(event, "name"), _word(event, "adapter")
        around = self._runs.get(_word(event, "parent"))
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": name[:LONGEST_NAME],
            "gen_ai.conversation.id": event.execution_id,
            "tideate.adapter": adapter,
        }
        if event.name is EventName.WORKFLOW_RESTORED:
            attributes["tideate.resumed"] = True
        if self._content:
            attributes["gen_ai.input.messages"] = _message("user", _word(event, "prompt"))
        above = around.above(_word(event, "parent_step")) if around else None
        self._ids.run = event.execution_id
        try:
            root = self._span(f"invoke_workflow {name}", above, event.at, attributes)
        finally:
            self._ids.run = ""
        self._runs[event.execution_id] = _Run(root, adapter)

    def _end_run(self, run: _Run, event: Event) -> None:
        for step in list(run.steps):
            self._close(run.steps.pop(step), event, "cancelled")
        usage = event.data.get("usage")
        if isinstance(usage, dict):
            run.root.set_attributes(_usage(usage))
        self._close(run.root, event, _ENDINGS[event.name])
        del self._runs[event.execution_id]

    def _begin_step(self, run: _Run, event: Event) -> None:
        step = _word(event, "step")
        attributes = {"tideate.step": step[:LONGEST_NAME], "tideate.step.index": event.data.get("index", 0)}
        run.steps[step] = self._span(f"step {step}", run.root, event.at, attributes)

    def _end_step(self, run: _Run, event: Event) -> None:
        if (span := run.steps.pop(_word(event, "step"), None)) is not None:
            failed = event.name is EventName.STEP_FAILED
            self._close(span, event, "failed" if failed else "completed")

    def _stream(self, run: _Run, event: Event) -> None:
        if self._content and not event.data.get("again"):  # its turn has a span
            run.streamed.setdefault(_word(event, "step"), []).append(_word(event, "text"))

    def _begin_call(self, run: _Run, event: Event) -> None:
        run.called.setdefault(_call_key(event), []).append((event.at, event.data.get("arguments")))

    def _turn(self, run: _Run, event: Event) -> None:
        data, step = event.data, _word(event, "step")
        provider, model = self._model_of(str(data.get("adapter") or run.adapter))
        answered = _word(event, "model")
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model or answered,
            "gen_ai.response.model": answered,
            "gen_ai.conversation.id": event.execution_id,
            **_usage(data.get("usage") or {}),
        }
        pieces = run.streamed.pop(step, None)
        if pieces:
            attributes["gen_ai.output.messages"] = _message("assistant", "".join(pieces))
        begun = event.at - int(data.get("duration_ms") or 0)
        span = self._span(
            f"chat {model or answered}", run.above(step), begun, attributes, kind=trace.SpanKind.CLIENT
        )
        span.end(event.at * MILLISECOND)

    def _call(self, run: _Run, event: Event) -> None:
        data = event.data
        begun = event.at - int(data.get("duration_ms") or 0)
        tool = _word(event, "tool")
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool[:LONGEST_NAME],
            "tideate.server": _word(event, "server")[:LONGEST_NAME],
            "tideate.result.size": data.get("size", 0),
        }
        pending = run.called.get(_call_key(event), [])
        if pending:
            # of equal calls that overlap, the one with the nearest start
            mine = min(pending, key=lambda one: abs(one[0] - begun))
            pending.remove(mine)
            begun = mine[0]
            if self._content:
                attributes["gen_ai.tool.call.arguments"] = _json(mine[1])
        span = self._span(f"execute_tool {tool}", run.above(_word(event, "step")), begun, attributes)
        self._close(span, event, "completed" if data.get("ok") else "failed")

    def _mark(self, run: _Run, event: Event) -> None:
        if event.name not in _MARKS:
            return
        attributes = {
            f"tideate.{key}": value
            for key in _MARKED
            if isinstance(value := event.data.get(key), str | int | bool)
            and (key != "reason" or value in _REASONS)
        }
        span = run.above(_word(event, "step"))
        span.add_event(_MARKS[event.name], attributes, event.at * MILLISECOND)

    def _close(self, span: Span, event: Event, outcome: str) -> None:
        span.set_attribute("tideate.outcome", outcome)
        if outcome == "failed":
            # an error message may quote a model or a file
            words = _word(event, "error")[:LONGEST_CONTENT] if self._content else None
            span.set_attribute("error.type", str(event.data.get("error_code") or "_OTHER"))
            span.set_status(trace.StatusCode.ERROR, words)
        span.end(event.at * MILLISECOND)

    def _span(
        self,
        name: str,
        above: Span | None,
        at: int,
        attributes: Mapping[str, Any],
        *,
        kind: trace.SpanKind = trace.SpanKind.INTERNAL,
    ) -> Span:
        # an empty context, not None: other traces of this process are no parents of a run
        context: Context = trace.set_span_in_context(above or trace.INVALID_SPAN)
        return self._tracer.start_span(
            name[:LONGEST_NAME],
            context,
            kind=kind,
            attributes={key: value for key, value in attributes.items() if value != ""},
            start_time=at * MILLISECOND,
        )


def _word(event: Event, key: str) -> str:
    return str(event.data.get(key) or "")


def _call_key(event: Event) -> tuple[str, str, str]:
    return _word(event, "step"), _word(event, "server"), _word(event, "tool")


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    named = {
        "gen_ai.usage.input_tokens": usage.get("input_tokens"),
        "gen_ai.usage.output_tokens": usage.get("output_tokens"),
        "gen_ai.usage.cache_read.input_tokens": usage.get("cached_tokens"),
        "tideate.usage.cost_usd": usage.get("cost"),
    }
    return {key: value for key, value in named.items() if value is not None}


def _message(role: str, text: str) -> str:
    return _json([{"role": role, "parts": [{"type": "text", "content": text[:LONGEST_CONTENT]}]}])


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
