"""Property tests of `merge_hunks`: two sides of a text, decided hunk by hunk, against an oracle."""

from __future__ import annotations

import random
from collections import Counter
from itertools import count, pairwise
from typing import TYPE_CHECKING

import pytest

from tideate_core.workspace import Hunk, apply_hunks, lines_of, merge_hunks, merge_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def merged(base: Sequence[str], theirs: Sequence[str], ours: Sequence[str]) -> list[Hunk]:
    return merge_hunks("\n".join(base), "\n".join(theirs), "\n".join(ours))


def edited(random_: random.Random, lines: Sequence[str], new_line: Callable[[], str]) -> list[str]:
    """Return the lines after a few replacements, insertions and deletions."""
    done = [*lines]
    for _ in range(random_.randint(1, 4)):
        at = random_.randint(0, len(done))
        end = min(len(done), at + random_.choice((0, 0, 1, 1, 2, 4)))
        done[at:end] = [new_line() for _ in range(random_.choice((0, 1, 1, 2, 3)))]
    return done or [new_line()]


def unique(author: str) -> Callable[[], str]:
    numbers = count()
    return lambda: f"{author}{next(numbers)}"


def test_hunks_beside_the_other_sides_changes_are_no_conflicts() -> None:
    hunks = merged("abcdef", "aBcdef", "abcdEf")
    assert hunks == [Hunk(4, ("e",), ("E",))]
    assert not hunks[0].conflict


def test_lines_below_an_insertion_are_found_at_their_place_now() -> None:
    assert merged("abcd", ["x", "y", *"abcd"], "abCd") == [Hunk(4, ("c",), ("C",))]


def test_overlapping_changes_are_one_conflict_with_the_lines_of_both_sides() -> None:
    hunks = merged("abcdef", ["a", "mine1", "mine2", "d", "e", "f"], ["a", "b", "yours", "e", "f"])
    assert hunks == [Hunk(1, ("mine1", "mine2", "d"), ("b", "yours"))]
    assert hunks[0].conflict


def test_a_conflict_leaves_out_lines_that_both_sides_have() -> None:
    assert merged("abcd", ["a", "N", "M", "d"], ["a", "N", "O", "d"]) == [Hunk(2, ("M",), ("O",))]


def test_lines_inserted_at_the_same_place_follow_the_other_sides() -> None:
    hunks = merged("ab", ["a", "mine", "b"], ["a", "yours", "b"])
    assert hunks == [Hunk(2, (), ("yours",))]
    assert hunks[0].conflict


def test_the_same_change_on_both_sides_is_nothing() -> None:
    assert merged("abcd", "aXcd", "aXcd") == []


def test_a_hunk_with_another_possible_place_at_the_other_sides_change_is_a_conflict() -> None:
    hunks = merged(["f", "", "g"], ["f", "", "new", "g"], ["f", "", "", "g"])
    assert [hunk.conflict for hunk in hunks] == [True]


def test_a_replacement_next_to_the_other_sides_is_no_conflict() -> None:
    hunks = merged("abcd", "aBcd", "abCd")
    assert hunks == [Hunk(2, ("c",), ("C",))]
    assert not hunks[0].conflict


def _choosing(random_: random.Random, letters: str) -> Callable[[], str]:
    return lambda: random_.choice(letters)


def cases(number: int, letters: str | None = None) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """Yield random bases with the texts of both sides; without letters, each line is unique."""
    for seed in range(number):
        random_ = random.Random(seed)
        new = [unique(author) for author in ("base", "theirs", "ours")]
        if letters is not None:
            new = [_choosing(random_, letters)] * 3
        base = [new[0]() for _ in range(random_.randint(1, 12))]
        yield base, edited(random_, base, new[1]), edited(random_, base, new[2])


@pytest.mark.parametrize("letters", ["ab", "abc{}", None])
def test_hunks_fit_the_text_now_and_each_other(letters: str | None) -> None:
    for base, theirs, ours in cases(1000, letters):
        hunks = merged(base, theirs, ours)
        for one in hunks:
            assert tuple(theirs[one.start : one.end]) == one.old
            assert one.old != one.new
        assert not any(one.clashes(other) for one, other in pairwise(hunks))
        apply_hunks(theirs, hunks)


@pytest.mark.parametrize("letters", ["ab", "abc{}", None])
def test_a_text_that_merges_of_itself_has_no_conflict_and_the_same_result(letters: str | None) -> None:
    clean = 0
    for base, theirs, ours in cases(1000, letters):
        text = merge_text("\n".join(base), "\n".join(theirs), "\n".join(ours))
        if text is None:
            continue
        clean += 1
        hunks = merged(base, theirs, ours)
        if theirs == base or ours in (base, theirs):
            continue
        assert not any(hunk.conflict for hunk in hunks)
        assert "\n".join(apply_hunks(theirs, hunks)) == text
    assert clean > 50


def test_only_conflicts_replace_lines_of_the_other_side() -> None:
    for base, theirs, ours in cases(2000):
        hunks = merged(base, theirs, ours)
        plain = apply_hunks(theirs, [hunk for hunk in hunks if not hunk.conflict])
        assert [line for line in plain if line.startswith("theirs")] == [
            line for line in theirs if line.startswith("theirs")
        ]
        # lines that they deleted stay deleted
        assert not set(plain).intersection(set(base) - set(theirs))


def test_all_hunks_together_bring_every_line_of_our_side() -> None:
    for base, theirs, ours in cases(2000):
        done = apply_hunks(theirs, merged(base, theirs, ours))
        assert not Counter(line for line in ours if line.startswith("ours")) - Counter(done)
        gone = set(base) - set(ours)
        assert not gone.intersection(done)


def test_ten_thousand_turns_lose_no_line_of_the_person_and_land_none_unaccepted() -> None:
    """An agent and a person edit one file in turns; each landing decides at random."""
    turns = 0
    for seed in range(2000):
        random_ = random.Random(f"turns {seed}")
        person, agent = unique("person"), unique("agent")
        now = [f"base{at}" for at in range(random_.randint(1, 10))]
        accepted: set[str] = set()
        for _ in range(5):
            turns += 1
            base = now
            ours, theirs = edited(random_, base, agent), base
            if random_.random() < 0.8:
                theirs = edited(random_, base, person)
            hunks = merged(base, theirs, ours)
            taken = [hunk for hunk in hunks if random_.random() < 0.5]
            now = apply_hunks(theirs, taken)
            accepted.update(line for hunk in taken for line in hunk.new)
            replaced = {line for hunk in taken if hunk.conflict for line in hunk.old}
            lost = Counter(theirs) - Counter(now)
            assert all(line in replaced for line in lost if line in set(theirs) - set(base)), (base, theirs)
            assert all(line in accepted for line in now if line.startswith("agent"))
            rejected = [hunk for hunk in hunks if hunk not in taken]
            kept = {line for hunk in rejected for line in hunk.old}
            assert all(line in now for line in kept)
    assert turns == 10_000


def test_a_large_reformatting_merges_within_a_second() -> None:
    base = [f"line {at}" for at in range(20_000)]
    theirs = [line.upper() if at % 7 == 0 else line for at, line in enumerate(base)]
    ours = [f"{line};" if at % 2 else line for at, line in enumerate(base)]
    hunks = merged(base, theirs, ours)
    assert lines_of("\n".join(apply_hunks(theirs, hunks)))[1] == "line 1;"
