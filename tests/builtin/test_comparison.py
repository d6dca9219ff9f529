"""Comparisons: runs of several models wait at their reviews until one, or a mix, is accepted."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.bench import Bench
from tests.harness.front import LIMIT
from tests.harness.model_server import ModelServer
from tideate_core.adapters import AdapterPool
from tideate_core.config import Config
from tideate_core.engine import Comparison, EventName, RunRequest, compared_requests
from tideate_core.errors import InvalidInput, PersonNeeded
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable
    from pathlib import Path

    from tideate_core.engine import ComparisonResult, ConfirmationRequest

WORDS = "one\ntwo\nthree\nfour\nfive\n"
LOUD = "ONE\ntwo\nthree\nfour\nFIVE\n"
GERMAN = "one\nzwei\nthree\nfour\nfünf\n"


class Models(Bench):
    """Bench with the models `a`, `b` and `c`, each on its own server."""

    def __init__(self, root: Path, servers: dict[str, ModelServer]) -> None:
        super().__init__(root, servers["a"])
        self.servers = servers
        adapters = {
            name: {"base_url": server.base_url, "model": name, "tools": False}
            for name, server in servers.items()
        }
        self.config = Config.model_validate({"adapter": "a", "adapters": adapters})
        self.pool = AdapterPool(self.config)
        self.runner = self.make_runner(self.config)
        self.write("a.txt", WORDS)

    def refactors(self, name: str, text: str) -> None:
        self.servers[name].answers("what must not change", f"{name} keeps the order")
        self.servers[name].answers("in one fenced block", f"```\n{text}```")

    def refactor(self) -> None:
        """Script two different rewrites of `a` and `b`."""
        self.refactors("a", LOUD)
        self.refactors("b", GERMAN)

    def request(self, name: str = "refactor", prompt: str = "translate") -> RunRequest:
        return RunRequest(name=name, prompt=prompt, context=self.context("a.txt", 1, 5))

    async def compare(
        self, *names: str, request: RunRequest | None = None, take: str | None = None
    ) -> ComparisonResult:
        comparison = Comparison(self.runner, self.front, take=take)
        runs = compared_requests(request or self.request(), names)
        return await asyncio.wait_for(comparison.run(runs), LIMIT)

    def text(self) -> str:
        return (self.root / "a.txt").read_text()

    async def statuses(self) -> dict[str, tuple[str, str | None]]:
        reader = (await self.runner.store()).reader()
        return {reader.request(run.id)["adapter"]: (run.status, run.reason) for run in reader.runs()}


@pytest.fixture
async def models(tmp_path: Path) -> AsyncIterator[Models]:
    with ExitStack() as stack:
        servers = {name: stack.enter_context(ModelServer(model=name)) for name in "abc"}
        bench = Models(tmp_path, servers)
        try:
            yield bench
        finally:
            await bench.aclose()


def taking(
    adapter: str | None, *reviews: Decision, seen: list[ConfirmationRequest] | None = None
) -> Callable[[ConfirmationRequest], Decision]:
    """Return an answer that takes a model's run and answers its reviews in turn, then with yes."""
    left = [*reviews]

    def answer(request: ConfirmationRequest) -> Decision:
        if seen is not None:
            seen.append(request)
        if request.kind == "compare":
            found = {one["adapter"]: one["execution_id"] for one in request.payload["runs"]}
            return Decision(adapter is not None, {"take": found.get(adapter or "")}, reason="none is right")
        return left.pop(0) if left else Decision(True)

    return answer


def mixed(accepted: Iterable[int], rejected: Iterable[int], *added: dict[str, Any]) -> Decision:
    file = {"path": "a.txt", "accepted": [*accepted], "rejected": [*rejected], "added": [*added]}
    return Decision(True, {"files": [file]})


async def test_nothing_is_written_before_one_is_taken_and_the_others_end_declined(models: Models) -> None:
    models.refactor()
    seen: list[ConfirmationRequest] = []
    texts = []
    choose = taking("b", seen=seen)

    def answer(request: ConfirmationRequest) -> Decision:
        texts.append(models.text())
        return choose(request)

    models.front.answer = answer
    done = await models.compare("a", "b")
    assert [request.kind for request in seen] == ["compare", "review"]
    assert texts == [WORDS, WORDS]
    assert models.text() == GERMAN
    assert done.result is not None
    assert (done.result.ok, done.result.files) == (True, ["a.txt"])
    assert await models.statuses() == {"a": ("cancelled", "declined"), "b": ("completed", None)}
    cancelled = models.front.data(EventName.WORKFLOW_CANCELLED)
    assert [data["message"] for data in cancelled] == ["the answer from the adapter 'b' was taken"]
    shape = done.as_json()
    assert [(one["adapter"], one["ok"]) for one in shape["runs"]] == [("a", False), ("b", True)]
    assert shape["taken"] == done.result.execution_id


