"""Mentions in the editor: completion, list with preview, context of a run."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.editor.test_command import complete
from tests.harness.runs import accept_all, configure, result, start

if TYPE_CHECKING:
    from tests.editor.conftest import FakeHost
    from tests.harness.editor import Editor
    from tests.harness.model_server import ModelServer

pytestmark = pytest.mark.slow

BUILT_IN = [
    *("@buffer", "@diagnostics", "@diff", "@file", "@last"),
    *("@run", "@selection", "@symbol", "@symbols", "@tree"),
]
FOUND = ["@file:src/deep/found.py", "@diff:src/deep/found.py"]
NAMES = "return require('tideate.mentions').complete('@')"
DIAGNOSE = """
local ns = vim.api.nvim_create_namespace('lint')
vim.diagnostic.set(ns, 0, {
  { lnum = 1, col = 2, severity = vim.diagnostic.severity.HINT, message = 'a hint' },
  { lnum = 0, col = 0, severity = vim.diagnostic.severity.ERROR, message = 'bad\\nthing', source = 'lint' },
  { lnum = 0, col = 0, severity = vim.diagnostic.severity.WARN, message = 'caf\\233' },
})"""


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
    assert complete(editor, "Workflow ask why @s") == ["@selection", "@symbol", "@symbols"]
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
    assert complete(editor, "Workflow ask @file:do") == ["@file:doc/", "@file:doc/guide.md"]
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


# -- fuzzy search -----------------------------------------------------------------------------------


def known(editor: Editor, *files: str, changed: tuple[str, ...] = ()) -> None:
    """Provide file names in place of the host's."""
    names = {"ok": True, "root": str(editor.cwd), "files": "".join(f"{one}\n" for one in files)}
    reply = {**names, "changed": list(changed)}
    editor.lua(
        """
        local client = require('tideate.client')
        local request, reply = client.request, ...
        client.request = function(method, params, done)
          if method ~= 'project_names' then return request(method, params, done) end
          done(reply)
        end
        require('tideate.project_files').refresh(require('tideate.context').folder())""",
        reply,
    )


def candidates(editor: Editor, word: str) -> list[str]:
    return list(editor.lua("return require('tideate.mentions').complete(...)", word))


def test_a_file_is_found_by_a_part_of_its_name(editor: Editor) -> None:
    known(editor, "src/core/parser.py", "docs/parsing.md", "src/core/a b.py", "src/pa/x/r/s/er.py")
    assert candidates(editor, "@parser")[0] == "@file:src/core/parser.py"
    assert candidates(editor, "@prsmd")[0] == "@file:docs/parsing.md"
    assert candidates(editor, "@file:core/p")[0] == "@file:src/core/parser.py"
    assert candidates(editor, "@symbols:PARSER")[0] == "@symbols:src/core/parser.py"
    assert candidates(editor, "@ab.py")[0] == '@file:"src/core/a b.py"'
    assert candidates(editor, "@zz") == []


def test_recently_used_files_come_first(editor: Editor) -> None:
    known(editor, *(f"src/mod{number}.py" for number in range(50)))
    assert candidates(editor, "@mod")[0] == "@file:src/mod0.py"
    editor.lua("require('tideate.project_files').learn(...)", str(editor.cwd), ["see @file:src/mod17.py:3-9"])
    assert candidates(editor, "@mod")[0] == "@file:src/mod17.py"
    editor.edit("src/mod31.py", "x = 1\n")
    assert candidates(editor, "@mod")[:2] == ["@file:src/mod31.py", "@file:src/mod17.py"]
    assert candidates(editor, "@")[-2:] == ["@file:src/mod31.py", "@file:src/mod17.py"]


def test_only_existing_files_count_as_recently_mentioned(editor: Editor) -> None:
    known(editor, "src/one.py")
    prompts = ["see @run:1a2b3c4d, @symbol:area, @file:gone.py and @file:src/one.py"]
    editor.lua("require('tideate.project_files').learn(...)", str(editor.cwd), prompts)
    assert [one for one in candidates(editor, "@") if ":" in one] == ["@file:src/one.py"]


