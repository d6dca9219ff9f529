"""Edits of buffers: exact, atomic, one undo block, marks and cursor in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tideate_core.workspace import apply_hunks, diff_lines

if TYPE_CHECKING:
    from tests.harness.editor import Editor

LINES = [f"line {number:03}" for number in range(1, 101)]


def hunk(start: int, old: list[str], new: list[str]) -> dict[str, Any]:
    return {"start": start, "old": old, "new": new}


def edit_of(editor: Editor, hunks: list[dict[str, Any]], number: int | None = None) -> dict[str, Any]:
    number = number or int(editor.lua("return vim.api.nvim_get_current_buf()"))
    tick = editor.lua("return vim.api.nvim_buf_get_changedtick(...)", number)
    return {"number": number, "tick": tick, "hunks": hunks}


def replace(editor: Editor, *edits: dict[str, Any]) -> dict[str, Any]:
    """Return `{'result': …}` or `{'error': …}`, like the answer to the engine."""
    code = "local r, e = require('tideate.edit').buffer_replace(...) return {result = r, error = e}"
    return dict(editor.lua(code, {"edits": list(edits)}))


def call(editor: Editor, name: str, params: dict[str, Any]) -> Any:
    return editor.lua("local name, params = ... return (require('tideate.edit')[name](params))", name, params)


CASES = {
    "insertion at line 0": (["a", "b"], ["new", "a", "b"]),
    "insertion after the last line": (["a", "b"], ["a", "b", "new", "more"]),
    "into an empty buffer": ([""], ["a", "b"]),
    "an empty line before an empty buffer's": ([""], ["", ""]),
    "all lines replaced": (["a", "b", "c"], ["x", "y"]),
    "all lines removed": (["a", "b"], [""]),
    "the last line removed": (["a", "b"], ["a"]),
    "the last line grows": (["a", "b"], ["a", "b1", "b2"]),
    "the first line removed": (["a", "b"], ["b"]),
    "several places": (["a", "b", "c", "d", "e"], ["A", "b", "d", "x", "e", "f"]),
    "umlauts that share a byte": (["schön"], ["schäl"]),
    "an emoji between": (["a😀b", "c"], ["a😁b", "c", "d"]),
    "carriage returns in lines": (["a\r", "b\r"], ["a\r", "x\r", "b\r"]),
    "trailing blanks only": (["a ", "b"], ["a", "b"]),
    "a NUL byte": (["a\0b"], ["a\0c", "d\0"]),
    "repeated lines": (["x", "x", "x"], ["x", "x"]),
    "a line that becomes the start of the next": (["aa", "aaa"], ["aaa"]),
}


def test_hunks_give_exactly_the_new_lines_and_one_undo_takes_them_back(editor: Editor) -> None:
    for name, (old, new) in CASES.items():
        editor.command("enew!")
        editor.set_lines(old)
        hunks = [one.as_json() for one in diff_lines(old, new)]
        assert replace(editor, edit_of(editor, hunks))["result"] == {"applied": True}, name
        assert editor.lines() == new, name
        editor.command("undo")
        assert editor.lines() == old, name


def test_many_hunks_agree_with_the_engine(editor: Editor) -> None:
    new = [line for number, line in enumerate(LINES) if number % 7] + ["tail"]
    new[3:3] = ["inserted", ""]
    new[50] += " changed"
    hunks = diff_lines(LINES, new)
    editor.set_lines(LINES)
    replace(editor, edit_of(editor, [one.as_json() for one in hunks]))
    assert editor.lines() == new == apply_hunks(LINES, hunks)


def test_the_edit_does_not_merge_with_what_is_being_typed(editor: Editor) -> None:
    editor.set_lines(["one", "two"])
    editor.feed("Otyped")
    replace(editor, edit_of(editor, [hunk(2, ["two"], ["TWO"])]))
    editor.feed("more<Esc>")
    assert editor.lines() == ["typedmore", "one", "TWO"]
    editor.command("undo")
    assert editor.lines() == ["typed", "one", "TWO"]
    editor.command("undo")
    assert editor.lines() == ["typed", "one", "two"]


def test_cursor_view_marks_and_extmarks_stay_on_their_text(editor: Editor) -> None:
    editor.set_lines(LINES)
    editor.command("split")
    editor.lua("""
      for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
        vim.api.nvim_win_call(win, function() vim.fn.winrestview({topline = 48, lnum = 50, col = 6}) end)
      end
      vim.cmd('50mark a | 30mark b | 10mark C')
      ns = vim.api.nvim_create_namespace('test')
      inside = vim.api.nvim_buf_set_extmark(0, ns, 49, 5, {})
      outside = vim.api.nvim_buf_set_extmark(0, ns, 59, 2, {})
    """)
    hunks = [
        hunk(4, [], ["x", "y"]),
        hunk(9, ["line 010"], ["line 010!"]),
        hunk(19, ["line 020"], []),
        hunk(49, ["line 050"], ["line 050 grew", "and grew"]),
    ]
    replace(editor, edit_of(editor, hunks))
    rows = editor.lua("""
      local function view(win) return vim.api.nvim_win_call(win, function()
        local v = vim.fn.winsaveview() return {v.topline, v.lnum, v.col} end) end
      local wins = vim.api.nvim_tabpage_list_wins(0)
      local buffer_views = vim.api.nvim_create_namespace('tideate.buffer_views')
      return {
        views = {view(wins[1]), view(wins[2])},
        marks = {vim.api.nvim_buf_get_mark(0, 'a')[1], vim.api.nvim_buf_get_mark(0, 'b')[1],
                 vim.api.nvim_buf_get_mark(0, 'C')[1]},
        inside = vim.api.nvim_buf_get_extmark_by_id(0, ns, inside, {}),
        outside = vim.api.nvim_buf_get_extmark_by_id(0, ns, outside, {}),
        left = #vim.api.nvim_buf_get_extmarks(0, buffer_views, 0, -1, {}),
      }
    """)
    assert rows["views"] == [[49, 51, 6], [49, 51, 6]]
    assert rows["marks"] == [51, 31, 12]
    assert rows["inside"] == [50, 5]
    assert rows["outside"] == [61, 2]
    assert rows["left"] == 0


def two_edits(editor: Editor) -> tuple[int, int, list[dict[str, Any]]]:
    """Return two buffers and an edit of each; the second buffer is shown."""
    first = editor.edit("a.txt", "one\n")
    second = editor.edit("b.txt", "two\n")
    changes = [hunk(0, ["one"], ["ONE"]), hunk(1, [], ["more"])]
    return (
        first,
        second,
        [edit_of(editor, changes, first), edit_of(editor, [hunk(0, ["two"], ["TWO"])], second)],
    )


def test_a_buffer_that_changed_meanwhile_changes_none(editor: Editor) -> None:
    first, second, edits = two_edits(editor)
    editor.feed("othree<Esc>")
    result = replace(editor, *edits)["result"]
    assert result["applied"] is False
    assert [(one["number"], one["text"], one["modified"]) for one in result["changed"]] == [
        (second, "two\nthree", True)
    ]
    assert (editor.lines(first), editor.lines(second)) == (["one"], ["two", "three"])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        ("vim.bo[...].modifiable = false", "not modifiable"),
        ("vim.bo[...].readonly = true", "read-only"),
        ("vim.api.nvim_buf_delete(..., {force = true})", "deleted meanwhile"),
        ("vim.cmd('bunload! ' .. ...)", "unloaded meanwhile"),
    ],
)
def test_a_buffer_that_cannot_be_changed_changes_none(editor: Editor, spoil: str, words: str) -> None:
    first, second, edits = two_edits(editor)
    editor.command("buffer " + str(first))
    editor.lua(spoil, second)
    assert words in replace(editor, *edits)["error"]
    assert editor.lines(first) == ["one"]


def test_a_hunk_whose_lines_stand_elsewhere_is_refused(editor: Editor) -> None:
    editor.set_lines(["one", "two"])
    for wrong in (hunk(0, ["two"], ["x"]), hunk(1, ["two", "three"], []), hunk(3, [], ["x"])):
        assert "not what the edit was made for" in replace(editor, edit_of(editor, [wrong]))["error"]
    overlapping = [hunk(0, ["one", "two"], []), hunk(1, ["two"], ["x"])]
    assert "not what the edit was made for" in replace(editor, edit_of(editor, overlapping))["error"]
    assert editor.lines() == ["one", "two"]


def test_an_edit_that_the_editor_refuses_halfway_is_taken_back(editor: Editor) -> None:
    first, second, edits = two_edits(editor)
    editor.lua(
        """
        local splice, second = require('tideate.replace_lines'), ...
        local replace = splice.replace
        splice.replace = function(buf, ...)
          if buf == second then error('E565: not allowed here') end
          return replace(buf, ...)
        end
        """,
        second,
    )
    assert "E565" in replace(editor, *edits)["error"]
    assert (editor.lines(first), editor.lines(second)) == (["one"], ["two"])


def test_a_buffer_is_found_through_links_and_unsaved_text_is_read(editor: Editor) -> None:
    number = editor.edit("real/a.txt", "one\n")
    (editor.cwd / "link").symlink_to(editor.cwd / "real")
    editor.feed("otwo<Esc>")
    found = call(editor, "buffer_find", {"path": str(editor.cwd / "link" / "a.txt")})
    assert (found["number"], found["text"], found["modified"]) == (number, "one\ntwo", True)
    assert call(editor, "buffer_read", {"number": number}) == found
    assert call(editor, "buffer_find", {"path": str(editor.cwd / "other.txt")}) is None
    assert call(editor, "buffer_read", {"number": 999}) is None


def test_a_moved_file_takes_its_buffer_along_and_can_be_written(editor: Editor) -> None:
    number = editor.edit("a.txt", "one\n")
    target = editor.cwd / "b.py"
    (editor.cwd / "a.txt").rename(target)
    moved = call(editor, "buffer_moved", {"from": str(editor.cwd / "a.txt"), "to": str(target)})
    assert moved == {"number": number}
    editor.feed("otwo<Esc>")
    editor.command("write")
    assert target.read_text() == "one\ntwo\n"
    names = editor.lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())")
    assert names == [str(target.resolve())]


def test_checktime_reloads_unmodified_buffers_alone_without_asking(screen_editor: Editor) -> None:
    editor = screen_editor
    number = editor.edit("a.txt", "one\n")
    editor.command("set noautoread")
    editor.write("a.txt", "changed outside\n")
    call(editor, "checktime", {"paths": [str(editor.cwd / "a.txt")]})
    assert not editor.blocked()
    assert editor.lines(number) == ["changed outside"]
    assert editor.lua("return vim.o.autoread") is False
    editor.feed("omine<Esc>")
    editor.write("a.txt", "changed again\n")
    call(editor, "checktime", {"paths": [str(editor.cwd / "a.txt")]})
    assert not editor.blocked()
    assert editor.lines(number) == ["changed outside", "mine"], "unsaved text is left alone"


@pytest.mark.parametrize(
    ("command", "autocmd"),
    [("set noautoread", ""), ("set autoread", "error('mine')"), ("setlocal noautoread", "error('mine')")],
)
def test_checktime_leaves_the_option_as_it_was(editor: Editor, command: str, autocmd: str) -> None:
    look = "return { vim.fn.execute('set autoread?'), vim.fn.execute('setlocal autoread?'), vim.go.autoread }"
    editor.edit("a.txt", "one\n")
    editor.command(command)
    editor.lua(
        "local code = ... vim.api.nvim_create_autocmd({ 'FileChangedShell', 'FileChangedShellPost' }, {"
        " callback = function() loadstring(code)() end })",
        autocmd,
    )
    before = editor.lua(look)
    editor.write("a.txt", "changed outside\n")
    call(editor, "checktime", {"paths": [str(editor.cwd / "a.txt")]})
    assert editor.lua(look) == before


def test_a_text_is_read_from_disk_if_the_file_of_an_unmodified_buffer_changed(screen_editor: Editor) -> None:
    editor = screen_editor
    for option, method in (("autoread", "buffer_find"), ("noautoread", "buffer_read")):
        name = f"{method}.txt"
        number = editor.edit(name, "one\n")
        editor.command(f"set {option}")
        editor.write(name, "another branch\n")
        found = call(editor, method, {"path": str(editor.cwd / name), "number": number})
        assert (found["text"], found["modified"]) == ("another branch", False)
        assert editor.lines(number) == ["another branch"]
        assert not editor.blocked()


def test_an_edit_does_not_land_on_a_text_that_its_file_has_not_any_more(editor: Editor) -> None:
    number = editor.edit("a.txt", "one\ntwo\n")
    edit = edit_of(editor, [hunk(1, ["two"], ["TWO"])])
    editor.write("a.txt", "another branch\ntwo\n")
    result = replace(editor, edit)["result"]
    assert (result["applied"], [one["text"] for one in result["changed"]]) == (False, ["another branch\ntwo"])
    assert editor.lines(number) == ["another branch", "two"]


def test_an_edit_lands_on_unsaved_text_whose_file_changed_on_disk(editor: Editor) -> None:
    number = editor.edit("a.txt", "one\n")
    editor.feed("omine<Esc>")
    edit = edit_of(editor, [hunk(0, ["one"], ["ONE"])])
    editor.write("a.txt", "another branch\n")
    assert replace(editor, edit)["result"] == {"applied": True}
    assert editor.lines(number) == ["ONE", "mine"]


def test_a_created_buffer_is_shown_without_taking_the_focus(editor: Editor) -> None:
    window = editor.lua("return vim.api.nvim_get_current_win()")
    editor.feed("ityping")
    made = call(editor, "buffer_create", {"text": "a\nb", "filetype": "python"})
    assert editor.mode() == "i"
    assert editor.lua("return vim.api.nvim_get_current_win()") == window
    assert editor.lines(made["number"]) == ["a", "b"]
    assert editor.lua("return #vim.fn.win_findbuf(...)", made["number"]) == 1
    assert editor.lua("return vim.bo[...].filetype", made["number"]) == "python"
