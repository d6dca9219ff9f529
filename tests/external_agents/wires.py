"""Streaming formats of four providers: which tools a request offers, and a turn as events."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol

from tests.external_agents.turns import offered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.external_agents.turns import Turn
    from tests.harness.model_rules import Body

__all__ = ["Anthropic", "Completions", "Gemini", "Responses", "Wire"]

numbers = count(1)
"""Of messages and calls, unique in this process."""


class Wire(Protocol):
    """One format. Events up to the end of the text come first, so that a gate can hold the rest."""

    def tools(self, body: Body) -> list[str]: ...

    def told(self, turn: Turn, body: Body) -> Iterator[bytes]: ...

    def rest(self, turn: Turn, body: Body) -> Iterator[bytes]: ...

    def whole(self, text: str, body: Body) -> Body: ...


def _event(value: Body, name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + b"data: " + json.dumps(value).encode() + b"\n\n"


class Completions:
    """OpenAI's chat completions."""

    def tools(self, body: Body) -> list[str]:
        return [tool["function"]["name"] for tool in body.get("tools") or ()]

    def told(self, turn: Turn, body: Body) -> Iterator[bytes]:
        yield self._chunk({"role": "assistant", "content": turn.text})

    def rest(self, turn: Turn, body: Body) -> Iterator[bytes]:
        for index, call in enumerate(turn.calls):
            name, arguments = offered(call, self.tools(body))
            function = {"name": name, "arguments": json.dumps(arguments)}
            made = {"index": index, "id": f"call_{next(numbers)}", "type": "function", "function": function}
            yield self._chunk({"tool_calls": [made]})
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        yield self._chunk({}, "tool_calls" if turn.calls else "stop", usage=usage)
        yield b"data: [DONE]\n\n"

    def whole(self, text: str, body: Body) -> Body:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return {"id": "c", "object": "chat.completion", "created": 0, "choices": [choice], "usage": usage}

    def _chunk(self, delta: Body, finish: str | None = None, **rest: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        kind = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
        return _event({**kind, "choices": [choice], **rest})


class Responses:
    """OpenAI's responses."""

    def tools(self, body: Body) -> list[str]:
        return [tool["name"] for tool in body.get("tools") or () if "name" in tool]

    def told(self, turn: Turn, body: Body) -> Iterator[bytes]:
        message = self._message(turn.text, body)
        empty = {**message, "content": [], "status": "in_progress"}
        yield self._event("response.created", response={"id": "r", "output": []})
        yield self._event("response.output_item.added", output_index=0, item=empty)
        delta = {"item_id": message["id"], "output_index": 0, "content_index": 0, "delta": turn.text}
        yield self._event("response.output_text.delta", **delta)

    def rest(self, turn: Turn, body: Body) -> Iterator[bytes]:
        items = [self._message(turn.text, body), *(self._call(call, body) for call in turn.calls)]
        for index, item in enumerate(items):
            yield self._event("response.output_item.done", output_index=index, item=item)
        yield self._event("response.completed", response=self._response(items))

    def whole(self, text: str, body: Body) -> Body:
        return self._response([self._message(text, body)])

    def _response(self, items: list[Body]) -> Body:
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        return {"id": "r", "object": "response", "status": "completed", "output": items, "usage": usage}

    def _message(self, text: str, body: Body) -> Body:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return {
            "type": "message",
            "id": f"m{len(body['input'])}",  # one id in all events of an answer
            "role": "assistant",
            "status": "completed",
            "content": content,
        }

    def _call(self, call: Any, body: Body) -> Body:
        name, arguments = offered(call, self.tools(body))
        item = {"id": f"i{next(numbers)}", "call_id": f"call_{next(numbers)}", "name": name}
        kinds = {tool.get("name"): tool["type"] for tool in body["tools"]}
        if kinds[name] == "custom":
            return {"type": "custom_tool_call", "status": "completed", **item, "input": arguments["input"]}
        return {"type": "function_call", "status": "completed", **item, "arguments": json.dumps(arguments)}

    def _event(self, kind: str, **value: Any) -> bytes:
        return _event({"type": kind, **value}, kind)


class Anthropic:
    """Anthropic's messages."""

    def tools(self, body: Body) -> list[str]:
        return [tool["name"] for tool in body.get("tools") or ()]

    def told(self, turn: Turn, body: Body) -> Iterator[bytes]:
        message = self.whole("", body) | {"content": [], "stop_reason": None}
        yield self._event("message_start", message=message)
        yield self._event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        yield self._event("content_block_delta", index=0, delta={"type": "text_delta", "text": turn.text})
        yield self._event("content_block_stop", index=0)

    def rest(self, turn: Turn, body: Body) -> Iterator[bytes]:
        for index, call in enumerate(turn.calls, 1):
            name, arguments = offered(call, self.tools(body))
            block = {"type": "tool_use", "id": f"toolu_{next(numbers)}", "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
            yield self._event("content_block_start", index=index, content_block=block)
            yield self._event("content_block_delta", index=index, delta=delta)
            yield self._event("content_block_stop", index=index)
        stop = {"stop_reason": "tool_use" if turn.calls else "end_turn", "stop_sequence": None}
        yield self._event("message_delta", delta=stop, usage={"output_tokens": 5})
        yield self._event("message_stop")

    def whole(self, text: str, body: Body) -> Body:
        return {
            "id": f"msg_{next(numbers)}",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "scripted"),
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }

    def _event(self, kind: str, **value: Any) -> bytes:
        return _event({"type": kind, **value}, kind)


class Gemini:
    """Google's generateContent."""

    def tools(self, body: Body) -> list[str]:
        declared = [tool.get("functionDeclarations") or () for tool in body.get("tools") or ()]
        return [function["name"] for functions in declared for function in functions]

    def told(self, turn: Turn, body: Body) -> Iterator[bytes]:
        yield _event(self._candidate([{"text": turn.text}]))

    def rest(self, turn: Turn, body: Body) -> Iterator[bytes]:
        parts = []
        for call in turn.calls:
            name, arguments = offered(call, self.tools(body))
            parts.append({"functionCall": {"id": f"call{next(numbers)}", "name": name, "args": arguments}})
        yield _event(self._candidate(parts or [{"text": "\n"}], "STOP"))

    def whole(self, text: str, body: Body) -> Body:
        return self._candidate([{"text": text}], "STOP")

    def _candidate(self, parts: list[Body], finish: str | None = None) -> Body:
        candidate: Body = {"content": {"role": "model", "parts": parts}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
