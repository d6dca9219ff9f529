"""Messages from the host: `User` autocommands, callbacks, questions to Lua and their answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.editor.conftest import FakeHost
    from tests.harness.editor import Editor

RECORD = """
_G.seen = {}
vim.api.nvim_create_autocmd('User', { pattern = 'Tideate*', callback = function(args)
  table.insert(_G.seen, { args.match, args.data.execution_id, args.data.step or vim.NIL })
end })
"""


def ask_back(editor: Editor, method: str, **params: Any) -> Any:
    """Send a question from the host to Lua; return Lua's answer."""
    editor.lua(
        "_G.answer = nil require('tideate').run('ask_back', { prompt = ... }, function(r) _G.answer = r end)",
        json.dumps({"method": method, "params": params}),
    )
    editor.wait("_G.answer")
    return editor.lua("return _G.answer.response")


def last_answer(fake_host: FakeHost) -> dict[str, Any]:
    return dict(fake_host.heard("answer")[-1]["params"])


MANY = """
_G.taken = {}
require('tideate.state').apply = function(event)
  local until_ = vim.uv.hrtime() + 4e6
  while vim.uv.hrtime() < until_ do end
  table.insert(_G.taken, event.at)
end
for from = 1, 9, 3 do
  local batch = {}
  for at = from, from + 2 do
    table.insert(batch, { type = 'event', name = 'SD_EVENT_TOKEN', execution_id = 'x', at = at, data = {} })
  end
  require('tideate.events').receive(batch)
end
"""
"""Nine messages of 4 ms each, in three batches."""


def test_many_messages_are_taken_in_their_order_and_let_the_editor_go_on_in_between(editor: Editor) -> None:
    editor.lua(f"{MANY} vim.defer_fn(function() _G.between = #_G.taken end, 1)")
    editor.wait("#_G.taken == 9")
    assert editor.lua("return _G.taken") == list(range(1, 10))
    assert editor.lua("return _G.between") < 9


def test_messages_of_a_host_are_taken_before_it_counts_as_gone(editor: Editor) -> None:
    taken = editor.lua(
        f"{MANY} local before = #_G.taken require('tideate.events').host_gone() return {{before, #_G.taken}}"
    )
    assert taken[0] < taken[1] == 9


def test_events_reach_autocmds_and_callbacks_in_order_and_tokens_no_autocmd(faked: Editor) -> None:
    faked.lua(RECORD)
    execution_id = faked.lua("""
    _G.tokens, _G.names = {}, {}
    return require('tideate').run('ask', {
      prompt = 'p',
      on_token = function(text, step) table.insert(_G.tokens, { text, step }) end,
      on_event = function(event) table.insert(_G.names, event.name) end,
    }, function() _G.before = #_G.seen end)""")
    assert faked.wait("_G.before") == 4, "the callback comes after the last event"
    seen = faked.lua("return _G.seen")
    assert [name for name, _, _ in seen] == [
        "TideateWorkflowStarted",
        "TideateStepStarted",
        "TideateStepCompleted",
        "TideateWorkflowCompleted",
    ]
    assert {id_ for _, id_, _ in seen} == {execution_id}
    assert seen[1][2] == "query"
    assert faked.lua("return _G.tokens") == [["forty", "query"], ["-two", "query"]]
    assert faked.lua("return _G.names[1]") == "SD_EVENT_WORKFLOW_STARTED"


@pytest.mark.slow
def test_callbacks_that_fail_are_reported_once_and_do_not_break_the_run(faked: Editor) -> None:
    faked.lua("""
    local function fail() error('mine') end
    vim.api.nvim_create_autocmd('User', { pattern = 'TideateStepStarted', callback = fail })
    local opts = { prompt = 'p', on_token = function() error('of tokens') end }
    require('tideate').run('ask', opts, function(result) _G.result = result end)""")
    faked.wait("_G.result")
    faked.lua("vim.wait(20)")
    assert faked.lua("return _G.result.ok") is True
    assert faked.messages().count("of tokens") == 1


def test_an_unknown_question_is_answered_with_an_error(faked: Editor, fake_host: FakeHost) -> None:
    ask_back(faked, "who_are_you")
    answer = last_answer(fake_host)
    assert answer["ok"] is False
    assert "who_are_you" in answer["error"]


