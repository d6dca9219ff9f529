"""`tideate run handoff`: from a plan file to a commit on a new branch, tests and reports."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.builtin.handoff.test_file_formats import PLAN
from tests.harness.documents import the_block
from tests.harness.tasks import Model, edits
from tideate_core.builtin.handoff.file_formats import FILES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

GREET = 'def greet(name):\n    return f"Hello, {name}"\n'
TEST = "from greet import greet\n\n\ndef test_greet():\n    assert greet('Ada') == 'Hello, Ada'\n"
ANALYSE, REVIEW = "You analyse a piece of work", "You review a change of a software project"
STEPS = ["plan", "status", "edit", "commit", "manifest", "tests", "report"]


def git(shell: Shell, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=shell.project, env=shell.env, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def model(answering: ModelServer) -> Model:
    """A model with answers for the analysis and the edits."""
    model = Model(answering)
    model.says("executor", edits({"src/greet.py": GREET}))
    answering.answers(ANALYSE, "Only `greet` is missing.", pieces=1)
    return model


@pytest.fixture
def handed(shell: Shell, model: Model) -> Shell:
    """A trusted repository with a plan."""
    shell.write("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["src"]\n')
    shell.write("src/greet.py", "def greet(name):\n    raise NotImplementedError\n")
    shell.write("tests/test_greet.py", TEST)
    shell.write(".gitignore", "__pycache__/\n.pytest_cache/\n.tideate/\n")
    (shell.home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.invalid\n")
    git(shell, "init", "-q", "-b", "main")
    git(shell, "add", "-A")
    git(shell, "commit", "-q", "-m", "start")
    shell.write(".tideate/planner/output/plan_v1.json", json.dumps(PLAN))
    shell.ok("trust", "--yes")
    return shell


def file(shell: Shell, name: str) -> Any:
    """Read a handoff file and validate it against its schema."""
    path = shell.project / ".tideate" / FILES[name].path
    found = json.loads(path.read_text())
    jsonschema.validate(found, FILES[name].schema())
    return found


def test_from_a_plan_to_a_tested_commit_and_every_file_between(
    handed: Shell, model: Model, tmp_path: Path
) -> None:
    head = git(handed, "rev-parse", "HEAD")
    ended = handed.ok("run", "handoff", "--yes", "--json")
    result = json.loads(ended.stdout)
    assert list(result["results"]) == STEPS
    run, branch = result["execution_id"], f"tideate/plan-1-{result['execution_id'][:8]}"
    assert result["response"].startswith("Greet everybody.: ")
    assert f"is on {branch}" in result["response"]

    commit = file(handed, "commit-info")
    assert (commit["branch"], commit["files"]) == (branch, ["src/greet.py"])
    assert git(handed, "show", f"{branch}:src/greet.py") == GREET
    assert git(handed, "log", "-1", "--format=%s", branch) == "handoff: Greet everybody.\n"
    assert (git(handed, "rev-parse", "HEAD"), git(handed, "branch", "--show-current")) == (head, "main\n")

    manifest = file(handed, "test-manifest")
    assert (manifest["commitHash"], manifest["changedFiles"]) == (commit["commitHash"], ["src/greet.py"])
    assert (manifest["tests"], manifest["checks"]) == (["tests/test_greet.py"], ["test it"])
    assert file(handed, "test-results")["status"] == "passed"

    state = file(handed, "state")
    assert (state["workflowId"], state["status"], state["currentStepIndex"]) == (run, "completed", 3)
    assert {step["status"] for step in state["steps"]} == {"completed"}
    assert all(step["startedAt"] <= step["completedAt"] for step in state["steps"])
    assert state["steps"][0]["output"] == "Only `greet` is missing."
    assert state["metadata"]["actualDuration"] > 0
    summary = file(handed, "run-summary")
    assert (summary["success"], summary["planId"]) == (True, "plan-1")
    assert state["checkpoints"] == summary["checkpoints"] != []
    (analysis,) = [name for name in state["artifacts"] if "/analysis_" in name]
    assert (handed.project / ".tideate" / analysis).read_text() == "Only `greet` is missing.\n"
    assert "Only `greet` is missing." in model.prompts("executor")[0]

    patch = handed.project / ".tideate" / manifest["patchset"]
    other = tmp_path / "other"
    git(handed, "worktree", "add", "-q", "--detach", str(other), "main")
    subprocess.run(["git", "apply", str(patch)], cwd=other, check=True)
    assert (other / "src/greet.py").read_text() == GREET


def test_a_command_that_runs_no_single_files_runs_all_tests(handed: Shell) -> None:
    handed.write(".tideate/config.toml", '[verify]\ntests = ["python3", "-m", "pytest", "-q", "tests"]\n')
    handed.ok("trust", "--yes")
    ended = handed.ok("run", "handoff", "--yes", "--json")
    words = json.loads(ended.stdout)["response"]
    assert "(all of them: `python3 -m pytest -q tests` runs no single files); the commit " in words
    assert file(handed, "test-results")["files"] == []


def test_the_documented_plan_is_carried_out_where_none_of_its_files_exists(
    handed: Shell, model: Model
) -> None:
    git(handed, "rm", "-q", "-r", "src", "tests")
    git(handed, "commit", "-q", "-m", "empty")
    handed.write("mine.json", the_block("docs/workflows/handoff.md", "json", "planId"))
    model.says("executor", edits({"src/greet.py": GREET}), edits({"tests/test_greet.py": TEST}))
    ended = handed.ok("run", "handoff", "-i", "plan=mine.json", "--yes", "--json")
    result = json.loads(ended.stdout)
    branch = f"tideate/greeting-{result['execution_id'][:8]}"
    commit = file(handed, "commit-info")["commitHash"][:8]
    assert f"1 test passed; the commit {commit} is on {branch}" in result["response"]
    assert git(handed, "show", f"{branch}:tests/test_greet.py") == TEST
    assert "src/greet.py" in model.prompts("executor")[0]


def planned(*steps: dict[str, Any]) -> str:
    return json.dumps({"planId": "plan-2", "objective": "Greet everybody.", "steps": list(steps)})


CODE = {"id": "a", "name": "write it", "type": "coding", "expectedOutputs": ["src/greet.py"]}
LOOK = {"id": "r", "name": "look at it", "type": "review", "dependencies": ["a"]}
GUIDE = {
    "id": "d",
    "name": "describe it",
    "type": "documentation",
    "dependencies": ["a"],
    "expectedOutputs": ["docs/greet.md"],
}


def test_a_review_that_rejects_keeps_the_change_out(
    handed: Shell, answering: ModelServer, model: Model
) -> None:
    handed.write(".tideate/planner/output/plan_v1.json", planned(LOOK, CODE))
    answering.answers(REVIEW, {"verdict": "reject", "reasons": ["it greets nobody"]})
    ended = handed.run("run", "handoff", "--yes", "--json")
    assert ended.returncode == 1
    error = json.loads(ended.stdout)["error"]
    assert error == "the plan's step 'r' (look at it): the change was rejected: it greets nobody"
    assert "NotImplementedError" in handed.read("src/greet.py")
    assert git(handed, "branch", "--format=%(refname:short)") == "main\n"
    state = file(handed, "state")
    assert {step["id"]: step["status"] for step in state["steps"]} == {"r": "failed", "a": "completed"}
    assert "+    return f" in json.dumps(answering.requests[-1]), "it was shown the change"


def test_documents_are_written_and_a_review_that_approves_is_kept(
    handed: Shell, answering: ModelServer, model: Model
) -> None:
    handed.write(".tideate/planner/output/plan_v1.json", planned(CODE, GUIDE, LOOK))
    answering.answers(REVIEW, {"verdict": "approve", "reasons": ["does what it should"]})
    page = "# Greeting\n\nCall `greet`.\n"
    model.says("executor", edits({"src/greet.py": GREET}), edits({"docs/greet.md": page}))
    handed.ok("run", "handoff", "--yes", "--json")
    branch = file(handed, "commit-info")["branch"]
    assert git(handed, "show", f"{branch}:docs/greet.md") == page
    outputs = [step["output"] for step in file(handed, "state")["steps"]]
    assert outputs == ["changed: src/greet.py", "changed: docs/greet.md", "does what it should"]


def test_a_file_that_was_to_be_written_and_is_not_there_fails_its_step(handed: Shell, model: Model) -> None:
    handed.write(".tideate/planner/output/plan_v1.json", planned(CODE, {**GUIDE, "type": "testing"}))
    model.says("executor", edits({"src/greet.py": GREET}), "NO CHANGE")
    ended = handed.run("run", "handoff", "--yes", "--json")
    assert ended.returncode == 1
    assert "the plan's step 'd' (describe it): " in json.loads(ended.stdout)["error"]
    assert [step["status"] for step in file(handed, "state")["steps"]] == ["completed", "failed"]
    assert "NotImplementedError" in handed.read("src/greet.py")


@pytest.mark.parametrize("greeting", ["Hello", "Bye"])
def test_tests_pass_before_what_depends_on_them_begins(handed: Shell, model: Model, greeting: str) -> None:
    """A step begins after its dependencies; the summary counts the plan's steps."""
    tested = {
        **CODE, "id": "t", "name": "test it", "type": "testing", "agent": "qa", "dependencies": ["a"],
        "expectedOutputs": ["tests/test_greet.py"],
    }  # fmt: skip
    handed.write(
        ".tideate/planner/output/plan_v1.json", planned({**GUIDE, "dependencies": ["t"]}, CODE, tested)
    )
    page = "# Greeting\n\nCall `greet`.\n"
    model.says(
        "executor", edits({"src/greet.py": GREET.replace("Hello", greeting)}), edits({"docs/greet.md": page})
    )
    ended = handed.run("run", "handoff", "--yes", "--json")
    state = {step["id"]: step for step in file(handed, "state")["steps"]}
    summary = file(handed, "run-summary")
    assert summary["agents"] == ["coder", "qa"]
    assert file(handed, "state")["metadata"]["estimatedDuration"] == 180_000
    if greeting == "Hello":
        assert ended.returncode == 0, ended.stderr
        assert "tests passed" in state["t"]["output"]
        assert summary["steps"] == {"total": 3, "completed": 3, "failed": 0}
    else:
        assert ended.returncode == 1
        assert "the plan's step 't' (test it): tests failed" in json.loads(ended.stdout)["error"]
        assert [state[name]["status"] for name in "atd"] == ["completed", "failed", "pending"]
        assert model.asked("executor") == 1, "the documents were not begun"
        assert summary["steps"] == {"total": 3, "completed": 1, "failed": 1}


