"""A chat of many turns: opened from the store, and an answer streamed into it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.figures import Figure
from tideate_core.store import Definition, Ending, NewRun, Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tests.harness.editor import Editor

    Started = Callable[..., AbstractContextManager[Editor]]

LUA: Final = Path(__file__).with_suffix(".lua")
TURNS: Final = 500
CHARACTERS: Final = 200_000
"""Of all turns together."""


def _texts(number: int) -> tuple[str, str]:
    """Return a message and an answer with prose, a list and a code block."""
    question = f"What does part {number} do, and who calls it?"
    line = f"- `part_{number}` is called in src/module_{number % 40}.py:{number + 1}, before the others\n"
    code = f"```python\ndef part_{number}(value):\n    return value + {number}\n```\n"
    answer = f"Part {number} does this:\n\n{line * 2}\n{code}"
    return question, answer.ljust(CHARACTERS // TURNS - len(question), ".")


async def _fill(place: Path) -> None:
    """Write a chain of runs, each of one turn; the last one has the whole conversation."""
    store = Store.open(place)
    definition = Definition("w", "chat", "graph", '{"name": "chat"}', source="builtin")
    messages: list[dict[str, Any]] = []
    for number in range(TURNS):
        question, answer = _texts(number)
        request = {"prompt": question, "continues": f"{number - 1:032x}" if number else None}
        log = await store.begin(NewRun(f"{number:032x}", definition, request, 1, number + 1))
        log.note("", "begins", len(messages))
        usage = {"input_tokens": 1, "output_tokens": 1}
        turn = {"text": answer, "calls": [], "model": "bench", "usage": usage}
        messages += [{"user": question}, {"turn": turn}]
        if number == TURNS - 1:
            log.note("", "conversation:reply", {"system": "", "messages": messages, "staged": []})
        await log.ended(Ending("completed", number + 2, 1, response=""))
    store.close()


def chat_figures(started: Started, samples: int, pieces: int) -> list[Figure]:
    """Open a chat in new editors, and stream an answer into it.

    :param pieces: pieces of the streamed answer.
    """
    opened, streamed = [], []
    for _ in range(samples):
        with started(ui=(160, 50)) as editor:
            editor.write("pyproject.toml")
            asyncio.run(_fill(editor.state))
            editor.lua("package.loaded.bench_chat = loadfile(...)()", str(LUA))
            # what the start of the host costs is measured elsewhere
            editor.lua("require('tideate.client').request('chats', {}, function() _G.ready = true end)")
            editor.wait("_G.ready", 60)
            editor.lua("require('bench_chat').open()")
            opened.append(editor.wait("require('bench_chat').opened", 60))
            editor.lua("require('bench_chat').stream(...)", pieces)
            streamed.append(editor.wait("require('bench_chat').streamed", 120))
    name = f"chat of {TURNS} turns, {CHARACTERS // 1000} kB"

    def figure(words: str, found: list[dict[str, Any]], key: str, target: float | None = None) -> Figure:
        return Figure(words, [one[key] for one in found], "ms", target)

    return [
        figure(f"{name}: :Workflow chat → it returns", opened, "returned"),
        figure("→ shown whole, read by the host", opened, "shown", 50),
        figure("longest pause until it is coloured", opened, "pause", 16),
        figure("longest pause until it is coloured, processor time", opened, "processor", 16),
        figure("a message sent and drawn", streamed, "begun", 16),
        figure("a streamed token", streamed, "token", 1),
        figure("longest pause while an answer streams", streamed, "pause", 16),
        figure("longest pause while an answer streams, processor time", streamed, "processor", 16),
    ]
