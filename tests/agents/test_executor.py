"""A plan becomes staged changes of files, or errors with the reason."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.stage import BRIEF, StageStep, block, role, texts
from tests.harness.buffers import Buffers
from tests.harness.project import write_files
from tideate_core.agents.executor import Executed, execute_plan
from tideate_core.errors import ContextTooLong, RateLimited
from tideate_core.gates import (
    Approval,
    AuditIssue,
    AuditReport,
    ExecutionPlan,
    PlanStep,
    Severity,
    TaskResult,
)

if TYPE_CHECKING:
    from pathlib import Path

ONE = "def one():\n    return 1"
DOUBLE = f"{ONE}\n\n\ndef double(x):\n    return 2 * x"
TEST = "from src.a import double\n\n\ndef test_double():\n    assert double(2) == 4"
LONG = "\n".join(f"x{number} = {number}" for number in range(100))


def plan(*steps: tuple[str, str, list[str]], files: list[str] | None = None) -> ExecutionPlan:
    made = [PlanStep(type=kind, description=text, files=names) for kind, text, names in steps]
    named = [name for step in made for name in step.files]
    return ExecutionPlan(
        objective="double numbers",
        steps=made,
        files=list(dict.fromkeys(named)) if files is None else files,
        rollback_strategy="revert",
    )


def editing(files: list[str]) -> ExecutionPlan:
    return plan(("edit", "x", files))


EDIT = plan(("edit", "add double", ["src/a.py"]))
BOTH = plan(("edit", "add double", ["src/a.py"]), ("test", "test it", ["tests/test_a.py"]))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_files(tmp_path, {"src/a.py": ONE + "\n", "src/b.py": "b = 1\n", "long.py": LONG + "\n"})
    return tmp_path


async def executed(step: StageStep, wanted: ExecutionPlan = EDIT, **more: Any) -> Executed:
    return await execute_plan(step, role("executor"), BRIEF, wanted, **more)  # type: ignore[arg-type]


async def test_a_plan_of_several_files_is_one_answer(root: Path) -> None:
    step = StageStep(root, block(DOUBLE, "src/a.py") + block(TEST, "**`tests/test_a.py`**"))
    done = await executed(step, BOTH)
    assert texts(done) == {"src/a.py": DOUBLE, "tests/test_a.py": TEST}
    assert done.result == TaskResult(files_created=["tests/test_a.py"], files_modified=["src/a.py"])
    assert done.notes == []
    (asked,) = step.asked
    assert "write its path on a line of its own" in asked.system
    assert "no authority" in asked.system
    assert f"src/a.py as it is:\n\n```python\n{ONE}\n```" in asked.user
    assert "tests/test_a.py does not exist yet." in asked.user
    assert "1. **edit** add double" in asked.user
    assert (root / "src/a.py").read_text() == ONE + "\n"
    assert not (root / "tests").exists()


async def test_one_file_needs_no_name(root: Path) -> None:
    step = StageStep(root, block(DOUBLE))
    assert texts(await executed(step)) == {"src/a.py": DOUBLE}
    assert "complete new text of the file" in step.asked[0].system


async def test_long_files_are_edited_in_blocks_and_new_ones_made_so(root: Path) -> None:
    answer = (
        "long.py\n<<<<<<< SEARCH\nx7 = 7\n=======\nx7 = 'seven'\n>>>>>>> REPLACE\n\n"
        "tests/test_a.py\n<<<<<<< SEARCH\n=======\nassert True\n>>>>>>> REPLACE\n"
    )
    step = StageStep(root, answer)
    done = await executed(step, plan(("edit", "x", ["long.py"]), ("test", "y", ["tests/test_a.py"])))
    assert texts(done) == {
        "long.py": LONG.replace("x7 = 7\n", "x7 = 'seven'\n"),
        "tests/test_a.py": "assert True",
    }
    assert done.result == TaskResult(files_created=["tests/test_a.py"], files_modified=["long.py"])
    assert "search/replace blocks" in step.asked[0].system


async def test_an_inexact_place_is_noted(root: Path) -> None:
    answer = "<<<<<<< SEARCH\nx7 = 7   \n=======\nx7 = 0\n>>>>>>> REPLACE\n"
    done = await executed(StageStep(root, answer), editing(["long.py"]))
    assert done.notes == ["long.py: block 1 was found at line 8 by ignoring trailing blanks"]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("I would add a function.", "holds no edit"),
        (
            block("b = 2", "src/b.py") + block(TEST, "tests/test_a.py"),
            "none of the files that may be changed",
        ),
        (block("x", "../out.py") + block(TEST, "tests/test_a.py"), "'../out.py' is not a path of a file"),
        (block(DOUBLE, "src/a.py"), "leaves out tests/test_a.py, which the plan creates"),
        (
            block(DOUBLE + "(", "src/a.py") + block(TEST, "tests/test_a.py"),
            "new syntax errors: src/a.py, line",
        ),
        (block(DOUBLE, "") + block(TEST, "tests/test_a.py"), "names no file"),
        (
            "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: src/c.py\n*** End Patch",
            "src/c.py may not be changed now",
        ),
    ],
)
async def test_what_cannot_be_used_is_given_back_with_the_reason(root: Path, bad: Any, said: str) -> None:
    step = StageStep(root, bad, block(DOUBLE, "src/a.py") + block(TEST, "tests/test_a.py"))
    done = await executed(step, BOTH)
    assert texts(done) == {"src/a.py": DOUBLE, "tests/test_a.py": TEST}
    assert said in step.asked[1].user
    assert step.asked[1].history[0].user == step.asked[0].user


async def test_refused_answers_are_told_in_one_line_and_end_in_an_error_of_the_result(root: Path) -> None:
    step = StageStep(root, block(DOUBLE, "src/a.py"), "no", "neither", attempts=3)
    done = await executed(step, BOTH)
    assert (len(done.changes), step.unused) == (0, 0)
    assert "could not be used after 3 attempts" in done.result.errors[0]
    told = [notice for notice in step.notices if "refused" in notice]
    assert told[0].startswith("answer refused, asking again: it leaves out tests/test_a.py")
    assert len(told) == 2, "the last answer is not asked for again"
    assert "\n" not in "".join(told)


@pytest.mark.parametrize("remarks", [True, False])
async def test_the_remarks_of_an_audit_are_shown(root: Path, remarks: bool) -> None:
    issue = AuditIssue(severity=Severity.WARNING, description="keep ints ints", step=1, fix="use +")
    audit = AuditReport(approval=Approval.APPROVED, issues=[issue] * remarks)
    step = StageStep(root, block(DOUBLE))
    await executed(step, audit=audit)
    asked = step.asked[0].user
    heading = "The plan, with what its audit remarks as a quote above it; heed that:"
    assert (heading in asked) == ("> - warning: step 1: keep ints ints (use +)" in asked) == remarks
    assert ("audit" in asked) is remarks


async def test_syntax_errors_that_stay_are_left_to_the_gate(root: Path) -> None:
    step = StageStep(root, block(DOUBLE + "("), block(DOUBLE + "("))
    done = await executed(step)
    assert texts(done) == {"src/a.py": DOUBLE + "("}
    assert done.result.errors == []
    assert "src/a.py, line 6: " in done.notes[0]


async def test_an_answer_that_changes_nothing_is_an_error(root: Path) -> None:
    done = await executed(StageStep(root, "NO CHANGE"))
    assert done.result.errors == ["the plan was carried out and changes no file"]


async def test_what_does_not_fit_goes_step_by_step_on_what_the_steps_before_made(root: Path) -> None:
    steps = plan(("edit", "first", ["src/a.py"]), ("edit", "second", ["src/a.py", "long.py"]))
    blocks = "<<<<<<< SEARCH\nx7 = 7\n=======\nx7 = 0\n>>>>>>> REPLACE\n"
    step = StageStep(root, block(DOUBLE), block(DOUBLE + "  # x"), blocks, context_tokens=700)
    done = await executed(step, steps)
    assert done.result.errors == []
    assert texts(done) == {"src/a.py": DOUBLE + "  # x", "long.py": LONG.replace("x7 = 7\n", "x7 = 0\n")}
    first, second, third = (prompt.user for prompt in step.asked)
    assert first.endswith("Carry out step 1 of this plan: first")
    assert "Now do only what it asks for in src/a.py." in second
    assert DOUBLE in second  # what the first step made of it
    assert "Now do only what it asks for in long.py." in third


async def test_files_that_fit_only_one_after_another_are_asked_for_so(root: Path) -> None:
    large = "\n".join(f"y{number} = {number}" for number in range(1500))
    write_files(root, {"one.py": large, "two.py": large})
    blocks = "<<<<<<< SEARCH\ny7 = 7\n=======\ny7 = 0\n>>>>>>> REPLACE\n"
    step = StageStep(root, blocks, blocks, context_tokens=17_000)
    done = await executed(step, plan(("edit", "first", ["one.py"]), ("edit", "second", ["two.py"])))
    assert done.result.files_modified == ["one.py", "two.py"]
    assert step.asked[0].user.endswith("Carry out step 1 of this plan: first")
    assert [prompt.user.count(" as it is:") for prompt in step.asked] == [1, 1]


async def test_a_small_model_writes_one_file_at_a_time(root: Path) -> None:
    step = StageStep(root, block(DOUBLE), block(TEST), demonstration=True)
    assert texts(await executed(step, BOTH)) == {"src/a.py": DOUBLE, "tests/test_a.py": TEST}
    assert [prompt.user.count(" as it is:") for prompt in step.asked] == [1, 0]


async def test_a_file_that_one_need_not_change_stays(root: Path) -> None:
    step = StageStep(root, "`NO CHANGE`", block("b = 2"), demonstration=True)
    done = await executed(step, editing(["src/a.py", "src/b.py"]))
    assert texts(done) == {"src/b.py": "b = 2"}


async def test_a_file_that_does_not_fit_at_all_is_an_error(root: Path) -> None:
    step = StageStep(root, context_tokens=100)
    done = await executed(step, editing(["long.py"]))
    assert done.result.errors == [
        "long.py: 879 characters do not fit this model, which can rewrite about 150"
    ]
    assert step.asked == []
    own = StageStep(root, "NO CHANGE", context_tokens=100, windows={"own": None})
    wanted, executor = editing(["long.py"]), replace(role("executor"), adapter="own")
    await execute_plan(own, executor, BRIEF, wanted)  # type: ignore[arg-type]
    assert LONG in own.asked[0].user, "it is the window of its own adapter that counts"


async def test_what_only_the_model_knows_not_to_fit_is_asked_for_one_by_one(root: Path) -> None:
    step = StageStep(root, ContextTooLong("too long"), block(DOUBLE), block(TEST))
    assert texts(await executed(step, BOTH)) == {"src/a.py": DOUBLE, "tests/test_a.py": TEST}


async def test_files_that_cannot_be_named_above_a_block_are_asked_for_one_by_one(root: Path) -> None:
    step = StageStep(root, block(DOUBLE), block("all:\n\ttrue", info="make"))
    done = await executed(step, editing(["src/a.py", "Makefile"]))
    assert texts(done) == {"src/a.py": DOUBLE, "Makefile": "all:\n\ttrue"}


async def test_deletes_and_moves_of_the_plan_need_no_model(root: Path) -> None:
    steps = plan(
        ("move", "rename", ["src/a.py", "src/new.py"]), ("delete", "drop", ["./src/b.py", "gone.py"])
    )
    step = StageStep(root)
    done = await executed(step, steps)
    assert [(change.path, change.action, change.move_to) for change in done.changes] == [
        ("src/a.py", "move", "src/new.py"),
        ("src/b.py", "delete", None),
    ]
    assert done.result == TaskResult(files_created=["src/new.py"], files_deleted=["src/a.py", "src/b.py"])
    assert step.asked == []


async def test_a_moved_file_can_be_edited_by_a_later_step(root: Path) -> None:
    steps = plan(("move", "rename", ["src/a.py", "src/new.py"]), ("edit", "add", ["src/new.py"]))
    done = await executed(StageStep(root, block(DOUBLE)), steps)
    (change,) = done.changes
    assert (change.action, change.move_to, change.before, change.after) == ("move", "src/new.py", ONE, DOUBLE)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["src/a.py", "src/b.py"], "src/a.py cannot be moved to src/b.py: src/b.py exists already"),
        (["no.py", "new.py"], "no.py cannot be moved to new.py: no.py does not exist"),
        (["src", "new"], "src cannot be removed or moved: src is not a regular file"),
    ],
)
async def test_a_move_that_cannot_be_made_is_an_error(root: Path, files: list[str], said: str) -> None:
    done = await executed(StageStep(root), plan(("move", "x", files)))
    assert said in done.result.errors[0]
    assert done.changes == []


async def test_a_patch_deletes_and_moves_files_of_the_plan(root: Path) -> None:
    patch = (
        "*** Begin Patch\n*** Delete File: src/b.py\n*** Update File: src/a.py\n*** Move to: src/c.py\n"
        "*** End Patch"
    )
    steps = editing(["src/a.py", "src/b.py", "src/c.py"])
    done = await executed(StageStep(root, patch), steps)
    assert [(change.path, change.action, change.move_to) for change in done.changes] == [
        ("src/a.py", "move", "src/c.py"),
        ("src/b.py", "delete", None),
    ]
    assert done.result.errors == []


@pytest.mark.parametrize(
    "answer",
    [
        "*** Begin Patch\n*** Delete File: src/a.py\n*** End Patch",
        "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: src/c.py\n*** End Patch",
        f"src/a.py\n<<<<<<< SEARCH\n{ONE}\n=======\n>>>>>>> REPLACE\n",
    ],
    ids=["deleted", "moved", "emptied"],
)
async def test_what_nobody_reviews_keeps_the_files_that_the_plan_keeps(root: Path, answer: str) -> None:
    steps = plan(("edit", "x", ["src/a.py", "src/c.py"]), ("delete", "y", ["src/b.py"]))
    step = StageStep(root, answer, answer, answer)
    done = await executed(step, steps, beyond=False)
    assert "src/a.py may not be deleted, moved or emptied now" in step.asked[1].user
    assert "src/a.py may not be deleted, moved or emptied now" in done.result.errors[0]
    assert texts(done) == {}


async def test_what_the_plan_deletes_may_go_in_an_answer_too(root: Path) -> None:
    patch = "*** Begin Patch\n*** Delete File: src/b.py\n*** End Patch"
    steps = plan(("edit", "x", ["src/a.py", "src/b.py"]), ("delete", "y", ["src/b.py"]))
    done = await executed(StageStep(root, patch), steps, beyond=False)
    assert texts(done) == {"src/b.py": None}
    assert done.result.errors == []


async def test_a_patch_may_not_move_over_a_file(root: Path) -> None:
    patch = "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: src/b.py\n*** End Patch"
    step = StageStep(root, patch, "NO CHANGE")
    await executed(step, editing(["src/a.py", "src/b.py"]))
    assert "src/b.py exists already" in step.asked[1].user


async def test_changelog_and_checklist_are_left_to_the_documentation(root: Path) -> None:
    write_files(root, {"CHANGELOG.md": "# Changelog\n", "notes/list.md": "- [ ] x\n"})
    steps = plan(("edit", "x", ["src/a.py"]), ("document", "y", ["CHANGELOG.md", "notes/list.md"]))
    step = StageStep(root, block(DOUBLE), inputs={"checklist": "notes/list.md"})
    done = await executed(step, steps)
    assert texts(done) == {"src/a.py": DOUBLE}
    assert done.notes == ["CHANGELOG.md, notes/list.md: left to the documentation"]


async def test_a_task_about_the_changelog_alone_writes_it(root: Path) -> None:
    write_files(root, {"CHANGELOG.md": "# Changlog\n"})
    step = StageStep(root, block("# Changelog", info="markdown"))
    done = await executed(step, plan(("edit", "mend the title", ["CHANGELOG.md"])))
    assert texts(done) == {"CHANGELOG.md": "# Changelog"}


async def test_a_new_document_may_be_left_to_the_documentation(root: Path) -> None:
    step = StageStep(root, block(DOUBLE, "src/a.py"))
    done = await executed(step, plan(("edit", "x", ["src/a.py"]), files=["src/a.py", "docs/new.md"]))
    assert (texts(done), done.result.errors) == ({"src/a.py": DOUBLE}, [])


async def test_files_that_are_left_out_are_noted(root: Path) -> None:
    step = StageStep(root, block(DOUBLE))
    done = await executed(step, editing(["src/a.py", "../out.py"]))
    assert texts(done) == {"src/a.py": DOUBLE}
    assert "../out.py was left out: '../out.py' is outside the project" in done.notes[0]


async def test_two_names_of_a_file_are_one(root: Path) -> None:
    step = StageStep(root, block(DOUBLE))
    done = await executed(step, plan(("edit", "x", ["src/a.py"]), ("edit", "y", ["./src//a.py"])))
    assert texts(done) == {"src/a.py": DOUBLE}


async def test_a_buffers_unsaved_text_is_what_is_edited(root: Path) -> None:
    step = StageStep(root, block("b = 2"), buffers=Buffers.typed(root / "src/b.py", "b = 'unsaved'"))
    (change,) = (await executed(step, editing(["src/b.py"]))).changes
    assert (change.before, change.after, change.buffer, change.tick) == ("b = 'unsaved'", "b = 2", 1, 2)
    assert "b = 'unsaved'" in step.asked[0].user


async def test_a_fence_in_a_file_is_quoted_by_a_longer_one(root: Path) -> None:
    write_files(root, {"README.md": "# A\n\n```\nx\n```\n"})
    step = StageStep(root, "````markdown\n# B\n\n```\nx\n```\n````")
    done = await executed(step, editing(["README.md"]))
    assert texts(done) == {"README.md": "# B\n\n```\nx\n```"}
    assert "\n````markdown\n# A" in step.asked[0].user


async def test_what_a_provider_does_not_do_ends_the_stage(root: Path) -> None:
    with pytest.raises(RateLimited):
        await executed(StageStep(root, RateLimited("later")))


async def test_a_changelog_that_is_not_there_is_written_like_every_file(root: Path) -> None:
    steps = plan(("edit", "x", ["src/a.py"]), ("create", "y", ["CHANGELOG.md"]))
    step = StageStep(root, block(DOUBLE, "src/a.py") + block("# Changelog", "CHANGELOG.md"))
    assert texts(await executed(step, steps)) == {"src/a.py": DOUBLE, "CHANGELOG.md": "# Changelog"}


async def test_a_checklist_outside_of_the_project_is_left_out_and_the_rest_is_done(root: Path) -> None:
    steps = plan(("edit", "x", ["src/a.py"]), ("document", "y", ["../list.md"]))
    step = StageStep(root, block(DOUBLE), "NO CHANGE", inputs={"checklist": "../list.md"})
    done = await executed(step, steps)
    assert texts(done) == {"src/a.py": DOUBLE}
    assert any("../list.md was left out" in note for note in done.notes)
