"""`:Workflow model`: choice of the model for the runs of this Neovim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.editor.model_requests import ModelRequests
from tideate_core.errors import AdapterError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.editor.conftest import FakeHost
    from tests.harness.editor import Editor

PICK = """
local wanted = ...
_G.shown = nil
vim.ui.select = function(items, opts, on_choice)
  _G.shown = vim.tbl_map(opts.format_item, items)
  _G.prompt = opts.prompt
  for _, item in ipairs(items) do
    if item.adapter == wanted then
      return on_choice(item)
    end
  end
  on_choice(nil)
end
"""
CONFIG = """
require('tideate').setup({ adapter = 'mine', adapters = {
  mine = { base_url = 'http://127.0.0.1:1/v1', model = 'scripted' },
  deep = { model = 'openai:gpt-4o-mini' },
} })
"""


def chosen(editor: Editor, workflow: str) -> Any:
    return editor.lua("return require('tideate.model_choice').adapter_for(...)", workflow)


def wait_chosen(editor: Editor, workflow: str, adapter: str) -> None:
    editor.wait(f"require('tideate.model_choice').adapter_for('{workflow}') == '{adapter}'")


@pytest.mark.slow
def test_a_chosen_model_is_sent_with_each_run(faked: Editor, fake_host: FakeHost) -> None:
    faked.command("Workflow model openai:gpt-5")
    wait_chosen(faked, "ask", "openai:gpt-5")
    faked.command("Workflow model --workflow=refactor deep")
    wait_chosen(faked, "refactor", "deep")
    faked.lua("require('tideate').run('ask', { prompt = 'p' })")
    faked.lua("require('tideate').run('refactor', { prompt = 'p' })")
    faked.lua("require('tideate').run('ask', { prompt = 'p', adapter = 'own' })")
    runs = faked.wait_for(lambda: fake_host.heard("run")[2:] and fake_host.heard("run"), "3 runs")
    assert [run["params"].get("adapter") for run in runs] == ["openai:gpt-5", "deep", "own"]


def test_the_choice_is_in_the_status_and_can_be_taken_back(faked: Editor) -> None:
    faked.command("Workflow model openai:gpt-5")
    faked.command("Workflow model --workflow=refactor deep")
    wait_chosen(faked, "refactor", "deep")
    faked.command("Workflow status")
    assert [line.strip() for line in faked.lines()[:2]] == ["model: openai:gpt-5", "model of refactor: deep"]
    faked.feed("q")
    faked.command("Workflow model --workflow=refactor default")
    assert chosen(faked, "refactor") == "openai:gpt-5"
    faked.command("Workflow model default")
    assert chosen(faked, "ask") is None


@pytest.mark.parametrize("words", ["a b", "--wrkflow=ask a"])
def test_what_cannot_be_understood_chooses_nothing(faked: Editor, words: str) -> None:
    faked.command(f"Workflow model {words}")
    assert "is too much" in faked.messages()
    assert chosen(faked, "ask") is None


def test_names_are_completed_without_asking_the_host(faked: Editor, fake_host: FakeHost) -> None:
    complete = "return vim.fn.getcompletion(..., 'cmdline')"
    assert faked.lua(complete, "Workflow model d") == ["default"]
    assert "--workflow=refactor" in faked.lua(complete, "Workflow model --")
    assert fake_host.heard("models") == []


def test_while_a_person_types_a_prompt_the_model_library_is_loaded(
    faked: Editor, fake_host: FakeHost
) -> None:
    faked.lua("require('tideate').run('ask', {})")
    (request,) = faked.wait_for(lambda: fake_host.heard("load_model"), "the library is loaded")
    assert request["params"].get("adapter") is None
    assert fake_host.heard("run") == []


@pytest.mark.slow
def test_a_model_is_picked_from_those_that_there_are(editor: Editor) -> None:
    editor.lua(CONFIG)
    editor.lua(PICK, "deep")
    editor.command("Workflow model --workflow=ask")
    wait_chosen(editor, "ask", "deep")
    shown = editor.lua("return _G.shown")
    assert shown[0] == "default (mine)"
    assert "deep  (gpt-4o-mini, 128k tokens, $0.15 in, $0.6 out for a million)" in shown
    assert editor.lua("return _G.prompt") == "Model of ask"


@pytest.mark.slow
def test_a_model_that_does_not_exist_is_not_chosen(editor: Editor) -> None:
    editor.command("Workflow model opnai:gpt-5")
    editor.wait("vim.fn.execute('messages'):find('did you mean')")
    assert chosen(editor, "ask") is None


async def test_the_library_is_loaded_for_the_configured_adapter(tmp_path: Path) -> None:
    class Projects:
        def config(self, _folder: str | None) -> Any:
            from tideate_core.config import Config

            return Config()

    requests = ModelRequests(Projects())  # type: ignore[arg-type]
    assert await requests.load({}) == {}
    with pytest.raises(AdapterError):
        await requests.check({"name": "nobody"})


def test_an_interrupted_choice_is_none_and_tells_nothing(editor: Editor) -> None:
    editor.lua("vim.ui.select = function() error('Keyboard interrupt') end _G.chosen = 'open'")
    editor.lua("require('tideate.ui').select({ 'a' }, {}, function(item) _G.chosen = item or 'none' end)")
    editor.wait("_G.chosen == 'none'")
    assert "traceback" not in editor.messages()
