"""YAML definitions run by the real command: every kind of step, killed runs, resumed runs."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.interrupted import count_requests, kill, object_of, only_run
from tests.harness.documents import the_block

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow

REPORT = ".tideate/workflows/report.yaml"
EVERYTHING = """\
# yaml-language-server: $schema=../workflow.schema.json
name: Everything at once
inputs:
  topic: {type: string, required: true}
  polish: {type: boolean, default: false}
context: {style: terse}
steps:
  - id: facts
    task: Collect facts about {{ inputs.topic }}, {{ context.style }}
    output_schema: {type: array, items: {type: string}}
    retries: 1
    retryDelay: 0
  - id: doubts
    task: Doubt {{ prompt }}
    retries: 2
    retryDelay: 0
  - id: plan
    task: Weigh {{ steps.facts.result }} against {{ steps.doubts.result }}
    dependencies: [facts, doubts]
  - id: polished
    when: inputs.polish
    task: Polish {{ steps.plan.result }}
    dependencies: [plan]
  - id: parts
    for_each: {items: steps.facts.result, max_parallel: 2}
    task: Expand {{ item }} as number {{ index }}
    dependencies: [plan]
  - id: shaky
    task: Try what cannot be done
    continue_on_error: true
  - id: asked
    workflow: {name: ask, prompt: "Is {{ inputs.topic }} clear?"}
    dependencies: [plan]
  - id: looked
    machine: look
    dependencies: [plan]
  - id: summary
    confirm: Publish {{ inputs.topic }}?
    task: >-
      Sum up {{ steps.parts.result }}, {{ steps.asked.result }}, {{ steps.looked.result }},
      {{ steps.polished.status }}, {{ steps.shaky.error }}
    dependencies: [parts, asked, looked, polished, shaky]
