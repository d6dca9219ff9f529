"""Options of `setup()`: accepted, refused, passed to the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tideate_core import __version__
from tideate_core.config import Config

if TYPE_CHECKING:
    from tests.editor.conftest import FakeHost
    from tests.harness.editor import Editor

SETUP = "return require('tideate').setup(...)"
GET = "return require('tideate.config').get(...)"
RUN_ASK = "require('tideate').run('ask', { prompt = 'p' }, function(result) _G.result = result end)"


def schema(editor: Editor) -> list[dict[str, Any]]:
    return list(editor.lua("return require('tideate.config').schema"))


def test_the_defaults_hold_without_setup_and_without_options(editor: Editor) -> None:
    for option in schema(editor):
        if "*" not in option["key"]:
            assert editor.lua(GET, option["key"]) == option.get("default")
    assert editor.lua("return require('tideate').setup()") is True


def test_setup_sets(editor: Editor) -> None:
    assert editor.lua(SETUP, {"ui": {"output": "tab"}, "workflows": {"ask": {"adapter": "mine"}}}) is True
    assert editor.lua(GET, "ui.output") == "tab"
    assert editor.lua(GET, "workflows.ask.adapter") == "mine"
    assert editor.lua(GET, "ui.notify") is True


MISTAKES: list[tuple[Any, str]] = [
    ({"adaptor": "local"}, "unknown option 'adaptor'; did you mean 'adapter'?"),
    ({"adaptor": "x", "limits": {"attempt": 2}}, "'limits.attempt'"),
    ({"ui": {"outptu": "tab"}}, "unknown option 'ui.outptu'; did you mean 'output'?"),
    ({"adapters": {"fake": {"url": "x"}}}, "unknown option 'adapters.fake.url'"),
    ({"workflows": {"ask": {"require_confirm": True}}}, "did you mean 'require_confirmation'?"),
    (
        {"ui": {"output": "vsplti"}},
        "'vsplti' is none of float, split, vsplit, tab; did you mean 'vsplit'?",
    ),
    ({"ui": {"notify": "yes"}}, 'ui.notify: expected a boolean, got "yes"'),
    ({"limits": {"attempts": 0}}, "limits.attempts: expected a number above 0"),
    ({"adapters": {"fake": {"api_key_command": "pass x"}}}, "expected a list"),
    ({"adapters": {"fake": {"thinking": "much"}}}, "expected a boolean, or one of minimal, low, medium"),
    ({"adapters": {"fake": {"temperature": -1}}}, "temperature: expected a number from 0"),
    ({"adapters": {"fake": {"headers": {"X-Team": 1}}}}, "headers.X-Team: expected a string"),
    ({"ui": "float"}, "ui: expected a table"),
    ({"adapters": {"fake": "http://x"}}, "adapters.fake: expected a table"),
    (["adapter"], "unknown option '1'"),
    ("adapter", "setup() takes a table, got string"),
]


def test_a_mistake_is_named_and_nothing_is_set(editor: Editor) -> None:
    editor.lua(SETUP, {"adapter": "before"})
    for options, words in MISTAKES:
        editor.command("messages clear")
        assert editor.lua(SETUP, options) is False
        assert words in editor.messages()
        assert editor.lua(GET, "adapter") == "before"


def test_the_host_gets_what_setup_was_given_but_not_what_is_only_luas(
    faked: Editor, fake_host: FakeHost
) -> None:
    faked.lua(SETUP, {"adapter": "mine", "log_level": "debug", "ui": {"notify": False}})
    faked.lua(RUN_ASK)
    faked.wait("_G.result")
    (start,) = [call for call in fake_host.heard() if call["call"] == "TideateStart"]
    assert start["setup"] == {"adapter": "mine", "ui": {"notify": False}}
    assert start["log_level"] == "debug"
    assert start["cwd"] == str(faked.cwd)
    assert start["version"] == __version__


def starts(fake_host: FakeHost) -> list[dict[str, Any]]:
    return [call for call in fake_host.heard() if call["call"] == "TideateStart"]


@pytest.mark.slow
def test_options_set_later_reach_a_new_host(faked: Editor, fake_host: FakeHost) -> None:
    faked.lua(RUN_ASK)
    faked.wait("_G.result")
    faked.lua(SETUP, {"adapter": "mine"})
    assert faked.lua("return require('tideate.host').state()") == "stopped"
    faked.lua("_G.result = nil")
    faked.lua(RUN_ASK)
    assert faked.wait("_G.result")["ok"] is True
    assert [start["setup"] for start in starts(fake_host)] == [{}, {"adapter": "mine"}]


@pytest.mark.slow
def test_options_set_during_a_run_wait_for_its_end(faked: Editor, fake_host: FakeHost) -> None:
    faked.lua("require('tideate').run('hold', {}, function(result) _G.result = result end)")
    faked.wait("(require('tideate').get_status() or {}).step == 2")
    faked.lua(SETUP, {"adapter": "mine"})
    assert faked.lua("return require('tideate').is_running()") is True
    faked.lua("require('tideate').cancel()")
    assert faked.wait("_G.result")["cancelled"] is True
    faked.wait("require('tideate.host').state() == 'stopped'")
    assert "tideate: The Python host" not in faked.messages()
    faked.lua(RUN_ASK)
    faked.wait("_G.result.ok")
    assert starts(fake_host)[1]["setup"] == {"adapter": "mine"}


def test_the_same_options_again_keep_the_host(faked: Editor, fake_host: FakeHost) -> None:
    faked.lua(SETUP, {"adapter": "mine"})
    for _ in range(2):
        faked.lua("_G.result = nil")
        faked.lua(RUN_ASK)
        faked.wait("_G.result")
        faked.lua(SETUP, {"adapter": "mine"})
    assert len(starts(fake_host)) == 1


def test_an_empty_table_reaches_python_as_a_map(faked: Editor, fake_host: FakeHost) -> None:
    for number, options in enumerate(("{}", "{ ui = {} }", "{ workflows = { ask = {} } }")):
        faked.lua(f"_G.result = nil require('tideate').setup({options})")
        faked.lua(RUN_ASK)
        faked.wait("_G.result")
        sent: Any = starts(fake_host)[number]["setup"]
        while sent:
            assert isinstance(sent, dict)
            (sent,) = sent.values()
        assert sent == {}


def test_what_the_host_merged_holds(faked: Editor) -> None:
    faked.lua(RUN_ASK)
    faked.wait("_G.result")
    assert faked.lua(GET, "ui.output") == "split"
    assert faked.lua(GET, "adapter") == "fake"
    assert faked.lua(GET, "ui.notify") is True
    assert "a notice" in faked.messages()


def test_the_schema_is_the_one_of_the_files(editor: Editor) -> None:
    ours = {option["key"]: option.get("default") for option in schema(editor) if not option.get("lua")}
    plain = {key: default for key, default in ours.items() if "*" not in key}
    assert plain == _plain_keys(Config().model_dump())
    named = Config.model_json_schema()["$defs"]
    for section in ("adapters", "workflows", "mcp.servers"):
        keys = {key.split(".*.")[1].removesuffix(".*") for key in ours if key.startswith(f"{section}.*.")}
        assert any(keys == set(model["properties"]) for model in named.values()), (section, keys)


def _plain_keys(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    keys: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            keys |= _plain_keys(value, f"{prefix}{key}.")
        else:
            keys[prefix + key] = value
    return keys
