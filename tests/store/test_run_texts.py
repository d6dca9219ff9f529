"""Full-text index of runs: search, similarity, consistency."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.store.making import query
from tests.store.past import NOON, Past, big, run_id
from tideate_core.errors import InvalidInput
from tideate_core.store import Fork, Retention, Store
from tideate_core.store.records import StepStart
from tideate_core.store.run_texts import LONGEST, TOKENIZER, WITH_WORD, query_of

if TYPE_CHECKING:
    from pathlib import Path

CHECK = "INSERT INTO run_words (run_words, rank) VALUES ('integrity-check', 1)"
"""Statement that fails if the index does not match the texts."""


def test_stems_are_those_of_the_index(private: Path) -> None:
    Store.open(private).close()
    [(sql,)] = query(private, "SELECT sql FROM sqlite_master WHERE name = 'run_words'")
    assert f"tokenize = '{TOKENIZER}'" in sql


def conversation(*said: str) -> dict[str, Any]:
    turns = [{"user": said[0]}, *({"turn": {"text": text, "calls": []}} for text in said[1:])]
    return {"system": "be brief", "messages": [*turns, {"call": {"name": "grep"}, "result": "toolresult"}]}


async def ran(store: Store, number: int, prompt: str, answer: str, response: Any = None, **more: Any) -> str:
    past = Past(store, number, request={"prompt": prompt}, at=NOON + number, **more)
    log = await past.begin()
    await log.remember("", "conversation:a", conversation("what the person asked", answer))
    await past.step("a")
    await past.end(response=response)
    return run_id(number)


def found(store: Store, words: str, **more: Any) -> list[str]:
    return [one.run for one in store.reader().search(words, limit=100, **more)]


def check(store: Store) -> None:
    with closing(sqlite3.connect(store.private / "tideate.db")) as other:
        other.execute(CHECK)


EARLIER = (
    "make the http client retry",
    "how is Circle.area rounded, up or down",
    "rename Circle.area to Circle.surface",
    "add a test for the parser",
    "make it iterative",
)
PROMPTS = {
    "add retry with backoff to the http client": [0],
    "why does circle.surface round up?": [2, 1],
    "the area of circles is wrong, round it down please": [1],
    "explain the retry logic": [],
    "add a test for the writer": [],
    "make it iterative": [],
    "": [],
}


async def test_a_near_run_ended_well_and_shares_two_rare_words_of_its_prompt(store: Store) -> None:
    for number, prompt in enumerate(EARLIER):
        await ran(store, number, prompt, "retry logic for circles")
    failed = Past(store, 8, request={"prompt": "http client backoff"})
    await failed.begin()
    await failed.end(status="failed")
    await ran(store, 9, "http client backoff", "within another run", parent=run_id(0))
    near = {prompt: [int(run, 16) for run in store.reader().near(prompt)] for prompt in PROMPTS}
    assert near == PROMPTS


async def test_words_that_begin_alike_count_each_and_forms_of_one_word_once(store: Store) -> None:
    await ran(store, 0, "move transactions to another transport", "")
    await ran(store, 1, "die Straße nach Süden", "")
    await ran(store, 2, "rounding of the round thing", "")
    near = store.reader().near
    assert near("which transport has a transaction?") == [run_id(0)]
    assert near("Straßen und STRAßE, Suden") == [run_id(1)]
    assert near("rounded rounds, rounding") == []


def test_near_runs_are_looked_for_from_the_words_on(store: Store) -> None:
    with closing(sqlite3.connect(store.private / "tideate.db")) as other:
        plan = other.execute(f"EXPLAIN QUERY PLAN {WITH_WORD}", ('"circle"',)).fetchall()
    assert [row[3].partition(" VIRTUAL")[0].split()[:2] for row in plan] == [
        ["SCAN", "w"],
        ["SEARCH", "t"],
        ["SEARCH", "e"],
    ]


async def test_a_word_that_most_prompts_have_makes_no_run_near(store: Store) -> None:
    for number in range(30):
        await ran(store, number, "draw the circle" if number else "draw a circle in the margin", "")
    assert store.reader().near("draw a circle") == []
    assert store.reader().near("draw the left margin of a circle") == []
    assert store.reader().near("circle in the margins, draw it") == []


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ("caching", [2, 1]),
        ("CAC*", [2, 1]),
        ("cac", []),
        ("explains layers", []),
        ("explains", [1]),
        ("cache layer", [2]),
        ("layer cache", [2]),
        ('"cache layer"', []),
        ('"layer of cache"', [2]),
        ("total_sum", [1]),
        ("sum_total", []),
        ("naïve", [2]),
        ("naive", [2]),
        ("answered", [3]),
        ("toolresult", []),
        ("brief", []),
        ("person", []),
        ("* OR caching", []),
        ("* caching", [2, 1]),
        ("nothing", []),
    ],
)
async def test_runs_are_found_by_words_of_prompts_and_answers(
    store: Store, words: str, numbers: list[int]
) -> None:
    await ran(store, 1, "explain the caching", "it calls total_sum(x)")
    await ran(store, 2, "make it faster", "a layer of cache, a naïve one")
    await ran(store, 3, "go", "x", "it was answered")
    assert found(store, words) == [run_id(number) for number in numbers]


@pytest.mark.parametrize("words", ["", "  ", '""', "* - (", '"?"'])
def test_without_a_word_there_is_nothing_to_look_for(words: str) -> None:
    with pytest.raises(InvalidInput, match="no word"):
        query_of(words)


@pytest.mark.parametrize(
    "words", ['a"b', "NEAR(x", "prompt:x", 'a" OR "b', "x^2", "-x", "a'b;--", "\0x", "{x}"]
)
def test_a_query_cannot_be_broken(store: Store, words: str) -> None:
    assert found(store, words) == []


async def test_a_prompt_is_found_at_once_and_an_answer_when_the_run_ends(store: Store) -> None:
    past = Past(store, request={"prompt": "asked"})
    log = await past.begin()
    await log.remember("", "conversation:a", conversation("asked", "answered"))
    assert (found(store, "asked"), found(store, "answered")) == ([run_id(1)], [])
    await past.end()
    assert found(store, "answered") == [run_id(1)]
    check(store)


async def test_texts_in_files_are_found_and_very_long_ones_in_part(store: Store) -> None:
    await ran(store, 1, f"start {big('p ')}end", f"{'long ' * (LONGEST // 5)}behind", f"{big('r ')}response")
    assert found(store, "start end") == [run_id(1)]
    assert found(store, "long") == [run_id(1)]
    assert found(store, "behind") == []
    check(store)


@pytest.mark.parametrize(
    ("words", "prompt", "answer", "excerpt"),
    [
        ("caching", "explain the caching", "x", "explain the caching"),
        ("sum", "go", "it calls (sum of 1)", "it calls (sum of 1)"),
        ("word", "a b\nc d  e word f g", "x", "…b c d e word f g"),
        ("word", "go", f"word {'again ' * 9}", f"word{' again' * 7}…"),
        ("word", "go", f"{'w' * 500}, word {'v' * 500}", f"…{'w' * 398}, word {'v' * 395}…"),
        ("word", "go", "word " * 5000, f"{'word ' * 8}…".replace(" …", "…")),
    ],
)
async def test_an_excerpt_is_some_words_around_the_first_that_was_found(
    store: Store, words: str, prompt: str, answer: str, excerpt: str
) -> None:
    await ran(store, 1, prompt, answer)
    assert [one.excerpt for one in store.reader().search(words, limit=1)] == [excerpt]


async def test_a_run_within_another_is_found_as_that_one(store: Store) -> None:
    await ran(store, 1, "outer", "x")
    await ran(store, 2, "inner", "the word", parent=run_id(1))
    assert found(store, "word") == [run_id(1)]


async def test_a_fork_is_found_by_its_own_prompt_and_the_answers_that_it_reuses(store: Store) -> None:
    old = await ran(store, 1, "first", "reusable")
    request = {"prompt": "second"}
    fork = Fork(old, run_id(2), NOON, 5, step="b", memos=("conversation:a",), request=request)
    await store.fork_at_step(fork)
    assert found(store, "second") == [run_id(2)]
    log = await store.adopt(run_id(2))
    log.started(StepStart("b", "b", "assistant", "", 1, NOON))
    past = Past(store, 2)
    past.log = log
    await past.end()
    assert found(store, "reusable") == [run_id(2), run_id(1)]
    check(store)


async def test_what_is_pruned_is_found_no_more(store: Store) -> None:
    for number in (1, 2):
        await ran(store, number, "asked", "answered")
    assert (await store.prune(Retention(keep_runs=1), at=NOON + 100)).ids == (run_id(1),)
    assert found(store, "answered") == [run_id(2)]
    assert query(store.private, "SELECT execution_id FROM run_texts") == [(run_id(2),)]
    check(store)


async def test_pages_go_on_behind_a_run(store: Store) -> None:
    for number in range(1, 6):
        await ran(store, number, "asked", "x")
    reader = store.reader()
    first = reader.search("asked", limit=2)
    assert [one.run for one in first] == [run_id(5), run_id(4)]
    assert found(store, "asked", before=first[-1].number) == [run_id(3), run_id(2), run_id(1)]
    assert reader.number_of(run_id(4)) == first[-1].number
    assert reader.number_of("f" * 32) == 0


async def test_damaged_and_forged_rows_are_left_out_and_stop_no_end(store: Store) -> None:
    past = Past(store, 1, request={"prompt": "first"}, at=NOON)
    log = await past.begin()
    await log.remember("", "conversation:a", conversation(big("q "), "lost"))
    turns = [3, {"user": 1}, {"turn": []}, {"turn": {"text": None}}, {"turn": {"text": "forged"}}]
    await log.remember("", "conversation:b", {"messages": turns})
    await past.step("a")
    for path in (store.private / "objects").glob("??/*"):
        path.unlink()
    await past.end()
    assert found(store, "lost") == []
    assert found(store, "forged") == [run_id(1)]
    check(store)