def test_changed_files_and_windows_in_diff_mode_are_offered_as_diffs(editor: Editor) -> None:
    known(editor, "one.py", "two.py", changed=("two.py",))
    editor.edit("one.py", "x = 1\n")
    editor.command("diffthis")
    assert candidates(editor, "@diff:")[:2] == ["@diff:one.py", "@diff:two.py"]
    assert "@diff:two.py" in candidates(editor, "@two")


def test_runs_are_found_by_words_of_their_prompt(editor: Editor) -> None:
    run = {"execution_id": "1a2b3c4d5e", "prompt": "Why is the parser slow?\nTell me."}
    editor.lua("require('tideate.run_choice').know(...)", str(editor.cwd), [run])
    assert candidates(editor, "@slow") == ["@run:1a2b3c4d"]
    assert candidates(editor, "@run:parser") == ["@run:1a2b3c4d"]
    assert candidates(editor, "@run:1a") == ["@run:1a2b3c4d"]


def test_symbols_of_the_buffer_are_offered_as_mentions(editor: Editor) -> None:
    editor.edit("main.py", "def calculate():\n    return 1\n")
    editor.lua("require('tideate').run('ask', {})")
    assert "@symbol:calculate" in candidates(editor, "@clc")
    assert candidates(editor, "@symbol:calc") == ["@symbol:calculate"]


def test_the_host_sends_the_names_of_files(editor: Editor, server: ModelServer) -> None:
    configure(editor, server)
    subprocess.run(["git", "init", "-q"], cwd=editor.cwd, check=True)
    editor.write(".gitignore", "ignored.py\n")
    for name in ("ignored.py", "src/deep/found.py", "new\nline.py"):
        editor.write(name)
    editor.lua("require('tideate.client').request('list', {}, function() end)")
    editor.wait_for(lambda: candidates(editor, "@found") == FOUND, "the file and its change")
    assert candidates(editor, "@ignored") == []


# -- while a prompt is typed ------------------------------------------------------------------------


def menu(editor: Editor) -> list[str]:
    return [item["word"] for item in editor.lua("return vim.fn.complete_info({ 'items' }).items")]


def test_the_menu_opens_while_a_mention_is_typed_and_inserts_nothing_unasked(editor: Editor) -> None:
    known(editor, "src/core/parser.py", "src/core/printer.py")
    editor.lua("require('tideate').run('ask', {})")
    editor.feed("see @p")
    editor.wait_for(lambda: len(menu(editor)) == 2, "the menu")
    assert editor.lines() == ["see @p"]
    editor.feed("rin")
    editor.wait_for(lambda: menu(editor) == ["@file:src/core/printer.py"], "fewer of them")
    editor.feed("<Tab>, please")
    assert editor.lines() == ["see @file:src/core/printer.py, please"]


def test_the_users_completion_options_stay_theirs(editor: Editor) -> None:
    editor.command("set completeopt=menu,longest")
    editor.lua("require('tideate').run('ask', {})")
    editor.feed("see @se<Esc>q")
    assert editor.lua("return vim.o.completeopt") == "menu,longest"


def test_a_mention_that_resolves_to_nothing_is_underlined(editor: Editor, server: ModelServer) -> None:
    configure(editor, server)
    project(editor, Guide="doc/guide.md")
    editor.lua("require('tideate').run('ask', {})")
    editor.feed("see @Giude, @Guide and @file:gone.py.")

    def underlined() -> list[str]:
        return list(
            editor.lua("""
            local marks = vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true })
            local found = {}
            for _, mark in ipairs(marks) do
              if mark[4].hl_group == 'TideateUnresolved' then
                table.insert(found, vim.api.nvim_get_current_line():sub(mark[3] + 1, mark[4].end_col))
              end
            end
            return found""")
        )

    editor.wait_for(lambda: underlined() == ["@Giude", "@file:gone.py"], "both marks")
    editor.write("gone.py", "x = 1\n")
    editor.feed(" now")
    editor.wait_for(lambda: underlined() == ["@Giude"], "only the unknown name")


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
