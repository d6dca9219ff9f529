"""Decisions after a crash: unchanged hunks stay decided when changes are searched again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.builtin.results import resume
from tests.builtin.review.conftest import FIRST, answering
from tideate_core.engine import EventName, kept_answer, kept_review, write_draft
from tideate_core.engine.review.drafts import prepare_draft
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from tests.builtin.review.conftest import Reviewed
    from tideate_core.engine import ConfirmationRequest, KeptReview

LIMIT = 60.0
CHANGED = FIRST.replace("one", "ONE").replace("four", "FOUR").replace("eight", "EIGHT")


def hunk(start: int, old: str, new: str) -> dict[str, Any]:
    return {"start": start, "old": [old], "new": [new]}


def modified(path: str, *hunks: dict[str, Any]) -> dict[str, Any]:
    return {"path": path, "action": "modify", "before": "", "hunks": [*hunks]}


def created(path: str, text: str) -> dict[str, Any]:
    return {"path": path, "action": "create", "before": "", "hunks": [hunk(0, "", text)]}


def read(path: Path) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    kept = kept_review(path)
    return kept.accepted, kept.rejected


async def test_what_is_unchanged_keeps_its_decision_after_a_resume(project: Reviewed) -> None:
    bench, front = project.bench, project.front
    bench.write("a.py", CHANGED)
    bench.write("sub/b.py", "b = 2\n")
    bench.write("new.py", "new\n")
    front.hold = True
    running = asyncio.create_task(bench.runner.run(request := _request()))
    await front.until_asked()
    first = front.requests[-1]
    assert [file["path"] for file in first.payload["files"]] == ["a.py", "new.py", "sub/b.py"]
    decided = [[1, 1, "a", None], [1, 2, "r", None], [1, 3, "r", None], [2, 1, "r", None], [3, 1, "r", None]]
    await asyncio.to_thread(write_draft, Path(first.draft), [{"decided": decided}])
    bench.runner.leave()
    await asyncio.wait_for(running, LIMIT)
    bench.write("a.py", CHANGED.replace("FOUR", "4"))
    bench.write("a0.py", "another\n")
    (project.root / "new.py").write_text("newer\n")
    front.hold = False
    shown: list[KeptReview] = []

    def answer(request: ConfirmationRequest) -> Decision:
        shown.append(kept_review(Path(request.draft)))
        return answering(["sub/b.py"])(request)

    front.answer = answer
    await resume(bench, request.execution_id)
    paths = [file["path"] for file in front.requests[-1].payload["files"]]
    assert paths == ["a.py", "a0.py", "new.py", "sub/b.py"]
    assert (shown[0].accepted, shown[0].rejected) == ({0: {0}}, {0: {2}, 3: {0}})
    assert not (bench.private / "reviews" / request.execution_id).exists()


def _request() -> Any:
    from tideate_core.engine import RunRequest

    return RunRequest(name="review_changes", inputs={"what": "", "path": ""})


async def test_drafts_that_cannot_be_removed_are_told_of_and_the_run_ends(project: Reviewed) -> None:
    project.write("a.py", CHANGED)

    def answer(request: ConfirmationRequest) -> Decision:
        folder = Path(request.draft).parent
        Path(request.draft).unlink()
        folder.rmdir()
        folder.write_text("no folder\n")
        return Decision(True)

    project.front.answer = answer
    await project.bench.succeed("review_changes")
    (notice,) = project.front.data(EventName.NOTICE)
    assert notice["level"] == "warn"
    assert notice["message"].startswith("the review drafts of the run ")
    assert "cannot be removed" in notice["message"]


def test_hunks_are_found_at_their_line_or_by_lines_that_are_there_once(tmp_path: Path) -> None:
    twice = hunk(3, "x", "y"), hunk(9, "x", "y")
    files = [modified("a", hunk(1, "b", "c"), *twice), created("n", "text")]
    path = prepare_draft(tmp_path, "run", "step", "key", files)
    assert path == prepare_draft(tmp_path, "run", "step", "key", files)
    decided = [[1, 1, "a", None], [1, 2, "a", None], [1, 3, "r", None], [2, 1, "r", {"text": "why"}]]
    write_draft(path, [{"decided": decided}])
    moved = [created("n", "text"), modified("a", hunk(2, "b", "c"), hunk(3, "x", "y"), hunk(10, "x", "y"))]
    assert path == prepare_draft(tmp_path, "run", "step", "key", moved)
    assert read(path) == ({1: {0, 1}}, {0: {0}})
    assert kept_review(path).comments == [(0, 0, "why")]
    other = [created("n", "other"), modified("a", hunk(2, "b", "d"))]
    prepare_draft(tmp_path, "run", "step", "key", other)
    assert (bool(kept_review(path)), kept_review(path).lost) == (False, 4)


def test_steps_that_were_reverted_can_be_made_again_after_a_renumbering(tmp_path: Path) -> None:
    one, two, three = hunk(1, "a", "b"), hunk(2, "c", "d"), hunk(3, "e", "f")
    path = prepare_draft(tmp_path, "run", "step", "key", [modified("a", one, two, three)])
    steps: list[dict[str, Any]] = [{"v": 1, "by": 7}]
    steps += [{"decided": [[1, at, "a", None]]} for at in (1, 2, 3)]
    write_draft(path, [*steps, {"again": "past"}, {"again": "past"}])
    prepare_draft(tmp_path, "run", "step", "key", [modified("a", one, three)])
    assert read(path) == ({0: {0}}, {})
    assert {"v": 1, "by": 7} in map(json.loads, path.read_text().splitlines())
    write_draft(path, [{"again": "future"}])
    assert read(path) == ({0: {0, 1}}, {})
    write_draft(path, [{"again": "past"}, {"again": "past"}])
    assert read(path) == ({}, {}), "the step about what is gone is none to revert"


def test_lines_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    path = prepare_draft(
        tmp_path, "run", "step", "key", [modified("a", hunk(1, "a", "b"), hunk(2, "c", "d"))]
    )
    wrong = [[1, 3, "a", None], [2, 1, "a", None], [1, True, "a", None], [1, 1, "a", "text"], [1, 1], "no", 3]
    write_draft(path, [{"decided": [*wrong, [1, 2, "r", None]]}, {"decided": 3}, {"again": "never"}])
    with path.open("a") as file:
        file.write('[1]\n{"decided": [[1, 1, "a"')
    assert read(path) == ({}, {0: {1}})


def test_a_hunk_that_was_taken_of_another_run_stands_for_the_own_one(tmp_path: Path) -> None:
    path = prepare_draft(tmp_path, "run", "step", "key", [modified("a", hunk(1, "a", "b"))])
    there, elsewhere = hunk(1, "a", "z"), hunk(7, "u", "v")
    write_draft(path, [{"decided": [[1, 1, "a", None, there], [1, 0, "a", None, elsewhere]]}])
    kept = kept_review(path)
    assert (kept.accepted, kept.rejected, kept.added) == ({}, {0: {0}}, {0: [there, elsewhere]})
    write_draft(path, [{"decided": [[1, 1, "o", None], [1, 0, "r", None, elsewhere]]}])
    assert not kept_review(path)


def test_what_the_person_wrote_is_kept_until_it_is_taken_back(tmp_path: Path) -> None:
    mine = {"old": ["a"], "new": ["mine"]}
    path = prepare_draft(tmp_path, "run", "step", "key", [modified("a.py", hunk(3, "a", "b"))])
    write_draft(
        path, [{"decided": [[1, 1, "a", None, None, mine]]}, {"decided": [[1, 1, "a", {"text": "x"}]]}]
    )
    assert kept_review(path).edited == {0: {0: mine}}
    files = [modified("0.py", hunk(0, "x", "y")), modified("a.py", hunk(3, "a", "b"))]
    assert kept_review(prepare_draft(tmp_path, "run", "step", "key", files)).edited == {1: {0: mine}}
    write_draft(path, [{"decided": [[2, 1, "a", None, None, False]]}])
    assert kept_review(path).edited == {}
    write_draft(path, [{"again": "past"}, {"decided": [[2, 1, "r", None]]}])
    assert kept_review(path).edited == {}
    wrong = [7, {}, {"old": [], "new": [1]}, {"old": ["a\nb"], "new": []}]
    write_draft(path, [{"decided": [[2, 1, "a", None, None, one]]} for one in wrong])
    assert kept_review(path).rejected == {1: {0}}


def test_a_hunk_of_another_run_takes_an_edit_back(tmp_path: Path) -> None:
    mine, other = {"old": ["a"], "new": ["mine"]}, hunk(3, "a", "z")
    path = prepare_draft(tmp_path, "run", "step", "key", [modified("a.py", hunk(3, "a", "b"))])
    steps = [[1, 1, "a", None, None, mine], [1, 1, "o", None], [1, 1, "o", None, other], [1, 1, "a", None]]
    write_draft(path, [{"decided": [one]} for one in steps])
    kept = kept_review(path)
    assert (kept.accepted, kept.edited, kept.proposed) == ({0: {0}}, {}, {0: {0}})
    write_draft(path, [{"again": "past"}] * 2)
    assert kept_review(path).edited == {0: {0: mine}}, "it is open again as it was edited"


def test_a_line_that_a_crash_has_cut_is_ended_before_others_are_written(tmp_path: Path) -> None:
    files = [modified("a", hunk(1, "a", "b"), hunk(2, "c", "d"))]
    path = prepare_draft(tmp_path, "run", "step", "key", files)
    write_draft(path, [{"v": 1, "by": 7}, {"decided": [[1, 1, "a", None]]}])
    with path.open("a") as file:
        file.write('{"decided":[[1,2,"r",nu')
    write_draft(path, [{"v": 1, "by": 8, "in": "shell"}, {"decided": [[1, 2, "r", {"text": "é"}]]}])
    write_draft(path, [{"decided": [[1, 2, "a", None]]}])
    with path.open("a") as file:
        file.write('{"decided":[[1,2,"o"')
    write_draft(path, [{"again": "past"}])
    kept = kept_review(path)
    assert (kept.accepted, kept.rejected, kept.by_editor) == ({0: {0}}, {0: {1}}, False)
    assert path.read_text().count("\n\n") == 0


@pytest.mark.parametrize(
    "line",
    [
        '{"of":5}',
        '{"of":[["a",3]]}',
        '{"of":[["a",[3]]]}',
        '{"of":[[3,["1:x"]]]}',
        '{"of":[["a"]]}',
        '{"of":[]}',
        "[" * 100_000,
        '{"decided":' + "[" * 100_000,
        "1" * 5_000,
        '{"decided":[[1,1,"r",null,"zzz"]]}',
        '{"decided":[[1,1,"r",null,{}]]}',
        '{"decided":[[1,0,"a",null,{"start":0}]]}',
        '{"decided":[[1,0,"a",null,{"start":-1,"old":[],"new":[]}]]}',
        '{"decided":[[1,0,"a",null,{"start":true,"old":[],"new":[]}]]}',
        '{"decided":[[1,0,"a",null,{"start":0,"old":[],"new":[1]}]]}',
        '{"decided":[[1,1,"accepted",null]]}',
        '{"decided":[[1,1,"r",{"text":"\\ud800"}]]}',
    ],
)
def test_a_damaged_line_changes_nothing(tmp_path: Path, line: str) -> None:
    files = [modified("a", hunk(1, "a", "b"), hunk(2, "c", "d"))]
    path = prepare_draft(tmp_path, "run", "step", "key", files)
    write_draft(path, [{"v": 1, "by": 7}, {"decided": [[1, 1, "a", None]]}])
    with path.open("a") as file:
        file.write(f"{line}\n")
    for shown in (files, [modified("0", hunk(0, "x", "y")), *files]):
        prepare_draft(tmp_path, "run", "step", "key", shown)
        kept = kept_review(path)
        assert (kept.accepted, kept.rejected) == ({len(shown) - 1: {0}}, {})
        assert (kept.added, kept.comments) == ({}, [])


@pytest.mark.parametrize("step", [{"said": [1]}, {"said": {}}, {"other": 1}])
def test_of_an_answer_that_was_not_begun_nothing_is_kept(tmp_path: Path, step: dict[str, Any]) -> None:
    path = tmp_path / "draft"
    write_draft(path, [step])
    assert kept_answer(path) in ({}, {"comments": []})
    assert kept_answer(tmp_path / "none") == {}


def test_the_last_said_counts_and_what_is_damaged_in_it_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "draft"
    good = [{"text": "all"}, {"path": "a.py", "text": "x"}, {"line": 2, "text": "y"}]
    planned = [{"path": path, "action": "modify"} for path in ("a.py", "b.py")]
    bad = [3, {"text": 4}, {"line": "2", "text": "x"}, {"path": 5, "text": "x"}, {"line": True, "text": "x"}]
    write_draft(path, [{"said": {"text": "first", "files": planned}}])
    write_draft(path, [{"said": {"comments": [*bad, *good], "files": planned, "out": [1, 9, "b"]}}])
    with path.open("a") as file:
        file.write('{"said": {"comments": [')
    assert kept_answer(path) == {
        "comments": good,
        "files": [planned[1]],
        "out": [planned[0]],
        "unusable": "part of your comments cannot be read",
    }
    write_draft(path, [{"said": {"comments": good, "files": planned, "out": [1, 2]}}])
    taken_out = {"comments": good, "unusable": "you took all files out of the plan"}
    assert kept_answer(path) == taken_out, "a plan without files would be declined unasked"
    write_draft(path, [{"said": {"files": [*planned, {"path": "c.py", "action": 3}], "text": 4}}])
    assert kept_answer(path) == {"comments": [], "unusable": "part of your comments cannot be read"}
