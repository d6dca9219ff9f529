"""No tool reveals secrets in a repository's history, names and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.mcp.servers.calling import Caller
    from tests.mcp.servers.git.conftest import Repo

pytestmark = pytest.mark.attack

TOKENS = ["AKIA" + f"Q7ZP3KD9WM2XV5{at:02}" for at in range(10)]
PASSWORD = "hunter22-x"
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("git_status", {}),
    ("git_status", {"untracked": "all"}),
    ("git_diff", {}),
    ("git_diff", {"target": "HEAD~1"}),
    ("git_diff", {"target": "HEAD~1", "context_lines": 0}),
    ("git_diff_unstaged", {}),
    ("git_diff_staged", {}),
    ("git_log", {}),
    ("git_show", {}),
    ("git_show", {"revision": "HEAD~1"}),
    ("git_branch", {"branch_type": "all"}),
]


async def test_no_tool_tells_a_secret(repo: Repo, call: Caller) -> None:
    repo.git("config", "user.name", f"Ada {TOKENS[0]}")
    repo.write("s.py", f"a = 1\nK = '{TOKENS[1]}'\n" + "b = 1\n" * 20 + "c = 1\n")
    repo.write(".env", "AWS=words-without-shape\n")
    repo.write("old.env", "MORE=words-without-shape\n" * 9)
    repo.git("add", "-A", "-f")
    repo.git("commit", "-qm", f"Add {TOKENS[2]}\n\nDB_PASSWORD={PASSWORD}\n")
    repo.git("checkout", "-qb", f"feature/{TOKENS[3]}")
    repo.git("mv", "old.env", "settings.txt")
    repo.write("s.py", f"a = 1\nK = '{TOKENS[1]}'\n" + "b = 1\n" * 20 + "c = 2\n")
    repo.git("commit", "-qam", f"{'x' * 3_990} {TOKENS[4]}")
    repo.write("s.py", f"a = 1\nK = '{TOKENS[1]}'\n" + "b = 1\n" * 20 + "c = 3\n")
    repo.write(".env", "AWS=words-without-shape-2\n")
    repo.write(f"{TOKENS[5]}.txt", "new")
    repo.write("t.py", f"K = '{TOKENS[6]}'\n")
    repo.git("add", "t.py")
    told = {}
    for tool, arguments in CALLS:
        told[f"{tool} {arguments}"] = str(await call(tool, **arguments)) + await call.text(tool, **arguments)
    for name, text in told.items():
        assert "AKIAQ7ZP" not in text, name
        assert "hunter22" not in text, name
        assert "without-shape" not in text, name
    assert "[a value that seems to be a secret]" in told["git_log {}"]
    assert "left out, they seem to hold secrets: .env (by its name)" in told["git_diff {}"]
