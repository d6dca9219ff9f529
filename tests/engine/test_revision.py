"""Revisions of a review: kept and reopened decisions."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from tests.harness.work import assert_linear
from tideate_core.engine.review.hunks import Decided, MadeHunks, carried, reduced
from tideate_core.engine.review.revision import Feedback, Revision
from tideate_core.errors import InvalidInput
from tideate_core.workspace import FileChange, Hunk, apply_hunks, lines_of, rebase

if TYPE_CHECKING:
    from collections.abc import Callable

BEFORE = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl"


def change(after: str, before: str = BEFORE) -> FileChange:
    return FileChange("a.txt", "modify", before, after)


def decided(accepted: set[int], rejected: set[int] | None = None) -> Decided:
    return Decided(frozenset(accepted), frozenset(rejected or ()))


def following(first: str, verdict: Decided, second: FileChange) -> Revision:
    return Revision.first([change(first)]).followed_by([verdict], [second])


def test_a_hunk_that_came_back_as_it_was_keeps_its_decision() -> None:
    first = BEFORE.replace("b", "B").replace("f", "F").replace("k", "K")
    revision = following(first, decided({0}, {2}), change(first.replace("F", "FF")))
    assert revision.decided == [decided({0}, {2})]
    assert (revision.number, revision.changes[0].after) == (2, first.replace("F", "FF"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"b": "B"}, {"c": "C"}),
        ({"c": "C"}, {"b": "B"}),
        ({"b": "new\nb"}, {"b": "B"}),
        ({"b": "b\nnew"}, {"b": "B"}),
        ({"b\n": ""}, {"c": "C"}),
    ],
    ids=["line above", "line below", "inserted before", "inserted after", "deleted above"],
)
def test_what_was_accepted_stays_beside_a_line_that_the_model_changes(
    first: dict[str, str], second: dict[str, str]
) -> None:
    ((old, new),) = first.items()
    ((line, changed),) = second.items()
    accepted = BEFORE.replace(old, new)
    revision = following(accepted, decided({0}), change(BEFORE.replace(line, changed)))
    expected = BEFORE.replace(old, new).replace(line, changed)
    assert revision.changes[0].after == expected
    assert revision.fallen == (), "nothing is lost"
    both = revision.read({"files": [{"accepted": [*range(len(revision.changes[0].hunks))]}]})
    assert [one.after for one in revision.accepted(both.decided)] == [expected]


def test_accepted_lines_that_the_model_takes_back_for_others_are_named() -> None:
    first = BEFORE.replace("b\nc\nd", "B\nC\nD")
    revision = following(first, decided({0}), change(BEFORE.replace("d", "DD")))
    assert revision.decided == [decided(set())]
    assert revision.fallen == ("a.txt:2: the revision changes an accepted hunk; it is undecided again",)


def test_a_change_of_another_kind_names_what_was_accepted() -> None:
    gone = FileChange("a.txt", "delete", BEFORE, None)
    revision = following(BEFORE.replace("b", "B"), decided({0}), gone)
    assert (revision.changes, revision.decided) == ([gone], [decided(set())])
    assert revision.fallen == ("a.txt: the revision changes an accepted hunk; it is undecided again",)


def test_a_line_that_the_person_changed_costs_only_the_decision_on_it() -> None:
    first = BEFORE.replace("b", "B").replace("f", "F").replace("k", "K")
    mine = BEFORE.replace("f", "mine")
    revision = following(first, decided({0, 1}, {2}), change(mine.replace("k", "K"), mine))
    assert revision.changes[0].after == mine.replace("b", "B").replace("k", "K").replace("mine", "F")
    assert revision.decided == [decided({0}, {2})]
    assert revision.fallen == (f"a.txt:6: {OPEN_AGAIN}",)


OPEN_AGAIN = "the text changed here, and the accepted hunk is undecided again for the current text"


@pytest.mark.parametrize(
    ("first", "now"),
    [
        ({"b": "B"}, {"b": "B"}),
        ({"b": "b\nnew"}, {"b": "b\nnew"}),
        ({"b\n": ""}, {"b\nc\n": ""}),
    ],
    ids=["the same line", "the same insertion", "deleted with others"],
)
def test_what_was_accepted_and_the_person_wrote_since_is_not_asked_again(
    first: dict[str, str], now: dict[str, str]
) -> None:
    accepted, mine = (BEFORE.replace(*next(iter(one.items()))) for one in (first, now))
    revision = following(accepted, decided({0}), change(mine.replace("k", "KK"), mine))
    assert revision.changes[0].after == mine.replace("k", "KK")
    assert (revision.decided, revision.fallen) == ([decided(set())], ())


def test_accepted_lines_that_the_person_changed_otherwise_are_open_unless_the_model_has_others() -> None:
    first, mine = BEFORE.replace("f", "F"), BEFORE.replace("f", "mine")
    revision = following(first, decided({0}), change(mine.replace("mine", "MINE"), mine))
    assert (revision.changes[0].after, revision.decided) == (mine.replace("mine", "MINE"), [decided(set())])
    assert revision.fallen == (f"a.txt:6: {MOVED_ON}",)
    revision = following(first, decided({0}), change(mine.replace("mine", "F"), mine))
    assert (revision.changes[0].after, revision.decided) == (first, [decided(set())])
    assert revision.fallen == (f"a.txt:6: {OPEN_AGAIN}",)
    once = Revision.first([change(first)])
    revision = once.followed_by([decided({0})], [change(mine.replace("k", "K"), mine)], corrected={"a.txt"})
    assert revision.changes[0].after == mine.replace("k", "K")
    assert revision.fallen == (f"a.txt:6: {MOVED_ON}",)


MOVED_ON = "the text changed here, and your decision on the hunk no longer applies"


def test_a_correction_may_leave_out_what_was_accepted() -> None:
    first = BEFORE.replace("b", "(").replace("f", "F")
    once = Revision.first([change(first)])
    now = change(BEFORE.replace("f", "F"))
    revision = once.followed_by([decided({0, 1})], [now], corrected={"a.txt"})
    assert (revision.changes, revision.decided) == ([now], [decided({0})])
    assert revision.fallen == ("a.txt:2: the correction leaves out an accepted hunk",)
    all_gone = once.followed_by([decided({0, 1})], [], corrected={"a.txt"})
    assert all_gone.changes == []
    assert all_gone.fallen == ("a.txt: the correction leaves out an accepted hunk",)


def test_decisions_follow_their_lines_where_the_text_was_changed_meanwhile() -> None:
    first = BEFORE.replace("b", "B").replace("k", "K")
    longer = f"new\nnew\n{BEFORE}"
    after = longer.replace("k", "KK")
    revision = following(first, decided({0}, {1}), change(after, longer))
    assert revision.changes[0].after == after.replace("b", "B"), "what was accepted stays"
    assert revision.decided == [decided({0})]


def test_a_file_that_is_left_out_stays_as_far_as_it_was_accepted() -> None:
    new = FileChange("new.txt", "create", None, "x")
    gone = FileChange("old.txt", "delete", "y", None)
    changes = [change(BEFORE.replace("b", "B").replace("f", "F")), new, gone]
    revision = Revision.first(changes).followed_by([decided({1}), decided(set(), {0}), decided({0})], [])
    assert revision.changes == [change(BEFORE.replace("f", "F")), gone]
    assert revision.decided == [decided({0}), decided({0})]


def test_a_new_file_is_open_again_once_it_differs() -> None:
    new = [FileChange("new.txt", "create", None, text) for text in ("x", "x", "y")]
    same, other = (Revision.first(new[:1]).followed_by([decided({0})], [one]) for one in new[1:])
    assert (same.decided, other.decided) == ([decided({0})], [decided(set())])


@pytest.mark.parametrize("seed", range(200))
def test_nothing_is_decided_that_nobody_saw_and_nothing_accepted_is_lost(seed: int) -> None:
    chance = random.Random(seed)
    lines = [str(number) for number in range(chance.randint(1, 25))]

    def edited() -> str:
        made = []
        for line in lines:
            made += chance.choice([[line]] * 4 + [[], [line, "+"], [f"{line}{chance.choice('ab')}"]])
        return "\n".join(made)

    before = "\n".join(lines)
    revision = Revision.first([change(edited(), before)])
    for _ in range(4):
        hunks = revision.changes[0].hunks if revision.changes else []
        states = [chance.choice("arn") for _ in hunks]
        verdict = Decided(
            frozenset(at for at, one in enumerate(states) if one == "a"),
            frozenset(at for at, one in enumerate(states) if one == "r"),
        )
        seen = dict(zip(hunks, states, strict=True))
        made = change(edited(), before)
        revision = revision.followed_by([verdict] if revision.changes else [], [made])
        now = revision.changes[0].hunks
        for kind, indexes in zip(
            "ar", (revision.decided[0].accepted, revision.decided[0].rejected), strict=True
        ):
            assert all(seen[now[at]] == kind for at in indexes)
        told = {int(words.split(":")[1]) for words in revision.fallen}
        for hunk in (hunk for hunk, state in seen.items() if state == "a"):
            apart = not any(hunk.clashes(one) for one in made.hunks)
            assert not apart or hunk in now or merged(hunk, now), (hunk, now)
            assert apart or merged(hunk, now) or hunk.start + 1 in told, (hunk, now)


def merged(hunk: Hunk, now: list[Hunk]) -> bool:
    """Tell whether equal lines around let the same text be compared at another place."""
    text = {line for one in now for line in one.new}
    return set(hunk.new) <= text


def test_none_accepts_what_was_not_rejected_before() -> None:
    first = BEFORE.replace("b", "B").replace("f", "F")
    revision = following(first, decided(set(), {0}), change(first))
    answer = revision.read(None)
    assert answer.decided == [decided({1}, {0})]
    assert answer.feedback == Feedback(())
    assert [one.after for one in revision.accepted(answer.decided)] == [BEFORE.replace("f", "F")]


def test_a_hunk_is_not_accepted_and_rejected() -> None:
    revision = Revision.first([change(BEFORE.replace("b", "B"))])
    with pytest.raises(InvalidInput, match=r"hunk 0 of a\.txt was accepted and rejected"):
        revision.read({"files": [{"accepted": [0], "rejected": [0]}]})


def test_a_comment_on_all_is_about_each_file() -> None:
    both = [change(BEFORE.replace("b", "B")), FileChange("new.txt", "create", None, "x")]
    value = {
        "files": [{"accepted": []}, {"accepted": []}],
        "comments": [{"text": " all "}, {"path": "new.txt", "hunk": 0, "text": "this"}],
    }
    feedback = Revision.first(both).read(value).feedback
    assert [one.text for one in feedback.about("a.txt").comments] == ["all"]
    assert [one.text for one in feedback.about("new.txt").comments] == ["all", "this"]


def edited(at: int, old: str, new: str) -> dict[str, object]:
    """The answer that accepts a hunk with the lines that the person wrote in its place."""
    one = {"hunk": at, "old": old.split("\n") if old else [], "new": new.split("\n") if new else []}
    return {"files": [{"accepted": [at], "edited": [one]}]}


PROPOSED = BEFORE.replace("b\nc", "B\nC").replace("k", "K")


def test_what_the_person_wrote_takes_the_place_of_a_hunk() -> None:
    revision = Revision.first([change(PROPOSED)])
    answer = revision.read(edited(0, "b\nc", "B\nmine\nC"))
    (accepted,) = revision.accepted(answer.decided)
    assert accepted.after == BEFORE.replace("b\nc", "B\nmine\nC")
    assert accepted.before == BEFORE
    (gone,) = revision.accepted(revision.read(edited(0, "b\nc", "")).decided)
    assert gone.after == BEFORE.replace("b\nc\n", "")


def test_an_edit_of_changed_lines_has_them_as_its_base() -> None:
    """So the workspace refuses it where these lines are others again."""
    revision = Revision.first([change(PROPOSED)])
    answer = revision.read(edited(0, "b\nc!\nd!", "B\nC!"))
    (accepted,) = revision.accepted(answer.decided)
    assert accepted.before == BEFORE.replace("b\nc", "b\nc!\nd!")
    assert accepted.after == BEFORE.replace("b\nc", "B\nC!")
    now = BEFORE.replace("b\nc", "b\nc!\nd!").replace("l", "typed")
    assert rebase(accepted.hunks, accepted.before or "", now) is not None
    assert rebase(accepted.hunks, accepted.before or "", now.replace("c!", "again")) is None


def test_a_new_file_is_what_the_person_made_of_it() -> None:
    new = FileChange("new.txt", "create", None, "one\ntwo")
    revision = Revision.first([new])
    (accepted,) = revision.accepted(revision.read(edited(0, "", "one\n2")).decided)
    assert (accepted.action, accepted.before, accepted.after) == ("create", None, "one\n2")


def test_an_edit_that_changes_nothing_writes_nothing() -> None:
    revision = Revision.first([change(PROPOSED)])
    assert revision.accepted(revision.read(edited(0, "b\nc", "b\nc")).decided) == []


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (
            {"accepted": [], "rejected": [0], "edited": [{"hunk": 0, "old": ["b"], "new": []}]},
            "only hunks that are not rejected are edited",
        ),
        ({"accepted": [0], "edited": [{"hunk": 0, "old": [], "new": []}] * 2}, "each once"),
        ({"accepted": [0], "edited": [{"hunk": 9, "old": [], "new": []}]}, "number 9 was edited"),
        ({"accepted": [0], "edited": [{"hunk": -1, "old": [], "new": []}]}, "number -1 was edited"),
        ({"accepted": [0], "edited": [{"hunk": 0, "old": [], "new": ["a\nb"]}]}, "has a line end in it"),
        ({"accepted": [0], "edited": [{"hunk": 0, "old": ["a\nb"], "new": []}]}, "has a line end in it"),
        ({"accepted": [0], "edited": [{"hunk": 0, "new": []}]}, "files.0.edited.0.old"),
        ({"accepted": [0], "edited": [{"hunk": "0", "old": [], "new": []}]}, "files.0.edited.0.hunk"),
    ],
)
def test_an_edit_that_is_none_of_a_hunk_that_may_be_taken_is_refused(
    verdict: dict[str, object], words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        Revision.first([change(PROPOSED)]).read({"files": [verdict]})


@pytest.mark.parametrize("action", ["delete", "move"])
def test_what_has_no_lines_to_edit_is_not_edited(action: str) -> None:
    whole = FileChange("a.txt", action, BEFORE, None, move_to="b.txt")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="accepted or rejected as a whole"):
        Revision.first([whole]).read(edited(0, "", "x"))


MINE = BEFORE.replace("b\nc", "B\nmine\nc")


@pytest.mark.parametrize(
    ("second", "after", "open_hunks", "fallen"),
    [
        (PROPOSED.replace("K", "KK"), MINE.replace("k", "KK"), 1, 0),
        (BEFORE.replace("k", "KK"), MINE.replace("k", "KK"), 1, 0),
        (MINE.replace("k", "KK"), MINE.replace("k", "KK"), 1, 0),
        (PROPOSED.replace("B\nC\nd", "B\nother\nD").replace("K", "KK"), MINE.replace("k", "KK"), 1, 1),
        (MINE.replace("mine\n", "mine\nmore\n"), MINE.replace("mine\n", "mine\nmore\n"), 1, 1),
    ],
    ids=["as it was", "left out", "made so", "made otherwise", "more made around it"],
)
def test_what_the_person_wrote_stays_in_the_next_revision(
    second: str, after: str, open_hunks: int, fallen: int
) -> None:
    first = Revision.first([change(PROPOSED)])
    answer = first.read(edited(0, "b\nc", "B\nmine\nc"))
    revision = first.followed_by(answer.decided, [change(second)])
    assert revision.changes[0].after == after
    assert len(revision.changes[0].hunks) - len(revision.decided[0].accepted) == open_hunks
    assert len(revision.fallen) == fallen


def test_a_new_file_that_was_edited_stays_in_the_next_revision() -> None:
    new = FileChange("new.txt", "create", None, "one\ntwo")
    first = Revision.first([new, change(PROPOSED)])
    verdict = edited(0, "", "one\n2")["files"][0]  # type: ignore[index]
    answer = first.read({"files": [verdict, {"accepted": []}]})
    revision = first.followed_by(answer.decided, [new, change(PROPOSED.replace("K", "KK"))])
    assert revision.changes[0].after == "one\n2"
    assert revision.decided[0] == decided({0})


@pytest.mark.parametrize(
    ("text", "fallen"),
    [
        ("one\n2", ()),
        (
            "one\ntwo\nthree",
            ("new.txt: your text stays, and the revision's text is left out",),
        ),
    ],
    ids=["made so", "made otherwise"],
)
@pytest.mark.parametrize("path", ["new.txt", ""])
def test_a_new_text_of_the_person_is_kept_whatever_the_model_makes(
    path: str, text: str, fallen: tuple[str, ...]
) -> None:
    first = Revision.first([FileChange(path, "create", None, "one\ntwo")])
    answer = first.read(edited(0, "", "one\n2"))
    revision = first.followed_by(answer.decided, [FileChange(path, "create", None, text)])
    assert [one.after for one in revision.accepted(revision.decided)] == ["one\n2"]
    named = tuple(words.replace("new.txt", path or "the new text") for words in fallen)
    assert revision.fallen == named


def test_lines_of_the_person_are_kept_where_the_file_is_to_go() -> None:
    first = Revision.first([change(PROPOSED)])
    answer = first.read(edited(0, "b\nc", "B\nmine\nc"))
    revision = first.followed_by(answer.decided, [FileChange("a.txt", "delete", BEFORE, None)])
    assert [one.after for one in revision.accepted(revision.decided)] == [MINE]
    assert len(revision.fallen) == 1


def opened(second: FileChange | None, first: FileChange) -> Revision:
    """The revision after the person wrote something for a hunk and left it open."""
    once = Revision.first([first])
    old, new = ([], ["one", "2"]) if first.whole else (["b", "c"], ["B", "mine", "c"])
    value = {
        "files": [{"accepted": [], "edited": [{"hunk": 0, "old": old, "new": new}]}],
        "comments": [{"text": "go on"}],
    }
    answer = once.read(value)
    assert [one.part for one in answer.feedback.comments if one.edited], "the model is told"
    assert once.accepted(answer.decided) == [], "nobody accepted it"
    return once.followed_by(answer.decided, [second] if second else [])


@pytest.mark.parametrize(
    "second",
    [PROPOSED, BEFORE, MINE, BEFORE.replace("b\nc", "other"), None],
    ids=["as it was", "left out", "made so", "made otherwise", "no file"],
)
def test_what_the_person_wrote_for_an_open_hunk_is_still_there_and_open(second: str | None) -> None:
    revision = opened(None if second is None else change(second), change(PROPOSED))
    assert revision.changes[0].hunks[0].new == ("B", "mine", "c")
    assert (revision.decided, revision.fallen) == ([decided(set())], ())
    shown = opened(change(BEFORE, BEFORE), change(PROPOSED))
    assert shown.changes[0].after == MINE


@pytest.mark.parametrize("text", ["one\ntwo", "one\n2", "other", None])
def test_a_new_file_that_was_edited_and_left_open_is_still_there(text: str | None) -> None:
    new = FileChange("new.txt", "create", None, "one\ntwo")
    revision = opened(None if text is None else replace(new, after=text), new)
    assert (revision.changes, revision.decided) == ([replace(new, after="one\n2")], [decided(set())])
    assert len(revision.fallen) == (text == "other")


NOW_OPEN = "the text changed here, and your edit is undecided again for the current text"


@pytest.mark.parametrize(
    ("now", "old", "new"),
    [
        ("b\nc2", "b\nc2", "B\nmine\nc"),
        ("x\nc", "x\nc", "B\nmine\nc"),
        ("b", "b", "B\nmine\nc"),
        ("b\nbetween\nc", "b\nbetween\nc", "B\nmine\nc"),
    ],
    ids=["another line", "the same line", "one is gone", "a line between"],
)
def test_what_the_person_wrote_is_open_again_for_lines_that_are_others_now(
    now: str, old: str, new: str
) -> None:
    first = Revision.first([change(PROPOSED)])
    answer = first.read(edited(0, "b\nc", "B\nmine\nc"))
    mine = f"top\n{BEFORE}".replace("b\nc", now)
    revision = first.followed_by(answer.decided, [change(mine.replace("k", "KK"), mine)])
    (made, verdict) = revision.changes[0], revision.decided[0]
    assert made.hunks[0].as_json() == {"start": 2, "old": old.split("\n"), "new": new.split("\n")}
    assert (len(made.hunks), verdict) == (2, decided(set())), "nobody has seen it for these lines"
    assert revision.fallen == (f"a.txt:3: {NOW_OPEN}",)


def test_the_text_of_the_person_takes_the_place_of_what_the_model_makes_of_the_new_lines() -> None:
    first = Revision.first([change(PROPOSED)])
    answer = first.read(edited(0, "b\nc", "B\nmine\nc"))
    mine = BEFORE.replace("b\nc", "b\nc2")
    revision = first.followed_by(answer.decided, [change(mine.replace("b\nc2", "other"), mine)])
    assert revision.changes[0].after == BEFORE.replace("b\nc", "B\nmine\nc")
    assert revision.decided == [decided(set())]


def answered(before: str, proposed: str, *made: str | None) -> tuple[Revision, list[Decided]]:
    """A revision and its decisions: hunks were accepted, with lines of the person for some."""
    shown = Revision.first([change(proposed, before)])
    edits = [
        {"hunk": at, "old": [*hunk.old], "new": text.split("\n") if text else []}
        for at, (hunk, text) in enumerate(zip(shown.changes[0].hunks, made, strict=True))
        if text is not None
    ]
    answer = shown.read({"files": [{"accepted": [*range(len(made))], "edited": edits}]})
    return shown, answer.decided


def written_for(before: str, proposed: str, now: str, *made: str | None) -> Revision:
    """The revision for a text as it is now, after such an answer."""
    shown, decisions = answered(before, proposed, *made)
    return shown.for_texts_now(decisions, [change(now, now)])


TAKEN_OUT = "the text changed here, and the lines that you removed have changed: they stay"


@pytest.mark.parametrize(
    ("before", "proposed", "now", "made", "after", "fallen"),
    [
        ("a b c d", "a B C d", "x y z c d", ["B mine C"], "x y z B mine C d", [(4, NOW_OPEN)]),
        ("b c d e", "B C D E", "b c d mine", ["B c d e"], "B c d mine", [(1, NOW_OPEN)]),
        (
            "a b c d e",
            "a B c D e",
            "a new e",
            ["mine", "own"],
            "a mine new own e",
            [(2, NOW_OPEN), (3, NOW_OPEN)],
        ),
        ("a b c d e f g", "a b C d E f g", "a new g", ["mine", "own"], "a new mine own g", [(3, NOW_OPEN)]),
        (
            "a b c d e",
            "a B c D e",
            "a bx cx dx e",
            ["mine", "own"],
            "a mine cx own e",
            [(2, NOW_OPEN), (4, NOW_OPEN)],
        ),
        ("a b c", "a B c", "top a b2 c", [""], None, [(3, TAKEN_OUT)]),
        ("a b c", "a b x c", "a b typed c", ["mine"], "a b typed mine c", [(4, NOW_OPEN)]),
        ("a b c", "a B c", "a b1 typed c", [""], None, [(2, TAKEN_OUT)]),
    ],
    ids=[
        "lines changed beyond the hunk",
        "other lines of the hunk changed",
        "two became one",
        "all are gone",
        "those between changed, too",
        "taken out",
        "inserted at its place",
        "edited away",
    ],
)
def test_edits_are_merged_with_the_lines_of_the_current_text(
    before: str,
    proposed: str,
    now: str,
    made: list[str | None],
    after: str | None,
    fallen: list[tuple[int, str]],
) -> None:
    """Words stand for lines."""
    lines = [text.replace(" ", "\n") for text in (before, proposed, now)]
    revision = written_for(*lines, *(one and one.replace(" ", "\n") for one in made))
    assert [one.after for one in revision.changes] == ([after.replace(" ", "\n")] if after else [])
    assert revision.fallen == tuple(f"a.txt:{line}: {words}" for line, words in fallen)
    assert revision.decided == [decided(set())] * len(revision.changes)


@pytest.mark.parametrize("longer", [False, True])
def test_lines_that_a_formatter_indents_keep_their_hunks_and_no_other_line_is_undone(longer: bool) -> None:
    lines = [f"line {at}" for at in range(9)]
    proposed = [line.upper() if at in (1, 4, 7) else line for at, line in enumerate(lines)]
    now = [f"  {line}" for line in lines]
    now[8:8] = ["  # wrapped"] if longer else []
    revision = written_for(
        "\n".join(lines), "\n".join(proposed), "\n".join(now), "typed one", None, "typed seven"
    )
    now[1], now[4], now[7] = "typed one", "LINE 4", "typed seven"
    assert revision.changes[0].after == "\n".join(now)
    assert len(revision.fallen) == 3


def test_an_open_hunk_whose_lines_changed_is_still_there_and_told_of() -> None:
    shown = Revision.first([change("a\nB\nc\nD\ne", "a\nb\nc\nd\ne")])
    now = "a\nb\nc\nd2\ne"
    revision = shown.for_texts_now([decided({0})], [change(now.replace("b", "B"), now)])
    assert revision.changes[0].after == "a\nB\nc\nD\ne"
    assert revision.decided == [decided({0})]
    words = "the text changed here, and this hunk is undecided for the current text"
    assert revision.fallen == (f"a.txt:4: {words}",)


@pytest.mark.parametrize("accepted", [True, False])
def test_text_for_a_file_that_the_model_makes_otherwise_is_told(accepted: bool) -> None:
    shown = Revision.first([change(PROPOSED)])
    answer = shown.read(edited(0, "b\nc", "B\nmine\nc"))
    verdicts = answer.decided if accepted else [replace(answer.decided[0], accepted=frozenset())]
    gone = FileChange("a.txt", "delete", BEFORE, None)
    (words,) = shown.followed_by(verdicts, [gone], corrected={"a.txt"}).fallen
    assert words.split("\n")[1:] == ["B", "mine", "c"]


Meanwhile = tuple[list[str], list[str], list[str], list[str | None]]
MEANWHILE = {"same": "{0}", "other": "now {0}", "blanks": "  {0}", "gone": "", "more": "{0}\nnow more {0}"}


@st.composite
def edited_meanwhile(draw: st.DrawFn, *kinds: str) -> Meanwhile:
    """A text with a proposal, its current version, and the person's edits of the hunks."""
    lines = [f"line {at}" for at in range(draw(st.integers(1, 8)))]
    proposed, now = list[str](), list[str]()
    for line in lines:
        proposed += draw(st.sampled_from([[line], [line], [line.upper()], [], [line, f"{line} too"]]))
        made = MEANWHILE[draw(st.sampled_from(kinds))].format(line)
        now += made.split("\n") if made else []
    count = len(change("\n".join(proposed), "\n".join(lines)).hunks)
    texts = [[None, f"typed {at}", f"typed {at}\ntyped again {at}"] for at in range(count)]
    return lines, proposed, now, [draw(st.sampled_from(choice)) for choice in texts]