"""
LOOK = "* to draft: Write a draft.\ndraft to review: Read the draft.\nreview to *\n"
RUN = ("run", "report", "the harvest", "-i", "topic=wheat")
FACTS = ["old", "yellow", "tall", "dry"]


@pytest.fixture
def project(shell: Shell, answering: ModelServer) -> Shell:
    """A project with the definition, trusted."""
    shell.write(".tideate/workflows/look.workflow", LOOK)
    shell.write(REPORT, EVERYTHING)
    shell.ok("trust", "--yes", REPORT)
    return shell


def facts(body: Any) -> dict[str, Any]:
    """Return an answer that does not match the schema at first."""
    return {"result": FACTS if "could not be used" in str(body) else "no list"}


def answer_all(server: ModelServer) -> None:
    """Script the answers to all steps; earlier scripts take precedence."""
    server.answers("Collect facts about wheat, terse", facts)
    server.fails("Doubt the harvest", 400, times=1)
    server.answers("Doubt the harvest", "many doubts")
    server.answers('Weigh ["old", "yellow", "tall", "dry"] against many doubts', "a plan")
    for index, fact in enumerate(FACTS):
        server.answers(f"Expand {fact} as number {index}", f"part {index}")
    server.fails("Try what cannot be done", 400)
    server.answers("Is wheat clear?", "It is clear.")
    server.answers("The present state is draft.", "A draft.")
    server.answers("The present state is review.", "Well read.")
    server.answers("Sum up", lambda body: str(body["messages"][-1]["content"]))


def summed_up(response: str) -> bool:
    """Return whether the last step saw the results of all others."""
    parts = '["part 0", "part 1", "part 2", "part 3"]'
    return all(
        words in response
        for words in (parts, "It is clear.", "Well read.", "skipped", "scripted failure 400")
    )


def test_every_kind_of_step_runs_to_the_end_side_by_side(project: Shell, answering: ModelServer) -> None:
    gates = [
        answering.holds("Collect facts about wheat, terse", text=facts),
        answering.holds("Doubt the harvest", text="many doubts"),
    ]
    answer_all(answering)
    process = project.start(*RUN, "--yes", "--json")
    for gate in gates:
        gate.wait_started()
    for gate in gates:
        gate.release()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    assert "Publish wheat? [yes]" in err
    result = json.loads(out)
    assert (result["ok"], result["workflow"]) == (True, "report")
    assert summed_up(result["response"]), result["response"]
    assert result["results"]["facts"] == FACTS
    assert result["results"]["parts"] == [f"part {index}" for index in range(4)]
    assert result["results"]["shaky"]["error_code"] == "AdapterError"
    assert "polished" not in result["results"]
    assert count_requests(answering, "Collect facts") == 2
    assert answering.unmatched == []
    shown = project.json("show", result["execution_id"])
    assert {step["step"]: step["status"] for step in shown["steps"]} == {
        **dict.fromkeys(["facts", "doubts", "plan", "parts", "asked", "looked", "summary"], "completed"),
        "polished": "skipped",
        "shaky": "failed",
    }
    runs = [(child["workflow"], child["parent_step"]) for child in shown["runs"]]
    assert sorted(runs) == [("ask", "asked"), ("look", "looked")]


def test_a_no_before_a_step_ends_the_run_without_it(project: Shell, answering: ModelServer) -> None:
    answer_all(answering)
    answering.answers("Polish a plan", "a fine plan")
    done = project.run(*RUN, "-i", "polish=true", "--no", "--json")
    result = object_of(done)
    assert (done.returncode, result["cancelled"], result["reason"]) == (3, True, "declined")
    assert "Publish wheat? [no, " in done.stderr
    assert count_requests(answering, "Sum up") == 0
    assert count_requests(answering, "Doubt the harvest") == 2
    assert (result["results"]["asked"], result["results"]["polished"]) == ("It is clear.", "a fine plan")


@pytest.mark.crash
def test_a_run_that_was_killed_at_many_places_goes_on_at_each(project: Shell, answering: ModelServer) -> None:
    gates = [
        answering.holds("Expand tall as number 2", text="part 2"),
        answering.holds("Expand dry as number 3", text="part 3"),
        answering.holds("Is wheat clear?", text="It is clear."),
        answering.holds("The present state is review.", text="Well read."),
    ]
    answer_all(answering)
    process = project.start(*RUN, "--yes")
    for gate in gates:
        gate.wait_started()
    kill(process, *gates)
    run = only_run(project)
    assert run["state"] == "interrupted"
    done = project.run("resume", run["execution_id"], "--yes", "--json")
    result = object_of(done)
    assert (done.returncode, result["execution_id"]) == (0, run["execution_id"]), done.stderr
    assert summed_up(result["response"]), result["response"]
    assert result["results"]["parts"] == [f"part {index}" for index in range(4)]
    once = ("Weigh", "Try what", "Expand old", "Expand yellow", "The present state is draft.", "Sum up")
    assert {words: count_requests(answering, words) for words in once} == dict.fromkeys(once, 1)
    cut_off = ("Expand tall", "Expand dry", "Is wheat clear?", "The present state is review.")
    assert {words: count_requests(answering, words) for words in cut_off} == dict.fromkeys(cut_off, 2)
    assert answering.unmatched == []


@pytest.mark.crash
def test_a_yes_before_a_step_outlives_the_process(project: Shell, answering: ModelServer) -> None:
    gate = answering.holds("Sum up [", text="the end")
    answer_all(answering)
    process = project.start(*RUN, "--yes")
    gate.wait_started()
    kill(process, gate)
    done = project.run("resume", only_run(project)["execution_id"], "--no", "--json")
    assert (done.returncode, object_of(done)["response"]) == (0, "the end"), done.stderr


@pytest.mark.crash
def test_a_file_that_was_changed_after_the_kill_is_asked_about_and_its_own_text_runs(
    project: Shell, answering: ModelServer
) -> None:
    gate = answering.holds("Doubt the harvest", text="many doubts")
    answer_all(answering)
    process = project.start(*RUN, "--yes")
    gate.wait_started()
    kill(process, gate)
    run = only_run(project)["execution_id"]
    path = project.write(REPORT, EVERYTHING.replace("workflow: {name: ask", "workflow: {name: summarize"))
    project.fails(3, "--definition=stored", "resume", run)
    refused = project.run("resume", run, "--no", "--json")
    assert object_of(refused)["error_code"] == "DefinitionChanged"
    assert "not trusted as it is now" in object_of(refused)["error"]
    done = project.run("resume", run, "--yes", "--json")
    assert (done.returncode, object_of(done)["results"]["asked"]) == (0, "It is clear."), done.stdout
    assert path.read_text() != EVERYTHING


@pytest.mark.crash
def test_a_run_whose_definition_is_trusted_no_longer_does_not_go_on(
    project: Shell, answering: ModelServer
) -> None:
    gate = answering.holds("Doubt the harvest", text="many doubts")
    answer_all(answering)
    process = project.start(*RUN, "--yes")
    gate.wait_started()
    kill(process, gate)
    run = only_run(project)["execution_id"]
    project.ok("trust", "--revoke", REPORT)
    before = len(answering.requests)
    for which in ("ask", "file"):
        refused = project.run("resume", run, "--definition", which, "--yes", "--json")
        assert refused.returncode != 0
        assert "not trusted" in object_of(refused)["error"]
    assert len(answering.requests) == before
    project.ok("trust", "--yes", REPORT)
    done = project.run("resume", run, "--yes", "--json")
    assert (done.returncode, object_of(done)["ok"]) == (0, True), done.stdout


def test_the_documented_step_that_calls_a_tool_runs(shell: Shell, answering: ModelServer) -> None:
    shell.write(".tideate/workflows/judge.yaml", the_block("docs/workflows/tools.md", "yaml", "git_diff"))
    shell.write("a.txt", "before\n")
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.invalid")
    for words in (("init", "-q", "-b", "main"), ("add", "a.txt"), (*author, "commit", "-qm", "start")):
        subprocess.run(["git", *words], cwd=shell.project, env=shell.env, check=True)
    shell.write("a.txt", "after\n")
    answering.answers("+after", "Well done.")
    shell.ok("trust", "--yes")
    done = shell.ok("run", "judge", "--json")
    assert object_of(done)["response"] == "Well done."
    assert count_requests(answering, "-before") == 1


@pytest.mark.parametrize("reader", [["-i", "reader=a painter"], []])
def test_the_documented_definition_runs(shell: Shell, answering: ModelServer, reader: list[str]) -> None:
    block = the_block("docs/workflows/steps.md", "yaml", "id: topics")
    shell.write(".tideate/workflows/guide.yaml", block)
    answering.answers("has to know about version control", {"result": ["commits", "branches", "merges"]})
    for topic in ("commits", "branches", "merges"):
        answering.answers(f"Explain {topic}", f"All of {topic}.")
    answering.answers("Make one text of these", "The guide.")
    done = shell.run("run", "guide", "version control", *reader, "--yes", "--json")
    result = object_of(done)
    assert (done.returncode, result["response"]) == (0, "The guide."), done.stderr
    assert result["results"]["section"] == ["All of commits.", "All of branches.", "All of merges."]
    assert count_requests(answering, "a painter") == bool(reader)