def test_tests_that_fail_fail_the_run_and_the_commit_stays(handed: Shell, model: Model) -> None:
    model.says("executor", edits({"src/greet.py": GREET.replace("Hello", "Bye")}))
    ended = handed.run("run", "handoff", "--yes", "--json")
    assert ended.returncode == 1, ended.stderr
    error = json.loads(ended.stdout)["error"]
    assert "the tests failed; the commit " in error
    assert "test_greet" in error
    state = file(handed, "state")
    assert (state["status"], [step["status"] for step in state["steps"]]) == (
        "failed",
        ["completed", "completed", "failed"],
    )
    assert "the tests failed" in state["steps"][2]["error"]
    assert file(handed, "run-summary")["status"] == "failed"


def test_a_plan_with_mistakes_and_files_with_changes_are_refused_before_anything_is_done(
    handed: Shell,
) -> None:
    handed.write("src/greet.py", "mine\n")
    words = "src/greet.py: uncommitted or unsaved changes would be included in the commit"
    handed.fails(1, words, "run", "handoff", "--yes")
    handed.write(".tideate/planner/output/plan_v1.json", json.dumps({**PLAN, "steps": []}))
    ended = handed.run("run", "handoff", "--yes")
    assert "plan_v1.json:1:" in ended.stderr
    assert "steps: List should have at least 1 item" in ended.stderr
    assert handed.read("src/greet.py") == "mine\n"
    assert git(handed, "branch", "--format=%(refname:short)") == "main\n"
    (handed.project / ".tideate/planner/output/plan_v1.json").unlink()
    ended = handed.run("run", "handoff", "--yes")
    assert "plan_v1.json; write it, or name another file as the input `plan`. `tideate schema" in ended.stderr


def test_a_step_that_names_no_file_may_change_those_of_the_plan(handed: Shell, model: Model) -> None:
    polish = {"id": "b", "name": "polish it", "type": "coding", "dependencies": ["a"]}
    handed.write(".tideate/planner/output/plan_v1.json", planned(CODE, polish))
    better = GREET.replace("Hello", "Hello there")
    model.says("executor", edits({"src/greet.py": GREET}), edits({"src/greet.py": better}))
    assert handed.run("run", "handoff", "--yes", "--json").returncode == 1  # its test wants another greeting
    assert git(handed, "show", f"{file(handed, 'commit-info')['branch']}:src/greet.py") == better
    handed.write(".tideate/planner/output/plan_v1.json", planned({**polish, "dependencies": []}))
    ended = handed.run("run", "handoff", "--yes", "--json")
    assert "names no file in `expectedOutputs`, and no other step does" in json.loads(ended.stdout)["error"]