@pytest.mark.slow
@given(edited_meanwhile(*MEANWHILE), edited_meanwhile(*MEANWHILE), st.booleans(), st.booleans())
def test_nothing_that_was_typed_is_lost(
    made: Meanwhile, model: Meanwhile, revised: bool, fixed: bool
) -> None:
    lines, proposed, now, typed = made
    text, other = "\n".join(now), "\n".join(model[1])
    shown, decisions = answered("\n".join(lines), "\n".join(proposed), *typed)
    if revised:
        corrected = {"a.txt"} if fixed else set[str]()
        revision = shown.followed_by(decisions, [change(other, text)], corrected=corrected)
    else:
        revision = shown.for_texts_now(decisions, [change(text, text)])
    hunks = revision.changes[0].hunks if revision.changes else []
    told = "\n".join(revision.fallen).split("\n")
    for line in (line for one in typed if one for line in one.split("\n")):
        assert line in told or any(line in hunk.new for hunk in hunks)


@pytest.mark.slow
@given(edited_meanwhile("same", "other", "blanks"))
def test_lines_that_only_others_changed_are_not_undone(made: Meanwhile) -> None:
    lines, proposed, now, typed = made
    own = {
        at
        for hunk in change("\n".join(proposed), "\n".join(lines)).hunks
        for at in range(hunk.start, hunk.end)
    }
    revision = written_for("\n".join(lines), "\n".join(proposed), "\n".join(now), *typed)
    hunks = revision.changes[0].hunks if revision.changes else []
    assert {at for hunk in hunks for at in range(hunk.start, hunk.end)} <= own


