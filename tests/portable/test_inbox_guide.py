"""The tutorial of the inbox, and the recipes for CI: their own commands, and their schemas."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from tests.cli.interrupted import LOOP, SHORT
from tests.harness.editor import REPOSITORY
from tests.portable.inboxing import CI, Machine, site

if TYPE_CHECKING:
    from pathlib import Path

    from tests.portable.inboxing import Site

__all__ = ["site"]

RECIPES = REPOSITORY / "docs" / "guides" / "recipes"
STEP = re.compile(r"^    ```sh\n(.*?)^    ```$", re.MULTILINE | re.DOTALL)
PROGRAM = f'#!/bin/sh\nexec {sys.executable} -m tideate_core.cli "$@"\n'
SHOP = "def total(prices):\n    result = 0\n    for price in prices:\n"
SHOP += "        result += price\n    return result\n"


def program(machine: Machine) -> None:
    """Put the command on the machine's PATH."""
    place = machine.home / "bin"
    place.mkdir()
    (place / "tideate").write_text(PROGRAM)
    (place / "tideate").chmod(0o755)
    machine.env["PATH"] = f"{place}:{machine.env['PATH']}"


def script(machine: Machine, text: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-e", "-c", text],
        cwd=cwd,
        env={**machine.env, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_tutorial(site: Site, tmp_path: Path) -> None:
    site.server.answers("use sum()", "```python\ndef total(prices):\n    return sum(prices)\n```")
    machine = site.machine("Ana")
    machine.settings('[land]\nexecuted = "ask"\n')
    program(machine)
    place = tmp_path / "tutorial"
    place.mkdir()
    steps = [
        re.sub("^    ", "", text, flags=re.MULTILINE)
        for text in STEP.findall((REPOSITORY / "docs/guides/inbox.md").read_text(encoding="utf-8"))
    ]
    assert len(steps) == 5
    assert script(machine, steps[0], place).returncode == 0
    assert (place / "job" / "shop.py").read_text() == SHOP
    left = script(machine, steps[1], place)
    assert left.returncode == 4, left.stderr
    run = json.loads(left.stdout)["execution_id"]
    folder = place / "job"
    said = []
    for text in steps[2:]:
        done = script(machine, text.replace("3f2a", run[:8]), folder)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
        folder = place / re.search(r"cd \.\./(\w+)", text)[1] if "cd ../" in text else folder  # type: ignore[index]
    assert run[:8] in said[0]
    assert (place / "job" / "shop.py").read_text() == "def total(prices):\n    return sum(prices)\n"
    listed = script(machine, "git ls-remote team.git", place).stdout.split()[1::2]
    assert listed == ["HEAD", "refs/heads/main", f"refs/heads/tideate/{run[:8]}"]


def recipe(name: str) -> Any:
    return YAML(typ="safe").load((RECIPES / name).read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "schema"),
    [("github-actions.yml", "vendor.github-workflows"), ("gitlab-ci.yml", "vendor.gitlab-ci")],
)
def test_a_recipe_matches_the_schema_of_its_system(name: str, schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    more = ["--data-transform", "gitlab-ci"] if "gitlab" in name else []
    done = subprocess.run([*command, *more, str(RECIPES / name)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_recipe_for_github(site: Site) -> None:
    steps = {step.get("name"): step for step in recipe("github-actions.yml")["jobs"]["tideate"]["steps"]}
    ana = site.machine("Ana")
    summary = ana.home / "summary"
    given = {"PROMPT": "shorten; $(touch /tmp/x)", "FILE": "a.py:1-5", "GITHUB_STEP_SUMMARY": str(summary)}
    assert set(steps["Start"]["env"]) < given.keys()
    _play(site, steps["Start"]["run"], steps["Continue"]["run"], started=0, given=given)
    assert json.loads(summary.read_text())["left"]


@pytest.mark.slow
def test_the_recipe_for_gitlab(site: Site) -> None:
    jobs = recipe("gitlab-ci.yml")
    assert jobs["start"]["allow_failure"]["exit_codes"] == 4
    start, go_on = ("\n".join(jobs[name]["script"]) for name in ("start", "continue"))
    _play(site, start, go_on, started=4, given={"PROMPT": "shorten", "FILE": "a.py:1-5"})


def _play(site: Site, start: str, go_on: str, *, started: int, given: dict[str, str]) -> None:
    """Run both scripts of a recipe, each in a new container, with an answer between them."""
    site.asks()
    job, ana, later = site.machine(CI), site.machine("Ana"), site.machine(CI)
    for machine in (job, later):
        program(machine)
    done = script(job, start, job.root, **given)
    assert done.returncode == started, done.stderr
    (one,) = ana.waiting()
    done = script(later, go_on, later.root)
    assert done.returncode == 0, done.stderr
    assert len(ana.waiting()) == 1, "it waits for its answer"
    ana.ok("inbox", "answer", one["run"], "--yes")
    done = script(later, go_on, later.root)
    assert done.returncode == 0, done.stderr
    assert (later.read("a.py"), later.refs()) == (LOOP, [f"refs/heads/tideate/{one['run'][:8]}"])
    ana.git("fetch", "-q", "origin")
    assert ana.git("show", f"origin/tideate/{one['run'][:8]}:a.py") == SHORT.strip()
    _play_loss(site, go_on)


def _play_loss(site: Site, go_on: str) -> None:
    """A job that takes a run and cannot land it fails, and later jobs fail until a person looks."""
    ana, later = site.machine("Bea"), site.machine(CI)
    program(later)
    run = site.machine(CI).leaves()["execution_id"]
    ana.ok("inbox", "answer", run, "--yes")
    site.hook("update", f"case $1 in refs/heads/tideate/{run[:8]}) echo protected >&2; exit 1;; esac")
    assert "protected" in (lost := script(later, go_on, later.root)).stderr
    told = script(later, go_on, later.root)
    assert (lost.returncode, told.returncode) == (1, 1)
    assert f"run {run} was taken and has not ended" in told.stderr
    assert "protected" not in told.stderr, "it is not tried again"


def test_the_recipe_for_a_development_container() -> None:
    shape = json.loads((RECIPES / "devcontainer.json").read_text(encoding="utf-8"))
    (mount,) = shape["mounts"]
    assert mount["target"] == shape["containerEnv"]["TIDEATE_STATE"]
    assert "chmod 700" in shape["onCreateCommand"]
