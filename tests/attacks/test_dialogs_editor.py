"""Questions in a real Neovim with contents that hide, imitate or displace their subject."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.dialogs import HURRY, answers, ask, hurry, wait_focused
from tests.harness.hidden import HIDDEN, LONG, LOOKALIKES, original, tagged, taken, unseen
from tideate_core.engine.tools import described
from tideate_core.mcp.client import Tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness.editor import Editor

pytestmark = [pytest.mark.bulk, pytest.mark.attack, pytest.mark.slow]

ALL = HIDDEN | LOOKALIKES
SHOWN = """
local shown = {}
for _, win in ipairs(vim.api.nvim_list_wins()) do
  local buf = vim.api.nvim_win_get_buf(win)
  vim.list_extend(shown, vim.api.nvim_buf_get_lines(buf, 0, -1, true))
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, -1, 0, -1, { details = true })) do
    for _, line in ipairs(mark[4].virt_lines or {}) do
      table.insert(shown, table.concat(vim.tbl_map(function(chunk) return chunk[1] end, line)))
    end
  end
end
return table.concat(shown, '\\n')
"""
"""The text of all windows, with the lines that are drawn over them."""
RESET = """
require('tideate.ui').close()
vim.cmd('silent! tabonly!')
vim.cmd('silent! only!')
vim.cmd('enew!')
vim.cmd('silent! %bwipeout!')
_G.answers = {}
"""


@pytest.fixture
def editor(nvim: Editor) -> Iterator[Editor]:
    """The shared Neovim, emptied and in normal mode."""
    nvim.nvim.input("<C-\\><C-n>")
    nvim.lua(RESET)
    hurry(nvim)
    yield nvim
    assert not (nvim.cwd / "owned").exists(), "something of the text was carried out"


def put(editor: Editor, kind: str, **question: Any) -> None:
    """Ask a question and wait until keys answer it."""
    ask(editor, kind, **question)
    wait_focused(editor)
    editor.lua(HURRY)


def arguments(given: dict[str, Any], description: str = "It writes.") -> str:
    return described(Tool("files", "write", description), given)


def reviewed(path: str = "a.py", **file: Any) -> dict[str, Any]:
    shape = {"path": path, "action": "modify", "before": "a = 1", "filetype": "", **file}
    return {"files": [shape], "demonstration": False}


LINES = "\n".join(tagged(name, text) for name, text in ALL.items() if name != "half a pair")
ADDED = {"start": 0, "old": ["a = 1"], "new": LINES.split("\n")}
PLANNED = [
    {"path": tagged(name, text), "action": "create", "why": ""}
    for name, text in ALL.items()
    if name != "half a pair"
]
SURFACES: dict[str, tuple[str, dict[str, Any], str]] = {
    "message": ("gate", {"message": LINES}, ""),
    "details": ("gate", {"details": LINES + "\n" * 40}, "d"),
    "details of a tool": ("tool", {"details": LINES}, ""),
    "document": ("document", {"payload": {"text": LINES, "filetype": "markdown"}}, ""),
    "problem of a document": ("document", {"payload": {"text": "", "problems": LINES.split("\n")}}, ""),
    "names of a plan": ("plan", {"payload": {"files": PLANNED}}, ""),
    "plan as text": ("plan", {"payload": {"files": PLANNED}}, "e"),
    "reasons of a plan": (
        "plan",
        {
            "payload": {
                "files": [
                    {**file, "path": f"{number}.py", "why": file["path"]}
                    for number, file in enumerate(PLANNED)
                ]
            }
        },
        "e",
    ),
    "new file": ("review", {"payload": reviewed(action="create", hunks=[{**ADDED, "old": []}])}, ""),
    "file that is deleted": ("review", {"payload": reviewed(action="delete", before=LINES, hunks=[])}, ""),
    "hunk": ("review", {"payload": reviewed(hunks=[ADDED])}, "gp"),
}


@pytest.fixture(scope="module")
def surfaces(nvim: Editor) -> dict[str, str]:
    """The screens of Neovim for all texts, by place."""
    found = {}
    for name, (kind, question, keys) in SURFACES.items():
        nvim.lua(RESET)
        put(nvim, kind, **question)
        nvim.feed(keys)
        found[name] = str(nvim.lua(SHOWN))
    return found


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("name", [name for name in ALL if name != "half a pair"])
def test_nothing_that_is_asked_about_is_hidden(surfaces: dict[str, str], surface: str, name: str) -> None:
    text = taken(name, surfaces[surface])
    assert not unseen(text)
    assert ALL[name] not in text
    assert original(text) == ALL[name]


def test_bytes_that_are_no_text_are_shown(editor: Editor) -> None:
    editor.lua("_G.text = 'a\\xed\\xa0\\x80b\\xff\\xc0\\x80c\\xf5'")
    editor.lua("""
      require('tideate.ui').confirm('x', { execution_id = ('0'):rep(32), workflow = 'w', step = 's',
        kind = 'gate', message = _G.text, details = _G.text }, function() end, error)""")
    shown = r"a\ud800b\xff\xc0\x80c\xf5"
    assert editor.lua(SHOWN).count(shown) == 2


@pytest.mark.parametrize(
    "name", ["\x1b[2J", *HIDDEN.values(), *LOOKALIKES.values(), "a -> b", 'a"b', "a\\nb", "# a", "a — b"]
)
def test_the_names_that_are_agreed_to_are_those_that_were_planned(editor: Editor, name: str) -> None:
    if "\ud800" in name:
        name = name.replace("\ud800", "\udcff")  # a byte that is no text
    files = [{"path": name, "action": "move", "move_to": f"{name}x", "why": ""}]
    put(editor, "plan", payload={"files": files})
    editor.feed("e")
    editor.feed("<CR>")
    editor.feed("y")
    ((answer),) = answers(editor)
    sent = [(file["path"], file["move_to"]) for file in answer["value"]["files"]]
    assert sent == [(name, f"{name}x")]


# -- what Neovim would carry out --------------------------------------------------------------------

EXPRESSIONS = [
    "%{writefile([], 'owned')}",
    "%{%writefile([], 'owned')%}",
    "%!writefile([], 'owned')",
    "%@writefile@x%X",
    "%#ErrorMsg#x%*",
    "%<%=%l",
    "`touch owned`",
    "$(touch owned)",
    "<C-r>=writefile([], 'owned')<CR>",
    "| call writefile([], 'owned')",
    "'..writefile([], 'owned')..'",
    "%a%d(.-)%1",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize("surface", ["path", "title", "message", "statusline", "notice"])
def test_an_expression_is_shown_and_not_carried_out(editor: Editor, surface: str, text: str) -> None:
    editor.command("set title titlestring& laststatus=2 statusline&")
    if surface == "path":
        put(editor, "review", payload=reviewed(text, hunks=[{"start": 0, "old": ["a = 1"], "new": ["b"]}]))
    elif surface == "title":
        editor.lua(
            """require('tideate.ui').confirm('x', { execution_id = ('0'):rep(32), workflow = ..., step = ...,
            kind = 'gate', message = 'm' }, function() end, error)""",
            text,
        )
    elif surface == "message":
        put(editor, "gate", message=text, details=text)
    elif surface == "statusline":
        value = editor.lua("return require('tideate.ui.text').bar({ { ... } })", text)
        editor.lua("vim.wo.statusline = ...", value)
    else:
        editor.lua("require('tideate.ui').notify(...)", text)
    assert any(text in line for line in editor.wait_screen(text)), text


@pytest.mark.parametrize(
    "filetype",
    [
        "markdown | call writefile([], 'owned')",
        "lua\ncall writefile([], 'owned')",
        "../../../owned",
        "x'",
        "a b",
        "*",
    ],
)
@pytest.mark.parametrize("kind", ["document", "new file"])
def test_a_filetype_is_a_word(editor: Editor, kind: str, filetype: str) -> None:
    if kind == "document":
        put(editor, "document", payload={"text": "rm", "filetype": filetype})
        editor.feed("e")
    else:
        hunk = {"start": 0, "old": [], "new": ["rm"]}
        put(editor, "review", payload=reviewed("x", action="create", filetype=filetype, hunks=[hunk]))
    assert "rm" in editor.lines()
    assert editor.lua("return vim.bo.filetype .. vim.bo.syntax") in ("", "markdown", "markdownmarkdown")


MODELINES = [
    "# vim: set foldmethod=expr foldexpr=writefile([],'owned') :",
    "# vim: set modifiable nowrap conceallevel=3 :",
    "/* vim: set statusline=%{writefile([],'owned')} ft=lua : */",
    "# ex: set indentexpr=writefile([],'owned'):",
    "# vim9script: sign",
]


@pytest.mark.parametrize("surface", ["details", "document", "edit", "new file", "preview"])
@pytest.mark.parametrize("line", MODELINES)
def test_a_modeline_is_a_line(editor: Editor, surface: str, line: str) -> None:
    editor.command("set modeline modelineexpr modelines=5")
    if surface == "new file":
        put(
            editor,
            "review",
            payload=reviewed(action="create", hunks=[{"start": 0, "old": [], "new": [line]}]),
        )
    elif surface == "details":
        put(editor, "gate", details=line)
    elif surface == "preview":
        editor.lua("require('tideate.ui.questions.preview').open('x', ..., 'markdown')", line)
    else:
        put(editor, "document", payload={"text": line})
        editor.feed("e" if surface == "edit" else "")
    assert any(line in one for one in editor.lines())
    options = (
        "return { vim.wo.foldmethod, vim.wo.wrap, vim.wo.conceallevel, vim.bo.indentexpr,"
        " vim.wo.statusline:find('writefile') }"
    )
    assert editor.lua(options) == ["manual", True, 0, ""]


@pytest.mark.parametrize(
    "info", ["../../../evil", "/tmp/evil", 'lua"..', "evil.so", "{.evil}", "vim", "query"]
)
def test_a_fence_loads_no_program(editor: Editor, info: str) -> None:
    """A fence's language is looked up among installed parsers only, never in the project."""
    for folder in (editor.cwd, editor.cwd / "parser", editor.home):
        folder.mkdir(exist_ok=True)
        (folder / "evil.so").write_bytes(b"no library")
    editor.lua("""_G.loaded = {}
      if not _G.add then
        _G.add = vim._ts_add_language_from_object
        vim._ts_add_language_from_object = function(path, ...)
          table.insert(_G.loaded, path)
          return _G.add(path, ...)
        end
      end""")
    put(editor, "gate", details=f"text\n\n```{info}\nrm\n```\n")
    assert "```" in editor.lua(SHOWN)
    assert not [path for path in editor.lua("return _G.loaded") if "evil" in path]


