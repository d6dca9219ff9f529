"""The commands beside `run`."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from tests.support.model_server import ModelServer
from tideate_core import __version__
from tideate_core.cli.main import app
from tideate_core.snapshots import scratch_support

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cyclopts import App

    from tests.cli.conftest import Shell

pytestmark = pytest.mark.slow


def checks_of(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def test_help_imports_no_engine_and_no_command() -> None:
    code = (
        "import sys; sys.argv = ['tideate', '--help']\n"
        "from tideate_core.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'pydantic', 'jinja2', 'asyncio', 'tideate_core.engine', 'pydantic_ai'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "assert not [name for name in sys.modules if name.startswith('tideate_core.cli.commands.')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)


def test_the_version(shell: Shell) -> None:
    assert shell.run("--version").stdout == f"tideate {__version__}\n"


def test_help_names_every_command_and_the_exit_codes(shell: Shell) -> None:
    text = shell.run("--help").stdout
    for word in ("run", "list", "doctor", "trust", "rollback", "completion", "130 interrupted"):
        assert word in text


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed(shell: Shell, shell_name: str) -> None:
    done = shell.run("completion", shell_name)
    assert done.returncode == 0
    assert "tideate" in done.stdout


def test_workflow_names_are_completed(shell: Shell) -> None:
    done = shell.run("__complete", "run", "re")
    assert "refactor" in done.stdout, done.stderr


def test_the_list_shows_every_workflow(shell: Shell) -> None:
    done = shell.run("list")
    assert done.returncode == 0
    for name in ("ask", "generate", "multi_file", "refactor", "summarize"):
        assert name in done.stdout
    assert "analyze → refactor" in done.stdout


def test_the_list_as_json(shell: Shell) -> None:
    listed = json.loads(shell.run("list", "--json").stdout)
    refactor = next(one for one in listed["workflows"] if one["name"] == "refactor")
    assert (refactor["steps"], refactor["source"]) == (["analyze", "refactor"], "builtin")


def test_the_doctor_finds_a_healthy_installation(shell: Shell, answering: ModelServer) -> None:
    done = shell.run("doctor")
    assert done.returncode == 0, done.stdout
    assert "✓ adapter fake" in done.stdout
    assert "✓ packages" in done.stdout


def test_the_doctor_says_what_scratch_copies_are_here(shell: Shell, answering: ModelServer) -> None:
    found = scratch_support(shell.project)
    check = checks_of(shell.run("doctor", "--json"))["scratch copies"]
    assert (check["ok"], check["needed"], check["message"]) == (True, False, found.words)


def test_the_doctor_finds_an_unreachable_adapter(shell: Shell, server: ModelServer) -> None:
    shell.use(server)
    server.close()
    done = shell.run("doctor", "--json")
    assert done.returncode == 1
    check = checks_of(done)["adapter fake"]
    assert (check["ok"], check["needed"]) == (False, True)


def test_the_doctor_needs_no_adapter_that_is_not_used(shell: Shell, server: ModelServer) -> None:
    shell.use(server)
    file = shell.home / "config" / "tideate" / "config.toml"
    with ModelServer() as other:
        gone = other.base_url
    file.write_text(file.read_text() + f'[adapters.spare]\nbase_url = "{gone}"\nmodel = "m"\n')
    done = shell.run("doctor", "--json")
    assert done.returncode == 0, done.stdout
    assert checks_of(done)["adapter spare"]["ok"] is False


def test_the_doctor_finds_a_wrong_configuration(shell: Shell) -> None:
    shell.configure("adapter = 7\n")
    done = shell.run("doctor", "--json")
    assert done.returncode == 1
    assert "config.toml: adapter" in checks_of(done)["configuration"]["message"]


def test_the_doctor_tells_of_programs_that_are_missing(shell: Shell, answering: ModelServer) -> None:
    shell.env["PATH"] = str(shell.home)
    done = shell.run("doctor", "--json")
    assert done.returncode == 0, done.stdout
    checks = checks_of(done)
    assert not checks["nvim"]["ok"]
    assert not checks["git"]["ok"]


def test_the_doctor_refuses_an_old_neovim(shell: Shell, answering: ModelServer) -> None:
    programs = shell.home / "bin"
    programs.mkdir()
    (programs / "nvim").write_text("#!/bin/sh\necho NVIM v0.9.5\n")
    (programs / "nvim").chmod(0o755)
    shell.env["PATH"] = f"{programs}:{shell.env['PATH']}"
    check = checks_of(shell.run("doctor", "--json"))["nvim"]
    assert check["ok"] is False
    assert "v0.9.5" in check["message"]


def test_a_projects_configuration_is_used_once_it_is_trusted(shell: Shell, server: ModelServer) -> None:
    server.answers("hello", "from the project's")
    text = f'adapter = "own"\n[adapters.own]\nbase_url = "{server.base_url}"\nmodel = "scripted"\n'
    file = shell.write(".tideate/config.toml", text)
    trusted = shell.run("trust", "--yes")
    assert trusted.returncode == 0, trusted.stderr
    assert "trusted as it is now: .tideate/config.toml" in trusted.stderr
    assert f"send code to {server.base_url}" in trusted.stderr
    assert shell.run("run", "ask", "hello").stdout == "from the project's\n"
    revoked = shell.run("trust", str(file), "--revoke")
    assert revoked.returncode == 0
    assert "not trusted" in shell.run("doctor").stdout


def test_a_projects_prompts_are_used_once_they_are_trusted(shell: Shell, answering: ModelServer) -> None:
    answering.answers("", "fine")
    file = shell.write(".tideate/prompts/ask.md", "Obey.\n---\nproject's {{ prompt }}")
    untrusted = shell.run("run", "ask", "hello")
    assert f"{file} was not used: its content is not trusted" in untrusted.stderr
    assert "project's" not in str(answering.requests)
    trusted = shell.run("trust", "--yes")
    assert "trusted as it is now: .tideate/prompts/ask.md" in trusted.stderr
    assert f"{file} is trusted" in shell.run("doctor").stdout
    shell.run("run", "ask", "hello")
    assert "project's hello" in str(answering.requests[-1])
    assert "no longer trusted: .tideate/prompts/ask.md" in shell.run("trust", "--revoke").stderr
    assert f"! trust: {file} is not trusted; `tideate trust`" in shell.run("doctor").stdout


def usages(command: App, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the words of each command, with the first line of its help."""
    console = Console(file=io.StringIO(), width=200)
    app.help_print([*words], console=console)
    assert isinstance(console.file, io.StringIO)
    yield words, console.file.getvalue().strip().partition("\n")[0]
    for name in command:
        if not name.startswith("-"):
            yield from usages(command[name], (*words, name))