def test_an_edit_that_was_made_for_the_lines_as_they_are_now_stays_accepted() -> None:
    first = Revision.first([change(PROPOSED)])
    answer = first.read(edited(0, "b\nc2", "B\nmine\nc2"))
    mine = BEFORE.replace("b\nc", "b\nc2")
    revision = first.followed_by(answer.decided, [change(mine.replace("k", "KK"), mine)])
    (accepted,) = revision.accepted(revision.decided)
    assert accepted.after == mine.replace("b\nc2", "B\nmine\nc2")
    assert revision.fallen == ()


@pytest.mark.parametrize("proposed", ["new\nown\nb", "own\nnew\nb"])
def test_a_rejected_insertion_stays_rejected_beside_what_the_person_inserted(proposed: str) -> None:
    mine = BEFORE.replace("b", "own\nb")
    revision = following(
        BEFORE.replace("b", "new\nb"), decided(set(), {0}), change(BEFORE.replace("b", proposed), mine)
    )
    assert (revision.decided, revision.fallen) == ([decided(set(), {0})], ())


REPEATING = ["", "}", "return x", "a", "b"]
REPEATED = st.lists(st.sampled_from(REPEATING), min_size=1, max_size=14)


@st.composite
def decided_changes(draw: st.DrawFn) -> tuple[FileChange, Decided]:
    """Draw a change of lines that repeat, and decisions and edits of its hunks."""
    base, new = draw(REPEATED), draw(REPEATED)
    made = change("\n".join(new), "\n".join(base))
    states = [draw(st.sampled_from(["accepted", "edited", "rejected", "open"])) for _ in made.hunks]
    edits = {
        at: replace(made.hunks[at], new=(*draw(REPEATED), *[f"mine {at}"] * draw(st.integers(0, 1))))
        for at, state in enumerate(states)
        if state == "edited"
    }
    accepted = frozenset(at for at, state in enumerate(states) if state in ("accepted", "edited"))
    rejected = frozenset(at for at, state in enumerate(states) if state == "rejected")
    return made, Decided(accepted, rejected, edited=edits)


