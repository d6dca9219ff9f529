"""The forged `.tideate/` of a cloned, untrusted project is ignored."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.clones import Clone
from tests.harness.dialogs import wait_focused

if TYPE_CHECKING:
    from tests.harness.editor import Editor
    from tests.harness.shell import Shell

pytestmark = [pytest.mark.bulk, pytest.mark.attack]


@pytest.fixture
def clone(shell: Shell) -> Clone:
    """The shell's project as a hostile clone, beside a home with valuable files."""
    return Clone(shell.project, shell.home)


# 1: a forged journal of a snapshot's restore


SHELL_LOOKS = (
    ("list",),
    ("history",),
    ("doctor",),
    ("check",),
    ("snapshot", "list"),
    ("snapshot", "create"),
    ("rollback",),
    ("resume",),
    ("machine", "check", "a.workflow"),
    ("trust", "--no"),
)


@pytest.mark.slow
@pytest.mark.parametrize("temp", ["absolute", "upwards"])
@pytest.mark.parametrize("command", SHELL_LOOKS, ids=lambda words: " ".join(words))
def test_a_forged_restore_deletes_and_writes_nothing_from_the_shell(
    shell: Shell, clone: Clone, command: tuple[str, ...], temp: str
) -> None:
    clone.forge_restore(clone.victim if temp == "absolute" else clone.upwards(clone.victim))
    clone.write("a.workflow", "* to a\n  Go.\na to *\n  End.\n")
    before = clone.outside()
    shell.run(*command)
    assert clone.outside() == before
    assert not (shell.project / ".envrc").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.workflow", "a.py", ".tideate/config.toml", ".tideate/workflows/b.yaml"])
def test_opening_a_file_in_neovim_deletes_and_writes_nothing(editor: Editor, name: str) -> None:
    clone = Clone(editor.cwd, editor.home)
    clone.forge_restore(clone.victim)
    clone.write("a.workflow", "* to a\n  Go.\na to *\n  End.\n")
    clone.write(name, (editor.cwd / name).read_text() if (editor.cwd / name).exists() else "")
    before = clone.outside()
    editor.command(f"edit {name}")
    editor.command("Workflow list")
    editor.wait_for(
        lambda: editor.lua("return require('tideate.host').state()") == "ready", "the host is ready"
    )
    editor.wait("vim.bo.filetype == 'tideate-runs'")
    editor.feed("q")
    editor.command("Workflow history")
    editor.wait("vim.fn.search('nothing has run', 'nw') > 0")
    assert clone.outside() == before
    assert not (editor.cwd / ".envrc").exists()


# 2: directories of the journal that are links


@pytest.mark.parametrize("name", ["snapshots/journal", "snapshots", "journal", "mcp", "objects", "."])
def test_a_directory_that_is_a_link_is_not_emptied_or_filled(shell: Shell, clone: Clone, name: str) -> None:
    clone.link(name, clone.treasure)
    before = clone.outside()
    done = shell.run("snapshot", "create")
    assert done.returncode == 0, done.stderr
    assert clone.outside() == before
    assert shell.run("snapshot", "list").stdout.count("by hand") == 1


# 3: a forged change of the filesystem server


@pytest.mark.slow
async def test_a_forged_change_of_the_filesystem_server_is_not_put_back(clone: Clone) -> None:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    run = "0123456789abcdef" * 2
    clone.forge_journal("journal", run, str(clone.victim))
    clone.write(".tideate/mcp/filesystem/under_way", run)
    before = clone.outside()
    environment = {"HOME": str(clone.home), "XDG_STATE_HOME": str(clone.home / "state"), **_python()}
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "tideate_core.cli.main", "mcp", "serve", "filesystem", "--root", str(clone.root)],
        env=environment,
    )
    async with asyncio.timeout(60), stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        answer = await session.call_tool("write_file", {"path": "new.txt", "content": "x"})
    assert not answer.is_error
    assert clone.outside() == before
    assert (clone.root / "new.txt").read_text() == "x"
    assert not (clone.root / ".envrc").exists()


def _python() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ} | {
        "PYTHONPATH": os.getcwd()  # noqa: PTH109
    }


# 4: the configuration of another, trusted project


@pytest.mark.parametrize("link", [".tideate", ".tideate/config.toml"])
def test_the_configuration_of_a_trusted_project_is_not_the_clones(
    shell: Shell, clone: Clone, link: str
) -> None:
    clone.trusted_sibling()
    assert shell.run("trust", "--yes", "--root", str(clone.sibling)).returncode == 0
    clone.write("helper.sh", f"#!/bin/sh\ntouch {clone.home}/ran\n").chmod(0o755)
    clone.write("check.sh", f"touch {clone.home}/ran\n")
    target = clone.sibling / link
    (clone.root / link).parent.mkdir(exist_ok=True)
    (clone.root / link).symlink_to(target)
    before = clone.outside()
    listed = shell.run("mcp", "tools", "helper")
    assert listed.returncode != 0
    checked = shell.run("doctor")
    assert "is a link, or there is a link on the way" in checked.stdout
    trusting = shell.run("trust", "--yes")
    assert trusting.returncode == 2
    shell.run("mcp", "tools", "helper")
    assert not (clone.home / "ran").exists()
    assert clone.outside() == before