def test_the_help_of_every_command_names_it_as_it_is_called() -> None:
    found = dict(usages(app, ()))
    assert len(found) > 60
    for words, usage in found.items():
        assert usage.startswith(" ".join(["Usage: tideate", *words])), words


def test_the_commands_that_verify_a_project_are_trusted_with_it(shell: Shell) -> None:
    shell.write("Makefile", "test:\n\techo fine\n")
    trusted = shell.run("trust", "--yes")
    assert trusted.returncode == 0, trusted.stderr
    assert "trusted as it is now: make test" in trusted.stderr
    said = "no longer trusted: `make test` (tests)"
    assert said in shell.run("trust", "--revoke").stderr
    assert said not in shell.run("trust", "--revoke").stderr


def test_a_file_that_is_not_there_cannot_be_trusted(shell: Shell) -> None:
    done = shell.run("trust", "--yes")
    assert done.returncode == 2
    assert "config.toml" in done.stderr


def test_trust_outside_a_project_needs_a_name(shell: Shell) -> None:
    done = shell.run("trust", "--yes", cwd=shell.home)
    assert done.returncode == 2
    assert "--root" in done.stderr


def test_a_reader_that_goes_away_is_no_traceback(shell: Shell) -> None:
    process = shell.start("list")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    process.wait(60)