def text_of(change: FileChange, verdict: Decided) -> str | None:
    kept = reduced(change, verdict)
    return change.before if kept is None else kept.after


@given(decided_changes(), st.booleans(), st.integers(1, 3))
def test_the_same_change_once_more_keeps_all_decisions(
    drawn: tuple[FileChange, Decided], correction: bool, rounds: int
) -> None:
    made, verdict = drawn
    accepted = text_of(made, verdict)
    for _ in range(rounds):
        undecided = len(made.hunks) - len(verdict.accepted | verdict.rejected)
        before = len(verdict.rejected)
        answer = replace(made, parts=())
        made, verdict, fallen = carried(made, verdict, answer, keep_accepted=not correction)
        assert (text_of(made, verdict), fallen) == (accepted, [])
        assert len(verdict.rejected) == before
        assert len(made.hunks) - len(verdict.accepted | verdict.rejected) == undecided


@given(decided_changes(), st.booleans())
def test_a_model_that_answers_with_what_was_accepted_keeps_it(
    drawn: tuple[FileChange, Decided], correction: bool
) -> None:
    made, verdict = drawn
    accepted = text_of(made, verdict)
    answer = replace(made, after=accepted)
    following, decisions, fallen = carried(made, verdict, answer, keep_accepted=not correction)
    assert (text_of(following, decisions), fallen) == (accepted, [])


