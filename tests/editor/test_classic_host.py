"""Remote plugin in the classic host of `:UpdateRemotePlugins`."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory

LISTEN = """
_G.heard = {}
require('tideate.events').receive = function(batch) vim.list_extend(_G.heard, batch) end
"""


NO_ENVIRONMENT = """
vim.env.TIDEATE_PYTHON = nil
require('tideate.paths').python = function() end
"""
LIST = "_G.result = nil require('tideate.client').request('list', {}, function(r) _G.result = r end)"


def classic_editor(start_editor: EditorFactory) -> Editor:
    """An editor after `:UpdateRemotePlugins`."""
    first = start_editor(env={"NVIM_RPLUGIN_MANIFEST": "rplugin.vim"}, python3=True)
    first.lua("vim.g.python3_host_prog = ...", sys.executable)
    first.command("silent UpdateRemotePlugins")
    manifest = first.cwd / "rplugin.vim"
    return start_editor(
        args=("--cmd", f"let g:python3_host_prog = '{sys.executable}'"),
        env={"NVIM_RPLUGIN_MANIFEST": str(manifest)},
        python3=True,
    )


@pytest.mark.slow
def test_without_an_environment_the_classic_host_is_used(start_editor: EditorFactory) -> None:
    editor = classic_editor(start_editor)
    editor.lua(NO_ENVIRONMENT)
    editor.lua(LIST)
    assert editor.wait("_G.result", 60)["ok"] is True
    pid = editor.lua("return require('tideate.host').info().pid")
    assert pid == editor.lua("return vim.fn.jobpid(vim.fn['remote#host#Require']('python3'))")
    # it is other plugins' too
    editor.lua("require('tideate.host').stop()")
    assert pid in editor.children()
    editor.lua(LIST)
    assert editor.wait("_G.result", 60)["ok"] is True


@pytest.mark.slow
def test_the_end_of_a_classic_host_ends_what_waits_for_it(start_editor: EditorFactory) -> None:
    editor = classic_editor(start_editor)
    editor.lua(NO_ENVIRONMENT)
    editor.lua("require('tideate.host').limits.ping = 2000")
    editor.lua(LIST)
    editor.wait("_G.result", 60)
    pid = editor.lua("return require('tideate.host').info().pid")
    os.kill(pid, signal.SIGSTOP)
    editor.lua(LIST)
    os.kill(pid, signal.SIGKILL)
    result = editor.wait("_G.result")
    assert (result["ok"], result["error_code"]) == (False, "HostDied")


@pytest.mark.slow
def test_an_environment_of_its_own_comes_first(start_editor: EditorFactory) -> None:
    editor = classic_editor(start_editor)
    editor.lua(LIST)
    assert editor.wait("_G.result", 60)["ok"] is True
    assert len(editor.children()) == 1


@pytest.mark.slow
def test_the_manifest_has_both_functions_and_they_answer(start_editor: EditorFactory) -> None:
    editor = classic_editor(start_editor)
    editor.lua(LISTEN)
    editor.lua("vim.fn.TideateStart({ cwd = vim.fn.getcwd(), setup = vim.empty_dict() })")
    editor.wait("vim.iter(_G.heard):any(function(m) return m.type == 'ready' end)", 60)
    editor.lua("vim.fn.TideateSend({ id = 'q1', method = 'list', params = vim.empty_dict() })")
    workflows = editor.wait(
        "vim.iter(_G.heard):map(function(m) return m.result and m.result.workflows end):next()", 20
    )
    assert {"ask", "task", "PLANNER"} <= {workflow["name"] for workflow in workflows}
