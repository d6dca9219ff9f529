"""Plans and documents as text for an editor, and editors that fail."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from tideate_core.cli.keyboard import EditorFailed, Keyboard
from tideate_core.cli.plan_text import Draft, PlanDraft, plan_from_text, plan_to_text

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1)
REASONS = st.text(st.characters(exclude_categories=("Cc", "Cs", "Zs", "Zl", "Zp")), min_size=1)
FILES = st.one_of(
    st.fixed_dictionaries(
        {"action": st.sampled_from(["create", "modify", "delete"]), "path": NAMES},
        optional={"why": REASONS},
    ),
    st.fixed_dictionaries({"action": st.just("move"), "path": NAMES, "move_to": NAMES}),
)


@pytest.mark.slow
@given(st.lists(FILES))
def test_a_plan_survives_being_text(files: list[dict[str, str]]) -> None:
    assert plan_from_text(plan_to_text(files)) == files


def test_blank_lines_and_comments_are_no_files() -> None:
    assert plan_from_text("# x\n\n  # y\nmodify a.py\n") == [{"action": "modify", "path": "a.py"}]


def test_a_reason_may_hold_anything() -> None:
    [file] = plan_from_text("modify 'my file.py' # it's -> \"so\" # really\n")
    assert file == {"action": "modify", "path": "my file.py", "why": 'it\'s -> "so" # really'}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("invent a.py", "'invent' is not an action"),
        ("modify", "expected ACTION PATH"),
        ("modify a b", "expected ACTION PATH"),
        ("modify 'a.py", "a quote is not closed"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"line 2: .*{words}"):
        plan_from_text(f"modify ok.py\n{line}\n")


class Editors:
    """Editor that changes a text by functions in turn; for None it fails and leaves more text."""

    def __init__(self, *made: Callable[[str], str] | None) -> None:
        self._made = [*made]
        self.begun: list[str] = []

    async def edit(self, text: str, _name: str) -> str:
        self.begun.append(text)
        made = self._made.pop(0)
        if made is None:
            raise EditorFailed("vi ended with status 1", f"{text}half")
        return made(text)


def plan(*paths: str) -> list[dict[str, Any]]:
    return [{"action": "modify", "path": path, "why": "of it"} for path in paths]


async def edited(draft: PlanDraft, *made: Callable[[str], str] | None) -> tuple[list[str], str | None]:
    """Return the texts that the editors began with, and the last problem."""
    editors: Any = Editors(*made)
    problem = None
    for _ in made:
        problem = await draft.edit(editors)
    return editors.begun, problem


async def test_a_file_that_was_taken_out_is_included_again_as_text() -> None:
    draft = PlanDraft(plan("a b.py", "c.py"), plan("o.py", "two\nlines"))
    draft.take_out({1})
    assert (draft.files, draft.out) == (plan("c.py"), plan("o.py", "two\nlines", "a b.py"))
    (text,), problem = await edited(draft, lambda text: text.replace("# modify 'a", "modify 'a"))
    assert "\nmodify c.py # of it\n# modify o.py # of it\n# modify 'a b.py' # of it\n" in text
    assert (problem, draft.files, draft.out) == (None, plan("c.py", "a b.py"), plan("o.py"))


async def test_a_line_in_a_comment_takes_its_file_out_and_a_renamed_one_is_not_taken_out() -> None:
    draft = PlanDraft(plan("a.py", "b.py", "c.py"), [])
    (_,), problem = await edited(
        draft, lambda text: text.replace("modify a", "#modify a").replace("modify b.py", "modify new.py")
    )
    assert (problem, draft.files, draft.out) == (None, plan("new.py", "c.py"), plan("a.py"))


@pytest.mark.parametrize("line", ["#", "# ", "  #", "##"])
async def test_a_comment_without_a_word_is_no_file(line: str) -> None:
    draft = PlanDraft(plan("a.py"), plan("o.py"))
    (_,), problem = await edited(draft, lambda text: f"{text}create new.py\n{line}\n")
    assert (problem, [file["path"] for file in draft.files]) == (None, ["a.py", "new.py"])
    assert draft.out == plan("o.py")


async def test_a_text_that_is_no_plan_is_kept_for_the_next_edit() -> None:
    draft = PlanDraft(plan("a.py"), [])
    begun, problem = await edited(draft, None, lambda text: text + "\ninvent b.py\n")
    assert begun[1] == f"{begun[0]}half"
    assert str(problem).endswith("; your text is kept: e continues with it, y accepts without it")
    assert draft.files == plan("a.py")
    begun, problem = await edited(draft, lambda text: text.replace("half", "").replace("invent", "create"))
    assert "invent b.py" in begun[0]
    assert (problem, [file["path"] for file in draft.files]) == (None, ["a.py", "b.py"])
    begun, _ = await edited(draft, lambda text: text)
    assert "half" not in begun[0]


async def test_the_text_of_a_failed_editor_is_no_answer_and_the_next_edit_begins_with_it() -> None:
    draft = Draft.of({"text": "lines\n"})
    editors: Any = Editors(None, lambda text: text.replace("half", "words"))
    assert str(await draft.edit(editors)).startswith("vi ended with status 1; your text is kept")
    before = draft.value
    assert await draft.edit(editors) is None
    assert (before, editors.begun[1], draft.value) == (None, "lines\nhalf", {"text": "lines\nwords"})


def test_an_unchanged_text_after_a_refusal_is_the_persons() -> None:
    assert Draft.of({"text": "mine", "problems": ["line 4: no step"]}).value == {"text": "mine"}


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("no-such-editor", "no-such-editor cannot be started"),
        ("false", "ended with status 1"),
        ("rm", "left no file"),
        ("'", "is not a command"),
        (r"""sh -c 'printf "\377" > "$0"'""", "wrote no UTF-8"),
    ],
)
def test_an_editor_that_cannot_be_used_fails(
    monkeypatch: pytest.MonkeyPatch, editor: str, words: str
) -> None:
    monkeypatch.setenv("VISUAL", editor)
    with Path(os.devnull).open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        keyboard = Keyboard(Console())
        with pytest.raises(EditorFailed, match=words) as failed:
            asyncio.run(keyboard.edit("text\n", "a.md"))
    assert failed.value.text == "text\n"
