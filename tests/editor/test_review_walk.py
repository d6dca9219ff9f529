"""Random actions in reviews of files: decisions, comments, edits, undo, reload, leave, restart.

One file is open, one is not, one is new and one is to be deleted.

`REVIEW_STEPS` (for example 1,000) and `REVIEW_SEED` in the environment set the number of steps and the
seed. A failure reports both.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.dialogs import ASK, answers, choose, wait_focused
from tests.harness.review_model import (
    ALL,
    CLOSED,
    CREATED,
    DELETED,
    FILES,
    OPENED,
    UNITS,
    Model,
    Unit,
    as_kept,
    units_of,
    without_reason,
)
from tideate_core.engine import kept_review
from tideate_core.engine.review.drafts import prepare_draft

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.editor import EditorFactory

pytestmark = pytest.mark.slow

STEPS = int(os.environ.get("REVIEW_STEPS", "80"))
SEED = int(os.environ.get("REVIEW_SEED", "3"))


class Walk:
    def __init__(self, start: EditorFactory, folder: Path, seed: int) -> None:
        self.start, self.folder, self.random = start, folder, random.Random(seed)
        self.steps: list[str] = []
        self.model = Model.first()
        self.questions = 0
        self.editor = start(ui=(200, 50))
        self.editor.edit(OPENED, self.model.text())
        self.ask([], [])

    # questions

    def ask(self, accepted: list[int], rejected: list[int]) -> None:
        """Start a round; hunks in neither list are open, with a new text."""
        model, self.questions = self.model, self.questions + 1
        decided = {*accepted, *rejected}
        model.old = [model.old[at] if at in decided else model.now(at) for at in range(ALL)]
        model.new = [model.new[at] if at in decided else f"new {at}.{self.questions}" for at in range(ALL)]
        state = dict.fromkeys(accepted, "accepted") | dict.fromkeys(rejected, "rejected")
        model.units = [Unit(state.get(at, "open")) for at in range(ALL)] + [Unit()]
        model.past, model.future = [], []
        self.first = list(model.units)
        self.files = [self.shown(path) for path in FILES]
        self.show()

    def shown(self, path: str) -> dict[str, Any]:
        """Return a file in the format of the engine."""
        model, units = self.model, units_of(path)
        file: dict[str, Any] = {"path": path, "action": "modify", "filetype": ""}
        verdicts = {
            name: [UNITS[at][1] for at in units if model.units[at].state == name]
            for name in ("accepted", "rejected")
        }
        if path == DELETED:
            return {**file, "action": "delete", "before": "gone", "hunks": [], "decided": verdicts}
        lines = {OPENED: model.lines, CLOSED: model.closed}.get(path, [])
        hunks = [
            {"start": model.row(at), "old": [model.old[at]] if lines else [], "new": [model.new[at]]}
            for at in units
        ]
        action = "modify" if lines else "create"
        before = "\n".join(text for _, text in lines)
        return {**file, "action": action, "before": before, "hunks": hunks, "decided": verdicts}

    def show(self) -> None:
        """Ask the question like the engine, also again in the next Neovim."""
        editor = self.editor
        self.opened = editor.lua("return vim.fn.bufnr(...)", OPENED)
        files = [{**self.files[0], "buffer": self.opened}, *self.files[1:]]
        payload = {"files": files, "demonstration": False, "revisable": True}
        self.draft = prepare_draft(self.folder, "run", "step", str(self.questions), files)
        draft, run = str(self.draft), "0123456789abcdef" * 2
        editor.lua(f"_G.answers = {{}} {ASK}", "review", "Apply?", "", payload, [], draft, run)
        wait_focused(editor)

    # steps: what the person does, to Neovim and to the model

    def go_to_file(self, path: str) -> None:
        for _ in FILES:
            if self.editor.lua("return vim.fn.expand('%:t')") == path:
                return
            self.editor.feed("]f")
        raise AssertionError(f"{path} is not shown")

    def go_to(self, at: int) -> None:
        path, _ = UNITS[at]
        self.go_to_file(path)
        if path in (OPENED, CLOSED):
            row = self.model.row(at) if path == OPENED else self.files[1]["hunks"][UNITS[at][1]]["start"]
            self.editor.lua("vim.api.nvim_win_set_cursor(0, {..., 0})", row + 1)

    def hunk(self) -> int:
        """Go to a random file, weighted evenly or by its hunks."""
        if self.random.random() < 0.5:
            at = self.random.choice(units_of(self.random.choice(FILES)))
        else:
            at = self.random.randrange(ALL)
        self.go_to(at)
        return at

    def accept(self) -> None:
        at = self.hunk()
        self.editor.feed("ga")
        if not self.model.stale(at):
            self.model.change({at: self.accepted(at)})

    def accepted(self, at: int) -> Unit:
        return replace(without_reason(self.model.units[at]), state="accepted")

    def edit(self) -> None:
        at, text, model = self.hunk(), f"edited x{len(self.steps)}", self.model
        if UNITS[at][0] == DELETED:
            self.editor.feed("ge")
            return
        self.editor.feed(f"geggVGc{text}<Esc>{self.random.choice([':w<CR>', ':wq<CR>', '<CR>'])}")
        base = model.now(at) if UNITS[at][0] == OPENED else model.old[at]
        model.change({at: replace(self.accepted(at), edit=(base, text))})

    def leave_the_edit(self) -> None:
        if UNITS[self.hunk()][0] != DELETED:
            self.editor.feed("ge:q<CR>")

    def reject(self) -> None:
        at = self.hunk()
        self.editor.feed("gr")
        self.model.change({at: replace(self.model.units[at], state="rejected")})

    def reject_because(self) -> None:
        at, text = self.hunk(), f"because {len(self.steps)}"
        self.editor.feed(f"gb<C-u>{text}<CR>")
        self.model.change({at: Unit("rejected", text, because=True, edit=self.model.units[at].edit)})

    def comment(self) -> None:
        at, text = self.hunk(), self.random.choice(["", f"comment {len(self.steps)}"])
        self.editor.feed(f"gs<C-u>{text}<CR>")
        self.model.change({at: replace(self.model.units[at], comment=text, because=False)})

    def comment_on_all(self) -> None:
        text = f"all {len(self.steps)}"
        self.editor.feed(f"gSggVGc{text}<Esc>:w<CR>")
        self.model.change({ALL: Unit(self.model.units[ALL].state, text)})

    def open_again(self) -> None:
        at = self.hunk()
        self.editor.feed("go")
        self.model.decide([at], "open")

    def decide_file(self) -> None:
        path = self.random.choice(FILES)
        self.go_to_file(path)
        key, state = self.random.choice([("gfa", "accepted"), ("gfr", "rejected"), ("gfo", "open")])
        self.editor.feed(key)
        self.model.decide(units_of(path), state)

    def decide_all(self) -> None:
        key, state = self.random.choice([("gA", "accepted"), ("gR", "rejected"), ("gO", "open")])
        self.editor.feed(key)
        self.model.decide(range(ALL), state)

    def revert(self) -> None:
        self.editor.feed("gu")
        self.model.travel(self.model.past, self.model.future)

    def make_again(self) -> None:
        self.editor.feed("gU")
        self.model.travel(self.model.future, self.model.past)

    def line(self) -> int:
        """Go to a line of the open file."""
        self.go_to_file(OPENED)
        row = self.random.randrange(len(self.model.lines))
        self.model.undo.append(list(self.model.lines))
        self.editor.lua("vim.api.nvim_win_set_cursor(0, {..., 0})", row + 1)
        return row

    def type_a_line(self) -> None:
        row, text = self.line(), f"typed {len(self.steps)}"
        self.editor.feed(f"O{text}<Esc>")
        self.model.lines.insert(row, (None, text))

    def change_a_line(self) -> None:
        row = self.line()
        self.editor.feed("Ax<Esc>")
        of, text = self.model.lines[row]
        self.model.lines[row] = (of, f"{text}x")

    def undo_typing(self) -> None:
        if self.model.undo:
            self.go_to_file(OPENED)
            self.editor.feed("u")
            self.model.lines = self.model.undo.pop()

    def save(self) -> None:
        self.go_to_file(OPENED)
        self.editor.command("silent write")

    def read_again(self) -> None:
        self.save()
        self.editor.command("silent edit!")
        self.model.undo.clear()

    def change_on_disk(self) -> None:
        """Another program writes the file, and Neovim reloads it."""
        self.save()
        model, row = self.model, self.random.randrange(len(self.model.lines))
        model.lines.insert(row, (None, f"other program {len(self.steps)}"))
        (self.editor.cwd / OPENED).write_text(model.text())
        self.editor.command("set autoread | checktime")
        wanted = [text for _, text in model.lines]
        self.editor.wait_for(lambda: self.editor.lines(self.opened) == wanted, "it is read")
        model.undo.clear()

    def close_and_open(self) -> None:
        self.editor.command(self.random.choice(["enew", "tabnew", "split", "split | wincmd w | quit"]))
        self.editor.command("Workflow review")
        self.editor.command("silent! only | silent! tabonly")
        self.editor.command("Workflow review")

    def leave(self) -> None:
        """Leave by a key in any window; ask the question again, like `:Workflow review`."""
        self.go_to_file(self.random.choice(FILES))
        self.editor.feed(self.random.choice(["", "gl", "gp"]))
        self.editor.feed("q")
        assert answers(self.editor) == []
        assert self.editor.lua("return #require('tideate.ui').pending()") == 0
        self.show()

    def think_better_of_declining(self) -> None:
        choose(self.editor, 1)
        self.editor.feed("gX")
        self.editor.wait("#_G.choices == 1")
        assert answers(self.editor) == []

    def press_keys_of_no_meaning(self) -> None:
        """Press keys without a decision in an unmodifiable buffer of the review."""
        self.go_to_file(self.random.choice([CLOSED, CREATED, DELETED]))
        for key in self.random.sample(["<Esc>", "a", "A", "u", "o", "x", "dd", "<Tab>"], 3):
            self.editor.feed(f"{key}<Esc>")

    def close_a_proposal(self) -> None:
        """Close the buffer of an unopened file; the review creates a new one."""
        self.go_to_file(self.random.choice([CLOSED, CREATED, DELETED]))
        self.editor.command("bdelete!")
        self.editor.command("Workflow review")

    def restart(self) -> None:
        self.save()
        where = self.editor.cwd
        self.editor.process.kill()
        self.editor.process.wait(60)
        self.editor = self.start(ui=(200, 50), cwd=where)
        self.editor.edit(OPENED)
        self.model.undo.clear()
        self.show()

    def finish(self) -> None:
        model, editor = self.model, self.editor
        comments = model.comments()
        changed = [at for at in model.of("accepted") if model.stale(at)]
        choose(editor, 1)
        editor.feed("g<CR>")
        if len(model.of("open")) == ALL and not comments:
            assert answers(editor) == []
            return
        if changed:
            assert answers(editor) == []
            model.change({at: replace(model.units[at], state="open") for at in changed})
            return
        if not (model.of("accepted") or comments):
            editor.wait("#_G.choices == 1")  # whether all is declined: back to the review
            assert answers(editor) == []
            return
        (answer,) = answers(editor)
        accepted, rejected = model.of("accepted"), model.of("rejected")
        assert answer["value"] == {"files": model.answer(), "comments": comments}
        assert answer["accepted"] is (bool(accepted) and not comments)
        kept = comments and self.random.random() < 0.8
        said = {(one["path"], one["hunk"]) for one in comments if "hunk" in one}
        for at in accepted:  # as the engine makes them a part of the next revision
            if edit := model.units[at].edit:
                model.old[at], model.new[at] = edit
        decided = [at for at in range(ALL) if kept and UNITS[at] not in said]
        self.ask(
            [at for at in decided if at in accepted],
            [at for at in decided if at in rejected and not model.stale(at)],
        )

    def check(self) -> None:
        editor, model = self.editor, self.model
        assert editor.lines(self.opened) == [text for _, text in model.lines], "no byte is lost"
        editor.wait("vim.wo.winbar:find(..., 1, true)", 60, f" {model.summary()} ")
        assert as_kept(self.first, kept_review(self.draft)) == model.kept(), "every decision is kept"

    def walk(self, steps: int) -> None:
        often = (
            *(self.accept, self.reject, self.reject_because, self.comment, self.revert, self.make_again) * 4,
            *(self.edit, self.edit, self.leave_the_edit, self.decide_file, self.close_a_proposal),
            *(self.comment_on_all, self.open_again, self.decide_all, self.type_a_line, self.change_a_line)
            * 2,
            *(self.leave, self.leave, self.think_better_of_declining, self.press_keys_of_no_meaning),
            *(self.undo_typing, self.undo_typing, self.read_again, self.change_on_disk, self.close_and_open),
            *(self.finish, self.finish),
        )
        for number in range(steps):
            step = self.restart if number % 40 == 39 else self.random.choice(often)
            self.steps.append(step.__name__)
            step()
            self.check()


def test_a_random_walk_loses_no_byte_and_no_decision(start_editor: EditorFactory, tmp_path: Path) -> None:
    walk = Walk(start_editor, tmp_path, SEED)
    try:
        walk.check()
        walk.walk(STEPS)
    except BaseException as error:
        error.add_note(f"REVIEW_SEED={SEED}, {len(walk.steps)} steps: {' '.join(walk.steps[-25:])}")
        raise
