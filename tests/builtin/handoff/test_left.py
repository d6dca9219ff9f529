"""Files left by an external coder or tester: patch sets, state, a commit, test results."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.project import git
from tests.harness.tasks import Model, edits
from tideate_core.builtin.handoff.file_formats import FILES
from tideate_core.builtin.handoff.left import LeftFiles, find_left
from tideate_core.builtin.handoff.models import PlanFile
from tideate_core.builtin.handoff.work import PlanWork
from tideate_core.errors import InvalidInput
from tideate_core.project import Documents

if TYPE_CHECKING:
    from tests.harness.bench import Bench
    from tideate_core.engine import WorkflowResult
    from tideate_core.workflows import StepContext

PLAN = PlanFile.model_validate(
    {
        "planId": "p",
        "objective": "Greet.",
        "steps": [
            {"id": "think", "name": "think", "type": "planning"},
            {"id": "a", "name": "write it", "type": "coding", "expectedOutputs": ["greet.py"]},
            {"id": "b", "name": "write more", "type": "coding", "expectedOutputs": ["more.py"]},
        ],
    }
)
PATCH = "diff --git a/greet.py b/greet.py\n--- a/greet.py\n+++ b/greet.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"
LINK = (
    "diff --git a/more.py b/more.py\nnew file mode 120000\n--- /dev/null\n+++ b/more.py\n@@ -0,0 +1 @@\n"
    "+greet.py\n\\ No newline at end of file\n"
)
STATE = {
    "workflowId": "theirs",
    "planId": "p",
    "steps": [
        {"id": "think", "name": "think", "type": "planning", "status": "completed", "output": "Be brief."},
        {"id": "a", "name": "write it", "type": "coding", "status": "completed"},
    ],
    "currentStepIndex": 2,
    "status": "running",
    "startedAt": "2026-01-01T00:00:00.000Z",
    "metadata": {"totalSteps": 2, "completedSteps": 2, "failedSteps": 0},
}
RESULTS = {
    "status": "failed", "runner": "pytest", "command": ["pytest"], "passed": 0, "failed": 1, "skipped": 0,
    "errors": 0, "duration_ms": 1, "exit_code": 1, "ending": "ended with 1", "started_at": "2026",
    "failures": [{"name": "test_x", "file": "t.py", "line": 3, "message": "x is 1", "kind": "failed"}],
}  # fmt: skip


async def left_in(bench: Bench, since: int = 0) -> LeftFiles:
    return await find_left(bench.root, Documents(bench.root), PLAN, since)


def leave(bench: Bench, name: str, value: Any) -> None:
    bench.write(f".tideate/{FILES[name].path}", json.dumps(value))


async def carried_out(bench: Bench, left: LeftFiles) -> WorkflowResult:
    async def report(_progress: object) -> None:
        pass

    async def work(step: StepContext) -> dict[str, Any]:
        done = PlanWork(step, PLAN, report, left)
        await done.take(bench.root)
        await done.run()
        outputs = {identity: one.output for identity, one in done.progress.items()}
        return {"changes": {one.path: one.after for one in done.changes}, "outputs": outputs}

    bench.register("work", {"one": work})
    return await bench.run("work")


async def test_what_an_external_coder_and_qa_left_is_read_and_used(bench: Bench) -> None:
    """Document 4, the handoff table: patch sets and state of the coder, test results of QA."""
    bench.write("greet.py", "x = 1\n")
    bench.write(".tideate/coder/build/patchset_theirs.diff", PATCH)
    bench.write(".tideate/coder/build/patchset_0123abcd.diff", "a run's own")
    leave(bench, "state", STATE)
    leave(bench, "test-results", RESULTS)
    left = await left_in(bench)
    assert list(left.patches) == ["coder/build/patchset_theirs.diff"]
    assert "the analysis of the step 'think' is there already" in left.as_markdown()
    Model(bench.server).says("executor", edits({"more.py": "y = 1\n"}))
    result = await carried_out(bench, left)
    assert result.ok, (result.error, bench.server.unmatched)
    assert result.as_json()["response"]["changes"] == {"greet.py": "x = 2", "more.py": "y = 1"}
    assert result.as_json()["response"]["outputs"]["a"] == "taken from coder/build/patchset_theirs.diff"
    sent = json.dumps(bench.server.requests)
    assert "Be brief." in sent
    assert "test_x: x is 1" in sent
    assert bench.fingerprint()["greet.py"] == b"x = 1\n", "nothing is written yet"


async def test_a_commit_of_an_external_coder_is_read(bench: Bench) -> None:
    bench.write("greet.py", "x = 1\n")
    git(bench.root, "init", "-q", "-b", "main")
    git(bench.root, "add", "greet.py")
    git(bench.root, "commit", "-q", "-m", "start")
    git(bench.root, "checkout", "-q", "-b", "theirs")
    bench.write("greet.py", "x = 2\n")
    git(bench.root, "commit", "-q", "-a", "-m", "greet")
    commit = git(bench.root, "rev-parse", "HEAD").strip()
    git(bench.root, "checkout", "-q", "main")
    told = {"commitHash": commit, "branch": "theirs", "files": ["greet.py"], "message": "m", "timestamp": "t"}
    leave(bench, "commit-info", told)
    left = await left_in(bench)
    assert list(left.patches) == [commit]
    leave(bench, "commit-info", {**told, "branch": "tideate/p-1"})
    assert await left_in(bench) == LeftFiles(), "a run's own"
    leave(bench, "commit-info", {**told, "commitHash": "0" * 40})
    with pytest.raises(InvalidInput, match="is not in this repository"):
        await left_in(bench)
    leave(bench, "commit-info", {**told, "commitHash": "theirs"})
    with pytest.raises(InvalidInput, match="commitHash is not the hash of a commit"):
        await left_in(bench)


async def test_files_that_are_older_than_the_plan_are_of_another(bench: Bench) -> None:
    path = bench.write(".tideate/coder/build/patchset_theirs.diff", PATCH)
    leave(bench, "state", STATE)
    os.utime(path, ns=(5, 5))
    os.utime(bench.root / ".tideate" / FILES["state"].path, ns=(5, 5))
    assert await left_in(bench, 6) == LeftFiles()


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (PATCH.replace("greet.py", "other.py"), "changes other.py, which is in no `expectedOutputs`"),
        (PATCH.replace("-x = 1", "-x = 7"), "the patch does not apply"),
        (LINK, "only text files are taken"),
    ],
)
async def test_a_patch_set_that_cannot_be_used_is_refused(bench: Bench, patch: str, why: str) -> None:
    bench.write("greet.py", "x = 1\n")
    bench.write("other.py", "x = 1\n")
    bench.write(".tideate/coder/build/patchset_theirs.diff", patch)
    result = await carried_out(bench, await left_in(bench))
    assert (result.ok, why in str(result.error)) == (False, True), result.error


async def test_a_patch_set_that_changed_since_the_person_agreed_is_refused(bench: Bench) -> None:
    bench.write("greet.py", "x = 1\n")
    bench.write(".tideate/coder/build/patchset_theirs.diff", PATCH)
    left = await left_in(bench)
    bench.write(".tideate/coder/build/patchset_theirs.diff", PATCH.replace("x = 2", "x = 3"))
    result = await carried_out(bench, left)
    assert "changed since you agreed to it" in str(result.error)
