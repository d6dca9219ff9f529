"""The same remote plugin in the host of a `:UpdateRemotePlugins` user."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.editor.conftest import EditorFactory

LISTEN = """
_G.heard = {}
require('tideate.events').receive = function(batch) vim.list_extend(_G.heard, batch) end
"""


def test_the_manifest_has_both_functions_and_they_answer(start_editor: EditorFactory) -> None:
    first = start_editor(env={"NVIM_RPLUGIN_MANIFEST": "rplugin.vim"})
    first.lua("vim.g.python3_host_prog = ...", sys.executable)
    first.command("silent UpdateRemotePlugins")
    manifest = (first.cwd / "rplugin.vim").read_text()
    assert "'TideateStart'" in manifest
    assert "'TideateSend'" in manifest
    (first.home / "manifest.vim").write_text(manifest)
    second = start_editor(
        args=("--cmd", f"let g:python3_host_prog = '{sys.executable}'"),
        env={"NVIM_RPLUGIN_MANIFEST": str(first.home / "manifest.vim")},
    )
    second.lua(LISTEN)
    second.lua("vim.fn.TideateStart({ cwd = vim.fn.getcwd(), setup = vim.empty_dict() })")
    second.wait("vim.iter(_G.heard):any(function(m) return m.type == 'ready' end)", 20)
    second.lua("vim.fn.TideateSend({ id = 'q1', method = 'list', params = vim.empty_dict() })")
    names = second.wait(
        "vim.iter(_G.heard):map(function(m) return m.result and m.result.workflows end):next()",
        20,
    )
    assert [workflow["name"] for workflow in names] == [
        "ask",
        "generate",
        "multi_file",
        "refactor",
        "summarize",
    ]
