"""Mentions in the editor: completion, list with preview, context of a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.runs import accept_all, configure, result, start

if TYPE_CHECKING:
    from tests.editor.conftest import FakeHost
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

BUILT_IN = ["@buffer", "@diagnostics", "@diff", "@file", "@last", "@run", "@selection", "@symbols", "@tree"]
NAMES = "return require('tideate.mentions').complete('@')"
DIAGNOSE = """
local ns = vim.api.nvim_create_namespace('lint')
vim.diagnostic.set(ns, 0, {
  { lnum = 1, col = 2, severity = vim.diagnostic.severity.HINT, message = 'a hint' },
  { lnum = 0, col = 0, severity = vim.diagnostic.severity.ERROR, message = 'bad\\nthing', source = 'lint' },
  { lnum = 0, col = 0, severity = vim.diagnostic.severity.WARN, message = 'caf\\233' },
})"""


def complete(editor: Editor, line: str) -> list[str]:
    return list(editor.lua("return vim.fn.getcompletion(..., 'cmdline')", line))


def project(editor: Editor, **mappings: Any) -> None:
    (editor.cwd / ".tideate").mkdir(exist_ok=True)
    (editor.cwd / "doc").mkdir(exist_ok=True)
    editor.write("doc/guide.md", "# Guide\nBe brief.\n")
    names = {f"@{name}": value for name, value in mappings.items()}
    file = editor.cwd / ".tideate" / "context.json"
    file.write_text(json.dumps({"version": "1.0.0", "mappings": names}))


def started(editor: Editor, *names: str) -> None:
    """Start the host and wait for its list of mentions."""
    editor.lua("require('tideate.client').request('list', {}, function() end)")
    editor.wait_for(lambda: set(names) <= set(editor.lua(NAMES)), f"the mentions {names}")


def floats(editor: Editor) -> list[list[str]]:
    """Return the lines of all floats, the list first."""
    return list(
        editor.lua("""
        local found = {}
        for _, win in ipairs(vim.api.nvim_list_wins()) do
          if vim.api.nvim_win_get_config(win).relative ~= '' then
            table.insert(found, { vim.api.nvim_win_get_config(win).zindex,
              vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, true) })
          end
        end
        table.sort(found, function(a, b) return a[1] > b[1] end)
        return vim.tbl_map(function(one) return one[2] end, found)""")
    )


def preview(editor: Editor, words: str) -> list[str]:
    def look() -> list[str]:
        found = floats(editor)
        return found[1] if len(found) == 2 and words in "\n".join(found[1]) else []

    lines: list[str] = editor.wait_for(look, f"a preview with {words!r}")
    return lines


# -- completion -------------------------------------------------------------------------------------


def test_the_built_in_ones_are_completed_before_there_is_a_host(editor: Editor) -> None:
    assert complete(editor, "Workflow ask why @") == BUILT_IN
    assert complete(editor, "Workflow ask why @s") == ["@selection", "@symbols"]
    assert editor.lua("return require('tideate.host').state()") != "ready"


def test_runs_are_completed_by_their_ids(editor: Editor) -> None:
    for run in ("1a2b3c4d5e", "77aa77aa77"):
        editor.lua(
            f"require('tideate.state').begin({{ execution_id = '{run}', name = 'ask', asked = 'ask' }})"
        )
    assert complete(editor, "Workflow ask like @run:1a") == ["@run:1a2b3c4d"]


def test_the_projects_own_come_first_once_the_host_sent_them(editor: Editor) -> None:
    project(editor, Guide="doc/guide.md", Voice={"text": "x"})
    started(editor, "@Guide")
    assert complete(editor, "Workflow ask why @") == ["@Guide", "@Voice", *BUILT_IN]
    assert complete(editor, "Workflow refactor @G") == ["@Guide"]


def test_completion_never_asks_the_host(faked: Editor, fake_host: FakeHost) -> None:
    faked.lua("require('tideate.client').request('list', {}, function() end)")
    faked.wait_for(lambda: fake_host.heard("contexts"), "the first question")
    before = len(fake_host.heard())
    complete(faked, "Workflow ask why @")
    complete(faked, "Workflow ask why @file:")
    assert len(fake_host.heard()) == before


def test_saving_the_file_renews_the_list(editor: Editor) -> None:
    project(editor, Guide="doc/guide.md")
    started(editor, "@Guide")
    editor.edit(".tideate/context.json")
    editor.command("%s/@Guide/@Manual/")
    editor.command("write")
    editor.wait_for(lambda: "@Manual" in editor.lua(NAMES), "the new name")
    assert "@Guide" not in editor.lua(NAMES)


def test_another_projects_names_are_not_offered(editor: Editor) -> None:
    project(editor, Guide="doc/guide.md")
    started(editor, "@Guide")
    other = editor.home / "other"
    other.mkdir()
    editor.edit(other / "x.py", "x = 1\n")
    assert editor.lua(NAMES) == BUILT_IN


def test_paths_are_completed_from_the_projects_root(editor: Editor) -> None:
    project(editor, Guide="doc/guide.md")
    editor.write("a b.txt")
    (editor.cwd / "doc" / "deep").mkdir()
    started(editor, "@Guide")
    assert complete(editor, "Workflow ask @file:do") == ["@file:doc/"]
    editor.command("cd doc")
    assert complete(editor, "Workflow ask @file:doc/") == ["@file:doc/deep/", "@file:doc/guide.md"]
    assert complete(editor, "Workflow ask @tree:doc/") == ["@tree:doc/deep/"]
    assert editor.lua("return require('tideate.mentions').complete('@file:a')") == ['@file:"a b.txt"']
    assert complete(editor, "Workflow ask @Guide:do") == []


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("@Gu", "@Guide"),
        ("see @Gu", "see @Guide"),
        ("(@Gu", "(@Guide"),
        ("me@Gu", "me@Gu"),
        ("@Guide and @Gu", "@Guide and @Guide"),
    ],
)
def test_of_a_prompt_only_the_last_word_is_completed(editor: Editor, typed: str, completed: str) -> None:
    result = {"root": str(editor.cwd), "mentions": [{"mention": "@Guide", "built_in": False}]}
    editor.lua("require('tideate').run('ask', {})")
    editor.lua("require('tideate.mentions').set_host_mentions(...)", result)
    editor.feed(f"{typed}<Tab>")
    assert editor.lines() == [completed]


# -- the list ---------------------------------------------------------------------------------------


def test_the_list_shows_every_mention_and_what_it_brings(screen_editor: Editor) -> None:
    editor = screen_editor
    project(editor, Guide="doc/guide.md", Gone="doc/giude.md", Env=".env")
    editor.write(".env", "PASSWORD=hunter2\n")
    editor.edit("src/main.py", "x = 1\n")
    editor.set_lines(["typed = 2"])
    editor.command("Workflow context")
    text = "\n".join(preview(editor, "Be brief."))
    assert "@Guide  doc/guide.md" in text
    names = floats(editor)[0]
    assert [line.split()[0] for line in names] == ["@Guide", "@Gone", "@Env", *BUILT_IN]
    assert "does not exist" in names[1]
    editor.feed("j")
    assert "did you mean 'doc/guide.md'" in "\n".join(preview(editor, "does not exist"))
    editor.feed("j")
    assert "hunter2" not in "\n".join(preview(editor, "asked about before it is given"))
    editor.feed("j")
    preview(editor, "typed = 2")
    editor.feed("y")
    assert editor.lua("return vim.fn.getreg('\"')") == "@buffer"
    editor.feed("q")
    assert floats(editor) == []


def test_leaving_the_list_closes_both_windows(editor: Editor) -> None:
    project(editor, Guide="doc/guide.md")
    editor.command("Workflow context")
    preview(editor, "Be brief.")
    editor.command("wincmd t")
    editor.wait("#vim.api.nvim_list_wins() == 1")


def test_a_malformed_file_is_told(editor: Editor) -> None:
    project(editor)
    editor.write(".tideate/context.json", "{")
    editor.lua("_G.told = {} vim.notify = function(message) table.insert(_G.told, message) end")
    editor.command("Workflow context")
    told = editor.wait_for(lambda: editor.lua("return _G.told"), "a message")
    assert ".tideate/context.json:1:2: not valid JSON" in told[0]
    assert floats(editor) == []


def test_hostile_texts_show_as_they_are(editor: Editor) -> None:
    project(editor, Odd="odd.txt")
    (editor.cwd / "odd.txt").write_bytes(b"one\r\n\x1b[31mred\x07\n")
    editor.command("Workflow context")
    assert preview(editor, "red")[-2:] == [r"\x1b[31mred\x07", ""]


# -- runs -------------------------------------------------------------------------------------------


def test_a_run_is_given_what_its_prompt_mentions(editor: Editor, server: ModelServer) -> None:
    project(editor, Guide="doc/guide.md")
    configure(editor, server)
    server.answers("", "fine")
    editor.edit("main.py", "one = 1\ntwo = 2\n")
    editor.set_lines(["one = 3", "two = 2"])
    editor.lua(DIAGNOSE)
    editor.edit("doc/guide.md")
    editor.set_lines(["not saved"])
    editor.command("buffer main.py")
    editor.lua("require('tideate.context').visual = function() return { start = 1, ['end'] = 1 } end")
    start(editor, "ask", "see @Guide @buffer @selection @diagnostics @Giude")
    assert result(editor)["ok"]
    sent = server.requests[0]["messages"][-1]["content"]
    assert "### @Guide (doc/guide.md, not saved yet)\n\n```markdown\nnot saved\n```" in sent
    assert "### @buffer (main.py)\n\n```python\none = 3\ntwo = 2\n```" in sent
    assert "### @selection (main.py, lines 1-1)\n\n```python\none = 3\n```" in sent
    assert "1:1: error: bad thing [lint]\n1:1: warning: caf<e9>\n2:3: hint: a hint" in sent


def test_a_secret_is_asked_about_in_the_editor(editor: Editor, server: ModelServer) -> None:
    project(editor)
    editor.write(".env", "PASSWORD=hunter2\n")
    configure(editor, server)
    server.answers("", "fine")
    accept_all(editor)
    start(editor, "ask", "see @file:.env")
    assert result(editor)["ok"]
    assert editor.lua("return _G.kinds") == ["gate"]
    assert "hunter2" in server.requests[0]["messages"][-1]["content"]
    accept_all(editor, "gate")
    start(editor, "ask", "see @file:.env again")
    assert result(editor)["ok"]
    assert "hunter2" not in server.requests[1]["messages"][-1]["content"]