async def test_hunks_of_another_attempt_are_taken_in_place_of_its_own(models: Models) -> None:
    models.refactor()
    seen: list[ConfirmationRequest] = []
    german = {"start": 1, "old": ["two"], "new": ["zwei"]}
    last = {"start": 4, "old": ["five"], "new": ["fünf"]}
    models.front.answer = taking("a", mixed([0], [1], german, last), seen=seen)
    done = await models.compare("a", "b")
    assert done.result is not None
    assert done.result.ok
    assert models.text() == "ONE\nzwei\nthree\nfour\nfünf\n"
    review = seen[-1].payload
    assert [(one["adapter"], one["files"][0]["hunks"]) for one in review["alternatives"]] == [
        ("b", [german, last])
    ]
    assert (await models.runner.store()).reader().run(done.result.execution_id).files == ("a.txt",)


@pytest.mark.parametrize(
    ("added", "words"),
    [
        ({"start": 4, "old": ["five"], "new": ["fünf"]}, "two hunks that were accepted change line 5"),
        ({"start": 1, "old": ["deux"], "new": ["zwei"]}, "is not of its text"),
        ({"start": 99, "old": [], "new": ["six"]}, "is not of its text"),
        ({"start": -1, "old": [], "new": ["six"]}, "is not of its text"),
    ],
)
async def test_a_mix_that_cannot_be_is_refused_and_asked_for_again(
    models: Models, added: dict[str, Any], words: str
) -> None:
    models.refactor()
    seen: list[ConfirmationRequest] = []
    models.front.answer = taking("a", mixed([0, 1], [], added), mixed([0], [1]), seen=seen)
    done = await models.compare("a", "b")
    assert done.result is not None
    assert models.text() == "ONE\ntwo\nthree\nfour\nfive\n"
    assert words in seen[2].message


async def test_a_comparison_whose_person_is_needed_is_left_to_be_resumed(models: Models) -> None:
    models.refactor()

    def answer(request: ConfirmationRequest) -> Decision:
        raise PersonNeeded("your comments were not sent")

    models.front.answer = answer
    done = await models.compare("a", "b")
    assert (done.taken, done.reason, models.text()) == (None, "your comments were not sent", WORDS)
    assert {one.reason for one in done.results} == {"interrupted"}
    models.front.answer = taking("b")
    again = await Comparison(models.runner, models.front).resume(done.results[0].execution_id)
    assert (again.result is not None, models.text()) == (True, GERMAN)


@pytest.mark.slow
async def test_a_failed_attempt_is_shown_and_the_others_go_on(models: Models) -> None:
    models.servers["a"].fails("what must not change", status=400)
    models.refactors("b", GERMAN)
    models.refactors("c", LOUD)
    seen: list[ConfirmationRequest] = []
    models.front.answer = taking("c", seen=seen)
    done = await models.compare("a", "b", "c")
    shown = {one["adapter"]: one for one in seen[0].payload["runs"]}
    assert [(name, one["state"], one["takable"]) for name, one in shown.items()] == [
        ("a", "failed", False),
        ("b", "review", True),
        ("c", "review", True),
    ]
    assert "scripted failure 400" in shown["a"]["error"]
    assert shown["b"]["usage"]["output_tokens"] > 0
    assert models.text() == LOUD
    assert done.as_json()["ok"]


async def test_the_only_answer_is_reviewed_without_a_choice(models: Models) -> None:
    models.servers["a"].fails("what must not change", status=400)
    models.refactors("b", GERMAN)
    seen: list[ConfirmationRequest] = []
    models.front.answer = taking(None, seen=seen)
    await models.compare("a", "b")
    assert [request.kind for request in seen] == ["review"]
    assert models.text() == GERMAN


async def test_without_any_answer_nothing_is_asked(models: Models) -> None:
    for name in "ab":
        models.servers[name].fails("what must not change", status=400)
    done = await models.compare("a", "b")
    assert models.front.requests == []
    assert (done.taken, done.as_json()["error"]) == (None, "no model gave an answer that can be taken")


async def test_a_declined_review_leads_back_to_the_choice(models: Models) -> None:
    models.refactor()
    kinds = []
    choices = iter(["a", "b"])

    def answer(request: ConfirmationRequest) -> Decision:
        kinds.append(request.kind)
        if request.kind == "compare":
            return taking(next(choices))(request)
        return Decision(kinds.count("review") == 2)

    models.front.answer = answer
    done = await models.compare("a", "b")
    assert kinds == ["compare", "review", "compare", "review"]
    assert done.result is not None
    assert models.text() == GERMAN


