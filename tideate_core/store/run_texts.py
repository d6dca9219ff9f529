"""Full-text index of runs: prompts and models' answers; search and similarity."""

from __future__ import annotations

import logging
import math
import re
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final

from tideate_core.errors import InvalidInput, StoreError
from tideate_core.store.objects import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tideate_core.store.objects import Objects

log = logging.getLogger(__name__)

LONGEST: Final = 200_000
"""Maximum characters indexed of a prompt, and of the answers of one run."""

SEARCH: Final = (
    "SELECT w.rowid, COALESCE(e.parent_id, e.id), "
    "highlight(run_words, 0, char(2), ''), highlight(run_words, 1, char(2), '')"
    " FROM run_words w JOIN run_texts t ON t.number = w.rowid"
    " JOIN workflow_executions e ON e.id = t.execution_id"
    " WHERE run_words MATCH ? AND w.rowid < ? ORDER BY w.rowid DESC LIMIT ?"
)
"""Newest first; for a run within another, the id of the outer one; texts have a `_MARK` before each match.
FTS5's own `snippet` takes minutes for a word with 40,000 matches in a text."""

WITH_WORD: Final = (
    "SELECT w.rowid, e.id FROM run_words w CROSS JOIN run_texts t ON t.number = w.rowid"
    " CROSS JOIN workflow_executions e ON e.id = t.execution_id"
    " WHERE run_words MATCH ? AND e.status = 'completed' AND e.parent_id IS NULL"
)
"""Completed runs by words of their texts. `CROSS JOIN` keeps SQLite from starting with the runs."""

NEAREST_FIRST: Final = "ORDER BY bm25(run_words, 4.0, 1.0), w.rowid DESC"
"""Order for `WITH_WORD`: a word of a prompt counts as much as four words of answers."""

_MARK: Final = "\2"
_NEAR: Final = 400
"""Characters on both sides of a match that an excerpt is cut from."""

_WORD: Final = re.compile(r'"([^"]*)"|(\S+)')

TOKENIZER: Final = "porter unicode61 remove_diacritics 2"
"""Tokenizer of `run_words`."""
_LETTERS: Final = re.compile(r"[^\W\d_]{3,}")
_ASKED: Final = 4_000
"""Characters of a prompt that are compared with earlier prompts."""
_MOST_WORDS: Final = 64
_UNSEEN: Final = 20
"""Runs added to the total: among few runs every word would seem common."""
_COMMON: Final = (
    "about add again all also and any are argument arguments because been bug but can change class code "
    "could create delete did does each error every explain file files fix for from function functions get "
    "has have help here how improve into its just like line lines make may method more move name need "
    "needs new not now old one only other our out please project put refactor remove rename return should "
    "show some summarize test tests than that the their them then there these they this those too update "
    "use uses using was way were what when where which while who why will with without work works would "
    "write you your"
)
"""Words common in requests for code."""

_CONVERSATIONS: Final = (
    "SELECT value FROM workflow_memos WHERE execution_id = ? AND step_id = ''"
    " AND key >= 'conversation:' AND key < 'conversation;' ORDER BY key"
)


def query_of(words: str) -> str:
    """Return the FTS5 query for all words; quoted words are a phrase, `*` at the end matches a beginning.

    :raises InvalidInput: there is no word.
    """
    words = plain(words.replace("\0", " "))  # a NUL would end SQLite's query
    texts = (phrase or word.replace('"', "") for phrase, word in _WORD.findall(words))
    terms = [f'"{text.rstrip("*")}"{"*" * text.endswith("*")}' for text in texts if _has_word(text)]
    if not terms:
        raise InvalidInput(f"there is no word to look for in {words!r}")
    return " AND ".join(terms)


