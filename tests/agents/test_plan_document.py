"""Plans survive the round trip through a document, with any text and after edits by a person."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from tideate_core.agents.plan_document import parse_plan_document, plan_as_markdown
from tideate_core.errors import InvalidInput
from tideate_core.gates import Approval, AuditIssue, AuditReport, ExecutionPlan, PlanStep, Severity

PIECES = (
    *("## Steps", "## Objective", "### x", "# x", "- files: a, b", "- type: x", "1. **edit** x", "2)", "- "),
    *("\n", "\n\n", "  ", "\t", "\r", "\\", "> q", "**a** b", "`", "```", '"', ",", "---", "*", "é", "word"),
    *("\u2028", "\x85", "\x1c", "\x00"),
)
TEXTS = st.one_of(
    st.text(max_size=20),
    st.lists(st.sampled_from(PIECES), max_size=8).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=4).map("\n".join),
)
STEPS = st.builds(PlanStep, type=TEXTS, description=TEXTS, files=st.lists(TEXTS, max_size=3))
PLANS = st.builds(
    ExecutionPlan,
    objective=TEXTS,
    steps=st.lists(STEPS, max_size=3),
    files=st.lists(TEXTS, max_size=3),
    rollback_strategy=TEXTS,
)
AUDITS = st.builds(
    AuditReport,
    approval=st.sampled_from(Approval),
    issues=st.lists(st.builds(AuditIssue, description=TEXTS, fix=TEXTS), max_size=2),
)
PLAN = ExecutionPlan(
    objective="Double numbers.",
    steps=[
        PlanStep(type="edit", description="Add `double`.\nKeep the rest.", files=["src/a.py"]),
        PlanStep(type="test", description="Test it.", files=["tests/test_a.py", "a file, named so"]),
    ],
    files=["src/a.py", "tests/test_a.py"],
    rollback_strategy="Revert the commit.",
)
TEXT = """# Plan

## Objective

Double numbers.

## Steps

1. **edit** Add `double`.
   Keep the rest.
   - files: src/a.py
2. **test** Test it.
   - files: tests/test_a.py, "a file, named so"

## Files

- src/a.py
- tests/test_a.py

## Rollback strategy

Revert the commit.
"""


@pytest.mark.slow
@settings(max_examples=500)
@given(PLANS, st.none() | AUDITS)
def test_what_is_written_is_read_back(plan: ExecutionPlan, audit: AuditReport | None) -> None:
    assert parse_plan_document(plan_as_markdown(plan, audit)) == plan


@pytest.mark.parametrize("text", PIECES)
def test_a_line_that_looks_like_something_else_stays_a_line(text: str) -> None:
    step = PlanStep(type="", description=f"{text}\n{text}", files=["a"])
    typed = PlanStep(type="edit", description=f"{text}\n{text}")
    plan = ExecutionPlan(objective=f"x\n{text}", steps=[step, typed], rollback_strategy=text)
    assert parse_plan_document(plan_as_markdown(plan)) == plan


def test_a_plan_reads_as_people_write() -> None:
    assert plan_as_markdown(PLAN) == TEXT


def test_the_audits_remarks_stand_above_and_are_no_part_of_it() -> None:
    issue = AuditIssue(severity=Severity.WARNING, description="No test.", step=1, fix="Add one.")
    text = plan_as_markdown(PLAN, AuditReport(approval=Approval.CONDITIONAL, issues=[issue]))
    assert "> The audit: conditional.\n> - warning: step 1: No test. (Add one.)\n" in text
    assert parse_plan_document(text) == PLAN


def test_an_editor_may_use_other_line_ends_and_a_mark() -> None:
    assert parse_plan_document("\ufeff" + TEXT.replace("\n", "\r\n")) == PLAN


def test_what_people_do_to_a_document_is_understood() -> None:
    text = """
# My plan

> a remark

## rollback:
Revert the commit.


## Files ##

* `src/a.py`
+ src/b.py, src/c.py

1. src/d.py

## STEPS


- **edit**   Add it.

  Then the rest,
without indentation.
  * Files: src/a.py
- files: `src/b.py`

* Only words.
3) **delete**
     - files: old.py

## Objective
   Indented.

   And more.
"""
    assert parse_plan_document(text) == ExecutionPlan(
        objective="Indented.\n\nAnd more.",
        steps=[
            PlanStep(
                type="edit",
                description="Add it.\n\nThen the rest,\nwithout indentation.",
                files=["src/a.py", "src/b.py"],
            ),
            PlanStep(description="Only words."),
            PlanStep(type="delete", files=["old.py"]),
        ],
        files=["src/a.py", "src/b.py", "src/c.py", "src/d.py"],
        rollback_strategy="Revert the commit.",
    )


def test_what_is_missing_is_for_gate_1_to_say() -> None:
    assert parse_plan_document("") == ExecutionPlan()
    assert parse_plan_document("## Steps\n") == ExecutionPlan()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "# Plan\n\n## Step\n",
            "line 3 of the plan: 'Step' is not a section of a plan; did you mean 'steps'",
        ),
        (
            "## Zzz\n",
            "line 1 of the plan: 'Zzz' is not a section of a plan; there are Objective, Steps",
        ),
        ("## Files\n## Steps\n## Files\n", "line 3 of the plan: the section 'files' is given twice"),
        ("Some words\n", "line 1 of the plan: this line is in no section"),
        ("## Steps\n\nwords\n", "line 3 of the plan: this is not a step; write `1. **edit** the work"),
        ("## Files\n\nsrc/a.py\n", "line 3 of the plan: 'src/a.py' is not a list item with a file"),
        ('## Files\n- "a\n', "line 2 of the plan: '\"a' is not a valid JSON string"),
        ('## Steps\n- x\n  - files: "a" b\n', "line 3 of the plan: a comma is missing before 'b'"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(text: str, said: str) -> None:
    with pytest.raises(InvalidInput) as told:
        parse_plan_document(text)
    assert said in str(told.value)
