"""Tests of the tour without a terminal: its results done, refused and failed, and its closing words."""

from __future__ import annotations

import io
import os
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any, cast

import pytest
from rich.console import Console

from scripts.screenshots import __main__ as screenshots
from scripts.terminal import Terminal
from scripts.tour.headless import LINES, Ending, Example, Outcome, close, judge_refactoring, judge_text
from scripts.tour.sample_project import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from scripts.tour.headless import Tour

NO_TOUR = cast("Tour", None)
BEFORE = ["a"]
FAILED = {"ok": False, "error": "no answer", "error_code": "AdapterUnavailable"}
REFUSED = {"ok": False, "error": "two candidates", "error_code": "UnusableAnswer"}
DECLINED = {"ok": False, "cancelled": True, "reason": "declined"}
CANCELLED = {"ok": False, "cancelled": True, "reason": "cancelled"}


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=200)


def said(console: Console) -> str:
    return cast("io.StringIO", console.file).getvalue()


@pytest.mark.parametrize(
    ("result", "declined", "after", "ending", "words"),
    [
        ({"ok": True}, "", BEFORE, Ending.DONE, "nothing to change"),
        (REFUSED, "", BEFORE, Ending.REFUSED, "Refused: two candidates"),
        (REFUSED, "", ["b"], Ending.FAILED, "changed all the same"),
        (DECLINED, "New syntax errors?", BEFORE, Ending.REFUSED, "Refused: New syntax errors?"),
        (DECLINED, "", BEFORE, Ending.FAILED, "Failed: the run was cancelled"),
        (CANCELLED, "New syntax errors?", BEFORE, Ending.FAILED, "Failed: the run was cancelled"),
        (FAILED, "", BEFORE, Ending.FAILED, "Failed: no answer"),
    ],
)
def test_a_refactoring_is_refused_only_where_its_answer_was(
    console: Console, result: dict[str, Any], declined: str, after: list[str], ending: Ending, words: str
) -> None:
    outcome = Outcome(result, BEFORE, after, declined)
    assert judge_refactoring(console, NO_TOUR, outcome) is ending
    assert words in said(console)


@pytest.mark.parametrize("result", [FAILED, REFUSED, DECLINED, CANCELLED])
def test_a_text_that_was_not_answered_has_failed(console: Console, result: dict[str, Any]) -> None:
    assert judge_text(console, Outcome(result, BEFORE, BEFORE)) is Ending.FAILED
    assert "Failed: " in said(console)


def test_an_answered_text_is_done_unless_it_was_changed(console: Console) -> None:
    assert judge_text(console, Outcome({"ok": True}, BEFORE, BEFORE)) is Ending.DONE
    assert judge_text(console, Outcome({"ok": True}, BEFORE, ["b"])) is Ending.FAILED


@pytest.mark.parametrize(
    ("endings", "status", "words"),
    [
        ((Ending.DONE, Ending.DONE), 0, ["done: ask, refactor"]),
        ((Ending.DONE, Ending.REFUSED), 0, ["done: ask", "refused: refactor", "nothing was changed"]),
        ((Ending.FAILED, Ending.DONE), 1, ["failed: ask", "done: refactor"]),
        ((Ending.DONE, Ending.FAILED), 1, ["done: ask", "failed: refactor"]),
    ],
)
def test_the_end_says_how_each_ended(
    console: Console, endings: tuple[Ending, Ending], status: int, words: list[str]
) -> None:
    assert close(console, dict(zip(("ask", "refactor"), endings, strict=True))) == status
    for word in words:
        assert word in said(console)


def test_the_lines_that_the_tour_asks_about_are_in_the_readme() -> None:
    first, last = Example("ask", *LINES).lines()
    assert 1 <= first < last


def test_the_tour_of_the_pictures_fails_where_an_act_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    played = []

    def make(act: str, columns: int, _rows: int, background: str) -> None:
        played.append((act, columns, background))
        if act == "outside" and columns == 200:
            raise TimeoutError("not on the screen: 'gr revert'")

    monkeypatch.setattr(screenshots, "_make", make)
    monkeypatch.setattr("subprocess.run", lambda *_, **__: None)  # draws a machine
    monkeypatch.setattr(screenshots, "SCREENS", tmp_path / "screens")
    monkeypatch.setattr("sys.argv", ["screenshots"])
    assert screenshots.main() == 1
    assert "not on the screen: 'gr revert'" in capsys.readouterr().err
    assert len(played) == 4 * len(screenshots.ACTS)
    monkeypatch.setattr("sys.argv", ["screenshots", "models"])
    assert screenshots.main() == 0


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "place"), [(80, " TOUR.md  shop.py"), (160, "# A tour of tideate")])
def test_the_code_of_the_tour_has_a_whole_terminal_of_80_columns(
    tmp_path: Path, columns: int, place: str
) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path), "TERM": "xterm-256color"}
    command = [sys.executable, "-m", "scripts.tour"]
    with closing(Terminal(command, env=env, cwd=ROOT, columns=columns, rows=24)) as terminal:
        terminal.wait_for("A tour of tideate")
        assert terminal.rows()[0].startswith(place)
        terminal.type("gt" if columns == 80 else "\x17l")
        terminal.wait_for('"""A small shop, here to be asked about and changed."""')


def test_a_screen_that_does_not_come_ends_the_tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scripts.terminal.QUIET", 0.05)
    with closing(
        Terminal(["sh", "-c", "echo come; read line"], env={}, cwd=tmp_path, columns=20, rows=4)
    ) as terminal:
        terminal.wait_for("come")
        assert terminal.cells()[1][0].reverse, "the cursor is shown"
        terminal.type("\n")
        with pytest.raises(TimeoutError, match="not on the screen: 'never'"):
            terminal.wait_for("never")