def test_an_edit_that_the_editor_refuses_is_an_edit_conflict(faked: Editor, fake_host: FakeHost) -> None:
    ask_back(faked, "buffer_replace", edits=[{"number": 99, "tick": 1, "hunks": []}])
    answer = last_answer(fake_host)
    assert answer["ok"] is False
    assert answer["error_code"] == "EditConflict"
    assert "buffer 99 was deleted" in answer["error"]


def test_a_question_that_cannot_be_shown_is_not_answered_for_the_person(
    faked: Editor, fake_host: FakeHost
) -> None:
    faked.lua("require('tideate.ui.questions.confirm').open = function() error('no room') end")
    question = {"execution_id": "a" * 32, "workflow": "w", "step": "s", "kind": "gate", "message": "Sure?"}
    ask_back(faked, "confirm", **question)
    answer = last_answer(fake_host)
    assert answer["ok"] is False
    assert "could not be shown" in answer["error"]
    assert "no room" in answer["error"]
    assert "traceback" not in answer["error"]
    assert faked.lua("return require('tideate.ui').pending()") == []


REGISTER = """
local handler = ...
return require('tideate').register('lua', {
  description = 'mine', steps = { 'one', 'two' }, handlers = { one = assert(loadstring(handler))() },
})
"""


def handle(editor: Editor, handler: str, step: str = "one") -> Any:
    editor.lua(REGISTER, f"return {handler}")
    state = {"prompt": "p", "context": {}, "options": {}, "results": {"zero": 0}}
    return ask_back(editor, "handler", execution_id="a" * 32, workflow="lua", step=step, state=state)


OUTCOMES: list[tuple[str, dict[str, Any]]] = [
    ("function(state, _, done) done(state.prompt .. state.results.zero) end", {"value": "p0"}),
    ("function(_, _, done) vim.schedule(function() done({ a = 1 }) end) end", {"value": {"a": 1}}),
    ("function(_, _, done) done() end", {"value": None}),
    ("function(_, _, done) done(false) end", {"value": False}),
    ("function(_, _, done) done({ error = 'no' }) end", {"error": "no"}),
    ("function(_, _, done) done('first') done('second') end", {"value": "first"}),
    (
        "function(_, _, done) done({ requires_confirmation = true, message = 'Sure?', value = 1 }) end",
        {"requires_confirmation": True, "message": "Sure?", "details": "", "value": 1},
    ),
]


def test_a_lua_handlers_outcome_is_the_answer(faked: Editor) -> None:
    for handler, outcome in OUTCOMES:
        assert handle(faked, handler) == outcome


def test_a_lua_handler_that_fails_fails_its_step(faked: Editor) -> None:
    asks = "function(_, adapter) adapter:ask('why', function() error({ mine = true }) end) end"
    for handler, words in (("function() error('mine') end", "mine"), (asks, "{\n  mine = true\n}")):
        answer = handle(faked, handler)
        assert answer["error"].startswith("the handler of step 'one' failed: ")
        assert answer["error"].endswith(words)
    assert "stack traceback" in (faked.home / "state" / "tideate" / "host.log").read_text()


def test_a_prompt_that_is_no_string_is_refused_with_its_place(faked: Editor, fake_host: FakeHost) -> None:
    answer = handle(faked, "function(_, adapter) adapter:ask({ prompt = 'why' }, function() end) end")
    assert "adapter:ask() takes the prompt as a string" in answer["error"]
    assert ":1: " in answer["error"]
    assert fake_host.heard("ask") == []


def test_a_step_without_a_lua_handler_is_missing(faked: Editor) -> None:
    assert handle(faked, "function() end", step="two") == {"error": "Missing step handler: two"}


def test_a_lua_handler_can_ask_the_adapter(faked: Editor, fake_host: FakeHost) -> None:
    answer = handle(
        faked,
        "function(_, adapter, done) "
        "adapter:ask('why', { system = 's' }, function(reply) done(reply.ok) end) end",
    )
    assert answer == {"value": True}
    (request,) = fake_host.heard("ask")
    assert request["params"] == {"execution_id": "a" * 32, "step": "one", "prompt": "why", "system": "s"}