@given(decided_changes(), REPEATED)
def test_of_any_other_change_nothing_undecided_is_lost(
    drawn: tuple[FileChange, Decided], other: list[str]
) -> None:
    made, verdict = drawn
    answer = replace(made, after="\n".join(other))
    following, decisions, _ = carried(made, verdict, answer, keep_accepted=True)
    assert "\n".join(apply_hunks(lines_of(made.before), following.hunks)) == following.after
    assert not any(hunk.clashes(one) for hunk, one in pairwise(following.hunks))
    if not verdict.accepted:
        assert following.after == answer.after
    written = {line for hunk in verdict.edited.values() for line in hunk.new}
    assert written <= {*lines_of(following.after), *lines_of(made.before), *REPEATING}
    if following.after == following.before:
        return  # its hunks undo each other: the text says nothing of them
    again, _, _ = carried(following, decisions, replace(following, parts=()), keep_accepted=True)
    assert again.hunks == following.hunks


def test_the_model_is_told_what_the_person_wrote() -> None:
    revision = Revision.first([change(PROPOSED)])
    value = edited(0, "b\nc", "B\nmine") | {"comments": [{"text": "louder"}]}
    _, told = revision.read(value).feedback.comments
    assert told.edited
    assert "+B\n+mine" in told.part


def test_a_question_that_is_asked_again_has_the_edits() -> None:
    verdict = edited(0, "b\nc", "B")
    answer = Revision.first([change(PROPOSED)]).read(verdict)
    shape = answer.decided[0].as_json()
    assert shape == {"accepted": [0], "rejected": [], "edited": verdict["files"][0]["edited"]}  # type: ignore[index]


