"""Reviews interrupted by a crash continue from the last round, even if files changed."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.results import resume, run_killed
from tests.builtin.test_revisions import FIRST, because, reviews
from tests.builtin.test_with_tools import edit, hand_in
from tests.engine.logbook import RUN
from tests.harness.reviewing import Here, Question, Separate
from tideate_core.engine import RunRequest, kept_review, write_draft
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.bench import Bench
    from tideate_core.engine import ConfirmationRequest

pytestmark = pytest.mark.slow

WORDS = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
ELSEWHERE = "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven!\n"
UNDER_A_HUNK = WORDS.replace("three", "three!")
PLAN = [
    {"action": "modify", "path": "a.txt", "why": "as b.txt has it"},
    {"action": "modify", "path": "b.txt", "why": "so"},
    {"action": "delete", "path": "old.txt", "why": "dead"},
]


def refactored(bench: Bench) -> dict[str, Any]:
    bench.server.answers("what must not change", "The order stays.", times=1)
    bench.server.answers("in one fenced block", "```\nONE\ntwo\nTHREE\nfour\n```", times=1)
    bench.server.answers(FIRST, "```\nein\ntwo\nTHREE\nfour\n```", times=1)
    return {"name": "refactor", "context": bench.context("a.txt", 1, 4)}


def generated(bench: Bench) -> dict[str, Any]:
    bench.server.answers("more words", "```\nEINS\n```", times=1)
    bench.server.answers(FIRST, "```\nein\n```", times=1)
    return {"name": "generate", "prompt": "more words", "context": bench.context("a.txt", 4, 4)}


def planned(bench: Bench) -> dict[str, Any]:
    """Script a model without tools, which is asked for one file at a time."""
    bench.server.answers("Which files have to be", {"files": PLAN}, times=1)
    for path in ("a.txt", "b.txt"):
        answer = f"```\n{WORDS.replace('one', 'ONE').replace('three', 'THREE')}```"
        bench.server.answers(f"Change {path}", answer, times=1)
    answer = f"```\n{WORDS.replace('one', 'ein').replace('three', 'THREE')}```"
    bench.server.answers(FIRST, answer, times=1)
    return {"name": "multi_file", "prompt": "shout"}


def worked(bench: Bench) -> dict[str, Any]:
    bench.server.calls("Which files have to", "submit_plan", {"files": PLAN}, times=1)
    for path in ("a.txt", "b.txt"):
        edit(bench, path, "one", "ONE")
        edit(bench, path, "three", "THREE")
    bench.server.calls("Carry it out completely", "delete_file", {"path": "old.txt"}, times=1)
    hand_in(bench)
    edit(bench, "a.txt", "ONE", "ein", on=FIRST)
    hand_in(bench, on=FIRST)
    return {"name": "multi_file", "prompt": "shout"}


@dataclass(frozen=True)
class Case:
    """Workflow with a model that follows a comment.

    :param script: scripts the model once; returns the run's request.
    """

    script: Callable[[Bench], dict[str, Any]]
    tools: bool = False


CASES = {
    "refactor": Case(refactored),
    "refactor with tools": Case(refactored, tools=True),
    "generate": Case(generated),
    "generate with tools": Case(generated, tools=True),
    "multi_file": Case(planned),
    "multi_file with tools": Case(worked, tools=True),
}


def project(bench: Bench) -> None:
    for name in ("a.txt", "b.txt", "old.txt"):
        bench.write(name, WORDS)


def verdicts(request: ConfirmationRequest | Question, rejected: int | None = None) -> list[dict[str, Any]]:
    """Accept everything except one hunk of a.txt."""
    files = [
        {"path": file["path"], "accepted": list(range(max(1, len(file["hunks"])))), "rejected": []}
        for file in request.payload["files"]
    ]
    if rejected is not None:
        (first,) = [file for file in files if file["path"] == "a.txt"]
        first["accepted"].remove(rejected)
        first["rejected"].append(rejected)
    return files


def rejects_the_first(request: ConfirmationRequest | Question) -> Decision:
    comments = [because(0, FIRST)]
    return Decision(False, {"files": verdicts(request, rejected=0), "comments": comments})


def accepts(request: ConfirmationRequest | Question) -> Decision:
    return Decision(True, {"files": verdicts(request), "comments": []})


def dies_in_the_second_review(request: ConfirmationRequest) -> Decision:
    """Comment in the first review, and kill the process after a decision in the second."""
    if request.kind != "review":
        return Decision(True)
    if "revision" not in request.payload:
        return rejects_the_first(request)
    at = 1 + [file["path"] for file in request.payload["files"]].index("a.txt")
    write_draft(Path(request.draft), [{"v": 1, "by": os.getpid()}, {"decided": [[at, 1, "a", None]]}])
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("it was killed")


CHILD = """
import asyncio, pathlib, sys
from types import SimpleNamespace
from tests.builtin.test_resumed_reviews import CASES, RUN, dies_in_the_second_review
from tests.harness.bench import Bench

root, url, name = sys.argv[1:]

class Told:
    base_url = url

    def __getattr__(self, name):
        return lambda *told, **more: None  # the parent scripts the model

