"""Agents: recognised by their programs, with directories, secrets and variables of their own."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from tideate_core.config import Config
from tideate_core.process import KNOWN_AGENTS, agent_named, enclosure_for, environment_for, find_agent

NONE = Config()


def configured(**agents: Any) -> Config:
    return Config.model_validate({"agents": agents})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TIDEATE_STATE", str(tmp_path / "state"))
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("claude", "claude"),
        ("/opt/bin/codex", "codex"),
        ("codex-acp", "codex"),
        ("gemini", "gemini"),
        ("bash", ""),
        ("mine", "mine"),
        ("/usr/bin/start-mine", "mine"),
    ],
)
def test_an_agent_is_recognised_by_its_program(program: str, name: str) -> None:
    assert find_agent([program], configured(mine={"command": ["/opt/start-mine", "--fast"]})) == name


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("env -u A -i X=1 opencode run", "opencode"),
        ("env -S 'X=1 claude -c'", "claude"),
        ("npx -y opencode-ai@latest", "opencode"),
        ("npx -p @openai/codex codex exec", "codex"),
        ("npx @openai/codex@0.171 exec", "codex"),
        ("npm exec -- @google/gemini-cli", "gemini"),
        ("pnpm dlx @github/copilot", "copilot"),
        ("uvx --from mine start-mine", "mine"),
        ("sh -c 'opencode run x'", "opencode"),
        ("bash -lc 'cd a && X=1 exec codex \"do it\" 2>&1 | tee log'", "codex"),
        ("node --no-warnings /lib/node_modules/@anthropic-ai/claude-code/cli.js", "claude"),
        ("node -r ./x.js /opt/opencode.mjs", "opencode"),
        ("nice -n 5 /opt/bin/codex-1.2.3", "codex"),
        ("claude@2.1 -c", "claude"),
        ("env PYTHONPATH=/x start-mine", "mine"),
        ("sh -c 'echo opencode'", ""),
        ("sh -c 'opencode; codex'", ""),
        ("sh -c 'opencode", ""),
        ("sh opencode", ""),
        ("vim claude", ""),
        ("env", ""),
        ("npx", ""),
    ],
)
def test_an_agent_is_recognised_behind_another_program(command: str, name: str) -> None:
    words = shlex.split(command) if command.count("'") != 1 else command.split(maxsplit=2)
    assert find_agent(words, configured(mine={"command": ["env", "A=1", "/opt/start-mine"]})) == name


def test_names_and_programs_belong_to_one_agent() -> None:
    programs = [program for one in KNOWN_AGENTS for program in one.programs]
    assert len(programs) == len(set(programs))
    assert all(agent_named(one.name) is one and one.acp for one in KNOWN_AGENTS)


def test_directories_of_its_own_are_made_and_writable(home: Path) -> None:
    inside = enclosure_for("claude", NONE)
    assert inside.writable == (home / ".claude", home / ".cache/claude-cli-nodejs")
    assert inside.kept == (home / ".claude.json",)
    assert (home / ".claude").stat().st_mode & 0o777 == 0o700
    assert not (home / ".claude.json").exists()
    assert home / ".claude.json" in enclosure_for("codex", NONE).hidden


def test_directories_that_lead_outside_are_made_and_emptied(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_HOME", str(home / "moved"))
    (home / "moved").mkdir()
    emptied = enclosure_for("codex", NONE).emptied
    kinds = ("control", "daemon")
    outward = {home / name / f"app-server-{kind}" for name in (".codex", "moved") for kind in kinds}
    assert outward == set(emptied)
    assert all(path.is_dir() for path in outward)
    assert enclosure_for("claude", NONE).emptied == (home / ".claude/ide",)


def test_a_directory_of_its_own_may_be_moved(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", "/data/codex")
    assert Path("/data/codex") in enclosure_for("codex", NONE).writable
    assert Path("/data/codex") in enclosure_for("claude", NONE).hidden


def test_directories_follow_the_variables_that_move_them(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "elsewhere"))
    inside = enclosure_for("opencode", NONE)
    assert home / "elsewhere/opencode" in inside.writable
    assert home / ".local/share/opencode" in inside.writable
    assert {home / "elsewhere/gh", home / ".config/gh"} <= set(inside.hidden)


def test_secrets_and_other_agents_and_our_state_are_hidden(home: Path) -> None:
    hidden = enclosure_for("claude", NONE).hidden
    assert {home / ".ssh", home / ".codex", home / ".gemini", home / "state"} <= set(hidden)
    assert home / ".claude" not in hidden
    assert home / ".claude" in enclosure_for("bash", NONE).hidden


def test_configured_paths_are_added(home: Path) -> None:
    own = {"writable": ["~/work"], "hidden": ["/data"], "visible": ["~/.npmrc"], "network": "loopback"}
    inside = enclosure_for("claude", configured(claude=own))
    assert home / "work" in inside.writable and home / ".claude" in inside.writable
    assert Path("/data") in inside.hidden
    assert inside.visible == (home / ".npmrc",)
    assert inside.rules.network == "loopback"


HELD_BACK = {
    "DATABASE_URL",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "GITHUB_TOKEN",
    "MYSQL_PWD",
    "PGPASSFILE",
    "PGPASSWORD",
    "PGSERVICEFILE",
    "SENTRY_DSN",
    "KITTY_LISTEN_ON",
    "MY_PASSWORD",
    "NVIM",
    "NVIM_LISTEN_ADDRESS",
    "OPENAI_API_KEY",
    "SSH_AUTH_SOCK",
    "TIDEATE_STATE",
    "XDG_RUNTIME_DIR",
}
PASSED = {
    "ANTHROPIC_API_KEY",
    "CLAUDE_CONFIG_DIR",
    "EDITOR",
    "HTTPS_PROXY",
    "MONKEY",
    "OLDPWD",
    "PGHOST",
    "PWD",
    "TERM",
    "TOKENIZERS_PARALLELISM",
}


def test_variables_of_others_and_ways_to_other_programs_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in HELD_BACK | PASSED:
        monkeypatch.setenv(name, "value")
    found = environment_for("claude", NONE)
    assert not HELD_BACK & found.keys()
    assert found.keys() >= PASSED
    assert found["TMPDIR"] == "/tmp"
    assert "GITHUB_TOKEN" in environment_for("claude", configured(claude={"inherit": ["GITHUB_TOKEN"]}))
    assert "ANTHROPIC_API_KEY" not in environment_for("bash", NONE)


def test_a_key_for_several_agents_reaches_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "OPENAI_API_KEY", "value")
    assert all("OPENAI_API_KEY" in environment_for(name, NONE) for name in ("codex", "opencode"))
