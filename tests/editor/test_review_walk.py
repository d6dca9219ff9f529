"""A random walk through reviews: decisions, comments, revisions, edits by hand, undos, reloads, restarts.

`REVIEW_STEPS` and `REVIEW_SEED` in the environment make it longer, 1,000 steps for instance, or another
one. A failure says the seed and the steps.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.dialogs import ASK, answers, wait_focused

if TYPE_CHECKING:
    from pathlib import Path

    from tests.editor.conftest import EditorFactory

pytestmark = pytest.mark.slow

STEPS = int(os.environ.get("REVIEW_STEPS", "80"))
SEED = int(os.environ.get("REVIEW_SEED", "3"))
HUNKS = 8


@dataclass(frozen=True)
class Unit:
    """A hunk as the person sees it; the last one is what is said of all."""

    state: str = "open"
    comment: str = ""
    because: bool = False
    edit: tuple[str, str] | None = None
    """The line that stood there, and what the person wrote in place of the proposed one."""


def without_reason(unit: Unit) -> Unit:
    return replace(unit, comment="", because=False) if unit.because else unit


@dataclass
class Model:
    """What a review has to remember, and the text that only the person changes."""

    lines: list[tuple[int | None, str]] = field(default_factory=list)
    """Each with the hunk that is about it."""
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    units: list[Unit] = field(default_factory=list)
    past: list[dict[int, Unit]] = field(default_factory=list)
    future: list[dict[int, Unit]] = field(default_factory=list)
    undo: list[list[tuple[int | None, str]]] = field(default_factory=list)

    def row(self, hunk: int) -> int:
        return next(row for row, (of, _) in enumerate(self.lines) if of == hunk)

    def now(self, hunk: int) -> str:
        return self.lines[self.row(hunk)][1]

    def stale(self, hunk: int) -> bool:
        edit = self.units[hunk].edit
        return self.now(hunk) != (edit[0] if edit else self.old[hunk])

    def change(self, wanted: dict[int, Unit]) -> None:
        if wanted:
            self.past.append({at: self.units[at] for at in wanted})
            self.future.clear()
            for at, unit in wanted.items():
                self.units[at] = unit

    def travel(self, source: list[dict[int, Unit]], target: list[dict[int, Unit]]) -> None:
        if source:
            step = source.pop()
            target.append({at: self.units[at] for at in step})
            for at, unit in step.items():
                self.units[at] = unit

    def of(self, state: str) -> list[int]:
        return [at for at in range(HUNKS) if self.units[at].state == state]

    def comments(self) -> list[dict[str, Any]]:
        about = [
            {"path": "a.txt", "hunk": at, "text": self.units[at].comment}
            for at in range(HUNKS)
            if self.units[at].comment
        ]
        said = self.units[HUNKS].comment
        return [*([{"text": said}] if said else []), *about]

    def summary(self) -> str:
        parts = [f"{len(self.of(name))} {name}" for name in ("accepted", "rejected", "open") if self.of(name)]
        count = len(self.comments())
        words = f" · {count} comment{'' if count == 1 else 's'}" if count else ""
        return f"{HUNKS} hunks: {', '.join(parts)}{words}"


class Walk:
    def __init__(self, start: EditorFactory, folder: Path, seed: int) -> None:
        self.start, self.folder, self.random = start, folder, random.Random(seed)
        self.steps: list[str] = []
        self.model = Model()
        self.model.lines = [
            (row // 5 if row % 5 == 2 else None, f"line {row:02}") for row in range(HUNKS * 5)
        ]
        self.questions = 0
        self.editor = start(ui=(200, 50))
        self.editor.edit("a.txt", self.text())
        self.ask([], [])

    def text(self) -> str:
        return "".join(f"{text}\n" for _, text in self.model.lines)

    # questions

    def ask(self, accepted: list[int], rejected: list[int]) -> None:
        """Begin a round; what is in neither list is open, with another text than before."""
        model, self.questions = self.model, self.questions + 1
        decided = {*accepted, *rejected}
        model.old = [
            model.lines[model.row(at)][1] if at not in decided else model.old[at] for at in range(HUNKS)
        ]
        model.new = [model.new[at] if at in decided else f"new {at}.{self.questions}" for at in range(HUNKS)]
        state = dict.fromkeys(accepted, "accepted") | dict.fromkeys(rejected, "rejected")
        model.units = [Unit(state.get(at, "open")) for at in range(HUNKS)] + [Unit()]
        model.past, model.future = [], []
        self.starts = [model.row(at) for at in range(HUNKS)]
        self.before = self.text().removesuffix("\n")
        self.decided = {"accepted": accepted, "rejected": rejected}
        self.show()

    def show(self) -> None:
        """Put the question, as the engine does first, and again in the next Neovim."""
        model, editor = self.model, self.editor
        hunks = [
            {"start": self.starts[at], "old": [model.old[at]], "new": [model.new[at]]} for at in range(HUNKS)
        ]
        file: dict[str, Any] = {"path": "a.txt", "action": "modify", "filetype": "", "hunks": hunks}
        file |= {"buffer": editor.lua("return vim.fn.bufnr('a.txt')"), "before": self.before}
        file["decided"] = self.decided
        payload = {"files": [file], "demonstration": False, "revisable": True}
        draft = str(self.folder / f"{self.questions}.jsonl")
        editor.lua(f"_G.answers = {{}} {ASK}", "review", "Apply?", "", payload, [], draft)
        wait_focused(editor)

    # steps: what the person does, to Neovim and to the model

    def go_to(self, hunk: int) -> None:
        self.editor.lua("vim.api.nvim_win_set_cursor(0, {..., 0})", self.model.row(hunk) + 1)

    def hunk(self) -> int:
        return self.random.randrange(HUNKS)

    def accept(self) -> None:
        at, model = self.hunk(), self.model
        self.go_to(at)
        self.editor.feed("ga")
        if not model.stale(at):
            model.change({at: self.accepted(at)})

    def accepted(self, at: int) -> Unit:
        return replace(without_reason(self.model.units[at]), state="accepted")

    def edit(self) -> None:
        at, text, model = self.hunk(), f"edited x{len(self.steps)}", self.model
        self.go_to(at)
        self.editor.feed(f"geggVGc{text}<Esc>{self.random.choice([':w<CR>', ':wq<CR>', '<CR>'])}")
        model.change({at: replace(self.accepted(at), edit=(model.now(at), text))})

    def leave_the_edit(self) -> None:
        self.go_to(self.hunk())
        self.editor.feed("ge:q<CR>")

    def reject(self) -> None:
        at = self.hunk()
        self.go_to(at)
        self.editor.feed("gr")
        self.model.change({at: replace(self.model.units[at], state="rejected")})

    def reject_because(self) -> None:
        at, text = self.hunk(), f"because {len(self.steps)}"
        self.go_to(at)
        self.editor.feed(f"gb<C-u>{text}<CR>")
        self.model.change({at: Unit("rejected", text, because=True, edit=self.model.units[at].edit)})

    def comment(self) -> None:
        at, text = self.hunk(), self.random.choice(["", f"comment {len(self.steps)}"])
        self.go_to(at)
        self.editor.feed(f"gs<C-u>{text}<CR>")
        self.model.change({at: replace(self.model.units[at], comment=text, because=False)})

    def comment_on_all(self) -> None:
        text = f"all {len(self.steps)}"
        self.editor.feed(f"gSggVGc{text}<Esc>:w<CR>")
        self.model.change({HUNKS: Unit(self.model.units[HUNKS].state, text)})

    def open_again(self) -> None:
        at = self.hunk()
        self.go_to(at)
        self.editor.feed("go")
        unit = self.model.units[at]
        if unit.state != "open":
            self.model.change({at: replace(without_reason(unit), state="open")})

    def decide_all(self) -> None:
        key, state = self.random.choice([("gA", "accepted"), ("gR", "rejected")])
        self.editor.feed(key)
        model = self.model
        wanted = [at for at in model.of("open") if state == "rejected" or not model.stale(at)]
        model.change({at: replace(model.units[at], state=state) for at in wanted})

    def revert(self) -> None:
        self.editor.feed("gu")
        self.model.travel(self.model.past, self.model.future)

    def make_again(self) -> None:
        self.editor.feed("gU")
        self.model.travel(self.model.future, self.model.past)

    def type_a_line(self) -> None:
        model, row = self.model, self.random.randrange(len(self.model.lines))
        model.undo.append(list(model.lines))
        text = f"typed {len(self.steps)}"
        self.editor.lua("vim.api.nvim_win_set_cursor(0, {..., 0})", row + 1)
        self.editor.feed(f"O{text}<Esc>")
        model.lines.insert(row, (None, text))

    def change_a_line(self) -> None:
        model, row = self.model, self.random.randrange(len(self.model.lines))
        model.undo.append(list(model.lines))
        self.editor.lua("vim.api.nvim_win_set_cursor(0, {..., 0})", row + 1)
        self.editor.feed("Ax<Esc>")
        of, text = model.lines[row]
        model.lines[row] = (of, f"{text}x")

    def undo_typing(self) -> None:
        if self.model.undo:
            self.editor.feed("u")
            self.model.lines = self.model.undo.pop()

    def read_again(self) -> None:
        self.editor.command("silent write")
        self.editor.command("silent edit!")
        self.model.undo.clear()

    def change_on_disk(self) -> None:
        """Another program writes the file, and Neovim reads it by itself."""
        self.editor.command("silent write")
        model, row = self.model, self.random.randrange(len(self.model.lines))
        model.lines.insert(row, (None, f"other program {len(self.steps)}"))
        (self.editor.cwd / "a.txt").write_text(self.text())
        self.editor.command("set autoread | checktime")
        self.editor.wait_for(lambda: self.editor.lines() == [text for _, text in model.lines], "it is read")
        model.undo.clear()

    def close_and_open(self) -> None:
        self.editor.command(self.random.choice(["enew", "tabnew", "split", "split | wincmd w | quit"]))
        self.editor.command("Workflow review")
        self.editor.command("silent! only | silent! tabonly")
        self.editor.command("Workflow review")

    def restart(self) -> None:
        self.editor.command("silent write")
        where = self.editor.cwd
        self.editor.process.kill()
        self.editor.process.wait(60)
        self.editor = self.start(ui=(200, 50), cwd=where)
        self.editor.edit("a.txt")
        self.model.undo.clear()
        self.show()

    def finish(self) -> None:
        model, editor = self.model, self.editor
        comments = model.comments()
        stale = [at for at in range(HUNKS) if model.stale(at)]
        editor.feed("g<CR>")
        if len(model.of("open")) == HUNKS and not comments:
            assert answers(editor) == []
            return
        accepted = [at for at in model.of("accepted") if at not in stale]
        (answer,) = answers(editor)
        file: dict[str, Any] = {"path": "a.txt", "accepted": accepted, "rejected": model.of("rejected")}
        edited = [(at, edit) for at in accepted if (edit := model.units[at].edit)]
        if edited:
            file["edited"] = [{"hunk": at, "old": [old], "new": [new]} for at, (old, new) in edited]
        assert answer["value"] == {"files": [file], "comments": comments}
        assert answer["accepted"] is (bool(accepted) and not comments)
        said = {one["hunk"] for one in comments if "hunk" in one}
        kept = comments and self.random.random() < 0.8
        for at, (old, new) in edited:  # as the engine makes them a part of the next revision
            model.old[at], model.new[at] = old, new
        self.ask(
            [at for at in accepted if kept and at not in said],
            [at for at in model.of("rejected") if kept and at not in said and at not in stale],
        )

    def check(self) -> None:
        editor, model = self.editor, self.model
        assert editor.lines() == [text for _, text in model.lines], "no byte is lost"
        editor.wait("vim.wo.winbar:find(..., 1, true)", 60, f" {model.summary()} ")

    def walk(self, steps: int) -> None:
        often = (
            *(self.accept, self.reject, self.reject_because, self.comment, self.revert, self.make_again) * 4,
            *(self.edit, self.edit, self.leave_the_edit),
            *(self.comment_on_all, self.open_again, self.decide_all, self.type_a_line, self.change_a_line)
            * 2,
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
