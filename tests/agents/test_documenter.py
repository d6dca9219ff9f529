"""The documenter records a change in the changelog, the checklist and the documents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.stage import BRIEF, StageStep, role, texts
from tests.harness.buffers import Buffers
from tests.harness.gates import Verifier, report
from tests.harness.project import write_files
from tideate_core.agents.documenter import Documented, document_task
from tideate_core.gates import (
    DocumentationResult,
    DocumentValidator,
    ExecutionPlan,
    GateEnforcer,
    PlanStep,
    StagedView,
)
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from pathlib import Path

CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Old.\n"
CHECKLIST = "# To do\n\n- [ ] Double numbers\n- [ ] Ship\n  - [ ] Build\n  - [ ] Upload\n- [x] Begin\n"
PLAN = ExecutionPlan(
    objective="double numbers",
    steps=[PlanStep(type="edit", description="x", files=["src/a.py"])],
    files=["src/a.py"],
    rollback_strategy="r",
)
ENTRY = "`double` doubles numbers."


def answer(*items: int, entry: str = ENTRY, documents: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"section": "Added", "entry": entry, "items": list(items), "documents": list(documents)}


def naming(*files: str) -> ExecutionPlan:
    return PLAN.model_copy(update={"files": ["src/a.py", *files]})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_files(tmp_path, {"CHANGELOG.md": CHANGELOG, "CHECKLIST.md": CHECKLIST, "src/a.py": ""})
    return tmp_path


async def documented(
    step: StageStep,
    plan: ExecutionPlan = PLAN,
    diff: str = "+def double",
    files: tuple[str, ...] = ("src/a.py",),
) -> Documented:
    return await document_task(step, role("documenter"), BRIEF, plan, diff, files)  # type: ignore[arg-type]


async def passes(step: StageStep, done: Documented) -> bool:
    gates = GateEnforcer(DocumentValidator(), Verifier(report()))
    return (await gates.enforce_gate4(done.result, StagedView(step.workspace, done.changes))).passed


async def test_changelog_and_checklist_say_what_was_done(root: Path) -> None:
    step = StageStep(root, answer(1))
    done = await documented(step)
    assert texts(done) == {
        "CHANGELOG.md": f"{CHANGELOG}- {ENTRY}",
        "CHECKLIST.md": CHECKLIST.replace("[ ] Double", "[x] Double").removesuffix("\n"),
    }
    assert done.result == DocumentationResult(
        success=True,
        changelog="CHANGELOG.md",
        entry=ENTRY,
        checklist="CHECKLIST.md",
        items=["Double numbers"],
    )
    assert await passes(step, done)
    asked = step.asked[0].user
    assert "+def double" in asked
    assert "1. Double numbers\n2. Ship\n3. Build\n4. Upload\n" in asked
    assert "Begin" not in asked
    assert (root / "CHANGELOG.md").read_text() == CHANGELOG


async def test_a_project_without_records_asks_nothing(tmp_path: Path) -> None:
    step = StageStep(tmp_path)
    done = await documented(step)
    assert (done.changes, done.result) == ([], DocumentationResult(success=True))
    assert step.asked == []
    assert await passes(step, done)


async def test_a_checklist_without_open_items_is_left_alone(root: Path) -> None:
    write_files(root, {"CHECKLIST.md": "- [x] done\n", "docs/TODO.md": "- [ ] open\n"})
    done = await documented(StageStep(root, answer(1)))
    assert (done.result.checklist, done.result.items) == ("docs/TODO.md", ["open"])


async def test_the_runs_own_checklist_comes_first(root: Path) -> None:
    write_files(root, {"notes/own.md": "- [ ] mine\n"})
    done = await documented(StageStep(root, answer(1), inputs={"checklist": "./notes/own.md"}))
    assert (done.result.checklist, done.result.items) == ("notes/own.md", ["mine"])


async def test_a_checklist_that_is_not_there_is_an_error(root: Path) -> None:
    step = StageStep(root, inputs={"checklist": "no.md"})
    done = await documented(step)
    assert (done.result.success, done.result.errors) == (False, ["the checklist no.md does not exist"])
    assert step.asked == []
    assert not await passes(step, done)


async def test_a_changelog_that_cannot_be_read_is_an_error(root: Path) -> None:
    (root / "CHANGELOG.md").write_bytes(b"\xff\x00")
    done = await documented(StageStep(root))
    assert "CHANGELOG.md is binary" in done.result.errors[0]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (answer(entry=" - "), "it has no entry for the changelog"),
        (answer(9), "there is no item 9"),
        (answer(0), "there is no item 0"),
        (answer(documents=("README.md",)), r"README.md is none of the documents to update (none)"),
    ],
)
async def test_what_cannot_be_used_is_given_back(root: Path, bad: dict[str, Any], said: str) -> None:
    step = StageStep(root, bad, answer())
    done = await documented(step)
    assert done.result.success
    assert said in step.asked[1].user


async def test_after_all_attempts_it_is_an_error_of_the_result(root: Path) -> None:
    step = StageStep(root, answer(entry=""), answer(entry=""), attempts=2)
    done = await documented(step)
    assert done.result.errors == ["it has no entry for the changelog"]
    assert (done.changes, done.result.success) == ([], False)
    assert not await passes(step, done)


async def test_an_entry_that_is_there_already_is_not_made_twice(root: Path) -> None:
    step = StageStep(root, answer(entry="old."))
    done = await documented(step)
    assert done.changes == []
    assert done.notes == ["CHANGELOG.md already has this entry"]
    assert await passes(step, done)


async def test_an_entry_is_one_line_without_marks(root: Path) -> None:
    done = await documented(StageStep(root, answer(entry="- A\n  line\x1b.")))
    assert done.result.entry == "A line ."


async def test_an_item_stays_open_while_a_part_of_it_does(root: Path) -> None:
    done = await documented(step := StageStep(root, answer(2, 3)))
    assert done.result.items == ["Build"]
    assert done.notes == ["CHECKLIST.md:4: 'Ship' stays open because its part 'Upload' is open"]
    assert await passes(step, done)
    done = await documented(step := StageStep(root, answer(2, 3, 4)))
    assert done.result.items == ["Ship", "Build", "Upload"]
    assert await passes(step, done)


async def test_of_two_items_with_the_same_words_only_the_one_meant_is_ticked(root: Path) -> None:
    write_files(root, {"CHECKLIST.md": "- [ ] Test\n- [ ] Test\n"})
    done = await documented(step := StageStep(root, answer(2)))
    assert texts(done)["CHECKLIST.md"] == "- [ ] Test\n- [x] Test"
    assert await passes(step, done)


async def test_documents_that_the_plan_names_are_written(root: Path) -> None:
    write_files(root, {"README.md": "# A\n", "docs/b.md": "# B\n", "docs/c.md": "# C\n"})
    plan = naming("README.md", "docs/b.md", "docs/c.md", "docs/new.md", "notes.md")
    step = StageStep(
        root,
        answer(documents=("docs/new.md", "README.md")),
        "```markdown\n# A\n\nNow with double.\n```",
        "```markdown\n# New\n```",
    )
    done = await documented(step, plan, files=("src/a.py", "docs/c.md"))
    assert {name: text for name, text in texts(done).items() if name != "CHANGELOG.md"} == {
        "README.md": "# A\n\nNow with double.",
        "docs/new.md": "# New",
    }
    assert done.result.docs == ["README.md", "docs/new.md"]
    assert "- README.md\n- docs/b.md\n- docs/new.md\n" in step.asked[0].user  # the task wrote docs/c.md
    assert step.asked[1].user.endswith("Update README.md for this change.")
    assert await passes(step, done)


async def test_a_document_that_cannot_be_written_is_an_error(root: Path) -> None:
    write_files(root, {"README.md": "# A\n"})
    step = StageStep(root, answer(documents=("README.md",)), "", "", "", attempts=2)
    done = await documented(step, naming("README.md"))
    assert done.result.errors[0].startswith("README.md: the model's answer could not be used after 2")
    assert (done.result.success, done.result.docs) == (False, [])


async def test_a_document_with_a_secret_is_asked_about(root: Path) -> None:
    write_files(root, {"README.md": "postgres://me:hunter22@host/x\n"})
    step = StageStep(root, answer(documents=("README.md",)), decisions=(Decision(False),))
    done = await documented(step, naming("README.md"))
    assert (done.result.success, done.result.docs) == (True, [])
    assert "README.md was left out" in done.notes[0]


async def test_a_long_diff_is_cut_and_said_to_be(root: Path) -> None:
    step = StageStep(root, answer(), context_tokens=1000)
    await documented(step, diff="+line\n" * 1000)
    asked = step.asked[0].user
    assert "+line\n… and more that is not shown here\n" in asked
    assert len(asked) < 3000
    own = StageStep(root, answer(), context_tokens=1000, windows={"own": None})
    documenter = replace(role("documenter"), adapter="own")
    await document_task(own, documenter, BRIEF, PLAN, "+line\n" * 1000, ["src/a.py"])  # type: ignore[arg-type]
    assert "+line\n" * 1000 in own.asked[0].user, "it is the window of its own adapter that counts"


async def test_what_was_not_saved_is_what_is_changed(root: Path) -> None:
    unsaved = CHANGELOG.removesuffix("\n").replace("Old.", "Unsaved.")
    step = StageStep(root, answer(), buffers=Buffers.typed(root / "CHANGELOG.md", unsaved))
    (change,) = (await documented(step)).changes
    assert (change.before, change.buffer, change.tick) == (unsaved, 1, 2)
    assert change.after == f"{unsaved}\n- {ENTRY}"