# -- what a person's own settings would hide ----------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        ("foldmethod=marker foldlevel=0", "harmless {{{\nrm -rf ~\n}}}"),
        ("foldmethod=indent foldlevel=0", "harmless\n    rm -rf ~\n    rm"),
        ("foldmethod=syntax foldlevel=0", "harmless\n{\nrm -rf ~\n}"),
        ("nowrap", "x" * 300 + "rm -rf ~"),
        ("conceallevel=3", "[docs](rm -rf ~)"),
    ],
)
@pytest.mark.parametrize("surface", ["new file", "deleted", "details", "document"])
def test_no_setting_hides_a_part(editor: Editor, surface: str, setting: str, line: str) -> None:
    editor.command(f"set {setting}")
    try:
        if surface == "new file":
            hunk = {"start": 0, "old": [], "new": line.split("\n")}
            put(
                editor, "review", payload=reviewed("a.md", action="create", filetype="markdown", hunks=[hunk])
            )
        elif surface == "deleted":
            put(
                editor,
                "review",
                payload=reviewed("a.md", action="delete", before=line, filetype="markdown", hunks=[]),
            )
        elif surface == "document":
            put(editor, "document", payload={"text": line})
        else:
            put(editor, "gate", details=line)
        assert "rm -rf ~" in "".join(row.strip("│ ") for row in editor.wait_screen("rm -rf ~"[:2]))
        assert editor.lua("return vim.fn.foldclosed(vim.fn.search('rm', 'cnw'))") == -1
    finally:
        editor.command("set foldmethod& foldlevel& wrap& conceallevel&")


