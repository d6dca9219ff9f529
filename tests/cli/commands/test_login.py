"""`tideate login` and `logout` in a process: keys from standard input, lists without secrets, files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.shell import Shell

KEY = "sk-ant-secret"


def logins(shell: Shell) -> Path:
    return shell.home / "state/tideate/logins.json"


def test_a_key_from_standard_input_is_kept_and_shown_nowhere(shell: Shell) -> None:
    done = shell.run("login", "anthropic", stdin=f"{KEY}\n")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert logins(shell).stat().st_mode & 0o777 == 0o600
    assert KEY in logins(shell).read_text()
    listed, told = shell.run("login"), shell.run("login", "--json")
    assert "anthropic" in listed.stdout
    states = {one["provider"]: one for one in json.loads(told.stdout)["providers"]}
    assert (states["anthropic"]["kind"], states["anthropic"]["source"]) == ("key", "login")
    assert KEY not in "".join([done.stderr, listed.stdout, listed.stderr, told.stdout, told.stderr])


def test_logout_deletes_it(shell: Shell) -> None:
    shell.run("login", "anthropic", stdin=f"{KEY}\n")
    done = shell.run("logout", "anthropic", "--json")
    assert json.loads(done.stdout) == {"ok": True, "provider": "anthropic", "removed": True}
    assert KEY not in logins(shell).read_text()
    assert shell.json("logout", "anthropic")["removed"] is False


@pytest.mark.slow
def test_a_key_that_is_typed_is_not_shown(shell: Shell) -> None:
    terminal = shell.open("login", "anthropic")
    terminal.answer(("API key of anthropic", KEY), "logged in to anthropic")
    assert KEY not in terminal.raw
    assert KEY in logins(shell).read_text()


@pytest.mark.slow
def test_a_login_in_the_browser_shows_its_address_and_ends_with_ctrl_c(shell: Shell) -> None:
    terminal = shell.open("login", "openai-chatgpt")
    terminal.answer(
        "https://auth.openai.com/api/accounts/authorize?response_type=code",
        "agent_name_hint=tideate\n",
        "Ctrl-C cancels",
    )
    terminal.type("\x03")
    assert terminal.wait_exit() == 130
    assert not logins(shell).exists()


def test_what_is_not_offered_is_wrong_usage_and_says_why(shell: Shell) -> None:
    shell.fails(2, "Anthropic's terms", "login", "claude-max", stdin="k\n")
    shell.fails(2, "did you mean 'anthropic'", "login", "antropic", stdin="k\n")
    assert not logins(shell).exists()


@pytest.mark.slow
def test_logins_move_to_the_keyring_and_are_listed_there(shell: Shell) -> None:
    shell.env |= {
        "PYTHON_KEYRING_BACKEND": "keyrings.alt.file.PlaintextKeyring",
        "XDG_DATA_HOME": str(shell.project.parent / "data"),
    }
    shell.env.pop("OPENAI_API_KEY", None)
    shell.ok("login", "openai", stdin="sk-mine\n")
    shell.configure('[login]\nstore = "keyring"\n')
    listed = shell.run("login")
    assert "`tideate login --move` moves them" in listed.stderr.replace("\n", " ")
    moved = shell.run("login", "--move", "--json")
    assert json.loads(moved.stdout) == {"ok": True, "moved": ["openai"]}, moved.stderr
    assert "your keyring" in moved.stderr
    files = [path for path in shell.project.parent.rglob("*") if path.is_file()]
    assert not [path for path in files if b"sk-mine" in path.read_bytes()], "it is somewhere as it was typed"
    assert "(keyring)" in shell.run("login").stdout
    shell.ok("logout", "openai")
    assert "(keyring)" not in shell.run("login").stdout
