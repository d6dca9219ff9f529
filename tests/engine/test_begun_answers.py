"""Answers that a person began: a policy keeps every decision and edit, or the run waits."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.builtin.test_buffer_workflows import LOOP, analyzed
from tideate_core.engine import ConfirmationRequest, PolicyFrontEnd, RunRequest, write_draft
from tideate_core.engine.review.drafts import prepare_draft, prepare_empty_draft
from tideate_core.engine.review.revision import Revision
from tideate_core.errors import PersonNeeded
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.harness.bench import Bench
    from tideate_core.workflows import Decision, DecisionKind

LINES = [f"line {at}" for at in range(1, 13)]
BEFORE = "\n".join(LINES)
STARTS = (0, 3, 6, 9)
AFTER = "\n".join(line.upper() if at in STARTS else line for at, line in enumerate(LINES))
NEW = "text\n"
CHANGES = [FileChange("a", "modify", BEFORE, AFTER), FileChange("n", "create", None, NEW)]
SHOWN: list[dict[str, Any]] = [
    {
        "path": "a",
        "action": "modify",
        "before": BEFORE,
        "hunks": [{"start": at, "old": [LINES[at]], "new": [LINES[at].upper()]} for at in STARTS],
    },
    {"path": "n", "action": "create", "before": "", "hunks": [{"start": 0, "old": [], "new": ["text", ""]}]},
]
PLANNED = [{"path": name, "action": "modify", "why": "so"} for name in ("a", "b", "c")]


def review(path: Path | str, **more: Any) -> ConfirmationRequest:
    return asked("review", {"files": SHOWN, "revisable": True}, str(path), **more)


def asked(kind: DecisionKind, payload: Any, draft: str = "", **more: Any) -> ConfirmationRequest:
    return ConfirmationRequest("r", "w", "s", kind, "Sure?", payload=payload, draft=draft, **more)


def drafted(root: Path, *steps: dict[str, Any]) -> Path:
    path = prepare_draft(root, "run", "step", "key", SHOWN)
    write_draft(path, [{"v": 1, "by": 7}, *steps])
    return path


def said(root: Path, **words: Any) -> str:
    path = prepare_empty_draft(root, "run", "step", "key")
    write_draft(path, [{"said": words}])
    return str(path)


async def yes(request: ConfirmationRequest) -> Decision:
    return await PolicyFrontEnd(True).confirm(request)


LINE = st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), max_size=5)
DECISION = st.tuples(
    st.sampled_from([(1, 1), (1, 2), (1, 3), (1, 4), (2, 1)]),
    st.sampled_from("aro"),
    st.none() | st.just(False) | st.lists(LINE, max_size=3),
)
STEPS = st.lists(
    st.lists(DECISION, min_size=1, max_size=4) | st.sampled_from(["past", "future"]), max_size=12
)


def told(steps: Sequence[Any]) -> tuple[list[dict[str, Any]], dict[tuple[int, int], Any]]:
    """Return steps of a draft, and their effect: state and lines by place."""
    written: list[dict[str, Any]] = []
    past: list[Any] = []
    future: list[Any] = []
    for step in steps:
        if isinstance(step, str):
            here, there = (past, future) if step == "past" else (future, past)
            written.append({"again": step})
            there += [here.pop()] if here else []
            continue
        past, future = [*past, step], []
        rows = []
        for (file, hunk), state, edit in step:
            old = [] if file == 2 else [LINES[STARTS[hunk - 1]]]
            made = edit if edit in (None, False) else {"old": old, "new": edit}
            rows.append([file, hunk, state, None, *([] if made is None else [None, made])])
        written.append({"decided": rows})
    holds: dict[tuple[int, int], Any] = {}
    for step in past:
        for place, state, edit in step:
            _, lines = holds.get(place, ("o", None))
            holds[place] = state, lines if edit is None else edit or None if edit is not False else None
            if isinstance(edit, list):
                holds[place] = state, edit
    return written, holds


@settings(deadline=None, max_examples=200)
@given(STEPS)
async def test_a_yes_writes_nothing_that_was_rejected_and_every_line_that_was_typed(
    steps: Sequence[Any],
) -> None:
    written, holds = told(steps)
    with tempfile.TemporaryDirectory() as root:
        decision = await yes(review(drafted(Path(root), *written)))
    revision = Revision.first(CHANGES)
    kept = {change.path: change.after for change in revision.accepted(revision.read(decision.value).decided)}
    lines: list[str] = []
    for at, line in enumerate(LINES):
        state, typed = holds.get((1, STARTS.index(at) + 1), ("o", None)) if at in STARTS else ("r", None)
        lines += [line] if state == "r" else [line.upper()] if typed is None else typed
    state, typed = holds.get((2, 1), ("o", None))
    assert kept.get("a", BEFORE) == "\n".join(lines)
    assert kept.get("n") == (None if state == "r" else NEW if typed is None else "\n".join(typed))


async def test_a_hunk_that_was_taken_of_another_run_leaves_out_those_that_clash(tmp_path: Path) -> None:
    taken = {"start": 3, "old": LINES[3:7], "new": ["another"]}
    path = drafted(tmp_path, {"decided": [[1, 2, "a", None, taken]]})
    decision = await yes(review(path))
    revision = Revision.first(CHANGES)
    (change, _) = revision.accepted(revision.read(decision.value).decided)
    assert (change.after or "").split("\n") == [
        "LINE 1",
        *LINES[1:3],
        "another",
        *LINES[7:9],
        "LINE 10",
        *LINES[10:],
    ]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (
            [{"decided": [[1, 1, "r", {"text": "keep it", "because": True}]]}],
            "comments on the change were not",
        ),
        ([{"decided": [[0, 0, "", {"text": "shorter"}]]}], "comments on the change were not sent"),
        ([{"decided": [[1, 9, "r", None]]}], "1 of your decisions cannot be kept"),
        ([{"decided": [[1, 1, "r"]]}], "1 of your decisions cannot be kept"),
    ],
)
async def test_what_a_yes_would_lose_waits_for_the_person(
    tmp_path: Path, steps: list[dict[str, Any]], words: str
) -> None:
    with pytest.raises(PersonNeeded, match=words):
        await yes(review(drafted(tmp_path, *steps)))


async def test_a_decision_that_a_crash_has_cut_waits_for_the_person(tmp_path: Path) -> None:
    path = drafted(tmp_path)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"decided":[[1,1,"r",nu')
    with pytest.raises(PersonNeeded, match="cannot be kept"):
        await yes(review(path))


async def test_decisions_on_hunks_that_are_others_now_wait_for_the_person(tmp_path: Path) -> None:
    drafted(tmp_path, {"decided": [[1, 1, "r", None], [1, 2, "r", None]]})
    hunks = [{"start": 0, "old": ["line one"], "new": ["LINE ONE"]}, *SHOWN[0]["hunks"][1:]]
    now = [{**SHOWN[0], "hunks": hunks}, SHOWN[1]]
    for _ in range(2):  # also when it is asked again
        path = prepare_draft(tmp_path, "run", "step", "key", now)
        with pytest.raises(PersonNeeded, match="1 of your decisions cannot be kept"):
            await yes(asked("review", {"files": now}, str(path)))


async def test_a_draft_that_cannot_be_read_waits_for_the_person(tmp_path: Path) -> None:
    with pytest.raises(PersonNeeded, match="your earlier decisions cannot be read: "):
        await yes(review(tmp_path))
    with pytest.raises(PersonNeeded, match="your earlier decisions cannot be read: no space"):
        await yes(review("", unread="cannot be read: no space"))


async def test_a_plan_keeps_what_was_taken_out_and_a_document_what_was_typed(tmp_path: Path) -> None:
    plan = asked("plan", {"files": PLANNED}, said(tmp_path, comments=[], files=PLANNED, out=[2]))
    assert (await yes(plan)).value == {"files": [PLANNED[0], PLANNED[2]]}
    document = asked("document", {"text": "plan"}, said(tmp_path, text="my plan", comments=[]))
    assert (await yes(document)).value == {"text": "my plan"}
    untouched = asked("document", {"text": "plan"}, said(tmp_path, text="plan", comments=[]))
    assert (await yes(untouched)).value is None


@pytest.mark.parametrize(
    ("kind", "words", "why"),
    [
        ("plan", {"files": PLANNED, "out": [1, 2, 3]}, "took all files out"),
        ("plan", {"files": [*PLANNED, {"path": 3}]}, "cannot be read"),
        ("plan", {"comments": [{"path": "a", "text": "why?"}]}, "comments on the plan were not sent"),
        ("document", {"comments": [{"line": 1, "text": "why?"}]}, "comments on the document were not sent"),
        ("document", {"text": 3}, "cannot be read"),
    ],
)
async def test_what_a_yes_to_a_plan_or_a_document_would_lose_waits(
    tmp_path: Path, kind: DecisionKind, words: dict[str, Any], why: str
) -> None:
    payload = {"files": PLANNED, "text": "plan", "revisable": True}
    with pytest.raises(PersonNeeded, match=why):
        await yes(asked(kind, payload, said(tmp_path, **words)))


@pytest.mark.parametrize("policy", [True, None])
async def test_a_begun_review_waits_if_no_policy_may_answer_it(tmp_path: Path, policy: bool | None) -> None:
    begun = review(drafted(tmp_path, {"decided": [[1, 1, "r", None]]}), demonstration=True)
    with pytest.raises(PersonNeeded, match="resume it at a terminal or in Neovim"):
        await PolicyFrontEnd(policy).confirm(begun)
    assert not (await PolicyFrontEnd(False).confirm(begun)).accepted


class Begins(PolicyFrontEnd):
    """A person decides something of each review, and a policy answers."""

    def __init__(self, step: dict[str, Any]) -> None:
        super().__init__(True)
        self.step = step

    async def confirm(self, request: ConfirmationRequest) -> Decision:
        if request.kind == "review":
            write_draft(Path(request.draft), [self.step])
        return await super().confirm(request)


async def test_a_run_whose_person_is_needed_is_left_with_its_decisions(bench: Bench) -> None:
    analyzed(bench)
    bench.write("a.py", LOOP)
    comment = {"decided": [[1, 1, "r", {"text": "keep it", "because": True}]]}
    bench.runner = bench.make_runner(bench.config, front=Begins(comment))
    request = RunRequest(name="refactor", prompt="simplify", context=bench.context("a.py", 4, 6))
    result = await bench.runner.run(request)
    assert (result.ok, result.reason) == (False, "interrupted")
    assert bench.fingerprint()["a.py"] == LOOP.encode()
    (draft,) = (bench.private / "reviews").rglob("*.jsonl")
    assert json.dumps(comment) in [json.dumps(json.loads(line)) for line in draft.read_text().splitlines()]
    bench.runner = bench.make_runner(bench.config)
    asked_before = len(bench.server.requests)
    again = await bench.resume(result.execution_id)
    assert (again.ok, len(bench.server.requests)) == (True, asked_before)
    assert bench.front.requests[-1].draft == str(draft)


async def test_the_rest_of_a_begun_landing_is_accepted_without_conflicts_and_with_its_comments(
    tmp_path: Path,
) -> None:
    conflicting = {**SHOWN[0], "hunks": [dict(hunk) for hunk in SHOWN[0]["hunks"]]}
    for at in (1, 2):
        conflicting["hunks"][at]["conflict"] = True
    because = {"text": "too long", "because": True}
    path = drafted(tmp_path, {"decided": [[1, 1, "r", because]]}, {"decided": [[1, 2, "a", None]]})
    payload = {"files": [conflicting, {**SHOWN[1], "conflict": True}], "collects": True}
    decision = await yes(asked("review", payload, str(path)))
    files = [(one["accepted"], one["rejected"]) for one in decision.value["files"]]
    assert files == [([1, 3], [0]), ([], [])]
    assert decision.value["comments"] == [{"path": "a", "hunk": 0, "text": "too long"}]