def test_a_withdrawn_handlers_prompt_is_called_off_and_its_answer_not_sent(
    faked: Editor, fake_host: FakeHost
) -> None:
    handler = "function(_, adapter, done) _G.late = done adapter:ask('why', function() end) end"
    faked.lua(REGISTER, f"return {handler}")
    faked.lua("require('tideate').run('withdraw', {}, function() _G.done = true end)")
    faked.wait("_G.done and _G.late ~= nil")
    faked.lua("_G.late('too late')")
    faked.wait_for(lambda: fake_host.heard("cancel_ask"), "cancel_ask")
    assert fake_host.heard("answer") == []
    assert fake_host.heard("cancel_ask")[0]["params"]["id"] == fake_host.heard("ask")[0]["id"]


def test_registered_workflows_are_told_to_every_new_host(faked: Editor, fake_host: FakeHost) -> None:
    faked.lua(REGISTER, "return function() end")
    for _ in range(2):
        faked.lua("_G.done = nil require('tideate').run('die', {}, function() _G.done = true end)")
        faked.wait("_G.done")
    told = [call["params"] for call in fake_host.heard("register")]
    assert told == 2 * [
        {
            "name": "lua",
            "description": "mine",
            "steps": ["one", "two"],
            "handlers": ["one"],
            "require_confirmation": True,
        }
    ]
    calls = [call.get("method") for call in fake_host.heard()]
    assert calls.index("register") < calls.index("run")


@pytest.mark.slow
def test_a_host_that_cannot_work_is_one_error_however_much_is_registered(editor: Editor) -> None:
    editor.lua("_G.told = {} vim.notify = function(message) table.insert(_G.told, message) end")
    editor.write(".tideate/config.toml", "adaptor = 'x'\n")
    editor.lua(REGISTER, "return function() end")
    editor.lua("require('tideate').run('ask', { prompt = 'p' }, function(result) _G.result = result end)")
    assert editor.wait("_G.result", 60)["ok"] is False
    editor.lua("vim.wait(20)")
    assert editor.lua("return #_G.told") == 1


def test_a_workflow_registered_later_is_told_at_once(faked: Editor, fake_host: FakeHost) -> None:
    faked.lua("require('tideate').run('ask', { prompt = 'p' }, function() _G.done = true end)")
    faked.wait("_G.done")
    faked.lua(REGISTER, "return function() end")
    faked.wait_for(lambda: fake_host.heard("register"), "register")


def test_a_registered_workflow_is_known(editor: Editor) -> None:
    editor.lua(REGISTER, "return function() end")
    assert editor.lua("return require('tideate').get('lua').steps") == ["one", "two"]
    names = [workflow["name"] for workflow in editor.lua("return require('tideate').list()")]
    assert names == sorted(names)
    assert "lua" in names
    assert "lua" in editor.lua("return vim.fn.getcompletion('Workflow lu', 'cmdline')")


WRONG = [
    ("history", "{ steps = { 'a' } }", "is a subcommand of :Workflow"),
    ("cancel", "{ steps = { 'a' } }", "is a subcommand of :Workflow"),
    ("logs", "{ steps = { 'a' } }", "is a subcommand of :Workflow"),
    ("ask", "{ steps = { 'a' } }", "is built in"),
    ("two words", "{ steps = { 'a' } }", "a workflow name is"),
    ("mine", "{}", "needs `steps`"),
    ("mine", "{ steps = {} }", "needs `steps`"),
    ("mine", "{ steps = { 1 } }", "a step is a name"),
    ("mine", "nil", "needs `steps`"),
    ("mine", "{ steps = { 'style' }, handlers = { styel = print } }", "did you mean 'style'?"),
    ("mine", "{ steps = { 'a' }, handlers = { a = 1 } }", "is not a function"),
]


def test_a_wrong_registration_is_refused_with_a_reason(editor: Editor) -> None:
    for name, spec, words in WRONG:
        ok, error = editor.lua(f"return {{ require('tideate').register(..., {spec}) }}", name)
        assert ok is False
        assert words in error
    assert editor.lua("return require('tideate').get('mine')") is None