Carried = tuple[FileChange, Decided, FileChange]


def edited_everywhere(now: str, then: str) -> Callable[[int], Carried]:
    """Return a change with every hunk edited and accepted, and its successor.

    :param now: what became of each line that a hunk is about, by its number.
    :param then: what the next revision makes of it.
    """

    def make(count: int) -> Carried:
        lines, proposed, text, answer = (
            "\n".join(form.format(row) if row % 4 == 1 else f"line {row}" for row in range(4 * count))
            for form in ("line {}", "proposed {}", now, then)
        )
        made = change(proposed, lines)
        edits = {at: replace(hunk, new=(f"mine {at}",)) for at, hunk in enumerate(made.hunks)}
        return made, Decided(frozenset(edits), edited=edits), change(answer, text)

    return make


@pytest.mark.parametrize(
    ("now", "then"),
    [
        ("line {}", "proposed {}"),
        ("line {}", "another {}"),
        ("line {} now", "line {} now"),
        ("line {}", "line {0}\nbeside {0}"),
    ],
    ids=["the same", "others", "changed meanwhile", "left out"],
)
def test_decisions_are_carried_over_by_work_that_grows_as_the_hunks_do(now: str, then: str) -> None:
    def carry(given: Carried) -> None:
        assert carried(*given, keep_accepted=True)[0].hunks

    assert_linear(edited_everywhere(now, then), carry, 50)


