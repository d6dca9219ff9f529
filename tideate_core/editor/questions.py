"""Questions to Lua, by id; an answer comes back as a request of Lua's."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

from tideate_core.errors import StepFailed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Asker"]


class Asker:
    """Asks Lua to do what only the editor can: show a dialog, read or change a buffer, call a function.

    There is no time limit: an editor that waits for a key cannot answer, and a change that is given up here
    could still be made there. Whoever asks may cancel, which withdraws the question.
    """

    def __init__(self, post: Callable[[dict[str, Any]], None]) -> None:
        self._post = post
        self._ids = itertools.count(1)
        self._open: dict[str, asyncio.Future[Any]] = {}

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Return Lua's result.

        :raises StepFailed: the editor refused, with its words.
        """
        key = str(next(self._ids))
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._open[key] = answer
        self._post({"type": "ask", "id": key, "method": method, "params": params})
        try:
            return await answer
        except asyncio.CancelledError:
            self._post({"type": "withdraw", "id": key})
            raise
        finally:
            del self._open[key]

    def answer(self, params: dict[str, Any]) -> None:
        """Take an answer; one to a question that was withdrawn is late and means nothing."""
        waiting = self._open.get(str(params["id"]))
        if waiting is None or waiting.done():
            return
        if params.get("ok", True):
            waiting.set_result(params.get("result"))
        else:
            waiting.set_exception(StepFailed(str(params.get("error") or "the editor refused")))