def excerpt_of(prompt: str, answers: str) -> str:
    """Return a few words around the first match in the texts of a `SEARCH` row."""
    before, _, behind = (prompt if _MARK in prompt else answers).partition(_MARK)
    words, more = before[-_NEAR:].split(), behind[:_NEAR].replace(_MARK, "").split()
    start = "…" if len(words) > 4 or len(before) > _NEAR else ""
    end = "…" if len(more) > 8 or len(behind) > _NEAR else ""
    blank = " " if words and before[-1].isspace() else ""
    return f"{start}{' '.join(words[-4:])}{blank}{' '.join(more[:8])}{end}"


def telling_words(text: str) -> list[str]:
    """Return the distinctive words of a text, one for each stem."""
    common = set(_COMMON.split())
    words = [word for word in _LETTERS.findall(plain(text[:_ASKED]).lower()) if word not in common]
    stems: dict[str, str] = {}
    for word, stem in zip(words, _stems(words), strict=True):
        stems.setdefault(stem, word)
    return list(stems.values())[:_MOST_WORDS]


def _stems(words: Sequence[str]) -> list[str]:
    """Return each word's stem in the index."""
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute(f"CREATE VIRTUAL TABLE words USING fts5(word, tokenize = '{TOKENIZER}')")
        index.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(words, instance)")
        index.executemany("INSERT INTO words VALUES (?)", [(word,) for word in words])
        found = dict(index.execute("SELECT doc, min(term) FROM stems GROUP BY doc"))
    return [found.get(number, word) for number, word in enumerate(words, 1)]


def near_numbers(found: Mapping[str, set[int]], total: int) -> set[int]:
    """Return the numbers of the runs that share two rare words, and half of all weight, with a text.

    :param found: the numbers of the runs with each word of the text.
    :param total: the number of all such runs.
    """
    rare: Counter[int] = Counter()
    shared: defaultdict[int, float] = defaultdict(float)
    least = 0.0
    for runs in found.values():
        weight = math.log((total + _UNSEEN) / max(2, len(runs) + 1))
        least += weight / 2
        rare.update(runs if len(runs) <= max(10, total // 10) else ())
        for run in runs:
            shared[run] += weight
    return {run for run, count in rare.items() if count >= 2 and shared[run] >= least}


def add_prompt(connection: sqlite3.Connection, run: str, prompt: str) -> None:
    """Index the prompt of a new run."""
    connection.execute(
        "INSERT INTO run_texts (execution_id, prompt) VALUES (?, ?)"
        " ON CONFLICT (execution_id) DO UPDATE SET prompt = excluded.prompt",
        (run, plain(prompt[:LONGEST])),
    )


def index_answers(connection: sqlite3.Connection, objects: Objects, run: str) -> None:
    """Index the models' answers of a run that ends."""
    answers = "\n".join(dict.fromkeys(_said(connection, objects, run)))
    connection.execute(
        "UPDATE run_texts SET answers = ?1 WHERE execution_id = ?2 AND answers <> ?1",
        (plain(answers[:LONGEST]), run),
    )


def _said(connection: sqlite3.Connection, objects: Objects, run: str) -> Iterator[str]:
    for (column,) in connection.execute(_CONVERSATIONS, (run,)).fetchall():
        yield from _texts_of(_loaded(objects, column))
    row = connection.execute("SELECT results FROM workflow_executions WHERE id = ?", (run,)).fetchone()
    response = None if row is None or row[0] is None else _loaded(objects, row[0])
    if isinstance(response, str):
        yield response


def _texts_of(conversation: Any) -> Iterator[str]:
    """Yield the models' texts; messages to models are mostly templates and files."""
    messages = conversation.get("messages") if isinstance(conversation, dict) else None
    for message in messages if isinstance(messages, list) else ():
        turn = message.get("turn") if isinstance(message, dict) else None
        if isinstance(turn, dict) and isinstance(turn.get("text"), str):
            yield turn["text"]


def _loaded(objects: Objects, column: str) -> Any:
    """Return a value, None if it is damaged: that must not keep a run from ending."""
    try:
        return objects.load(column)
    except StoreError as error:
        log.warning("a text of a run cannot be searched: %s", error)
        return None


def _has_word(text: str) -> bool:
    return any(sign.isalnum() for sign in text)
