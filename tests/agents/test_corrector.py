"""Failures of a verification become edits of the files concerned; tests are never removed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.stage import BRIEF, StageStep, block, role, texts
from tests.harness.gates import failed, report
from tests.harness.project import write_files
from tideate_core.agents.corrector import Corrected, correct_task, findings_of, needed_file
from tideate_core.gates import ExecutionPlan, PlanStep, VerificationReport
from tideate_core.toolchain import Check, Failure

if TYPE_CHECKING:
    from pathlib import Path

PLAN = ExecutionPlan(
    objective="double numbers",
    steps=[PlanStep(type="edit", description="x", files=["src/a.py", "src/new.py"])],
    files=["src/a.py"],
    rollback_strategy="r",
)
A = "def double(x):\n    return 3 * x"
RIGHT = A.replace("3", "2")
TEST = "from src.a import double\n\n\ndef test_double():\n    assert double(2) == 4"


def found(*files: str, output: str = "") -> VerificationReport:
    failures = [Failure(file=name, line=5, column=None, message="assert 6 == 4") for name in files]
    return report(failed(Check.TESTS, "x", output=output).model_copy(update={"failures": failures}))


FOUND = found("tests/test_a.py")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_files(tmp_path, {"src/a.py": A + "\n", "tests/test_a.py": TEST + "\n", "other.py": "o = 1\n"})
    return tmp_path


async def corrected(
    step: StageStep, what: VerificationReport = FOUND, adapter: str | None = None, **more: Any
) -> Corrected:
    who = replace(role("corrector"), adapter=adapter)
    return await correct_task(step, who, BRIEF, PLAN, what, ["src/a.py"], **more)  # type: ignore[arg-type]


async def test_what_was_found_is_corrected(root: Path) -> None:
    step = StageStep(root, block(RIGHT, "src/a.py"))
    done = await corrected(step, found("tests/test_a.py", output="1 failed in 0.1s"))
    assert texts(done) == {"src/a.py": RIGHT}
    assert done.summary == "corrected src/a.py"
    asked = step.asked[0].user
    assert "tests/test_a.py:5: assert 6 == 4" in asked
    assert "The end of its output:\n1 failed in 0.1s" in asked
    # the task's files first, then those with failures, then the plan's
    assert asked.index("src/a.py as it is:") < asked.index("tests/test_a.py as it is:")
    assert asked.index("tests/test_a.py as it is:") < asked.index("src/new.py does not exist yet.")
    assert "other.py" not in asked
    assert "never delete, skip or weaken a test" in step.asked[0].system


DELETES = "*** Begin Patch\n*** Delete File: tests/test_a.py\n*** End Patch"
MOVES = "*** Begin Patch\n*** Update File: tests/test_a.py\n*** Move to: src/new.py\n*** End Patch"


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (DELETES, "tests/test_a.py may not be deleted, moved or emptied now"),
        (MOVES, "tests/test_a.py may not be deleted, moved or emptied now"),
    ],
)
async def test_what_goes_too_far_is_refused_and_asked_again(root: Path, bad: str, said: str) -> None:
    step = StageStep(root, bad, block(RIGHT, "src/a.py"))
    done = await corrected(step)
    assert texts(done).keys() == {"src/a.py"}
    assert said in step.asked[1].user


async def test_where_nobody_reviews_only_the_tasks_own_files_are_corrected(root: Path) -> None:
    gutted = block("def test_double():\n    pass", "tests/test_a.py")
    step = StageStep(root, gutted, block(RIGHT, "src/a.py"))
    done = await corrected(step, beyond=False)
    assert texts(done).keys() == {"src/a.py"}
    assert "tests/test_a.py" in step.asked[1].user, "it was not refused"
    assert "tests/test_a.py as it is:" not in step.asked[0].user


EMPTIES = f"<<<<<<< SEARCH\n{TEST}\n=======\n>>>>>>> REPLACE"


@pytest.mark.parametrize(
    ("answer", "small", "said"),
    [
        (block("", "tests/test_a.py"), False, "tests/test_a.py: it has no lines and the file has 3"),
        (EMPTIES, True, "may not be deleted, moved or emptied"),
    ],
)
async def test_a_test_is_not_emptied(root: Path, answer: str, small: bool, said: str) -> None:
    step = StageStep(root, answer, attempts=1, demonstration=small)
    done = await corrected(step)
    assert (done.changes, step.unused) == ([], 0)
    assert said in done.summary


async def test_a_new_file_of_the_plan_may_be_made(root: Path) -> None:
    done = await corrected(StageStep(root, block("n = 1", "src/new.py")))
    assert [(change.path, change.action) for change in done.changes] == [("src/new.py", "create")]


async def test_nothing_to_change_is_no_change(root: Path) -> None:
    done = await corrected(StageStep(root, "NO CHANGE"))
    assert (done.changes, done.summary, done.no_change) == ([], "", True)


async def test_an_answer_that_cannot_be_used_is_no_change_and_says_why(root: Path) -> None:
    step = StageStep(root, "no", "neither", attempts=2)
    done = await corrected(step)
    assert done.changes == []
    assert done.summary.startswith("the model's answer could not be used after 2 attempts")
    assert not done.no_change
    (told,) = step.notices
    assert told.startswith("answer refused, asking again: it holds no edit of a file")


async def test_a_small_model_corrects_one_file_at_a_time_the_failing_one_first(root: Path) -> None:
    step = StageStep(root, "NO CHANGE", block(RIGHT), "NO CHANGE", demonstration=True)
    done = await corrected(step)
    assert texts(done).keys() == {"src/a.py"}
    assert [prompt.user.count(" as it is:") for prompt in step.asked] == [1, 1, 0]
    assert "tests/test_a.py as it is:" in step.asked[0].user


async def test_files_that_do_not_fit_are_left_out(root: Path) -> None:
    write_files(root, {"tests/test_a.py": "x = 1\n" * 500})
    step = StageStep(root, block(RIGHT), "NO CHANGE", context_tokens=500)
    done = await corrected(step)
    assert texts(done).keys() == {"src/a.py"}
    assert all("tests/test_a.py as it is" not in prompt.user for prompt in step.asked)


async def test_where_nothing_fits_that_is_said(root: Path) -> None:
    write_files(root, {"src/a.py": "x = 1\n" * 500, "src/new.py": "x = 1\n" * 500})
    done = await corrected(StageStep(root, context_tokens=100), found())
    assert done.summary == "none of the affected files fits this model"
    own = StageStep(root, "NO CHANGE", context_tokens=100, windows={"own": None})
    await corrected(own, found(), adapter="own")
    assert "x = 1\n" * 500 in own.asked[0].user, "it is the window of its own adapter that counts"


async def test_failures_elsewhere_bring_no_file(root: Path, tmp_path_factory: Any) -> None:
    elsewhere = tmp_path_factory.mktemp("library") / "lib.py"
    elsewhere.write_text("secret = 1\n")
    step = StageStep(root, "NO CHANGE")
    await corrected(step, found(str(elsewhere), "gone.py", str(root / "other.py")))
    asked = step.asked[0].user
    assert "secret = 1" not in asked
    assert "gone.py as" not in asked
    assert "other.py as it is:" in asked


def test_findings_are_bounded() -> None:
    many = found(*[f"f{number}.py" for number in range(100)], output="begin" + "x " * 5_000 + "end")
    words = findings_of(many)
    assert "f39.py:5: " in words
    assert "f40.py" not in words
    assert "… and more" in words
    assert words.endswith("end")
    assert len(words) < 4_100
    assert len(findings_of(many, 300)) < 400


def test_checks_that_passed_are_not_told() -> None:
    words = findings_of(FOUND)
    assert "tests" in words
    assert "lint" not in words


@pytest.mark.parametrize(
    ("answer", "needed"),
    [
        ("NEEDS FILE: a/b.py, because it is there.", ("a/b.py", "it is there")),
        ("needs file `a b.py`: it says so", ("a b.py", "it says so")),
        ("`NEEDS FILE: a.py`", ("a.py", "")),
        ("NEEDS FILE: a.py because: of it\nmore", ("a.py", "of it")),
        ("It NEEDS FILE: a.py", None),
        ("```python\nx = 1\n```", None),
    ],
)
def test_an_answer_may_want_a_file(answer: str, needed: tuple[str, str] | None) -> None:
    found = needed_file(answer)
    assert (found and (found.path, found.reason)) == needed
