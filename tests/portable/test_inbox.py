"""A run is left at its question, answered in another clone, continued and landed: the whole way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.interrupted import LOOP, SHORT
from tests.portable.inbox_bench import RUN
from tests.portable.inboxing import CI, LEAVING, site
from tests.portable.test_hostile_refs import question

if TYPE_CHECKING:
    from tests.portable.inboxing import Site

__all__ = ["site"]

TWO = "def total(n):\n    s = 0\n    for i in range(n):\n        s += i\n    return t\n"


def test_a_run_is_left_answered_elsewhere_continued_and_landed(site: Site) -> None:
    site.asks()
    ci, ana = site.machine(CI), site.machine("Ana")
    left = ci.leaves()
    run = left["execution_id"]
    assert (left["n"], left["kind"], left["ref"]) == (1, "review", f"refs/tideate/runs/{run}")
    assert (ci.read("a.py"), ana.read("a.py")) == (LOOP, LOOP)
    (one,) = ana.waiting()
    assert (one["run"], one["remote"], one["answered_by"], one["signed"]) == (run, "origin", None, False)
    shown = ana.ok("inbox", "show", run[:8]).stdout
    assert "+    return sum(range(n))" in shown
    assert "answered question 1" in ana.ok("inbox", "answer", run[:8], "--yes").stdout
    assert ana.waiting()[0]["answered_by"] == "Ana <ana@example.org>"
    job = site.machine(CI)  # a new container, which knows nothing of the run
    done = job.ok("resume", "--from", "origin", run[:8], "--land", "branch")
    assert "answered by Ana <ana@example.org>" in done.stderr
    assert job.read("a.py") == SHORT
    assert job.refs() == [f"refs/heads/tideate/{run[:8]}"]
    assert job.git("status", "--short") == "M a.py"
    ana.git("fetch", "-q", "origin")
    assert ana.git("show", f"origin/tideate/{run[:8]}:a.py") == SHORT.strip()
    assert ana.git("log", "-1", "--format=%s %p", f"origin/tideate/{run[:8]}") == (
        f"shorten {ana.git('rev-parse', '--short', 'origin/main')}"
    )
    assert ana.waiting() == []


@pytest.mark.slow
def test_a_container_leaves_and_a_terminal_answers_hunk_by_hunk(site: Site) -> None:
    """`env -i`, no terminal, umask 077, another HOME, a shallow clone with a detached HEAD."""
    site.asks("def total(n):\n    t = 1\n    for i in range(n):\n        t += i\n    return t + 0\n")
    ci, ana = site.machine(CI), site.machine("Ana")
    ci.git("checkout", "-q", "--detach")
    ci.git("fetch", "-q", "--depth=1", "origin", "main")
    environment = [f"{key}={ci.env[key]}" for key in ("PATH", "HOME", "PYTHONPATH")]
    script = f'umask 077; exec env -i {" ".join(environment)} {sys.executable} -m tideate_core.cli "$@"'
    (ci.home / ".config").mkdir(exist_ok=True)
    (ci.home / "config" / "tideate").rename(ci.home / ".config" / "tideate")
    done = subprocess.run(
        ["setsid", "sh", "-c", script, "sh", *LEAVING],
        cwd=ci.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 4, done.stderr
    run = json.loads(done.stdout)["execution_id"]
    terminal = ana.open("inbox", "answer", run[:8])
    terminal.wait_for("Apply the change to a.py")
    terminal.type("p\n")
    terminal.wait_for("hunk 1")
    terminal.type("y\n")
    terminal.wait_for("hunk 2")
    terminal.type("n\n")
    terminal.wait_for("answered question 1")
    assert terminal.wait_exit() == 0
    job = site.machine(CI)
    job.ok("resume", "--from", "origin", run)
    assert job.read("a.py") == LOOP.replace("t = 0", "t = 1")
    assert job.refs() == []


@pytest.mark.slow
def test_a_shallow_clone_lands_a_branch_on_its_last_commit(site: Site) -> None:
    founder = site.machine("Founder")
    for number in range(3):
        founder.write("b.py", f"B = {number}\n")
        founder.git("add", "b.py")
        founder.git("commit", "-qm", f"more {number}")
    founder.git("push", "-q", "origin", "HEAD:main")
    site.asks()
    ci, ana, job = site.machine(CI, "--depth=1"), site.machine("Ana"), site.machine(CI, "--depth=1")
    assert job.git("rev-list", "--count", "HEAD") == "1"
    run = ci.leaves()["execution_id"]
    ana.ok("inbox", "answer", run, "--yes")
    job.write("mine.py", "M = 1\n")
    job.git("add", "mine.py")
    job.ok("resume", "--from", "origin", run, "--land", "branch")
    assert job.git("status", "--short").split("\n") == ["M a.py", "A  mine.py"]
    ana.git("fetch", "-q", "origin")
    branch = f"origin/tideate/{run[:8]}"
    assert ana.git("log", "--format=%s", branch).split("\n") == [
        "shorten",
        "more 2",
        "more 1",
        "more 0",
        "begin",
    ]
    assert ana.git("diff", "--name-only", "origin/main", branch) == "a.py"


@pytest.mark.slow
def test_a_declined_review_ends_the_run_as_declined(site: Site) -> None:
    site.asks()
    ci, ana = site.machine(CI), site.machine("Ana")
    run = ci.leaves()["execution_id"]
    terminal = ana.open("inbox", "answer", run[:8])
    terminal.wait_for("Apply the change to a.py")
    terminal.type("n\n")
    terminal.wait_for("answered question 1")
    assert terminal.wait_exit() == 0
    ci.fails(3, "answered by Ana", "resume", "--from", "origin", run)
    assert (ci.read("a.py"), ci.refs()) == (LOOP, [])


@pytest.mark.slow
def test_a_comment_brings_a_revision_and_a_second_question(site: Site) -> None:
    site.server.answers("use sum", f"```python\n{SHORT}```")  # first: it has the words of both requests
    site.asks(LOOP.replace("t = 0", "t = 9"))
    ci, ana = site.machine(CI), site.machine("Ana")
    run = ci.leaves()["execution_id"]
    terminal = ana.open("inbox", "answer", run[:8])
    terminal.wait_for("Apply the change to a.py")
    terminal.type("c\n")
    terminal.wait_for("What is to change?")
    terminal.type("use sum\n")
    terminal.wait_for("answered question 1")
    assert terminal.wait_exit() == 0
    done = ci.run("resume", "--from", "origin", run, "--at-gate", "leave")
    assert done.returncode == 4, done.stderr
    left = json.loads(done.stdout)
    assert (left["n"], "Revision 2" in left["message"]) == (2, True)
    ana.ok("inbox", "answer", run[:8], "--yes")
    ci.ok("resume", "--from", "origin", run)
    assert (ci.read("a.py"), ci.refs()) == (SHORT, [])


@pytest.mark.slow
def test_a_run_without_an_answer_stays_and_two_questions_of_one_run_follow_each_other(site: Site) -> None:
    site.server.answers("what does the code do", "- it adds up")
    site.server.answers("Rewrite these lines", f"```python\n{SHORT}```")
    ci, ana = site.machine(CI), site.machine("Ana")
    ci.settings('[ci]\nat_gate = "leave"\n')
    done = ci.run("run", "refactor", "shorten", "--file", "a.py:1-5")
    assert done.returncode == 4, done.stderr
    first = json.loads(done.stdout)
    run = first["execution_id"]
    waits = ci.run("resume", "--from", "origin", run)
    assert (waits.returncode, json.loads(waits.stdout)["answered"]) == (4, False)
    assert f"refs/tideate/taken/{run}/1" not in ci.refs()
    ana.ok("inbox", "answer", run[:8], "--yes")
    second = json.loads(ci.run("resume", "--from", "origin", run).stdout)
    assert [(one["n"], one["kind"]) for one in (first, second)] == [(1, "gate"), (2, "review")]
    ana.ok("inbox", "answer", run[:8], "--yes")
    ci.ok("resume", "--from", "origin", run)
    assert (ci.read("a.py"), ci.refs()) == (SHORT, [])
    assert len(site.server.requests) == 2, "no model was asked twice"


@pytest.mark.slow
def test_a_person_at_a_terminal_continues_a_run_of_ci(site: Site) -> None:
    """Without an answer the question is asked here; the changes land in the person's own tree."""
    site.asks()
    run = site.machine(CI).leaves()["execution_id"]
    ana = site.machine("Ana")
    ana.write("mine.py", "M = 1\n")
    terminal = ana.open("resume", "--from", "origin", run[:8])
    terminal.wait_for("in the project")  # the same facts as `bundle open` shows
    terminal.wait_for("Open the run")
    terminal.type("y\n")
    terminal.wait_for("Apply the change to a.py")
    terminal.type("y\n")
    assert terminal.wait_exit() == 0
    assert (ana.read("a.py"), ana.read("mine.py"), ana.refs()) == (SHORT, "M = 1\n", [])
    ana.ok("rollback", run[:8], "--yes")
    assert ana.read("a.py") == LOOP


