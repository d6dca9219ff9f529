"""Lua examples in the documentation and the help, executed unchanged."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.documents import blocks, the_block
from tests.harness.editor import REPOSITORY
from tests.harness.events import Run
from tests.harness.runs import configure, result, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

HELP = REPOSITORY / "doc"


HEIRLINE = """
package.preload['heirline'] = function()
  local function component(spec)
    local known
    if spec.update then
      vim.api.nvim_create_autocmd(spec.update[1], {
        pattern = spec.update.pattern,
        callback = function() known = nil end,
      })
    end
    return function()
      if spec.condition and not spec.condition() then
        return ''
      end
      known = spec.update and known or spec.provider()
      return known
    end
  end
  return { setup = function(options) _G.statusline = component(options.statusline[1]) end }
end
"""
"""A component is drawn at each redraw; with `update`, only after this autocommand."""


def example() -> dict[str, str]:
    """Return the blocks that register a workflow, by their place."""
    documents = [block.text for block in blocks("lua")]
    help_text = re.findall(
        r">lua\n(.*?)^<", "".join(map(Path.read_text, HELP.glob("*.txt"))), re.DOTALL | re.MULTILINE
    )
    return {
        where: block
        for where, blocks in (("documents", documents), ("help", help_text))
        for block in blocks
        if "register(" in block
    }


@pytest.mark.parametrize("where", ["documents", "help"])
def test_the_documented_workflow_runs(editor: Editor, server: ModelServer, where: str) -> None:
    configure(editor, server)
    server.answers("say it", "as documented")
    editor.lua("package.preload['lualine'] = function() return { setup = function() end } end")
    editor.lua(example()[where])
    start(editor, "shout", "say it")
    done = result(editor)
    assert done["ok"], done
    assert done["response"] == "AS DOCUMENTED"


def test_the_documented_workflow_passes_an_error_on(editor: Editor, server: ModelServer) -> None:
    configure(editor, server)
    server.fails("say it", 401)
    editor.lua(example()["help"])
    start(editor, "shout", "say it")
    done = result(editor)
    assert done["ok"] is False
    assert "refused the key" in done["error"]
    assert "traceback" not in done["error"]


def test_the_recipe_for_heirline_shows_each_change(editor: Editor) -> None:
    editor.lua(HEIRLINE)
    editor.lua(the_block("docs/guides/neovim.md", "lua", "heirline"))
    shown = "return _G.statusline()"
    assert editor.lua(shown) == ""
    run = Run(editor)
    editor.lua("require('tideate')")  # as the host does that tells of runs
    assert editor.lua(shown) == "refactor 1/2"
    run.start(1)
    assert editor.lua(shown) == "refactor 1/2 analyze"
    run.event("STEP_RETRYING", step="analyze", attempt=1)
    run.event("CONFIRMATION_REQUIRED", step="analyze")
    assert editor.lua(shown) == "refactor 1/2 analyze (confirming)"
    run.event("CONFIRMATION_ANSWERED", step="analyze")
    editor.lua("require('tideate.state').set_pausing(..., true)", run.id)
    assert editor.lua(shown) == "refactor 1/2 analyze (pausing)"
    editor.lua("require('tideate.state').set_pausing(..., false)", run.id)
    run.complete(1)
    run.start(2)
    assert editor.lua(shown) == "refactor 2/2"
    run.event("WORKFLOW_COMPLETED")
    assert editor.lua(shown) == ""
