"""Ways to leave a review: it stays open with all decisions, and only an explicit answer declines it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.editor.test_run_views import stored
from tests.harness.dialogs import answers, ask, choose, hurry, wait_focused
from tests.harness.events import Run
from tests.harness.review import bar
from tests.harness.runs import configure, start

if TYPE_CHECKING:
    from tests.harness.editor import Editor, EditorFactory
    from tests.harness.model_server import ModelServer

pytestmark = [pytest.mark.bulk, pytest.mark.slow]

PLAN = {
    "files": [
        {"action": "modify", "path": "closed.py", "why": "rename"},
        {"action": "modify", "path": "open.py", "why": "rename"},
        {"action": "create", "path": "made.py", "why": "needed"},
        {"action": "delete", "path": "old.py", "why": "dead"},
    ]
}
BEFORE = {
    "pyproject.toml": "",
    "closed.py": "one = A\ntwo = 2\nthree = 3\nfour = 4\nfive = A\n",
    "open.py": "A = 1\ntwo = 2\nthree = 3\n",
    "old.py": "OLD = 1\n",
}
CLOSED = "one = B\ntwo = 2\nthree = 3\nfour = 4\nfive = B"


@pytest.fixture
def server(server: ModelServer) -> ModelServer:
    server.answers("Which files have to be", PLAN)
    server.answers("Change closed.py", f"```python\n{CLOSED}\n```")
    server.answers("Change open.py", "```python\nB = 1\ntwo = 2\nthree = 3\n```")
    server.answers("Write the new file made.py", "```python\nMADE = 1\n```")
    return server


@pytest.fixture
def at_plan(start_editor: EditorFactory, server: ModelServer) -> Editor:
    """An editor with the plan of four files."""
    editor = start_editor(ui=(180, 30))
    for name, text in BEFORE.items():
        editor.write(name, text)
    configure(editor, server)
    editor.edit("open.py")
    start(editor, "multi_file", "rename A to B")
    asked(editor, "plan")
    return editor


@pytest.fixture
def nvim(at_plan: Editor) -> Editor:
    """An editor with a review of five hunks in four files; the first file is not loaded."""
    at_plan.feed("y")
    in_review(at_plan)
    return at_plan


def asked(editor: Editor, kind: str) -> None:
    editor.wait("(require('tideate.ui').pending()[1] or {}).kind == ...", 60, kind)
    wait_focused(editor)


def in_review(editor: Editor) -> None:
    editor.wait("vim.wo.winbar:find(' review ', 1, true)")
    wait_focused(editor)


def run_of(editor: Editor) -> str:
    return str(editor.lua("return require('tideate.state').runs()[1].execution_id"))


def files(editor: Editor) -> dict[str, str]:
    return {
        path.name: path.read_text()
        for path in editor.cwd.iterdir()
        if path.is_file() and not path.name.startswith(".")
    }


def left(editor: Editor, run: str) -> None:
    """Wait until the store has the run as left."""
    editor.wait_for(lambda: stored(editor, run).resumable, "the run waits")
    assert not stored(editor, run).ended


def decide(editor: Editor) -> None:
    """Accept the first hunk edited; reject the second with a reason."""
    assert "closed.py" in bar(editor)
    editor.feed("geggVGcone = mine<Esc>:w<CR>")
    editor.feed("gbno<CR>")
    editor.wait("vim.wo.winbar:find('1 accepted, 1 rejected, 3 open', 1, true)")


def reopened(editor: Editor, command: str = "Workflow review") -> None:
    editor.command(command)
    editor.wait_for(lambda: "1 accepted, 1 rejected, 3 open · 1 comment" in bar(editor), "all is there")


@pytest.mark.parametrize("decided", [False, True])
def test_no_key_but_those_with_g_ends_or_decides_anything(nvim: Editor, decided: bool) -> None:
    """The review opens at an unloaded file, in its own window."""
    if decided:
        decide(nvim)
        nvim.feed("[f")
    assert nvim.lua("return vim.fn.bufname()").startswith("tideate://review/")
    for keys in ("<Esc>", "<Esc><Esc><Esc>", "aarAR<Esc>uo<CR>"):
        nvim.feed(keys)
    assert ("1 accepted, 1 rejected, 3 open" if decided else "5 hunks") in bar(nvim)
    assert nvim.lua("return #require('tideate.ui').pending()") == 1
    assert files(nvim) == BEFORE


@pytest.mark.parametrize("window", ["a loaded file", "the proposal", "the list"])
def test_q_leaves_from_each_window_and_the_run_waits(nvim: Editor, server: ModelServer, window: str) -> None:
    run, requests = run_of(nvim), len(server.requests)
    decide(nvim)
    nvim.feed({"a loaded file": "", "the proposal": "gp", "the list": "gl"}[window])
    if window == "the proposal":
        nvim.command("wincmd l")
    nvim.feed("q")
    left(nvim, run)
    nvim.wait("not require('tideate').is_running()")
    assert "multi_file waits (5 hunks: 1 accepted, 1 rejected, 3 open" in nvim.messages()
    assert ":Workflow review opens it again" in nvim.messages()
    assert files(nvim) == BEFORE
    assert nvim.lua("return vim.wo.winbar") == ""
    assert nvim.lua("return vim.fn.maparg('ga', 'n')") == ""
    nvim.feed("<Esc>")
    reopened(nvim)
    assert len(server.requests) == requests, "the model is not asked again"


def test_a_review_can_be_opened_again_at_once(nvim: Editor) -> None:
    decide(nvim)
    nvim.feed("q:Workflow review<CR>")
    nvim.wait_for(lambda: "1 accepted, 1 rejected, 3 open · 1 comment" in bar(nvim), "it is open")


def decline(editor: Editor, choice: int, reason: str = "") -> None:
    editor.lua(
        """vim.ui.select = function(items, opts, on_choice)
      _G.asked = { opts.prompt, items }
      on_choice(items[_G.choice])
    end
    _G.choice = ...""",
        choice,
    )
    editor.lua("local said = ... vim.ui.input = function(_, on_text) on_text(said) end", reason)
    editor.feed("gX")
    editor.wait("_G.asked")


def test_only_a_yes_declines_and_the_work_can_be_reviewed_again(nvim: Editor, server: ModelServer) -> None:
    run, requests = run_of(nvim), len(server.requests)
    decide(nvim)
    decline(nvim, 1)
    assert nvim.lua("return _G.asked")[1] == [
        "back to the review",
        "decline all changes",
        "decline all changes, because …",
    ]
    assert "1 accepted, 1 rejected, 3 open" in bar(nvim)
    nvim.lua("_G.asked = nil")
    decline(nvim, 3, "not now")
    nvim.wait("require('tideate.state').ended(...)", 60, run)
    nvim.wait("not require('tideate').is_running()")
    assert (stored(nvim, run).status, stored(nvim, run).reason) == ("cancelled", "declined")
    assert f":Workflow review {run[:8]} opens it again" in nvim.messages()
    reopened(nvim, f"Workflow review {run[:8]}")
    assert files(nvim) == BEFORE
    again = run_of(nvim)
    assert (again != run, stored(nvim, again).forked_from) == (True, run)
    hurry(nvim)
    wait_focused(nvim)
    nvim.feed("gOgA")
    nvim.feed("g<CR>")
    nvim.wait("require('tideate.state').ended(...)", 60, again)
    assert stored(nvim, again).status == "completed"
    assert len(server.requests) == requests, "the model is not asked again"
    assert files(nvim) == {
        "pyproject.toml": "",
        "closed.py": f"{CLOSED}\n".replace("one = B", "one = mine"),
        "open.py": "B = 1\ntwo = 2\nthree = 3\n",
        "made.py": "MADE = 1\n",
    }


def test_rejecting_everything_asks_before_it_declines(nvim: Editor) -> None:
    run = run_of(nvim)
    decline(nvim, 1)
    nvim.lua("_G.asked = nil")
    nvim.feed("gRg<CR>")
    nvim.wait("_G.asked")
    assert not stored(nvim, run).ended
    assert "5 rejected" in bar(nvim)
    nvim.lua("_G.asked, _G.choice = nil, 2")
    nvim.feed("g<CR>")
    nvim.wait("require('tideate.state').ended(...)", 60, run)
    assert stored(nvim, run).reason == "declined"


def test_a_syntax_error_that_was_typed_leads_back_to_the_review(nvim: Editor) -> None:
    run = run_of(nvim)
    nvim.feed("geggVGcone = (<Esc>:w<CR>")
    nvim.feed("gAg<CR>")
    nvim.wait("(require('tideate.ui').pending()[1] or {}).kind == 'override'")
    wait_focused(nvim)
    nvim.feed("<Esc>")
    nvim.wait("(require('tideate.ui').pending()[1] or {}).kind == 'review'")
    in_review(nvim)
    assert "5 accepted" in bar(nvim)
    assert not stored(nvim, run).ended
    nvim.feed("gO")
    nvim.feed("]f]f]f]f[c[cgegg")
    assert nvim.lua("return vim.api.nvim_get_current_line()") == "one = (", "what was typed is there"
    nvim.feed("ccone = 1<Esc>:w<CR>")
    nvim.feed("gAg<CR>")
    nvim.wait("require('tideate.state').ended(...)", 60, run)
    assert files(nvim)["closed.py"].startswith("one = 1\n")


def test_without_a_hunk_under_the_cursor_no_text_is_taken(nvim: Editor) -> None:
    nvim.feed("]f")
    assert nvim.lua("return vim.fn.expand('%:t')") == "open.py"
    opened = nvim.lua("return vim.fn.bufnr()")
    for key in ("gb", "gB", "gs", "ge"):
        nvim.command("messages clear")
        nvim.feed("3G")
        nvim.feed(f"{key}ddxiwrong<CR><Esc>")
        assert "no hunk under the cursor: ]c goes to the next one" in nvim.messages()
        nvim.feed("gl")
        nvim.feed(f"{key}ddxiwrong<CR><Esc>")
        assert "no hunk under the cursor: <CR> goes to the file" in nvim.messages()
        nvim.feed("gl")
        assert nvim.lines(opened) == BEFORE["open.py"].splitlines()
    assert "5 hunks" in bar(nvim)


def test_the_list_of_files_has_the_focus_when_it_was_asked_for(nvim: Editor) -> None:
    nvim.feed("]f")
    assert nvim.lua("return vim.fn.expand('%:t')") == "open.py"
    nvim.feed("gl")
    assert nvim.lua("return vim.bo.modifiable") is False
    nvim.feed("x")
    nvim.feed("ddrAo<Esc>")
    opened = nvim.lua("return vim.fn.bufnr('open.py')")
    assert nvim.lines(opened) == BEFORE["open.py"].splitlines()
    nvim.feed("ggga")
    nvim.feed("gl")
    assert nvim.lua("return vim.wo.winbar:find(' review ', 1, true) ~= nil")
    assert "2 accepted" in bar(nvim)


@pytest.mark.parametrize("way", ["q", "<C-w>c"])
def test_a_plan_that_is_left_waits_with_what_was_taken_out(
    at_plan: Editor, server: ModelServer, way: str
) -> None:
    run, requests = run_of(at_plan), len(server.requests)
    at_plan.feed("jx")
    at_plan.wait_screen("3 files, 1 taken out")
    at_plan.feed("<Esc><Esc>")
    assert at_plan.lua("return require('tideate.ui').pending()[1].kind") == "plan"
    at_plan.feed(way)
    left(at_plan, run)
    at_plan.wait("not require('tideate').is_running()")
    assert "multi_file waits for your answer; :Workflow review opens it again" in at_plan.messages()
    at_plan.command("Workflow review")
    at_plan.wait_screen("3 files, 1 taken out")
    asked(at_plan, "plan")
    assert len(server.requests) == requests, "the model is not asked again"


@pytest.mark.parametrize("in_window", [False, True], ids=["echoed", "small window"])
def test_the_notice_that_a_run_waits_goes_when_it_is_opened_again(at_plan: Editor, in_window: bool) -> None:
    if in_window:
        at_plan.lua("vim.o.cmdheight = 0")
    at_plan.feed("q")
    at_plan.wait_screen("multi_file waits for your answer")
    left(at_plan, run_of(at_plan))
    at_plan.wait("not require('tideate').is_running()")
    assert "multi_file waits for your answer" in "".join(at_plan.screen()), "leaving does not withdraw it"
    at_plan.command("Workflow review")
    asked(at_plan, "plan")
    assert "multi_file waits for your answer" not in "".join(at_plan.screen())
    assert "multi_file waits for your answer" in at_plan.messages()


def test_a_message_that_came_since_stays_when_a_run_continues(editor: Editor) -> None:
    editor.lua("""
      local notify = require('tideate.ui.notify')
      notify.notify('it waits', nil, { waiting = 'one' })
      notify.withdraw('other')
      vim.cmd.echomsg('"of mine"')
      notify.withdraw('one')
    """)
    assert editor.messages().splitlines()[-1] == "of mine"


def test_a_plan_with_removed_files_is_declined_only_after_a_question(at_plan: Editor) -> None:
    run = run_of(at_plan)
    choose(at_plan, 1)
    at_plan.feed("jx")
    at_plan.wait_screen("3 files, 1 taken out")
    at_plan.feed("n")
    at_plan.wait("#_G.choices == 1")
    assert at_plan.lua("return _G.choices[1]") == [
        "3 files, 1 taken out: decline the plan?",
        ["back to the plan", "decline the plan", "decline the plan, because …"],
    ]
    assert not stored(at_plan, run).ended
    choose(at_plan, 3)
    at_plan.lua("vim.ui.input = function(_, on_text) on_text('too much') end")
    at_plan.feed("n")
    at_plan.wait("require('tideate.state').ended(...)", 60, run)
    at_plan.wait("not require('tideate').is_running()")
    assert stored(at_plan, run).reason == "declined"
    assert f"too much; :Workflow review {run[:8]} opens it again" in at_plan.messages()


def put(editor: Editor, kind: str, draft: str = "") -> str:
    """Ask a question of a running run; `_G.left` is its id after leaving."""
    run = Run(editor)
    editor.lua("require('tideate.run').leave = function(id) _G.left = id end")
    payload = {"files": PLAN["files"], "text": "# Plan\n", "runs": [], "revisable": True}
    ask(editor, kind, payload=payload, run=run.id, draft=draft)
    wait_focused(editor)
    return run.id


@pytest.mark.parametrize(("kind", "key"), [("gate", "<Esc>"), ("tool", "q"), ("override", "n")])
def test_a_confirmation_is_answered_no_at_once(editor: Editor, kind: str, key: str) -> None:
    put(editor, kind)
    choose(editor, 1)
    editor.feed(key)
    editor.wait("#_G.answers == 1")
    assert answers(editor) == [{"accepted": False}]
    assert editor.lua("return { #_G.choices, _G.left }") == [0]


@pytest.mark.parametrize(
    ("kind", "changed"),
    [("document", keys) for keys in ("", "eggdd:w<CR>", "eggdd:q<CR>", "Ggsshorter<CR>", "e:q<CR>d")]
    + [("plan", keys) for keys in ("", "x", "eGdd:w<CR>", "eGdd:q<CR>", "gsshorter<CR>", "xkx")],
)
def test_n_asks_only_where_something_was_changed(editor: Editor, kind: str, changed: str) -> None:
    put(editor, kind)
    choose(editor, 1)
    editor.feed(changed)
    wait_focused(editor)
    editor.feed("n")
    editor.wait("#_G.choices + #_G.answers == 1")
    if changed in {"", "e:q<CR>d", "xkx"}:
        assert answers(editor) == [{"accepted": False}]
        return
    assert answers(editor) == [], "back to it"
    choose(editor, 2)
    editor.feed("n")
    editor.wait("#_G.answers == 1")
    assert answers(editor) == [{"accepted": False}]


def test_n_asks_about_what_was_changed_before_the_plan_was_left(editor: Editor) -> None:
    draft = str(editor.cwd / "draft")
    put(editor, "plan", draft=draft)
    editor.feed("jxq")
    editor.wait("_G.left")
    put(editor, "plan", draft=draft)
    choose(editor, 1)
    editor.feed("n")
    editor.wait("#_G.choices == 1")
    assert answers(editor) == []


@pytest.mark.parametrize(
    ("kind", "way"),
    [(kind, ":q<CR>") for kind in ("gate", "tool", "override", "document", "plan", "compare")]
    + [("gate", ":tabnew<CR>:tabonly<CR>:Workflow<CR>:q<CR>")]
    + [(kind, "q") for kind in ("document", "plan", "compare")],
)
def test_leaving_the_question_of_a_run_answers_nothing(editor: Editor, kind: str, way: str) -> None:
    run = put(editor, kind)
    if kind in {"document", "plan", "compare"}:
        editor.feed("<Esc>")
    assert (editor.lua("return _G.left"), answers(editor)) == (None, [])
    for keys in way.replace("<CR>:", "<CR>|:").split("|"):
        editor.feed(keys)
    editor.wait("_G.left == ...", 60, run)
    assert answers(editor) == []
    assert editor.lua("return #require('tideate.ui').pending()") == 0


@pytest.mark.parametrize("key", ["q", ":q<CR>"])
def test_a_question_of_no_run_is_a_no_when_it_is_left(editor: Editor, key: str) -> None:
    ask(editor, "gate", run="")
    wait_focused(editor)
    editor.feed(key)
    editor.wait("#_G.answers == 1")
    assert answers(editor)[0]["accepted"] is False


def test_a_buffer_that_is_renamed_during_its_review_is_not_what_the_file_gets(nvim: Editor) -> None:
    nvim.command("buffer open.py | file renamed.py")
    nvim.command("Workflow review")
    in_review(nvim)
    nvim.feed("gAg<CR>")
    nvim.wait("not require('tideate').is_running()")
    assert files(nvim)["open.py"] == "B = 1\ntwo = 2\nthree = 3\n"
    assert nvim.lines(nvim.lua("return vim.fn.bufnr('renamed.py')")) == ["A = 1", "two = 2", "three = 3"]
