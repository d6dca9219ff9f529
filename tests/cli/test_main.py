"""The commands beside `run`."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from tests.harness.model_server import ModelServer
from tideate_core import __version__
from tideate_core.cli.main import app, end_options
from tideate_core.process import enclosure_support
from tideate_core.snapshots import scratch_support

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cyclopts import App

    from tests.harness.shell import Shell

pytestmark = pytest.mark.slow


def checks_of(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


@pytest.mark.parametrize(("words", "named"), [([], "rollback"), (["machine"], "reveal")])
def test_help_imports_no_engine(words: list[str], named: str) -> None:
    code = (
        f"import sys; sys.argv = {['tideate', *words, '--help']}\n"
        "from tideate_core.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = {'pydantic', 'jinja2', 'asyncio', 'tideate_core.engine', 'tideate_core.machines'}\n"
        "assert not heavy & {*sys.modules}, heavy & {*sys.modules}\n"
        f"loaded = [name for name in sys.modules if name.startswith('tideate_core.cli.commands.')]\n"
        f"assert {bool(words)} or not loaded, loaded\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
    assert named.encode() in done.stdout


def test_help_version_and_completion(shell: Shell) -> None:
    text = shell.run("--help").stdout
    for word in ("run", "list", "doctor", "trust", "rollback", "completion", "130 interrupted"):
        assert word in text
    assert shell.run("--version").stdout == f"tideate {__version__}\n"
    for name in ("bash", "zsh", "fish"):
        done = shell.run("completion", name)
        assert (done.returncode, "tideate" in done.stdout) == (0, True)
    assert "refactor" in shell.run("__complete", "run", "re").stdout


def test_the_doctor_finds_a_healthy_installation_beside_an_old_neovim_and_an_unused_adapter(
    shell: Shell, answering: ModelServer
) -> None:
    programs = shell.home / "bin"
    programs.mkdir()
    (programs / "nvim").write_text("#!/bin/sh\necho NVIM v0.9.5\n")
    (programs / "nvim").chmod(0o755)
    shell.env["PATH"] = f"{programs}:{shell.env['PATH']}"
    file = shell.home / "config" / "tideate" / "config.toml"
    with ModelServer() as other:
        gone = other.base_url
    file.write_text(file.read_text() + f'[adapters.spare]\nbase_url = "{gone}"\nmodel = "m"\n')
    shown, done = shell.run("doctor"), shell.run("doctor", "--json")
    assert (shown.returncode, done.returncode) == (0, 0), shown.stdout
    assert ":Workflow install EXTRA" in checks_of(done)["extras"]["message"]
    for words in ("✓ adapter fake", "! adapter spare", "✓ packages", "! nvim: NVIM v0.9.5"):
        assert words in shown.stdout
    check = checks_of(done)["guarded agents"]
    enclosed = enclosure_support()
    assert (check["ok"], check["needed"]) == (not enclosed.reason, False)
    check = checks_of(done)["scratch copies"]
    found = scratch_support(shell.project)
    assert (check["ok"], check["needed"], check["message"]) == (True, False, found.words)


def test_the_doctor_finds_an_unreachable_adapter_and_missing_programs(
    shell: Shell, answering: ModelServer
) -> None:
    answering.close()
    shell.env["PATH"] = str(shell.home)
    done = shell.run("doctor", "--json")
    checks = checks_of(done)
    assert (done.returncode, checks["adapter fake"]["ok"], checks["adapter fake"]["needed"]) == (
        *(1, False, True),
    )
    for program in ("nvim", "git"):
        assert (checks[program]["ok"], checks[program]["needed"]) == (False, False)


def test_the_doctor_finds_a_wrong_configuration(shell: Shell) -> None:
    shell.configure("adapter = 7\n")
    done = shell.run("doctor", "--json")
    assert done.returncode == 1
    assert "config.toml: adapter" in checks_of(done)["configuration"]["message"]


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


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("retyr", "retry"), ("rfactor", "tideate run refactor"), ("ask", "tideate run ask"), ("lsit", "list")],
)
def test_an_unknown_command_suggests_the_nearest_command_or_workflow(
    shell: Shell, typed: str, meant: str
) -> None:
    done = shell.run(typed, "x")
    assert f'Did you mean "{meant}"?' in " ".join(done.stderr.replace("│", " ").split())


def test_trust_needs_something_to_trust_and_outside_of_a_project_its_name(shell: Shell) -> None:
    for folder, words in ((shell.project, "config.toml"), (shell.home, "--root")):
        shell.fails(2, words, "trust", "--yes", cwd=folder)


def test_a_reader_that_goes_away_is_no_traceback(shell: Shell) -> None:
    process = shell.start("list")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert "Traceback" not in process.stderr.read()
    process.wait(60)


@pytest.mark.parametrize(
    ("words", "separated"),
    [
        ("guard claude --resume", "guard -- claude --resume"),
        ("guard --yes --root /x claude --yes", "guard --yes --root /x -- claude --yes"),
        ("guard --root=/x sh -c exit", "guard --root=/x -- sh -c exit"),
        ("guard --agent claude sh -c exit", "guard --agent claude -- sh -c exit"),
        ("guard -- list", "guard -- list"),
        ("guard land 3f --yes", "guard land 3f --yes"),
        ("guard resume 3f -- claude -c", "guard resume 3f -- claude -c"),
        ("guard --help", "guard --help"),
        ("guard", "guard"),
        ("run guard claude", "run guard claude"),
    ],
)
def test_options_after_a_guarded_program_are_its_own(words: str, separated: str) -> None:
    assert end_options(words.split()) == separated.split()


def test_a_program_to_resume_with_is_no_session() -> None:
    words = ["guard", "resume", "--yes", "--root", "/x", "--", "claude", "-c"]
    assert end_options(words) == [*words[:5], "", *words[5:]]
