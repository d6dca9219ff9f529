"""Running git: exit, output over the limit, timeout, cancellation."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import shlex
from pathlib import Path

import pytest

from tideate_core.errors import WorkspaceError
from tideate_core.git import GitOutput, program, query_git, without_repository

ENDLESS = "echo $$ >pid.new; mv pid.new pid; while echo more; do :; done"
SILENT = "echo $$ >pid.new; mv pid.new pid; exec sleep 600"


@pytest.fixture(autouse=True)
def a_shell_as_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "find_git", lambda: "/bin/sh")


async def run(script: str, cwd: Path, **options: float) -> GitOutput:
    largest, patience = int(options.get("largest", 1_000)), options.get("patience", 20.0)
    return await query_git(
        without_repository(cwd), script, cwd=cwd, options=["-c"], largest=largest, patience=patience
    )


def is_gone(directory: Path) -> bool:
    """Tell whether the program has exited and was reaped."""
    try:
        os.kill(int((directory / "pid").read_text()), 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("after", ["exit 3", "exec >&- 2>&-; sleep 0.3; exit 3"], ids=["at once", "later"])
async def test_its_output_its_errors_and_its_status(tmp_path: Path, after: str) -> None:
    answer = await run(f"echo out; echo said >&2; {after}", tmp_path)
    assert answer == GitOutput(3, b"out\n", "said\n", whole=True)


async def test_what_says_too_much_is_ended(tmp_path: Path) -> None:
    async with asyncio.timeout(60):
        answer = await run(ENDLESS, tmp_path)
    assert (answer.whole, answer.status) == (False, 0)
    assert answer.out.startswith(b"more\nmore\n")
    assert is_gone(tmp_path)


@pytest.mark.slow
async def test_what_says_nothing_in_time_is_ended(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="did not answer within"):
        await run(SILENT, tmp_path, patience=0.5)
    # it may have been ended before it said who it is
    assert not (tmp_path / "pid").exists() or is_gone(tmp_path)


@pytest.mark.slow
async def test_cancelling_ends_it_with_all_that_it_started(tmp_path: Path) -> None:
    inner = shlex.quote(SILENT)
    task = asyncio.create_task(run(f"sh -c {inner}; :", tmp_path))
    async with asyncio.timeout(60):
        while not (tmp_path / "pid").exists():  # noqa: ASYNC110 another process makes it
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        while not is_gone(tmp_path):  # noqa: ASYNC110 a stranger waits for the inner one
            await asyncio.sleep(0.01)


STARTERS = {
    "tideate_core.adapters.credentials": "the person's command for a key",
    "tideate_core.adapters.end_with_parent": "the bundled model",
    "tideate_core.adapters.local_process": "the bundled model",
    "tideate_core.cli.commands.doctor": "`--version` of programs",
    "tideate_core.cli.keyboard": "the person's editor",
    "tideate_core.git.program": "git",
    "tideate_core.process.conversing": "configured servers, and agents over ACP",
    "tideate_core.process.enter": "programs by argv",
    "tideate_core.process.group": "programs by argv",
    "tideate_core.process.guard": "programs by argv",
    "tideate_core.process.namespaces": "the holder of mounts",
    "tideate_core.process.parsing": "this Python, to parse",
    "tideate_core.process.signatures": "`ssh-keygen`",
    "tideate_core.process.started": "programs by argv",
    "tideate_core.store.leases": "`ps`",
}
"""The modules that start a program, and which."""
STARTS = re.compile(
    r"subprocess\.(?:run|Popen|call|check_call|check_output|getoutput|getstatusoutput)|Popen"
    r"|os\.(?:exec|spawn|posix_spawn|popen|system)\w*"
    r"|.*(?:create_subprocess_\w+|\.subprocess_exec|\.subprocess_shell)"
)
ROOT = Path(__file__).parents[2] / "tideate_core"


def starts_programs(tree: ast.AST) -> bool:
    """Tell whether a module starts programs directly."""
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return any(map(STARTS.fullmatch, called))


def first_words(tree: ast.AST) -> set[object]:
    """Return the first items of a module's lists and tuples: in a command, the program."""
    lists = (node.elts for node in ast.walk(tree) if isinstance(node, ast.List | ast.Tuple))
    return {items[0].value for items in lists if items and isinstance(items[0], ast.Constant)}


def modules() -> dict[str, ast.AST]:
    found: dict[str, ast.AST] = {}
    for path in ROOT.rglob("*.py"):
        name = ".".join(("tideate_core", *path.relative_to(ROOT).with_suffix("").parts))
        found[name.removesuffix(".__init__")] = ast.parse(path.read_text())
    return found


@pytest.mark.slow
def test_no_other_module_starts_git() -> None:
    trees = modules()
    assert {name for name, tree in trees.items() if starts_programs(tree)} == STARTERS.keys()
    command = {name for name, tree in trees.items() if "git" in first_words(tree)}
    # the lines of what trust is bound to, and tables of names: commands of none
    assert command == {"tideate_core.mcp.servers.git.trust", "tideate_core.workspace.paths"}
    used = {name for name, tree in trees.items() if "find_git" in imported_from_git(tree)}
    assert used == {"tideate_core.mcp.servers.git.writes"}, "these run git without a repository"


def imported_from_git(tree: ast.AST) -> set[str]:
    froms = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {alias.name for node in froms if node.module == "tideate_core.git" for alias in node.names}


@pytest.mark.parametrize(
    "text",
    [
        "import subprocess\nsubprocess.run(command)",
        "import subprocess\nsubprocess.Popen(command)",
        "from subprocess import Popen\nPopen(command)",
        "import asyncio\nasyncio.create_subprocess_exec(*command)",
        "import os\nos.execv(program, command)",
        "loop.subprocess_exec(protocol, *command)",
    ],
)
def test_a_module_that_starts_programs_is_found(text: str) -> None:
    assert starts_programs(ast.parse(text))
    assert first_words(ast.parse("run(['git', 'log'])")) == {"git"}
