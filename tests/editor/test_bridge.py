"""Bridge of messages to Lua: order, joined texts, limits of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideate_core.editor.bridge import FRAME, MAX_CHARACTERS, MAX_MESSAGES, Bridge

if TYPE_CHECKING:
    from collections.abc import Callable


class Loop:
    """Double of the main loop: the test runs each callback."""

    def __init__(self) -> None:
        self.due: list[Callable[[], object]] = []
        self.delays: list[float] = []

    def call_soon_threadsafe(self, callback: Callable[[], object]) -> None:
        self.due.append(callback)

    def call_later(self, delay: float, callback: Callable[[], object]) -> None:
        self.delays.append(delay)
        self.due.append(callback)

    def run(self) -> None:
        while self.due:
            self.due.pop(0)()


def bridge() -> tuple[Bridge, Loop, list[list[dict[str, Any]]]]:
    loop = Loop()
    batches: list[list[dict[str, Any]]] = []
    return Bridge(loop, batches.append), loop, batches


def token(text: str, run: str = "r", step: str = "s") -> dict[str, Any]:
    data = {"step": step, "text": text}
    return {"type": "event", "name": "SD_EVENT_TOKEN", "execution_id": run, "data": data}


def test_messages_of_one_frame_go_in_one_batch_and_in_order() -> None:
    to_lua, loop, batches = bridge()
    for number in range(5):
        to_lua.post({"type": "reply", "id": number})
    loop.run()
    assert [[message["id"] for message in batch] for batch in batches] == [[0, 1, 2, 3, 4]]


def test_the_second_batch_waits_for_the_next_frame() -> None:
    to_lua, loop, batches = bridge()
    to_lua.post({"type": "reply", "id": 1})
    loop.run()
    to_lua.post({"type": "reply", "id": 2})
    loop.run()
    assert len(batches) == 2
    assert all(0 < delay <= FRAME for delay in loop.delays)
    assert loop.delays


def test_tokens_of_one_step_are_joined_and_nothing_overtakes_them() -> None:
    to_lua, loop, batches = bridge()
    for message in (token("a"), token("b"), {"type": "reply", "id": 1}, token("c"), token("d", step="t")):
        to_lua.post(message)
    loop.run()
    assert [message.get("data", {}).get("text") for message in batches[0]] == ["ab", None, "c", "d"]


def test_a_flood_is_sent_in_bounded_batches_without_loss() -> None:
    to_lua, loop, batches = bridge()
    text = "".join(chr(97 + i % 26) for i in range(3 * MAX_CHARACTERS + 7))
    for start in range(0, len(text), 1000):
        to_lua.post(token(text[start : start + 1000]))
    for number in range(2 * MAX_MESSAGES):
        to_lua.post({"type": "reply", "id": number})
    loop.run()
    sent = [message for batch in batches for message in batch]
    assert "".join(m["data"]["text"] for m in sent if "data" in m) == text
    assert [m["id"] for m in sent if "id" in m] == list(range(2 * MAX_MESSAGES))
    assert max(len(batch) for batch in batches) <= MAX_MESSAGES
    sizes = [sum(len(m["data"]["text"]) for m in batch if "data" in m) for batch in batches]
    assert max(sizes) <= MAX_CHARACTERS


def test_a_message_that_cannot_be_packed_is_answered_and_harms_no_other() -> None:
    loop = Loop()
    sent: list[dict[str, Any]] = []

    def send(batch: list[dict[str, Any]]) -> None:
        if any("bad" in message for message in batch):
            raise ValueError("cannot pack")
        sent.extend(batch)

    to_lua = Bridge(loop, send)
    to_lua.post({"type": "reply", "id": 1})
    to_lua.post({"type": "reply", "id": 2, "bad": True})
    to_lua.post({"type": "event", "name": "x", "bad": True})
    to_lua.post({"type": "reply", "id": 3})
    loop.run()
    assert [message["id"] for message in sent] == [1, 2, 3]
    assert sent[1]["result"]["error_code"] == "InvalidReply"
    to_lua.post({"type": "reply", "id": 4})
    loop.run()
    assert sent[-1]["id"] == 4