def test_yes_does_not_decline_what_only_a_person_decides(site: Site) -> None:
    ana = site.machine("Ana")
    blob = ana.git("hash-object", "-w", "--stdin", given=question(kind="override", payload={}).decode())
    tree = ana.git("mktree", given=f"100644 blob {blob}\tquestion.json\n")
    commit = ana.git("commit-tree", tree, "-m", "Question")
    ana.git("push", "-q", "origin", f"{commit}:refs/tideate/runs/{RUN}")
    ana.fails(3, "only a person may override", "inbox", "answer", RUN, "--yes")
    assert ana.refs() == [f"refs/tideate/runs/{RUN}"]


@pytest.mark.slow
def test_names_and_texts_survive_a_locale_without_them(site: Site) -> None:
    code = SHORT.replace("total", "tötal")
    site.asks(code)
    ci, ana, job = site.machine(CI), site.machine("Änne"), site.machine(CI)
    for machine in (ci, ana, job):
        machine.env.update(LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    run = ci.leaves()["execution_id"]
    ana.ok("inbox", "answer", run, "--yes")
    commit = f"refs/tideate/answers/{run}/1"
    ana.git("fetch", "-q", "origin", commit)
    assert ana.git("log", "-1", "--format=%cn", "FETCH_HEAD") == "Änne"
    job.ok("resume", "--from", "origin", run)
    assert job.read("a.py") == code


@pytest.mark.slow
def test_of_two_parallel_resumes_only_one_continues(site: Site) -> None:
    site.asks()
    run = site.machine(CI).leaves()["execution_id"]
    site.machine("Ana").ok("inbox", "answer", run, "--yes")
    jobs = [site.machine(CI), site.machine(CI)]
    processes = [job.start("resume", "--from", "origin", run, "--land", "branch") for job in jobs]
    told = [process.communicate(timeout=120)[1] for process in processes]
    assert sorted(process.returncode for process in processes) == [0, 1], told
    loser = [process.returncode for process in processes].index(1)
    assert "continued run" in told[loser] or "no such run" in told[loser]
    assert jobs[loser].read("a.py") == LOOP
    assert jobs[0].refs() == [f"refs/heads/tideate/{run[:8]}"]


@pytest.mark.slow
def test_a_run_that_could_not_be_published_waits_and_is_sent_later(site: Site) -> None:
    site.asks()
    ci = site.machine(CI)
    site.remote.rename(site.place / "away.git")
    done = ci.run(*LEAVING)
    assert (done.returncode, done.stdout) == (1, "")
    (run,) = ci.json("history")["runs"]
    assert f"`tideate inbox send {run['execution_id'][:8]}` publishes it" in done.stderr
    (site.place / "away.git").rename(site.remote)
    sent = ci.run("inbox", "send", run["execution_id"][:8])
    assert sent.returncode == 4, sent.stderr
    again = ci.run("inbox", "send", run["execution_id"][:8])
    assert json.loads(again.stdout)["commit"] == json.loads(sent.stdout)["commit"]
    assert ci.refs() == [f"refs/tideate/runs/{run['execution_id']}"]
    assert len(site.server.requests) == 1


@pytest.mark.slow
def test_a_forged_answer_and_an_unsigned_run_are_refused_in_ci(site: Site) -> None:
    site.asks()
    ci, eve = site.machine(CI), site.machine("Eve")
    run = ci.leaves()["execution_id"]
    eve.ok("inbox", "answer", run[:8], "--yes")
    ci.settings('[inbox]\nallow = ["ana@example.org"]\n')
    ci.fails(1, "no valid signature", "resume", "--from", "origin", run)
    ci.write(".tideate/config.toml", "[inbox]\nallow = []\n")
    ci.ok("trust", "--yes")
    ci.fails(1, "no valid signature", "resume", "--from", "origin", run)
    assert ci.read("a.py") == LOOP


@pytest.mark.slow
def test_a_secret_in_a_run_is_not_published(site: Site) -> None:
    key = "ghp_" + "a1B2" * 9
    site.asks(f"def total(n):\n    token = '{key}'\n    return sum(range(n))\n")
    ci = site.machine(CI)
    done = ci.run(*LEAVING)
    assert (done.returncode, ci.refs()) == (1, []), done.stderr
    assert "seems to hold secrets" in done.stderr
    (run,) = ci.json("history")["runs"]
    sent = ci.run("inbox", "send", run["execution_id"][:8], "--with-secrets")
    assert sent.returncode == 4, sent.stderr


@pytest.mark.slow
def test_hostile_words_are_shown_escaped(site: Site) -> None:
    site.asks(LOOP.replace("t = 0", "t = 1  # \x1b[2J\u202eevil"))
    ci, ana = site.machine(CI), site.machine("Ana")
    run = ci.leaves()["execution_id"]
    for words in (("inbox",), ("inbox", "show", run[:8])):
        out = ana.ok(*words).stdout
        assert "\x1b[2J" not in out
        assert "\u202e" not in out
    ana.git("fetch", "-q", "origin", f"refs/tideate/runs/{run}")
    assert "\x1b" not in ana.git("show", "FETCH_HEAD:QUESTION.md")


@pytest.mark.slow
def test_usage_errors_say_what_to_do(site: Site) -> None:
    ana = site.machine("Ana")
    assert "no run waits" in ana.ok("inbox").stderr
    ana.fails(2, "no terminal to ask on", "inbox", "answer", "deadbeef")
    ana.fails(2, "no run deadbeef waits", "inbox", "answer", "deadbeef", "--yes")
    ana.fails(2, "--from requires the id", "resume", "--from", "origin")
    ana.fails(2, "--land requires --from", "resume", "deadbeef", "--land", "branch")
    ana.fails(1, "no such run", "resume", "--from", "origin", "deadbeef")
    ana.fails(2, "hexadecimal", "resume", "--from", "origin", "a*")
    ana.fails(1, "there is no remote nosuch", "inbox", "nosuch")
    site.remote.rename(site.place / "gone")
    ana.fails(1, "the remote origin cannot be read", "inbox")


PROMPTS = {
    "the question": [],
    "the first hunk": ["p\n"],
    "the second hunk": ["p\n", "y\n"],
    "a comment": ["c\n"],
}
"""Keys typed before Ctrl-C."""
SHOWN = {"p\n": "hunk 1", "y\n": "hunk 2", "c\n": "What is to change?"}


@pytest.mark.slow
@pytest.mark.parametrize("prompt", PROMPTS)
def test_ctrl_c_at_a_prompt_keeps_the_question_open_and_the_decisions(site: Site, prompt: str) -> None:
    site.asks("def total(n):\n    t = 1\n    for i in range(n):\n        t += i\n    return t + 0\n")
    run = site.machine(CI).leaves()["execution_id"]
    ana = site.machine("Ana")
    terminal = ana.open("inbox", "answer", run[:8])
    terminal.wait_for("Apply the change to a.py")
    for keys in PROMPTS[prompt]:
        terminal.type(keys)
        terminal.wait_for(SHOWN[keys])
    terminal.type("\x03")
    assert terminal.wait_exit() == 130
    assert ana.waiting()[0]["answered_by"] is None
    (begun,) = ana.json("history")["runs"]
    assert begun["resumable"]
    # the same question, not a second one
    terminal = ana.open("inbox", "answer", run[:8])
    if prompt == "the second hunk":
        terminal.wait_for("1 hunk decided before, at the terminal")
    terminal.wait_for("Apply the change to a.py")
    terminal.type("y\n")
    terminal.wait_for("answered question 1")
    assert terminal.wait_exit() == 0
    assert [one["execution_id"] for one in ana.json("history")["runs"]] == [begun["execution_id"]]


@pytest.mark.slow
def test_ctrl_c_while_an_answer_is_pushed_keeps_it_for_the_next_try(site: Site) -> None:
    site.asks()
    run = site.machine(CI).leaves()["execution_id"]
    ana = site.machine("Ana")
    begun, never = site.place / "begun", site.place / "never"
    for pipe in (begun, never):
        os.mkfifo(pipe)
    site.hook("pre-receive", f"echo >{begun}; read _ <{never}")
    terminal = ana.open("inbox", "answer", run[:8])
    terminal.wait_for("Apply the change to a.py")
    terminal.type("y\n")
    begun.read_text()
    terminal.type("\x03")
    assert terminal.wait_exit() == 130
    site.hook("pre-receive", "exit 0")
    assert ana.waiting()[0]["answered_by"] is None
    assert "answered question 1" in ana.ok("inbox", "answer", run[:8], "--yes").stdout
    assert ana.waiting()[0]["answered_by"] == "Ana <ana@example.org>"
    assert len(ana.json("history")["runs"]) == 1


@pytest.mark.slow
def test_a_run_that_went_on_here_is_published_again_and_no_answer_is_lost(site: Site) -> None:
    site.asks()
    ci, ana = site.machine(CI), site.machine("Ana")
    left = ci.leaves()
    run, ref = left["execution_id"], f"refs/tideate/runs/{left['execution_id']}"
    terminal = ci.open("resume", run)  # looked at here, and left again
    terminal.wait_for("Apply the change to a.py")
    terminal.hang_up()
    terminal.wait_exit()
    sent = ci.run("inbox", "send", run)
    assert sent.returncode == 4, sent.stderr
    made = json.loads(sent.stdout)
    assert (made["n"], made["ref"]) == (1, ref)
    assert made["commit"] != left["commit"]
    assert ci.git("ls-remote", "origin", ref).split()[0] == made["commit"]
    # published as it is: nothing is done again
    assert json.loads(ci.run("inbox", "send", run).stdout)["commit"] == made["commit"]
    ana.ok("inbox", "answer", run, "--yes")
    told = ci.run("inbox", "send", run)
    assert (told.returncode, json.loads(told.stdout)["answered"]) == (4, True)
    assert "answered by Ana" in told.stderr
    terminal = ci.open("resume", run)
    terminal.wait_for("Apply the change to a.py")
    terminal.hang_up()
    terminal.wait_exit()
    ci.fails(1, "Ana <ana@example.org> answered question 1", "inbox", "send", run)
    assert ci.git("ls-remote", "origin", ref).split()[0] == made["commit"]
    ci.ok("resume", "--from", "origin", run)
    assert (ci.read("a.py"), ci.refs()) == (SHORT, [])


@pytest.mark.slow
def test_a_run_that_another_machine_continues_is_not_published_again(site: Site) -> None:
    site.asks()
    ci, job = site.machine(CI), site.machine("Job")
    run = ci.leaves()["execution_id"]
    terminal = job.open("resume", "--from", "origin", run)
    terminal.wait_for("Open the run")
    terminal.type("y\n")
    terminal.wait_for("Apply the change to a.py")
    terminal.hang_up()
    terminal.wait_exit()
    again = ci.open("resume", run)
    again.wait_for("Apply the change to a.py")
    again.hang_up()
    again.wait_exit()
    ci.fails(1, "Job <job@example.org> continued run", "inbox", "send", run)


DEAD = '[adapters.other]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "scripted"\n'


@pytest.mark.slow
@pytest.mark.parametrize("tools", [False, True])
def test_a_run_keeps_the_model_that_it_began_with(site: Site, *, tools: bool) -> None:
    """The continuing machine has another default model, with or without tools."""
    site.server.answers("what does the code do", "- it adds up")
    site.server.answers("Rewrite these lines", f"```python\n{SHORT}```")
    ci, ana, job = site.machine(CI), site.machine("Ana"), site.machine(CI)
    run = json.loads(ci.run("run", "refactor", "shorten", *LEAVING[3:]).stdout)["execution_id"]
    ana.ok("inbox", "answer", run, "--yes")
    place = job.home / "config" / "tideate" / "config.toml"
    text = place.read_text().replace('adapter = "fake"', 'adapter = "other"')
    place.write_text(f"{text}{DEAD}tools = {str(tools).lower()}\n")
    done = job.run("resume", "--from", "origin", run, "--at-gate", "leave")
    assert done.returncode == 4, done.stderr
    assert len(site.server.requests) == 2, "the completed step was not repeated"
    ana.ok("inbox", "answer", run, "--yes")
    # a machine without this model says so, and changes nothing
    bare = site.machine(CI)
    own = place.read_text().replace("adapters.fake", "adapters.mine").replace('"other"', '"mine"')
    (bare.home / "config" / "tideate" / "config.toml").write_text(own)
    command = ("resume", "--from", "origin", run)
    bare.fails(2, "works with the model fake, which this machine does not have", *command)
    assert bare.read("a.py") == LOOP
    assert not any("/taken/" in ref and ref.endswith("/2") for ref in bare.refs())
    bare.ok(*command, "--adapter", "mine")
    assert (bare.read("a.py"), len(site.server.requests)) == (SHORT, 2)