def test_the_windows_of_the_person_have_their_own_settings_back(editor: Editor) -> None:
    editor.command("set nowrap foldmethod=marker conceallevel=2")
    editor.edit("own.txt", "mine\n")
    put(
        editor,
        "review",
        payload=reviewed("a.md", action="create", hunks=[{"start": 0, "old": [], "new": ["x"]}]),
    )
    editor.feed("q")
    options = "return { vim.wo.wrap, vim.wo.foldenable, vim.wo.conceallevel, vim.wo.foldmethod }"
    assert editor.lua(options) == [False, True, 2, "marker"]
    editor.command("set foldmethod& wrap& conceallevel&")


# -- length ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surface", ["message", "details", "argument", "document", "hunk", "new file"])
@pytest.mark.parametrize("length", LONG)
def test_the_end_of_a_long_text_can_be_read(editor: Editor, surface: str, length: str) -> None:
    text = LONG[length]
    hunk = {"start": 0, "old": ["a = 1"], "new": text.split("\n")}
    surfaces: dict[str, tuple[str, dict[str, Any], str]] = {
        "message": ("gate", {"message": text}, "G"),
        "details": ("gate", {"details": text}, "G"),
        "argument": ("tool", {"details": arguments({"command": text})}, "G"),
        "document": ("document", {"payload": {"text": text}}, "G"),
        "hunk": ("review", {"payload": reviewed(hunks=[hunk])}, "gp<C-w>lG$"),
        "new file": ("review", {"payload": reviewed(action="create", hunks=[{**hunk, "old": []}])}, "G$"),
    }
    kind, question, keys = surfaces[surface]
    put(editor, kind, **question)
    if surface == "details" and "rm -rf" not in editor.lua(SHOWN):
        editor.feed("d")
    editor.feed(keys)
    assert any("rm -rf ~" in row for row in editor.wait_screen("rm -rf ~"))


