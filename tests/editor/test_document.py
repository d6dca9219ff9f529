"""Questions with a document: read, edit, accept, without losing the person's text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.dialogs import answers, ask, decline, gate, wait_focused

if TYPE_CHECKING:
    from tests.harness.editor import Editor

TEXT = "# Plan\n\nObjective: add a tally.\n\n" + "".join(
    f"## Step {number}\n\n- type: modify\n- `src/part{number}.py`\n\n" for number in range(1, 13)
)
LAST = "src/part12.py"


def document(
    editor: Editor, text: str = TEXT, *, details: str = "", problems: tuple[str, ...] = (), **more: Any
) -> str:
    payload = {"text": text, "filetype": "markdown", "title": "the plan", "problems": list(problems)}
    return ask(editor, "document", message="Go on with this plan?", details=details, payload=payload, **more)


def opened(editor: Editor, text: str = TEXT, **more: Any) -> str:
    question = document(editor, text, **more)
    wait_focused(editor)
    return question


def edited(editor: Editor, line: str = "- by me") -> None:
    """Add a line at the start without submitting the document."""
    editor.feed("e")
    editor.feed(f"ggO{line}<Esc>")


def kept(editor: Editor) -> list[str]:
    """Return the text of the listed buffer with the document."""
    return list(
        editor.lua("""
          for _, buf in ipairs(vim.api.nvim_list_bufs()) do
            if vim.bo[buf].buflisted and vim.api.nvim_buf_get_name(buf):find('^tideate://document/') then
              return vim.api.nvim_buf_get_lines(buf, 0, -1, true)
            end
          end
          return {}
        """)
    )


def withdraw(editor: Editor, question: str) -> None:
    editor.lua("require('tideate.ui').withdraw(...)", question)


def test_an_unchanged_document_is_answered_without_a_text(editor: Editor) -> None:
    for number, (key, accepted) in enumerate({"y": True, "<CR>": True, "n": False}.items(), 1):
        opened(editor)
        editor.feed(key)
        editor.wait(f"#_G.answers == {number}")
        assert answers(editor)[-1] == {"accepted": accepted}
        assert editor.lua("return #vim.api.nvim_list_wins()") == 1
        assert editor.lua("return #vim.api.nvim_list_bufs()") == 1


def test_what_was_written_is_the_answer_to_the_byte(editor: Editor) -> None:
    for number, text in enumerate((TEXT, "one\ntwo")):
        opened(editor, text)
        edited(editor)
        editor.feed(":w<CR>")
        assert len(answers(editor)) == number
        editor.feed("y")
        assert answers(editor)[number:] == [{"accepted": True, "value": {"text": f"- by me\n{text}"}}]
        assert editor.lua("return #vim.api.nvim_list_bufs()") == 1


def test_a_change_that_was_undone_is_none_and_the_given_text_stays(editor: Editor) -> None:
    for number, change in enumerate(("eggO- by me<Esc>", "e", "e:%d<CR>:w<CR>|e"), 1):
        opened(editor)
        for keys in change.split("|"):
            editor.feed(keys)
        editor.feed("uuu:w<CR>y")
        assert answers(editor) == [{"accepted": True}] * number


def test_a_question_that_was_left_says_what_leads_back(small_editor: Editor) -> None:
    opened(small_editor)
    small_editor.command("wincmd p")
    screen = small_editor.wait_screen("waits for you: :Workflow leads back")
    assert not any("<Esc>" in line for line in screen)
    small_editor.command("Workflow")
    wait_focused(small_editor)
    small_editor.feed("y")
    assert answers(small_editor) == [{"accepted": True}]


def test_the_whole_document_is_read_on_a_small_screen(small_editor: Editor) -> None:
    opened(small_editor)
    screen = small_editor.wait_screen("y yes  n no  e edit  d details")
    assert any("refactor · analyze · the plan" in line for line in screen)
    assert any("# Plan" in line for line in screen)
    assert not any(LAST in line for line in screen)
    small_editor.feed("<Space><Space><Space>")
    small_editor.wait_screen(LAST)
    small_editor.feed("gg")
    small_editor.wait_screen("Go on with this plan?")
    assert small_editor.lua("return vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil")


def test_the_line_that_a_person_writes_stays_in_sight_until_they_come(small_editor: Editor) -> None:
    small_editor.set_lines([f"line {number}" for number in range(1, 16)])
    small_editor.feed("Gomine")
    document(small_editor)
    screen = small_editor.wait_screen("waits for you: press <Esc>, or :Workflow")
    assert any("Go on with this plan?" in line for line in screen)
    assert any("mine" in line for line in screen)
    for number in range(12):
        small_editor.feed(f"<CR>mine {number}")
        screen = small_editor.wait_screen(f"mine {number}")
        assert any("waits for you" in line for line in screen)
    assert not any("## Step 1" in line for line in small_editor.screen())
    small_editor.feed("<Esc>")
    wait_focused(small_editor)
    small_editor.wait_screen("## Step 1")
    small_editor.feed("y")
    assert answers(small_editor) == [{"accepted": True}]
    assert small_editor.lines()[-1] == "mine 11"


def test_leaving_the_editor_without_writing_keeps_what_was_typed(screen_editor: Editor) -> None:
    editor = screen_editor
    opened(editor)
    edited(editor)
    editor.command("quit")
    wait_focused(editor)
    editor.feed("G")
    editor.feed("y")
    assert answers(editor) == []
    editor.wait_screen("your edits are not taken: e goes back to them")
    editor.feed("e")
    assert editor.lines()[0] == "- by me"
    editor.feed(":w<CR>y")
    assert answers(editor)[0]["value"]["text"].startswith("- by me\n# Plan")


def test_edits_that_are_left_out_are_kept_in_a_buffer(editor: Editor) -> None:
    opened(editor)
    edited(editor)
    editor.command("quit")
    wait_focused(editor)
    editor.feed("y")
    editor.feed("y")
    assert answers(editor) == [{"accepted": True}]
    assert kept(editor)[:2] == ["- by me", "# Plan"]


@pytest.mark.parametrize(("taken", "draft"), [(True, ""), (False, ""), (True, "draft")])
def test_a_no_loses_nothing_that_was_written(editor: Editor, taken: bool, draft: str) -> None:
    opened(editor, draft=draft and str(editor.cwd / draft))
    edited(editor)
    editor.command("write" if taken else "quit")
    wait_focused(editor)
    decline(editor, "n")
    assert answers(editor) == [{"accepted": False}]
    assert kept(editor)[0] == "- by me"
    assert "what you wrote is kept in the buffer tideate://document/01234567" in editor.messages()


def test_a_question_that_is_withdrawn_while_somebody_types_leaves_them_their_window(editor: Editor) -> None:
    question = opened(editor)
    editor.feed("eggO- half a")
    withdraw(editor, question)
    editor.feed(" line<Esc>")
    assert editor.lines()[:2] == ["- half a line", "# Plan"]
    assert kept(editor)[0] == "- half a line"
    editor.command("quit")
    left = (
        "return vim.tbl_filter(function(w) return vim.w[w].tideate_over or vim.w[w].tideate_dialog end, ...)"
    )
    assert editor.lua(left, editor.lua("return vim.api.nvim_list_wins()")) == []


def test_what_was_written_comes_back_when_the_question_does(editor: Editor) -> None:
    question = opened(editor)
    edited(editor)
    withdraw(editor, question)
    editor.command("quit")
    opened(editor)
    editor.feed("y")
    assert answers(editor) == []
    editor.feed("e")
    assert editor.lines()[:2] == ["- by me", "# Plan"]
    assert kept(editor) == []
    editor.feed(":w<CR>y")
    assert answers(editor) == [{"accepted": True, "value": {"text": f"- by me\n{TEXT}"}}]


def test_neovim_is_not_left_while_edits_wait_and_then_with_the_text_that_was_kept(editor: Editor) -> None:
    question = opened(editor)
    edited(editor)
    with pytest.raises(Exception, match=r"E37|E162"):
        editor.command("qall")
    withdraw(editor, question)
    editor.quit()
    assert editor.process.returncode == 0


def test_a_second_question_waits_and_the_text_stays(editor: Editor) -> None:
    opened(editor)
    edited(editor)
    gate(editor, "another")
    assert editor.lines()[0] == "- by me"
    editor.feed(":w<CR>y")
    assert answers(editor)[0]["value"]["text"].startswith("- by me")
    wait_focused(editor)
    editor.feed("y")
    assert len(answers(editor)) == 2


@pytest.mark.slow
def test_problems_stand_above_and_the_edited_text_is_kept(screen_editor: Editor) -> None:
    editor = screen_editor
    opened(editor)
    edited(editor)
    editor.feed(":w<CR>y")
    opened(editor, problems=("line 1: a step has no type",))
    editor.wait_screen("✗ line 1: a step has no type")
    editor.wait_screen("- by me")
    editor.feed("y")
    # unchanged since, but it is not what was proposed
    assert answers(editor)[-1]["value"]["text"].startswith("- by me\n# Plan")


def test_details_show_what_was_changed(screen_editor: Editor) -> None:
    editor = screen_editor
    opened(editor, details="The audit approves.")
    edited(editor, "- a line of mine")
    editor.feed(":w<CR>")
    editor.feed("d")
    editor.wait_screen("The audit approves.")
    editor.wait_screen("+- a line of mine")
    editor.feed("q")
    editor.feed("?")
    editor.wait_screen("continue with the document as it stands here")