def test_a_copy_of_a_trusted_configuration_is_not_trusted(shell: Shell, clone: Clone) -> None:
    clone.trusted_sibling()
    assert shell.run("trust", "--yes", "--root", str(clone.sibling)).returncode == 0
    clone.write("helper.sh", f"#!/bin/sh\ntouch {clone.home}/ran\n").chmod(0o755)
    clone.write(".tideate/config.toml", (clone.sibling / ".tideate/config.toml").read_text())
    assert shell.run("mcp", "tools", "helper").returncode != 0
    assert not (clone.home / "ran").exists()


@pytest.mark.slow
def test_in_neovim_the_configuration_of_a_trusted_project_is_not_the_clones(editor: Editor) -> None:
    clone = Clone(editor.cwd, editor.home)
    clone.trusted_sibling()
    editor.command(f"Workflow trust {clone.sibling}/.tideate/config.toml")
    wait_focused(editor)
    editor.feed("y")
    editor.wait_for(lambda: "trusted as it is now" in editor.messages(), "trusted")
    clone.write("helper.sh", f"#!/bin/sh\ntouch {clone.home}/ran\n").chmod(0o755)
    (clone.root / ".tideate").symlink_to(clone.sibling / ".tideate")
    editor.edit(clone.root / "a.py", "A = 1\n")
    editor.command("Workflow tools")
    editor.wait("vim.bo.filetype == 'tideate-runs'", 60)
    editor.wait("vim.fn.search('filesystem', 'nw') > 0")
    assert not any("helper" in line for line in editor.lines())
    assert not (clone.home / "ran").exists()


# 5: links that are followed when writing


LINKS = (
    "journal",
    "workflow",
    "workflow/reports",
    "workflow/reports/run-summary.json",
    "mcp",
    "snapshots",
    "objects",
    "tideate.db",
    "keys",
    ".gitignore",
    ".",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", LINKS)
def test_a_run_writes_through_no_link(shell: Shell, clone: Clone, answering: Any, name: str) -> None:
    answering.answers("", "fine")
    target = clone.treasure if "." not in name[1:] and name != ".gitignore" else clone.victim
    clone.link(name, target)
    before = clone.outside()
    done = shell.run("run", "ask", "hello", "--yes")
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
    assert clone.outside() == before
    assert shell.run("history", "--json").stdout.count('"workflow": "ask"') == 1


# what the clone says of runs


@pytest.mark.slow
def test_a_database_that_came_with_a_clone_is_not_read(shell: Shell, clone: Clone, answering: Any) -> None:
    answering.answers("", "fine")
    elsewhere = shell.home / "theirs"
    elsewhere.mkdir()
    assert shell.run("run", "ask", "hello", "--yes", cwd=elsewhere).returncode == 0
    (theirs,) = (shell.home / "state").rglob("tideate.db")
    clone.write(".tideate/tideate.db", "")
    (clone.root / ".tideate/tideate.db").write_bytes(theirs.read_bytes())
    digest = hashlib.sha256((clone.root / ".tideate/tideate.db").read_bytes()).hexdigest()
    listed = shell.run("history", "--json")
    assert json.loads(listed.stdout)["runs"] == []
    assert shell.run("run", "ask", "hello", "--yes").returncode == 0
    assert len(json.loads(shell.run("history", "--json").stdout)["runs"]) == 1
    assert hashlib.sha256((clone.root / ".tideate/tideate.db").read_bytes()).hexdigest() == digest
    names = sorted(path.name for path in (clone.root / ".tideate").glob("tideate.db*"))
    assert names == ["tideate.db"]


@pytest.mark.slow
def test_state_is_offered_to_a_look_alike_and_never_taken(shell: Shell, clone: Clone, answering: Any) -> None:
    answering.answers("", "fine")
    own = shell.home / "own"
    own.mkdir()
    for name in ("pyproject.toml", "a.py", "b.py", "c.py"):
        (own / name).write_text("")
    assert shell.run("run", "ask", "hello", "--yes", "--root", str(own)).returncode == 0
    own.rename(shell.home / "moved away")
    for name in ("a.py", "b.py", "c.py"):
        clone.write(name, "")
    listed = shell.run("history")
    assert "no runs yet" in listed.stderr
    assert f"tideate project move {own} {clone.root}" in listed.stderr.replace("\n", " ")
    assert not shell.state.exists()