def test_what_lies_below_the_edge_is_counted(editor: Editor) -> None:
    put(editor, "tool", details=arguments({str(number): number for number in range(100)}))
    rows = editor.wait_screen("▼ ")
    (footer,) = [row for row in rows if "▼" in row]
    assert "more, <C-D>" in footer
    assert "y yes" in footer
    left = int(footer.split("▼ ")[1].split(" ")[0])
    assert left == len(editor.lines()) - editor.lua("return vim.fn.line('w$')")
    editor.feed("G")
    editor.wait_screen('"99": 99')
    editor.wait_screen_without("▼")


def test_how_much_of_ten_megabytes_is_left_out_is_said_and_all_of_it_can_be_read(editor: Editor) -> None:
    text = arguments({"text": "x" * 10_000_000 + "; rm -rf ~"})
    put(editor, "tool", details=text)
    editor.feed("G")
    editor.wait_screen("more lines with 9,6")
    editor.feed("d")
    shown = "".join(line.removeprefix("↪ ") for line in editor.lines())
    assert "x" * 10_000_000 + "; rm -rf ~" in shown
    editor.feed("Gq")
    editor.feed("n")
    assert [one["accepted"] for one in answers(editor)] == [False]


def test_a_long_added_line_goes_on_below_and_says_what_it_leaves_out(editor: Editor) -> None:
    line = "a = 1" + " " * 300 + "; import os"
    hunk = {"start": 0, "old": ["a = 1"], "new": [line, "y" * 5000]}
    put(editor, "review", payload=reviewed(hunks=[hunk]))
    shown = "\n".join(editor.wait_screen("; import os"))
    assert "↪" in shown
    editor.wait_screen("more")
    assert "… 3,000 more characters: gp shows all" in editor.lua(SHOWN) or "more lines: gp shows all" in shown


@pytest.mark.parametrize(
    "path", ["src/" + "a" * 150 + "/.git/hooks/pre-commit", "a" + " " * 300 + "b.py", "d/" * 90 + "x"]
)
def test_no_part_of_a_planned_path_is_cut_off(editor: Editor, path: str) -> None:
    put(editor, "plan", payload={"files": [{"path": path, "action": "create", "why": "why"}, *PLANNED[:2]]})
    shown = "".join(
        line[5:].removesuffix("why").rstrip() if "b.py" not in line else line[5:]
        for line in editor.lines()[3:]
    )
    assert path.replace(" ", "") in shown.replace(" ", "")
    editor.feed("x")
    assert "2 files, 1 taken out" in editor.lua(SHOWN)


