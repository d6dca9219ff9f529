"""Questions to a test's Neovim, and their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.harness.editor import Editor

__all__ = [
    "answers",
    "ask",
    "choose",
    "decline",
    "focused",
    "gate",
    "hurry",
    "plan",
    "ready",
    "say_yes",
    "wait_focused",
]

HURRY = """
local idle, guard = require('tideate.ui.typing'), require('tideate.ui.questions.key_guard')
_G.patience = _G.patience or { idle.limits, guard.limits }
idle.limits, guard.limits = { quiet = 0, look = 10 }, { settle = 0 }
return true
"""

CALM = """require('tideate.ui.typing').limits, require('tideate.ui.questions.key_guard').limits =
  unpack(_G.patience)"""

ASK = """
local kind, message, details, payload, executed, draft, run = ...
_G.answers = _G.answers or {}
_G.asked = (_G.asked or 0) + 1
local id = 'question' .. _G.asked
require('tideate.ui').confirm(id, {
  execution_id = run, workflow = 'refactor', step = 'analyze',
  kind = kind, message = message, details = details, payload = payload, executed = executed, draft = draft,
}, function(answer) table.insert(_G.answers, answer) end, function(err) error(err) end)
return id
"""


def ask(
    editor: Editor,
    kind: str,
    *,
    message: str = "Go on?",
    details: str = "",
    payload: Any = None,
    executed: Sequence[dict[str, str]] = (),
    draft: str = "",
    run: str = "0123456789abcdef" * 2,
) -> str:
    """Ask a question of a run with a draft; return its id."""
    return str(editor.lua(ASK, kind, message, details, payload or {}, list(executed), draft, run))


def gate(editor: Editor, message: str = "Go on?") -> str:
    return ask(editor, "gate", message=message)


def plan(editor: Editor, files: list[dict[str, Any]]) -> str:
    return ask(editor, "plan", message="These files would be touched.", payload={"files": files})


def answers(editor: Editor) -> list[dict[str, Any]]:
    """The answers so far."""
    return list(editor.lua("return _G.answers"))


def focused(editor: Editor) -> bool:
    """Whether keys go to the question."""
    return bool(editor.lua("local p = require('tideate.ui').pending()[1] return p ~= nil and p.focused"))


def ready(editor: Editor) -> bool:
    """Whether the next key answers the question."""
    return bool(editor.lua("local p = require('tideate.ui').pending()[1] return p ~= nil and p.ready"))


def choose(editor: Editor, number: int) -> None:
    """From now on choose this item of every list, from 1; `_G.choices` has the prompts and items."""
    editor.lua(
        """local number = ...
        _G.choices = {}
        vim.ui.select = function(items, opts, on_choice)
          table.insert(_G.choices, { opts.prompt, items })
          on_choice(items[number])
        end""",
        number,
    )


def decline(editor: Editor, keys: str = "gX") -> None:
    """Decline the review that has the focus, without a reason.

    :param keys: that lead to the question.
    """
    choose(editor, 2)
    editor.feed(keys)
    editor.wait("#_G.choices == 1")


def hurry(editor: Editor) -> None:
    """From now on a question comes as soon as no key is under way, not only when the person pauses."""
    editor.wait_for(lambda: editor.lua(HURRY), "no key is waited for")


def wait_focused(editor: Editor) -> None:
    """Wait until the question has the focus, and keys count; it is not the wait that is tested."""
    hurry(editor)
    editor.wait_for(lambda: ready(editor), "the question has the focus, and keys count")
    editor.lua(CALM)


def say_yes(editor: Editor) -> str:
    """Wait for a question, answer yes, and return its text."""
    editor.wait("require('tideate.ui').pending()[1]")
    message = str(editor.lua("return require('tideate.ui').pending()[1].message"))
    wait_focused(editor)
    editor.feed("y")
    return message
