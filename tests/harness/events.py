"""Events of a made-up run, put to a test's Neovim as the host would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.harness.editor import Editor

__all__ = ["Run"]

DISPATCH = """
local name, id, data = ...
require('tideate.events').dispatch({ name = 'SD_EVENT_' .. name, execution_id = id, at = 0, data = data })
"""

BUFFER = """
local prefix = ...
return vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
  return vim.endswith(vim.api.nvim_buf_get_name(buf), '/' .. prefix)
end) or -1
"""


class Run:
    """A run of a workflow, told step by step."""

    def __init__(
        self,
        editor: Editor,
        name: str = "refactor",
        *steps: str,
        demonstration: bool = False,
        lanes: dict[str, Any] | None = None,
    ) -> None:
        self.editor = editor
        self.id = f"{name}{id(self):x}".encode().hex()[:32].ljust(32, "0")
        self.steps = steps or ("analyze", "refactor")
        self.event(
            "WORKFLOW_STARTED",
            name=name,
            steps=list(self.steps),
            adapter="fake",
            demonstration=demonstration,
            prompt="make it iterative",
            title=name,
            **({"lanes": lanes} if lanes else {}),
        )

    def event(self, event: str, /, **data: Any) -> None:
        self.editor.lua(DISPATCH, event, self.id, data or {"none": True})

    def start(self, index: int) -> None:
        self.event("STEP_STARTED", step=self.steps[index - 1], index=index, total=len(self.steps))

    def token(self, text: str) -> None:
        self.event("TOKEN", step=self.steps[0], text=text)

    def complete(self, index: int, result: Any = None, duration_ms: int = 1234) -> None:
        step = self.steps[index - 1]
        self.event(
            "STEP_COMPLETED",
            step=step,
            index=index,
            total=len(self.steps),
            duration_ms=duration_ms,
            result=result,
        )

    @property
    def buffer(self) -> int:
        """The run's output buffer."""
        return int(self.editor.lua(BUFFER, self.id[:8]))

    def text(self) -> str:
        return "\n".join(self.editor.lines(self.buffer))

    def window(self) -> int | None:
        """The window that shows the run, if any."""
        windows = self.editor.lua("return vim.fn.win_findbuf(...)", self.buffer)
        return windows[0] if windows else None
