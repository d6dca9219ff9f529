"""Reviews at the terminal: earlier decisions are used, and new ones are kept in the draft."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.work import assert_linear
from tideate_core.cli.answer_drafts import ReviewDraft
from tideate_core.cli.hunk_picking import HunkPicking, alternatives_to
from tideate_core.cli.keyboard import EditorFailed, Options
from tideate_core.cli.render.diffs import ReviewedFile
from tideate_core.cli.review import ENDED, ReviewQuestion, WrittenReviewQuestion
from tideate_core.engine import kept_review, write_draft
from tideate_core.engine.review.drafts import prepare_draft
from tideate_core.workflows import CheckResult, Decision

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from tideate_core.workflows import CheckAccepted

BEFORE = "a\nb\nc\nd\ne"
NEOVIM = {"v": 1, "by": 7}


def hunk(start: int) -> dict[str, Any]:
    old = BEFORE.split("\n")[start]
    return {"start": start, "old": [old], "new": [old.upper()]}


FILES = [
    {"path": "a", "action": "modify", "before": BEFORE, "hunks": [hunk(0), hunk(2), hunk(4)]},
    {"path": "n", "action": "create", "before": "", "hunks": [{"start": 0, "old": [], "new": ["text"]}]},
]


@dataclass
class Typing:
    """Person at the terminal: answers in order, then the end of input."""

    answers: list[str]
    edits: list[str | EditorFailed] = field(default_factory=list)
    """Texts or failures of the editor."""
    begun: list[tuple[str, str]] = field(default_factory=list)
    """File names and texts given to the editor."""
    shown: str = ""
    questions: list[tuple[str, str]] = field(default_factory=list)
    help: str = ""

    async def choose(self, question: str, options: Options) -> str | None:
        self.help += f"{options.help}\n"
        self.questions.append((question, options.keys))
        if not self.answers:
            return None
        assert options.chosen(self.answers[0]), (question, self.answers[0])
        return options.chosen(self.answers.pop(0))

    async def type(self, question: str) -> str | None:
        return self.answers.pop(0) if self.answers else None

    async def edit(self, text: str, name: str) -> str:
        self.begun.append((name, text))
        made = self.edits.pop(0)
        if isinstance(made, EditorFailed):
            raise made
        return made

    async def show(self, parts: Sequence[RenderableType], *, paged: bool = False) -> None:
        self.shown += "".join(f"{part}\n" for part in parts)

    async def show_again(self) -> None:
        raise AssertionError("nobody asked for it")


@dataclass
class Dialog:
    """Dialog and decision of a review."""

    typing: Typing
    matter: str
    decision: Decision

    @property
    def verdicts(self) -> list[dict[str, Any]]:
        return list(self.decision.value["files"])

    @property
    def files(self) -> list[tuple[list[int], list[int]]]:
        return [(one["accepted"], one["rejected"]) for one in self.verdicts]


async def ask(
    path: Path | str,
    *answers: str,
    edits: Sequence[str | EditorFailed] = (),
    check: CheckAccepted | None = None,
    **payload: Any,
) -> Dialog:
    typing = Typing([*answers], [*edits])
    draft = ReviewDraft(typing, str(path))
    await draft.read()
    kind = WrittenReviewQuestion if payload.get("written") else ReviewQuestion
    question = kind(typing, {"files": FILES, "revisable": True, **payload}, "Sure?", draft, check)
    matter = "\n".join(map(str, question.matter()))
    return Dialog(typing, matter, await question.ask())


def decide(draft: Path, *rows: list[Any]) -> None:
    """Store decisions of Neovim in a draft."""
    write_draft(draft, [NEOVIM, {"decided": [*rows]}])


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    return prepare_draft(tmp_path, "run", "step", "key", FILES)


@pytest.fixture
def begun(draft: Path) -> Path:
    """A review with two decisions from Neovim."""
    write_draft(draft, [NEOVIM, {"decided": [[1, 1, "a", None]]}, {"decided": [[1, 3, "r", None]]}])
    return draft


@pytest.mark.parametrize("written", [True, False])
async def test_what_neovim_kept_is_decided_and_only_the_rest_is_asked(begun: Path, written: bool) -> None:
    asked = await ask(begun, "p", "n", "y", written=written)
    words = "1 kept, 1 to revert" if written else "1 accepted, 1 rejected"
    assert f"4 hunks: {words}, 2 open" in asked.matter
    assert "2 hunks decided before, in Neovim; o forgets that" in asked.matter
    assert "+C" in asked.matter
    assert "+A" not in asked.matter
    parts = [question for question, _ in asked.typing.questions]
    what = "Keep" if written else "Accept"
    whole = "Keep: create" if written else "Create"
    assert parts == ["Sure?", f"{what} hunk 2/3 of a?", f"{whole} n?"]
    assert (asked.decision.accepted, asked.files) == (True, [([0], [1, 2]), ([0], [])])


@pytest.mark.parametrize(
    ("written", "answer", "files"),
    [
        (False, "y", [([0, 1], [2]), ([0], [])]),
        (True, "y", [([0, 1], [2]), ([0], [])]),
        (True, "r", [([0], [1, 2]), ([], [0])]),
    ],
)
async def test_an_answer_to_all_is_to_what_is_open(
    begun: Path, written: bool, answer: str, files: list[tuple[list[int], list[int]]]
) -> None:
    assert (await ask(begun, answer, written=written)).files == files


@pytest.mark.parametrize("written", [True, False])
async def test_o_forgets_what_was_decided_before(begun: Path, written: bool) -> None:
    asked = await ask(begun, "o", "y", written=written)
    assert "+A" in asked.typing.shown
    assert asked.decision.value is None, "all of it is taken"
    assert not kept_review(begun)
    write_draft(begun, [{"again": "future"}])
    assert kept_review(begun).accepted == {0: {0}}, "the next Neovim can make them again"


@pytest.mark.parametrize("written", [True, False])
async def test_what_is_picked_before_the_input_ends_is_kept(draft: Path, written: bool) -> None:
    asked = await ask(draft, "p", "y", "n", written=written)
    assert asked.decision is ENDED
    kept = kept_review(draft)
    assert (kept.accepted, kept.rejected, kept.by_editor) == ({0: {0}}, {0: {1}}, False)
    again = await ask(draft, "p", "a", "n", written=written)
    assert "2 hunks decided before, at the terminal" in again.matter
    assert again.files == [([0, 2], [1]), ([], [0])]


@pytest.mark.parametrize("written", [True, False])
async def test_going_back_reverts_what_was_picked_and_no_more(begun: Path, written: bool) -> None:
    asked = await ask(begun, "p", "n", "q", written=written)
    assert asked.decision is ENDED
    kept = kept_review(begun)
    assert (kept.accepted, kept.rejected) == ({0: {0}}, {0: {2}})


async def test_comments_that_were_kept_are_sent(draft: Path) -> None:
    said = {"text": "shorter", "because": True}
    write_draft(draft, [NEOVIM, {"decided": [[1, 2, "r", said]]}, {"decided": [[0, 0, "", {"text": "all"}]]}])
    asked = await ask(draft, "r")
    assert "you said: shorter" in asked.matter
    comments = [{"path": "a", "hunk": 1, "text": "shorter"}, {"text": "all"}]
    assert (asked.decision.accepted, asked.decision.value["comments"]) == (False, comments)
    assert asked.files == [([], [1]), ([], [])]
    assert (await ask(draft, "p", "y", "y", "y")).decision.value["comments"] == comments


async def test_a_reason_is_kept_with_its_hunk_and_s_skips_the_rest(draft: Path) -> None:
    await ask(draft, "p", "b", "too long", "y")
    assert kept_review(draft).comments == [(0, 0, "too long")]
    assert not (await ask("", "p", "s", "s")).decision.accepted


async def test_hunks_of_other_runs_are_taken_again(draft: Path) -> None:
    other = {"start": 2, "old": ["c"], "new": ["see"]}
    alternatives = [{"adapter": "b", "files": [{**FILES[0], "hunks": [other]}]}]
    await ask(draft, "p", "y", "1", alternatives=alternatives)
    assert kept_review(draft).added == {0: [other]}
    first, _ = (await ask(draft, "y", alternatives=alternatives)).verdicts
    assert first == {"path": "a", "accepted": [0, 2], "rejected": [1], "added": [other]}
    first, _ = (await ask(draft, "y")).verdicts
    assert "added" not in first, "the other run has ended meanwhile"


async def test_what_the_person_wrote_in_place_of_a_hunk_is_in_the_answer(draft: Path) -> None:
    edit = {"old": ["a"], "new": ["mine"]}
    decide(draft, [1, 1, "a", None, None, edit])
    for answers in (["y"], ["p", "n", "n", "n"]):
        first, _ = (await ask(draft, *answers)).verdicts
        assert first["edited"] == [{"hunk": 0, **edit}]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (
            [[1, 1, "o", None, None, {"old": ["a"], "new": ["mine"]}]],
            "1 hunk that you wrote before, in Neovim; o",
        ),
        (
            [[1, 1, "o", None, None, {"old": ["a"], "new": ["mine"]}], [1, 3, "r", None]],
            "1 hunk decided and 1 hunk that you wrote before, in Neovim; o",
        ),
        ([[1, 1, "a", None, None, {"old": ["a"], "new": ["mine"]}]], "1 hunk decided before, in Neovim; o"),
        ([[0, 0, "", {"text": "all"}]], "comments made before, in Neovim; o"),
    ],
)
async def test_what_a_draft_holds_is_named(draft: Path, steps: list[list[Any]], words: str) -> None:
    write_draft(draft, [NEOVIM, {"decided": steps}])
    assert f"{words} forgets that" in (await ask(draft, "n")).matter.splitlines()


async def test_o_forgets_also_what_was_typed_in_an_editor_that_failed(begun: Path) -> None:
    failed = EditorFailed("vi ended with status 1", "typed\n")
    asked = await ask(begun, "p", "e", "q", "o", "p", "n", "e", edits=[failed, "B2\n"])
    assert [text for _, text in asked.typing.begun] == ["C\n", "C\n"]


async def test_accepting_all_that_is_open_sends_what_was_said(draft: Path) -> None:
    said = {"text": "wrong name", "because": True}
    decide(draft, [1, 2, "r", said])
    asked = await ask(draft, "y")
    assert "y all that is open, and send your comments · " in asked.typing.help
    assert asked.decision.value["comments"] == [{"path": "a", "hunk": 1, "text": "wrong name"}]
    assert (asked.decision.accepted, asked.files) == (False, [([0, 2], [1]), ([0], [])])
    asked = await ask(draft, "y", revisable=False)
    assert "y all that is open · " in asked.typing.help
    assert (asked.decision.accepted, asked.files) == (True, [([0, 2], [1]), ([0], [])])


async def test_comments_that_the_model_was_not_told_of_are_replaced_by_decisions(draft: Path) -> None:
    comments = [{"path": "a", "hunk": 1, "text": "old"}, {"path": "a", "hunk": 0, "text": "kept"}]
    asked = await ask(draft, "y", "y", comments=[*comments, {"text": "all"}])
    assert "y all; asks about your comments · " in asked.typing.help
    assert asked.typing.questions[-1][0].startswith("Your comments were not sent to the model.")
    assert (asked.decision.accepted, asked.decision.value) == (True, None)
    decide(draft, [1, 2, "a", None], [0, 0, "", None])
    asked = await ask(draft, "y", comments=[*comments, {"text": "all"}])
    assert asked.decision.value["comments"] == comments[1:]


async def test_what_only_another_run_has_is_kept_as_it_is_taken(draft: Path) -> None:
    others = [{"start": at, "old": [old], "new": ["new"]} for at, old in ((1, "b"), (3, "d"))]
    runs = [{"adapter": name, "files": [{**FILES[0], "hunks": others}]} for name in "bc"]
    asked = await ask(draft, "p", "y", "y", "y", "y", "n", alternatives=runs)
    assert asked.decision is ENDED
    assert kept_review(draft).added == {0: [others[0]]}
    again = await ask(draft, "y", alternatives=runs)
    first, _ = again.verdicts
    assert first == {"path": "a", "accepted": [0, 1, 2], "rejected": [], "added": [others[0]]}
    await ask(draft, "p", "n", "q", alternatives=runs)
    assert kept_review(draft).added == {0: [others[0]]}


async def test_edits_are_shown_before_they_are_written(draft: Path) -> None:
    edits = [{"old": ["a"], "new": ["mine"]}, {"old": ["c"], "new": ["other"]}, {"old": [], "new": ["own"]}]
    rows = [[1, 1, "a", None, None, edits[0]], [1, 2, "o", None, None, edits[1]]]
    decide(draft, *rows, [2, 1, "a", None, None, edits[2]])
    asked = await ask(draft, "p", "y", "y")
    assert asked.matter.count("accepted before, as you edited it:") == 2
    assert [word in asked.matter for word in ("+mine", "+other", "+own", "+A", "+C", "+text")] == [
        *[True] * 3,
        *[False] * 3,
    ]
    assert "+other" in asked.typing.shown, "it is asked as it was edited"
    first, second = asked.verdicts
    assert [one["hunk"] for one in first["edited"]] == [0, 1]
    assert second["edited"] == [{"hunk": 0, **edits[2]}]


async def test_an_edit_of_an_earlier_round_can_be_reverted(draft: Path) -> None:
    edited = [{"hunk": 0, "old": ["a"], "new": ["mine"]}]
    decided = {"accepted": [0], "rejected": [], "edited": edited}
    files = [{**FILES[0], "decided": decided}, FILES[1]]
    asked = await ask(draft, "p", "n", "n", "n", files=files)
    assert asked.verdicts[0]["edited"] == edited
    other = {"start": 0, "old": ["a"], "new": ["z"]}
    for rows in ([[1, 1, "a", None, None, False]], [[1, 1, "o", None, other], [1, 1, "a", None]]):
        write_draft(draft, [{"again": "past"}] * kept_review(draft).steps)
        write_draft(draft, [NEOVIM, *({"decided": [one]} for one in rows)])
        asked = await ask(draft, "y", files=files)
        assert "+mine" not in asked.matter
        assert "edited" not in asked.verdicts[0]


async def test_a_draft_that_cannot_be_read_or_written_is_told_of(tmp_path: Path) -> None:
    asked = await ask(tmp_path, "y")
    assert "your earlier decisions cannot be read" in asked.typing.shown
    assert asked.decision.accepted
    asked = await ask(tmp_path / "none" / "draft", "p", "y", "y", "y", "y")
    assert asked.typing.shown.count("your decisions are lost if you leave the review") == 1
    assert asked.files == [([0, 1, 2], []), ([0], [])]


async def test_decisions_that_cannot_be_kept_are_told_of(tmp_path: Path) -> None:
    draft = prepare_draft(tmp_path, "run", "step", "key", [{**FILES[0], "hunks": [hunk(1)]}])
    decide(draft, [1, 1, "r", None])
    prepare_draft(tmp_path, "run", "step", "key", FILES)
    asked = await ask(draft, "y")
    assert "1 decision made before cannot be kept: look at what is open" in asked.matter


@pytest.mark.parametrize(
    ("text", "new"),
    [
        ("mine\n", ["mine"]),
        ("mine\n\n", ["mine", ""]),
        ("mine\nours", ["mine", "ours"]),
        ("\n", [""]),
        ("", []),
    ],
)
async def test_e_accepts_a_hunk_as_it_was_edited_and_keeps_it(draft: Path, text: str, new: list[str]) -> None:
    asked = await ask(draft, "p", "e", "n", "y", edits=[text])
    assert asked.typing.begun == [("hunk.txt", "A\n")]
    assert "e edit its new lines in $VISUAL or $EDITOR, and accept them" in asked.typing.help
    assert asked.decision is ENDED
    again = await ask(draft, "y")
    assert "accepted before, as you edited it:" in again.matter
    first = again.verdicts[0]
    assert (first["accepted"], first["rejected"]) == ([0, 2], [1])
    assert first["edited"] == [{"hunk": 0, "old": ["a"], "new": new}]
    first = (await ask(draft, "o", "y")).decision.value
    assert first is None, "nothing is left of the edit"


async def test_edited_lines_that_are_those_that_stand_or_were_proposed_are_no_edit(draft: Path) -> None:
    asked = await ask(draft, "p", "e", "e", "y", "y", edits=["a\n", "C\n"])
    assert "these are the lines as they stand: the hunk is rejected" in asked.typing.shown
    assert asked.files == [([1, 2], [0]), ([0], [])]
    assert "edited" not in asked.verdicts[0]


async def test_an_edit_is_edited_again_from_where_it_stands(draft: Path) -> None:
    edit = {"old": ["changed"], "new": ["mine"]}
    decide(draft, [1, 1, "o", None, None, edit])
    asked = await ask(draft, "p", "e", "y", "y", "y", edits=["mine, too\n"])
    assert asked.typing.begun == [("hunk.txt", "mine\n")]
    assert "+mine" in asked.typing.shown
    first = asked.verdicts[0]
    assert first["edited"] == [{"hunk": 0, "old": ["changed"], "new": ["mine, too"]}]


async def test_the_lines_that_stand_are_those_that_an_edit_was_made_for(draft: Path) -> None:
    edit = {"old": ["changed"], "new": ["mine"]}
    decide(draft, [1, 1, "o", None, None, edit])
    await ask(draft, "p", "e", edits=["A\n"])
    assert kept_review(draft).edited == {0: {0: {"old": ["changed"], "new": ["A"]}}}, "not the proposed base"
    write_draft(draft, [{"again": "past"}])
    await ask(draft, "p", "e", edits=["changed\n"])
    assert kept_review(draft).rejected == {0: {0}}


async def test_the_proposed_lines_revert_an_edit(draft: Path) -> None:
    decide(draft, [1, 1, "o", None, None, {"old": ["a"], "new": ["mine"]}])
    asked = await ask(draft, "p", "e", edits=["A\n"])
    assert asked.typing.begun == [("hunk.txt", "mine\n")]
    kept = kept_review(draft)
    assert (kept.accepted, kept.edited, kept.proposed) == ({0: {0}}, {}, {0: {0}})


async def test_an_editor_that_fails_takes_nothing_and_what_was_typed_stays(draft: Path) -> None:
    failed = [EditorFailed("vi cannot be started", "A\n"), EditorFailed("vi ended with status 1", "half\n")]
    asked = await ask(draft, "p", "e", "e", "e", "e", edits=[*failed, "nul\0\n", "whole\n"])
    assert [text for _, text in asked.typing.begun] == ["A\n", "A\n", "half\n", "nul\0\n"]
    assert "vi cannot be started\n" in asked.typing.shown
    assert "vi ended with status 1; your text is kept: e continues with it" in asked.typing.shown
    assert "a line with a NUL byte cannot be taken" in asked.typing.shown
    assert kept_review(draft).edited == {0: {0: {"old": ["a"], "new": ["whole"]}}}


@pytest.mark.parametrize(
    ("text", "edited"), [("own\n", ["own", ""]), ("text\n", None), ("", [""])], ids=["own", "same", "empty"]
)
async def test_a_new_file_is_edited_as_its_text(draft: Path, text: str, edited: list[str] | None) -> None:
    new: dict[str, Any] = FILES[1]
    files = [{**new, "path": "n.py"}, {**new, "whole": True}, {**new, "action": "delete"}]
    asked = await ask("", "p", "e", "n", "n", files=files, edits=[text])
    assert asked.typing.begun == [("hunk.py", "text")]
    assert [keys for _, keys in asked.typing.questions[1:]] == ["y/N/e/b/a/s/q", *["y/N/b/a/s/q"] * 2]
    first = asked.verdicts[0]
    assert first["accepted"] == [0]
    made: Any = {"hunk": 0, "old": [], "new": edited}
    assert first.get("edited") == (None if edited is None else [made])


def other_run(*hunks: Any) -> dict[str, Any]:
    return {"adapter": "b", "files": [{**FILES[0], "hunks": [*hunks]}]}


WIDE = {"start": 0, "old": ["a", "b", "c"], "new": ["wide"]}


@pytest.mark.parametrize("answer", ["y", "n"])
async def test_y_asks_about_an_open_hunk_that_clashes_with_one_of_another_run(
    draft: Path, answer: str
) -> None:
    decide(draft, [1, 1, "a", None, WIDE])
    asked = await ask(draft, "y", answer, alternatives=[other_run(WIDE)])
    assert (
        "hunk 2 of a is open, and changes lines that the hunk from the adapter 'b' that you took changes, too"
        in asked.typing.shown
    )
    assert "+C" in asked.typing.shown
    assert asked.typing.questions[-1] == ("Accept hunk 2 of a instead?", "y/N/q")
    first, second = asked.verdicts
    assert second["accepted"] == [0]
    if answer == "y":
        assert first == {"path": "a", "accepted": [1, 2], "rejected": [0]}
        assert kept_review(draft).added == {}
    else:
        assert first == {"path": "a", "accepted": [2], "rejected": [0, 1], "added": [WIDE]}
        assert kept_review(draft).added == {0: [WIDE]}
    again = await ask(draft, "y", alternatives=[other_run(WIDE)])
    assert again.verdicts[0] == first, "it is kept"


async def test_y_for_all_sends_no_earlier_comment_where_a_hunk_clashes(draft: Path) -> None:
    decided = {"accepted": [], "rejected": [], "added": [WIDE]}
    files = [{**FILES[0], "decided": decided}, FILES[1]]
    said = [{"text": "shorter"}]
    asked = await ask(draft, "y", *"y" * 4, files=files, comments=said, alternatives=[other_run(WIDE)])
    assert asked.decision.accepted
    assert "comments" not in asked.decision.value


async def test_an_open_hunk_that_changes_nothing_is_asked_about_without_a_patch(draft: Path) -> None:
    same = {"start": 0, "old": ["a"], "new": ["a"]}
    asked = await ask(draft, "p", "n", "y", files=[{**FILES[0], "hunks": [same]}, FILES[1]])
    assert asked.verdicts[0] == {"path": "a", "accepted": [], "rejected": [0]}


async def test_q_at_a_clash_goes_back_and_what_was_taken_in_an_earlier_round_clashes_too(draft: Path) -> None:
    decided = {"accepted": [], "rejected": [0], "added": [WIDE]}
    files = [{**FILES[0], "decided": decided}, FILES[1]]
    asked = await ask(draft, "y", "q", "y", "y", files=files, alternatives=[other_run(WIDE)])
    assert asked.typing.questions[2][0] == "Sure?"
    first = asked.verdicts[0]
    assert first == {"path": "a", "accepted": [1, 2], "rejected": [0]}


async def test_a_hunk_that_clashes_with_one_of_another_run_is_not_edited(draft: Path) -> None:
    decide(draft, [1, 1, "a", None, WIDE])
    asked = await ask(draft, "p", "e", "n", "y", "y", alternatives=[other_run(WIDE)])
    assert asked.typing.begun == []
    assert (
        "it changes lines that a hunk from the adapter 'b' changes, too: reject it, or go back"
        in asked.typing.shown
    )
    assert asked.files == [([2], [0, 1]), ([0], [])]


async def test_y_with_comments_that_were_not_sent_goes_back_or_sends_them(draft: Path) -> None:
    said = [{"path": "a", "hunk": 1, "text": "wrong name"}]
    asked = await ask(draft, "y", "n", "y", "r", comments=said)
    assert [question for question, _ in asked.typing.questions].count("Sure?") == 2
    assert (asked.decision.accepted, asked.decision.value["comments"]) == (False, said)
    assert asked.files == [([0, 1, 2], []), ([0], [])]
    assert (await ask(draft, "y", comments=said)).decision is ENDED


async def test_what_was_typed_stays_where_the_person_goes_back(draft: Path) -> None:
    edit = {"old": ["a"], "new": ["mine"]}
    asked = await ask(draft, "p", "e", "b", "too long", "q", edits=["mine\n"])
    assert "q back, discard these choices; texts that you typed stay" in asked.typing.help
    back = asked.typing.shown.rpartition("+E")[0]
    assert "+mine" in back
    assert "you said: too long" in asked.typing.shown
    kept = kept_review(draft)
    assert (kept.accepted, kept.rejected, kept.open) == ({}, {}, {0: {0, 1}})
    assert (kept.edited, kept.comments) == ({0: {0: edit}}, [(0, 1, "too long")])
    again = await ask(draft, "p", "q", "p", "y", "n", "y", "y")
    assert again.typing.shown.count("you said: too long") == 2, "beside its hunk, and with the review"
    first = again.verdicts[0]
    assert (first["accepted"], first["rejected"]) == ([0, 2], [1])
    assert first["edited"] == [{"hunk": 0, **edit}]
    assert again.decision.value["comments"] == [{"path": "a", "hunk": 1, "text": "too long"}]


async def test_what_was_typed_stays_also_where_no_draft_is_kept() -> None:
    asked = await ask("", "p", "e", "b", "too long", "q", "y", edits=["mine\n"])
    assert asked.verdicts[0]["edited"] == [{"hunk": 0, "old": ["a"], "new": ["mine"]}]
    assert asked.decision.value["comments"] == [{"path": "a", "hunk": 1, "text": "too long"}]


async def test_what_a_failed_editor_left_stays_where_the_person_goes_back(draft: Path) -> None:
    failed = EditorFailed("vi ended with status 1", "half\n")
    asked = await ask(draft, "p", "e", "q", "p", "e", edits=[failed, "whole\n"])
    assert [text for _, text in asked.typing.begun] == ["A\n", "half\n"]


async def test_accepting_a_hunk_leaves_out_the_reason_to_reject_it(draft: Path) -> None:
    await ask(draft, "p", "b", "too long", "q")
    asked = await ask(draft, "p", "y", "n", "y", "n")
    assert (asked.decision.accepted, asked.files) == (True, [([0, 2], [1]), ([], [0])])
    assert kept_review(draft).comments == []


async def test_leaving_out_what_was_taken_of_another_run_keeps_the_reason_of_a_rejection(
    draft: Path,
) -> None:
    said = {"text": "too long", "because": True}
    write_draft(draft, [NEOVIM, {"decided": [[1, 1, "r", said]]}, {"decided": [[0, 0, "", None]]}])
    write_draft(draft, [{"decided": [[1, 0, "a", None, WIDE]]}])
    asked = await ask(draft, "y", "y", alternatives=[other_run(WIDE)])
    assert asked.decision.value["comments"] == [{"path": "a", "hunk": 0, "text": "too long"}]
    assert kept_review(draft).comments == [(0, 0, "too long")]
    assert kept_review(draft).added == {}


def test_all_is_accepted_beside_alternatives_by_work_that_grows_as_the_hunks_do() -> None:
    def shape(count: int, word: str, first: int) -> dict[str, Any]:
        lines = [f"line {row}" for row in range(4 * count)]
        rows = range(first, 4 * count, 4)
        hunks = [{"start": row, "old": [lines[row]], "new": [f"{word} {row}"]} for row in rows]
        return {"path": "a", "action": "modify", "before": "\n".join(lines), "hunks": hunks}

    def make(count: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        runs = [{"adapter": word, "files": [shape(count, word, 1)]} for word in ("left", "right")]
        return shape(count, "own", 1), runs

    def accept(given: tuple[dict[str, Any], list[dict[str, Any]]]) -> None:
        own, runs = given
        file = ReviewedFile.of(own)
        others = alternatives_to(file, runs)
        person = Typing(["1", "a"])
        picking = HunkPicking(person, file, others, said={}, typed={}, revisable=True)
        kept: list[list[Any]] = []

        async def keep(decisions: Sequence[list[Any]]) -> None:
            kept.extend(decisions)

        asyncio.run(picking.pick(keep))
        assert [one.adapter for one in picking.added] == ["left"]
        assert len(picking.accepted) == len(kept) - 1 == len(file.hunks) - 1

    assert_linear(make, accept, 60)


CONFLICT = {
    **FILES[0],
    "marks": ["1 conflict"],
    "checked": "tests passed",
    "hunks": [hunk(0), {**hunk(2), "conflict": True}, hunk(4)],
}
LANDING: dict[str, Any] = {"files": [CONFLICT, FILES[1]], "revisable": False, "collects": True}


async def test_accepting_all_of_a_landing_leaves_conflicts_to_the_engine(draft: Path) -> None:
    asked = await ask(draft, "y", **LANDING)
    assert asked.decision == Decision(True)
    assert "all but 1 conflict" in asked.typing.help


async def test_marks_and_the_last_check_are_above_the_patch(draft: Path) -> None:
    assert "1 conflict, tests passed" in (await ask(draft, "n", **LANDING)).matter


async def test_the_rest_of_a_file_is_accepted_without_its_conflicts_which_are_asked_about(
    draft: Path,
) -> None:
    asked = await ask(draft, "p", "a", "n", "y", **LANDING)
    assert asked.files == [([0, 2], [1]), ([0], [])]
    assert "conflict: you changed these lines, too" in asked.typing.shown


async def test_a_conflict_is_accepted_by_its_own_answer(draft: Path) -> None:
    asked = await ask(draft, "p", "n", "y", "n", "n", **LANDING)
    assert asked.files == [([1], [0, 2]), ([], [0])]


async def test_accepting_the_rest_of_a_begun_landing_leaves_its_conflicts_open(draft: Path) -> None:
    decide(draft, [1, 1, "r", None])
    asked = await ask(draft, "y", **LANDING)
    assert asked.files == [([2], [0]), ([0], [])]


async def test_reasons_of_a_landing_are_in_the_answer_with_the_decisions(draft: Path) -> None:
    asked = await ask(draft, "p", "y", "b", "too long", "n", "n", **LANDING)
    assert asked.decision.accepted
    assert asked.decision.value["comments"] == [{"path": "a", "hunk": 1, "text": "too long"}]


async def test_a_landing_with_everything_rejected_answers_with_the_decisions(draft: Path) -> None:
    asked = await ask(draft, "p", "n", "n", "n", "n", **LANDING)
    assert not asked.decision.accepted
    assert asked.files == [([], [0, 1, 2]), ([], [0])]


async def test_a_change_of_form_is_one_line(draft: Path) -> None:
    folded = [{**FILES[0], "folded": "formatting"}]
    matter = (await ask(draft, "n", **{**LANDING, "files": folded})).matter
    assert matter.splitlines() == ["a: only formatted, 3 hunks"]


async def test_a_check_runs_on_what_is_accepted_and_its_report_is_shown(draft: Path) -> None:
    checked = []

    async def check(value: Any, name: str) -> CheckResult:
        checked.append(([file["accepted"] for file in value["files"]], name))
        return CheckResult(name, "failed", "1 failed") if name else CheckResult(checks=("lint", "tests"))

    decide(draft, [1, 1, "a", None])
    asked = await ask(draft, "t", "2", "n", check=check, **LANDING)
    assert checked == [([[0], []], ""), ([[0], []], "tests")]
    assert "1 failed" in asked.typing.shown