async def test_if_none_is_taken_all_end_declined_with_nothing_written(models: Models) -> None:
    models.refactor()
    models.front.answer = taking(None)
    done = await models.compare("a", "b")
    assert models.text() == WORDS
    assert set((await models.statuses()).values()) == {("cancelled", "declined")}
    assert done.as_json() | {"runs": []} == {
        "ok": False,
        "taken": None,
        "cancelled": True,
        "reason": "none is right",
        "error": "none is right",
        "runs": [],
    }


async def test_answers_in_words_are_compared_and_one_is_kept(models: Models) -> None:
    models.servers["a"].answers("how many", "five lines")
    models.servers["b"].answers("how many", "six lines")
    seen: list[ConfirmationRequest] = []
    models.front.answer = taking("b", seen=seen)
    done = await models.compare("a", "b", request=models.request("ask", "how many"))
    assert [one["response"] for one in seen[0].payload["runs"]] == ["five lines", "six lines"]
    assert done.as_json()["response"] == "six lines"
    assert set((await models.statuses()).values()) == {("completed", None)}


async def test_comments_on_the_chosen_attempt_go_to_its_model(models: Models) -> None:
    models.refactor()
    models.servers["b"].answers(
        "with small letters everywhere in the text please", "```\none\nzwei\nthree\nfour\nfuenf\n```"
    )
    comment = {"path": "a.txt", "hunk": 1, "text": "with small letters everywhere in the text please"}
    said = Decision(
        False, {"files": [{"path": "a.txt", "accepted": [0], "rejected": [1]}], "comments": [comment]}
    )
    seen: list[ConfirmationRequest] = []
    models.front.answer = taking("b", said, mixed([0, 1], []), seen=seen)
    await models.compare("a", "b")
    assert [request.kind for request in seen] == ["compare", "review", "review"]
    assert models.text() == "one\nzwei\nthree\nfour\nfuenf\n"


@pytest.mark.slow
async def test_cancelling_one_attempt_leaves_the_others(models: Models) -> None:
    models.refactor()
    models.refactors("c", LOUD)
    models.front.hold = True
    comparing = asyncio.create_task(models.compare("a", "b", "c"))
    await models.front.until_asked()
    asked = models.front.requests[-1]
    models.front.hold, models.front.answer = False, taking("b")
    models.runner.cancel(asked.payload["runs"][0]["execution_id"])
    done = await comparing
    assert models.front.withdrawn == 1
    states = [(one["adapter"], one["state"]) for one in models.front.requests[1].payload["runs"]]
    assert states == [("a", "cancelled"), ("b", "review"), ("c", "review")]
    assert done.result is not None
    assert models.text() == GERMAN


async def test_attempts_that_a_process_left_are_resumed_and_ask_no_model_again(models: Models) -> None:
    models.refactor()
    models.front.hold = True
    comparing = asyncio.create_task(models.compare("a", "b"))
    await models.front.until_asked()
    run = models.front.requests[0].execution_id
    models.runner.leave()
    await comparing
    asked = [len(models.servers[name].requests) for name in "ab"]
    models.front.hold, models.front.answer = False, taking("b")
    done = await asyncio.wait_for(Comparison(models.runner, models.front).resume(run), LIMIT)
    assert done.result is not None
    assert models.text() == GERMAN
    assert [len(models.servers[name].requests) for name in "ab"] == asked
    assert await models.statuses() == {"a": ("cancelled", "declined"), "b": ("completed", None)}


async def test_an_answer_is_taken_unasked_where_its_model_was_named(models: Models) -> None:
    models.refactor()
    done = await models.compare("a", "b", take="a")
    assert [request.kind for request in models.front.requests] == ["review"]
    assert done.result is not None
    assert models.text() == LOUD


async def test_if_the_named_model_failed_none_is_taken(models: Models) -> None:
    models.servers["a"].fails("what must not change", status=400)
    models.refactors("b", GERMAN)
    done = await models.compare("a", "b", take="a")
    assert done.as_json()["error"] == "the adapter 'a' gave no answer that can be taken"
    assert models.text() == WORDS


@pytest.mark.parametrize(
    ("names", "words"), [(["a"], "two models or more"), (["a", "b", "a"], "given twice")]
)
def test_one_model_or_one_twice_is_refused(names: list[str], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        compared_requests(RunRequest(name="ask"), names)


@pytest.mark.parametrize("name", ["review_changes", "task", "handoff"])
async def test_a_workflow_whose_runs_cannot_stand_side_by_side_is_refused(models: Models, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} cannot be compared"):
        await models.compare("a", "b", request=RunRequest(name=name, prompt="x"))
    assert await models.statuses() == {}
