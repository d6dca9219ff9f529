"""`tideate bundle`: two people with clones of one repository at different paths."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.shell import COMMAND, Shell
from tests.portable.mutations import packed, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.harness.model_server import ModelServer

CODE = "def total(items):\n    return sum(items)\n"
BETTER = "def total(items):\n    return sum(item for item in items)\n"


def git(place: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=place, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def shell(tmp_path: Path, server: ModelServer) -> Iterator[Shell]:
    """A project in git, with a run that changed a file."""
    shell = Shell(tmp_path / "ana")
    shell.write("total.py", CODE)
    git(shell.project, "init", "-q")
    git(shell.project, "add", ".")
    git(shell.project, "commit", "-qm", "Begin")
    shell.use(server)
    server.answers("def total", f"```python\n{BETTER}```")
    shell.ok("run", "refactor", "use a generator", "--file", "total.py", "--yes")
    yield shell
    shell.close()


@pytest.fixture
def other(tmp_path: Path, shell: Shell) -> Iterator[Shell]:
    """Another person's clone."""
    other = Shell(tmp_path / "ben" / "deep")
    (other.project / "pyproject.toml").unlink()
    git(tmp_path, "clone", "-q", str(shell.project), str(other.project))
    yield other
    other.close()


def bundle(shell: Shell, tmp_path: Path) -> str:
    file = tmp_path / "run.tideate-bundle"
    assert shell.ok("bundle", "create", "last", "-o", str(file)).stdout.strip() == str(file)
    assert file.stat().st_mode & 0o777 == 0o600
    return str(file)


def test_an_ended_run_is_opened_shown_and_rolled_back(shell: Shell, other: Shell, tmp_path: Path) -> None:
    file = bundle(shell, tmp_path)
    facts = other.json("bundle", "show", file)
    assert (facts["written"], facts["state"], facts["here"]["has_base"]) == (["total.py"], "completed", True)
    assert facts["here"]["differs"] == ["total.py"]
    other.fails(3, "declined", "bundle", "open", file)
    assert (other.project / "total.py").read_text() == CODE
    done = other.ok("bundle", "open", file, "--yes")
    assert done.stdout.startswith("tideate show ")
    assert (other.project / "total.py").read_text() == BETTER
    assert facts["execution_id"] == other.json("show", "last")["execution_id"]
    assert "already" in other.ok("bundle", "open", file, "--yes").stderr
    other.ok("rollback", "last", "--yes")
    assert (other.project / "total.py").read_text() == CODE


def test_a_change_here_is_merged_and_stays_after_a_rollback(
    shell: Shell, other: Shell, tmp_path: Path
) -> None:
    mine = f'"""Sums."""\n\n{CODE}'
    (other.project / "total.py").write_text(mine)
    other.ok("bundle", "open", bundle(shell, tmp_path), "--yes")
    assert (other.project / "total.py").read_text() == f'"""Sums."""\n\n{BETTER}'
    other.ok("rollback", "last", "--yes")
    assert (other.project / "total.py").read_text() == mine


def test_a_conflict_changes_nothing_and_a_work_tree_avoids_it(
    shell: Shell, other: Shell, tmp_path: Path
) -> None:
    mine = CODE.replace("sum(items)", "fsum(items)")
    (other.project / "total.py").write_text(mine)
    file = bundle(shell, tmp_path)
    other.fails(1, "total.py was changed here where the run changed it", "bundle", "open", file, "--yes")
    assert (other.project / "total.py").read_text() == mine
    assert other.json("history")["runs"] == []
    place = tmp_path / "beside"
    done = other.ok("bundle", "open", file, "--yes", "--worktree", str(place))
    assert done.stdout.startswith(f"cd {place} && tideate show ")
    assert (place / "total.py").read_text() == BETTER
    assert (other.project / "total.py").read_text() == mine


def test_a_bundle_goes_through_a_pipe(shell: Shell, other: Shell) -> None:
    done = subprocess.run(
        [*COMMAND, "bundle", "create", "last", "-o", "-"],
        env=shell.env,
        cwd=shell.project,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr
    shown = subprocess.run(
        [*COMMAND, "bundle", "show", "-", "--json"],
        env=other.env,
        cwd=other.project,
        input=done.stdout,
        capture_output=True,
    )
    assert json.loads(shown.stdout)["workflow"] == "refactor"


def test_a_probable_secret_is_named_and_not_written(
    shell: Shell, server: ModelServer, tmp_path: Path
) -> None:
    server.answers("explain", "Yes.")
    shell.ok("run", "ask", "explain password = 'hunter2hunter2'", "--yes")
    file = tmp_path / "x.tideate-bundle"
    shell.fails(2, "the prompt", "bundle", "create", "last", "-o", str(file))
    assert not file.exists()
    shell.ok("bundle", "create", "last", "-o", str(file), "--with-secrets")
    assert file.exists()


def test_a_file_that_is_not_a_bundle_is_rejected(shell: Shell) -> None:
    shell.fails(2, "is not a file that `tideate bundle create` wrote", "bundle", "open", "total.py", "--yes")
    shell.fails(1, "cannot be read", "bundle", "show", "missing")
    shell.fails(2, "no run", "bundle", "create", "ffff")


def test_texts_of_a_bundle_take_one_line_each(shell: Shell, other: Shell, tmp_path: Path) -> None:
    parts = parts_of(Path(bundle(shell, tmp_path)).read_bytes())
    odd = "x\nanswers   0\x1b[2J\u202e"
    parts.manifest["origin"]["project"] = odd
    parts.manifest["rows"][0]["workflow"]["name"] = odd
    request = json.loads(parts.manifest["rows"][0]["run"]["request"]) | {"prompt": odd, "adapter": odd}
    parts.manifest["rows"][0]["run"]["request"] = json.dumps(request)
    (tmp_path / "odd").write_bytes(packed(parts))
    shown = other.ok("bundle", "show", str(tmp_path / "odd")).stdout
    assert not [line for line in shown.splitlines() if line.startswith("answers")]
    assert not {"\x1b", "\u202e"} & {*shown}
    assert "x\nanswers" not in other.run("bundle", "open", str(tmp_path / "odd")).stderr
