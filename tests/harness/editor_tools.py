"""Tools of a real Neovim: called as the work loop calls them, answered by the plugin's Lua."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.agents.stage import StageStep
from tests.harness.editor import POLL
from tests.harness.project import write_files
from tideate_core.agents.staged_files import StagedFiles
from tideate_core.agents.tools.table import tools_named
from tideate_core.agents.tools.tool import ToolContext
from tideate_core.editor.frontend import EditorBuffers, EditorQueries, EditorQuestions

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from tests.harness.editor import Editor
    from tideate_core.workflows import Decision

__all__ = ["EditorTools"]

LISTEN = """
_G.answers = {}
require('tideate.client').tell = function(_, params) table.insert(_G.answers, params) end
"""
TAKE = "local found = _G.answers _G.answers = {} return found"


class EditorTools:
    """The tools of one Neovim. Each call runs on a thread of its own; only this one speaks to Neovim."""

    def __init__(
        self,
        editor: Editor,
        files: Mapping[str, str] | None = None,
        decisions: tuple[Decision, ...] = (),
    ) -> None:
        self.editor = editor
        self.root = Path(editor.cwd).resolve()
        write_files(self.root, files or {})
        self._posted: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._questions = EditorQuestions(self._posted.put)
        self.step = StageStep(self.root, decisions=decisions, buffers=EditorBuffers(self._questions))  # type: ignore[arg-type]
        self.step.editor = EditorQueries(self._questions)
        self.forget_staged()
        editor.lua(LISTEN)

    def forget_staged(self) -> None:
        """Begin with no staged edit."""
        self.staged = StagedFiles()
        self.context = ToolContext(self.step, self.staged)  # type: ignore[arg-type]

    def call(self, name: str, **arguments: Any) -> str:
        """Call a tool with a model's arguments.

        :raises ToolError: it refused.
        """
        return self.call_while(lambda: None, name, **arguments)

    def call_while(self, meanwhile: Callable[[], object], name: str, **arguments: Any) -> str:
        """Call a tool; `meanwhile` is called once the first query has reached Neovim.

        :raises ToolError: it refused.
        """
        (tool,) = tools_named([name], editor=True)

        async def work() -> str:
            return await tool.work(self.context, tool.parse(arguments))

        return str(self.run(work(), meanwhile))

    def run(self, work: Coroutine[Any, Any, Any], meanwhile: Callable[[], object]) -> Any:
        """Run a coroutine that asks the editor."""
        done: list[Any] = []
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=self._work, args=(loop, work, done))
        thread.start()
        asked = False
        while thread.is_alive():
            if self._serve(loop) and not asked:
                asked = True
                meanwhile()
            time.sleep(POLL / 5)
        thread.join()
        loop.close()
        while not self._posted.empty():  # what was withdrawn
            self.editor.lua("require('tideate.events').receive(...)", [self._posted.get()])
        if isinstance(done[0], BaseException):
            raise done[0]
        return done[0]

    @staticmethod
    def _work(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], done: list[Any]) -> None:
        try:
            done.append(loop.run_until_complete(work))
        except BaseException as error:  # noqa: BLE001  # raised again by the thread that waits
            done.append(error)

    def _serve(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Take messages to Neovim and its answers back; tell whether there was a query."""
        messages = []
        while not self._posted.empty():
            messages.append(self._posted.get())
        if messages:
            self.editor.lua("require('tideate.events').receive(...)", messages)
        for answer in self.editor.lua(TAKE):
            loop.call_soon_threadsafe(self._questions.answer, answer)
        return any(message.get("method") == "query" for message in messages)