async def main():
    bench = Bench(pathlib.Path(root), Told(), tools=CASES[name].tools)
    bench.front.answer = dies_in_the_second_review
    await bench.run(**{"prompt": "shout", **CASES[name].script(bench), "execution_id": RUN})

asyncio.run(main())
"""


async def killed(bench: Bench, name: str) -> int:
    """Start the run in a process that dies in the second review; return the number of requests."""
    project(bench)
    CASES[name].script(bench)
    await run_killed(CHILD, str(bench.root), bench.server.base_url, name)
    return len(bench.server.requests)


@pytest.mark.concurrency
@pytest.mark.parametrize(("name", "tools"), [(name, case.tools) for name, case in CASES.items()])
async def test_the_last_round_goes_on_though_the_file_changed_on_disk(bench: Bench, name: str) -> None:
    asked = await killed(bench, name)
    bench.write("a.txt", ELSEWHERE)
    kept = []

    def answer(request: ConfirmationRequest) -> Decision:
        kept.append(kept_review(Path(request.draft)))
        return accepts(request)

    bench.front.answer = answer
    await resume(bench, RUN)
    assert len(bench.server.requests) == asked, "the model is asked nothing again"
    (review,) = reviews(bench)
    assert review.payload["revision"] == 2
    files = {file["path"]: file for file in review.payload["files"]}
    assert files["a.txt"]["hunks"][0]["new"] == ["ein"]
    decided = {path: file["decided"]["accepted"] for path, file in files.items()}
    more = {"b.txt": [0, 1], "old.txt": [0]} if "multi_file" in name else {}
    assert decided == {"a.txt": [] if "generate" in name else [1], **more}, "the first round's stand"
    at = list(files).index("a.txt")
    assert [one.accepted for one in kept] == [{at: {0}}], "what was decided in the second is kept"
    changed = (
        ELSEWHERE.replace("four", "four\nein")
        if "generate" in name
        else (ELSEWHERE.replace("one", "ein").replace("three", "THREE"))
    )
    assert bench.fingerprint()["a.txt"].decode() == changed
    assert ("old.txt" in bench.fingerprint()) is ("multi_file" not in name)


def accepts_and_changes_files(bench: Bench, change: Callable[[], object]) -> None:
    """Accept all reviews, and change files during the second round."""

    def answer(request: ConfirmationRequest) -> Decision:
        if request.kind != "review":
            return Decision(True)
        if "revision" not in request.payload:
            return rejects_the_first(request)
        if "warnings" not in request.payload:
            change()
        return accepts(request)

    bench.front.answer = answer


@pytest.mark.concurrency
@pytest.mark.parametrize("restarted", [False, True])
async def test_what_changed_where_the_person_decided_is_merged_as_in_a_review_that_went_on(
    bench: Bench, restarted: bool
) -> None:
    def change() -> None:
        bench.write("a.txt", UNDER_A_HUNK)
        bench.write("old.txt", "not so dead")

    accepts_and_changes_files(bench, (lambda: None) if restarted else change)
    if restarted:
        await killed(bench, "multi_file")
        change()
        await bench.resume(RUN)
    else:
        project(bench)
        await bench.succeed(**planned(bench))
    again = reviews(bench)[-1].payload
    assert again["revision"] == 2
    assert [words.partition(":")[0] for words in again["warnings"]] == ["a.txt", "old.txt"]
    assert all("is undecided again for the current text" in words for words in again["warnings"])
    files = {file["path"]: file for file in again["files"]}
    assert files["a.txt"]["hunks"][1] == {"start": 2, "old": ["three!"], "new": ["THREE"]}
    assert files["old.txt"]["before"] == "not so dead"
    assert [files[path]["decided"]["accepted"] for path in ("a.txt", "b.txt", "old.txt")] == [[0], [0, 1], []]
    assert bench.fingerprint() == {
        "a.txt": WORDS.replace("one", "ein").replace("three", "THREE").encode(),
        "b.txt": WORDS.replace("one", "ONE").replace("three", "THREE").encode(),
    }


@pytest.mark.concurrency
async def test_rounds_that_followed_a_conflict_go_on_though_its_file_changes_again(bench: Bench) -> None:
    project(bench)
    request = RunRequest(**planned(bench), execution_id=RUN)
    first = await Separate.begin(bench, request)
    try:
        asked = await first.question()
        assert isinstance(asked, Question)
        bench.write("a.txt", UNDER_A_HUNK)
        await first.answer(accepts(asked))
        opened = await first.question()
        assert isinstance(opened, Question)
        assert "warnings" in opened.payload
        await first.answer(rejects_the_first(opened))
        revised = await first.question()
    finally:
        await first.leave()
    bench.write("a.txt", f"{UNDER_A_HUNK}eight\n".replace("three!", "three?"))
    asked_before = len(bench.server.requests)
    second = Here(bench, request)
    asked = await second.question()
    assert isinstance(asked, Question)
    assert isinstance(revised, Question)
    assert (asked.payload, len(bench.server.requests)) == (revised.payload, asked_before)
    assert asked.payload["revision"] == 2
    await second.leave()