# -- imitation, and answers that were meant for something else ----------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "y yes  n no  ? help",
        "╰─ y yes ─ n no ─╯\n\n╭ tideate ╮\nfine",
        "\n" * 30 + "Go on with reading a file?",
        "✓ approved already",
    ],
)
def test_the_keys_stand_on_the_border_where_no_text_comes(editor: Editor, text: str) -> None:
    put(editor, "gate", message=text + "\nend", details=text)
    footer = "".join(chunk[0] for chunk in editor.lua("return vim.api.nvim_win_get_config(0).footer"))
    assert "y yes" in footer
    assert "n no" in footer
    assert all(line == "" or line.startswith(" ") for line in editor.lines())


def test_keys_typed_before_a_question_answer_nothing(editor: Editor) -> None:
    editor.nvim.input("yyyy")
    put(editor, "gate")
    assert answers(editor) == []


@pytest.mark.parametrize("key", ["y", "<CR>", "n", "q", "<Esc>"])
def test_keys_that_were_on_their_way_answer_nothing(editor: Editor, key: str) -> None:
    editor.lua("require('tideate.ui.questions.key_guard').limits = { settle = 60000 }")
    ask(editor, "gate")
    editor.wait("require('tideate.ui').pending()[1].focused")
    editor.feed(key)
    assert answers(editor) == []


def test_the_second_question_waits_for_the_first_and_takes_none_of_its_keys(editor: Editor) -> None:
    editor.lua("require('tideate.ui.questions.key_guard').limits = { settle = 60000 }")
    for message in ("first", "second"):
        ask(editor, "gate", message=message)
    assert "second" not in editor.lua(SHOWN)
    editor.lua("require('tideate.ui').focus()")
    editor.nvim.input("yyyy")
    editor.settle()
    editor.wait_for(lambda: "second" in editor.lua(SHOWN), "the second question")
    editor.feed("y")
    assert [one["accepted"] for one in answers(editor)] == [True]


@pytest.mark.parametrize("kind", ["gate", "tool", "plan", "document"])
def test_a_question_that_takes_the_place_of_another_takes_no_key_of_it(editor: Editor, kind: str) -> None:
    first = ask(editor, "gate", message="first")
    wait_focused(editor)
    editor.lua("require('tideate.ui.questions.key_guard').limits = { settle = 60000 }")
    payload = {"text": "t", "files": [{"path": "a", "action": "create", "why": ""}]}
    ask(editor, kind, message="second", payload=payload)
    editor.lua("require('tideate.ui').withdraw(...)", first)
    editor.nvim.input("<CR>")
    editor.settle()
    editor.wait("require('tideate.ui').pending()[1].focused")
    editor.feed("y")
    assert answers(editor) == []


@pytest.mark.parametrize("name", ["a\n## b\n- nothing at all", "x\n```\n", "\u202egol.py", "`rm`"])
def test_names_of_what_is_trusted_stay_on_their_line(editor: Editor, name: str) -> None:
    item = {"kind": "file", "name": name, "effects": [f"run {name}"], "trusted": False, "changes": ""}
    shown = editor.lua(
        "return require('tideate.trust').details(...)", {"root": "/", "token": "", "items": [item]}
    )
    assert len(shown.splitlines()) == 4, shown
    assert not unseen(shown.replace("\n", ""))


def test_a_hunk_with_line_ends_in_its_lines_shows_them(editor: Editor) -> None:
    new = ["a\n@@ line 1: -1 +1 @@\n+safe", "b\rc"]
    put(editor, "review", payload=reviewed(hunks=[{"start": 0, "old": ["a = 1"], "new": new}]))
    editor.feed("gp<C-w>l")
    assert editor.lines() == [r"a\n@@ line 1: -1 +1 @@\n+safe", r"b\rc"]


def test_json_of_arguments_is_what_the_tool_gets(editor: Editor) -> None:
    given = {"path": "\u202eyp.exe", "text": "```\n# done\n```\n" + "\u200b" * 3, "n": 1.5, "x": None}
    put(editor, "tool", details=arguments(given))
    shown = "\n".join(line[1:] for line in editor.lines())
    assert json.loads(shown.partition("json\n")[2].partition("\n````")[0]) == given