def test_comments_cost_work_that_grows_as_the_hunks_do() -> None:
    def make(count: int) -> tuple[Revision, dict[str, object]]:
        lines = [f"line {row}" for row in range(8 * count)]
        after = [f"made {row}" if row % 8 == 4 else line for row, line in enumerate(lines)]
        revision = Revision.first([change("\n".join(after), "\n".join(lines))])
        assert len(revision.changes[0].hunks) == count  # the comparison is kept
        half = [*range(0, count, 2)]
        edited = [{"hunk": at, "old": [lines[8 * at + 4]], "new": ["mine"]} for at in half]
        verdict = {"accepted": half, "rejected": [*range(1, count, 2)], "edited": edited}
        said = [{"path": "a.txt", "hunk": at, "text": "why?"} for at in range(1, count, 4)]
        return revision, {"files": [verdict], "comments": said}

    def read(given: tuple[Revision, dict[str, object]]) -> None:
        revision, value = given
        comments = revision.read(value).feedback.comments
        assert len(comments) == len(revision.changes[0].hunks)
        assert all(one.part.count("\n") == 8 for one in comments)

    assert_linear(make, read, 60)


@pytest.mark.parametrize("new", [["b"], []])
def test_an_edit_that_changes_nothing_of_the_text_has_no_part_to_show(new: list[str]) -> None:
    made = change("new", "") if not new else change(BEFORE.replace("b", "B"))
    if not new:
        made = replace(made, action="create", before=None)
    edit = {"hunk": 0, "old": [] if not new else ["b"], "new": new}
    value = {"files": [{"accepted": [0], "edited": [edit]}], "comments": [{"text": "go on"}]}
    _, told = Revision.first([made]).read(value).feedback.comments
    assert (told.edited, told.part) == (True, "")


def test_small_hunks_are_found_in_one_large_one_by_work_that_grows_as_they_do() -> None:
    def make(count: int) -> tuple[MadeHunks, list[Hunk]]:
        new = [f"line {row}" for row in range(4 * count)]
        inner = [Hunk(row, ("old",), (new[row - 1], new[row])) for row in range(1, 4 * count - 1, 4)]
        return MadeHunks([Hunk(0, ("old",) * 4 * count, tuple(new))]), inner

    def find(given: tuple[MadeHunks, list[Hunk]]) -> None:
        made, inner = given
        assert all(made.make(hunk) for hunk in inner)

    assert_linear(make, find, 60)
