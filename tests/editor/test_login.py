"""`:Workflow login`: address and code, typed key, cancelled login."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import use_home
from tideate_core.adapters import LoginStore
from tideate_core.editor.model_requests import LoginRequests
from tideate_core.errors import ConfigError, InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

    from tests.editor.conftest import FakeHost
    from tests.harness.editor import Editor

OPENED = "_G.opened = {}; vim.ui.open = function(address) table.insert(_G.opened, address) end"
TYPED = "vim.fn.inputsecret = function(prompt) _G.prompt = prompt; return ... end"


def said(editor: Editor, words: str) -> None:
    editor.wait_for(lambda: words in editor.messages(), words)


def test_address_and_code_are_shown_and_the_address_is_opened(faked: Editor) -> None:
    faked.lua(OPENED)
    faked.command("Workflow login github-copilot")
    said(faked, "open https://github.com/login/device and type the code ABCD-1234 within 15 min")
    assert faked.lua("return _G.opened") == ["https://github.com/login/device"]


def test_a_login_that_waits_is_cancelled(faked: Editor, fake_host: FakeHost) -> None:
    faked.lua(OPENED)
    faked.command("Workflow login github-copilot")
    faked.wait_for(lambda: fake_host.heard("login_finish"), "a login")
    faked.command("Workflow login github-copilot")
    assert "is under way" in faked.messages()
    faked.command("Workflow login cancel")
    said(faked, "the login at github-copilot was cancelled")
    faked.command("Workflow login cancel")
    assert "no login is under way" in faked.messages()
    assert len(fake_host.heard("login_finish")) == 1


def test_only_addresses_of_the_web_are_opened(faked: Editor, fake_host: FakeHost) -> None:
    faked.lua(OPENED)
    faked.command("Workflow login elsewhere")
    faked.wait_for(lambda: fake_host.heard("login_finish"), "a login")
    assert faked.lua("return _G.opened") == []


def test_a_key_is_typed_unseen(faked: Editor, fake_host: FakeHost) -> None:
    faked.lua(TYPED.replace("...", "'sk-typed'"))
    faked.command("Workflow login anthropic")
    said(faked, "stored the key for anthropic")
    assert "not shown" in faked.lua("return _G.prompt")
    (request,) = fake_host.heard("login_key")
    assert request["params"] == {"provider": "anthropic", "key": "sk-typed"}
    assert "sk-typed" not in faked.messages()


def test_no_key_stores_nothing(faked: Editor, fake_host: FakeHost) -> None:
    faked.lua(TYPED.replace("...", "''"))
    faked.command("Workflow login anthropic")
    said(faked, "nothing was stored")
    assert fake_host.heard("login_key") == []


def test_a_provider_is_chosen_from_a_list(faked: Editor, fake_host: FakeHost) -> None:
    faked.lua(OPENED)
    faked.lua(
        "vim.ui.select = function(items, opts, on_choice)"
        " _G.shown = vim.tbl_map(opts.format_item, items); on_choice(items[2]) end"
    )
    faked.command("Workflow login")
    faked.wait_for(lambda: fake_host.heard("login_finish"), "a login")
    assert faked.lua("return _G.shown") == ["anthropic  (key, stored)", "github-copilot  (not logged in)"]


def test_providers_with_accounts_are_completed(faked: Editor, fake_host: FakeHost) -> None:
    complete = "return vim.fn.getcompletion(..., 'cmdline')"
    assert faked.lua(complete, "Workflow login openai-") == ["openai-chatgpt", "openai-codex"]
    assert fake_host.heard() == []


@pytest.mark.slow
def test_a_real_login_waits_for_the_browser_and_ends_when_it_is_cancelled(
    editor: Editor,
) -> None:
    editor.lua(OPENED)
    editor.command("Workflow login openai-chatgpt")
    said(editor, "open https://auth.openai.com/")
    editor.command("Workflow login cancel")
    said(editor, "was cancelled")


async def test_the_host_keeps_a_key_and_lists_it_without_showing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_home(tmp_path, monkeypatch)
    requests = LoginRequests()
    assert await requests.start({"provider": "anthropic"}) == {"kind": "key"}
    await requests.keep({"provider": "anthropic", "key": "sk-typed"})
    assert (LoginStore().get("anthropic") or {})["key"] == "sk-typed"
    listed = await requests.list({})
    assert "anthropic" in [one["provider"] for one in listed["providers"]]
    assert "sk-typed" not in json.dumps(listed)


async def test_the_host_refuses_what_was_not_begun_or_is_not_offered() -> None:
    with pytest.raises(InvalidInput):
        await LoginRequests().finish({"provider": "openai-codex"})
    with pytest.raises(ConfigError, match="Anthropic's terms"):
        await LoginRequests().start({"provider": "claude"})
