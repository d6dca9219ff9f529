"""The fast path of `tideate guard COMMAND`: its words, and the modules before the program starts."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.harness.project import git
from tideate_core.cli.commands import guard as full
from tideate_core.cli.guarding import FLAGS, VALUES, Guarding, read_words
from tideate_core.cli.main import end_options
from tideate_core.config import Config, OwnAgents, load_own_agents
from tideate_core.config.own_agents import SECTIONS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.shell import Shell

LATER = (
    *("asyncio", "cyclopts", "jinja2", "pydantic", "rich", "ssl", "zstandard"),
    *("tideate_core.cli.arguments", "tideate_core.cli.main", "tideate_core.cli.render"),
    *("tideate_core.config.schema", "tideate_core.engine", "tideate_core.store", "tideate_core.workflows"),
    "tideate_core.workspace.workspace",
)
"""Modules that the program must not wait for."""
STARTING = f"""
import json, sys
from tideate_core.cli import guarding
def stop(root, request, program, running):
    running.process.wait()
    loaded = [name for name in {LATER!r} if name in sys.modules]
    program.owned.close()
    print(json.dumps(loaded), flush=True)
    sys.exit()
guarding._attend = stop
guarding.run_words(guarding.read_words(sys.argv[1:]))
"""


@pytest.mark.slow
def test_the_program_starts_before_the_modules_of_the_review_are_imported(shell: Shell) -> None:
    git(shell.project, "init", "--quiet")
    for _ in range(2):  # without a mirror, and with one
        done = subprocess.run(
            [sys.executable, "-c", STARTING, "echo", "started"],
            cwd=shell.project,
            env=shell.env,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines() == ["started", json.dumps([])]


def by_full_parser(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> list[Guarding]:
    found: list[Guarding] = []

    def guard(request: Guarding) -> int:
        found.append(request)
        return 0

    monkeypatch.setattr(full, "guard_program", guard)
    full.app(end_options(["guard", *words])[1:], result_action="return_value")
    return found


@pytest.mark.parametrize(
    "words",
    [
        ["claude"],
        ["--yes", "codex", "exec", "add types"],
        ["--no", "--json", "make", "--yes", "-j"],
        ["--later", "--root", "/p", "sh", "-c", "a -- b"],
        ["--root=/p", "--", "list"],
        ["--json", "--", "sh", "--", "x"],
        ["a", "--help"],
    ],
)
def test_both_parsers_understand_the_same(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    assert by_full_parser(monkeypatch, words) == [read_words(words)]


def test_both_parsers_know_the_same_options() -> None:
    command = full.app.default_command
    named = {
        name
        for argument in full.app.assemble_argument_collection(default_parameter=None)
        for name in argument.names
        if name.startswith("--")
    }
    assert command is full.guard
    assert named - {"--no-later", "--no-json"} == {*FLAGS, *VALUES}


@pytest.mark.parametrize(
    "words",
    [
        *([], ["--help"], ["-h"], ["--yes"], ["--"], ["list"], ["--json", "list"], ["land", "--yes"]),
        *(["--yess", "claude"], ["--no-json", "claude"], ["--yes", "--no", "claude"]),
        *(["--root"], ["--root", "--yes", "a"], ["--root=", "a"], ["--json=true", "a"]),
    ],
)
def test_everything_unusual_is_left_to_the_full_parser(words: list[str]) -> None:
    assert read_words(words) is None


def test_only_a_configuration_with_agents_or_mistakes_is_read_completely(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert {*Config.model_fields} == SECTIONS
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "tideate/config.toml"
    file.parent.mkdir()
    assert load_own_agents(tmp_path) == OwnAgents()
    file.write_text("memory = false\n")
    assert load_own_agents(tmp_path) == OwnAgents()
    file.write_text('[agents.mine]\nnetwork = "off"\n')
    assert load_own_agents(tmp_path).agents["mine"].network == "off"
    for text, words in (("[agent.mine]\n", "did you mean 'agents'"), ("[agents", "not valid TOML")):
        file.write_text(text)
        with pytest.raises(Exception, match=words):
            load_own_agents(tmp_path)
