"""Every string parameter of every tool, set to an attacker's values."""

# ruff: noqa: RUF001 - characters that look like others are what is tried

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp.servers.git.traps import TRAPS, Trap

if TYPE_CHECKING:
    from pathlib import Path

    from tests.mcp.servers.git.conftest import Repo

pytestmark = pytest.mark.slow

OPTIONS = [
    *(
        "-x",
        "--output={out}",
        "--output={out}/p",
        "-o{out}",
        "--help",
        "--exec={trap}",
        "--upload-pack={trap}",
    ),
    *("--ext-diff", "--textconv", "-O{out}", "--no-index", "--all", "--amend", "--", "-", "--git-dir={out}"),
    *(
        "--work-tree={out}",
        "-C{out}",
        "-c core.fsmonitor={trap}",
        "--template={out}",
        "--pathspec-from-file={out}",
    ),
]
PATHS = [
    *("..", "../x", "../../x", "sub/../../x", "/etc/passwd", "{out}", "{out}/secret", "link", "link/secret"),
    *(
        "~",
        "~root/x",
        ".git",
        ".git/config",
        ".GIT/config",
        "sub/.git/config",
        ".tideate/x",
        ".git/hooks/pre-commit",
    ),
    *(
        "file:///etc/passwd",
        "\\\\host\\share",
        "C:\\x",
        "con",
        "sub//three.py/..",
        "./../x",
        "....//x",
        "..\\x",
    ),
]
TEXTS = [
    *(
        "; touch {mark}",
        "$(touch {mark})",
        "`touch {mark}`",
        "| touch {mark}",
        "&& touch {mark}",
        "%0atouch",
        "\n-x",
    ),
    *(
        "a\0b",
        "a\nb",
        "a\r\nb",
        "\x1b]0;x\x07",
        "‐‐output={out}",
        "－－output={out}",
        "․․/x",
        "／etc／passwd",
    ),
    *(
        "a\u202eb",
        "\ufeffx",
        "a" * 5_000,
        "é" * 3_000,
        "[" * 200,
        "{{}}",
        "%s%n",
        "null",
        "[]",
        '{{"a": 1}}',
        " ",
        "",
    ),
]
REVISIONS = [
    *(
        "HEAD:one.py",
        ":/first",
        ":one.py",
        "HEAD..side",
        "^HEAD",
        "HEAD^{{/x}}",
        "HEAD^{{tree}}",
        "@{{1 day ago}}",
    ),
    *("HEAD --output={out}", "refs/../../x", "HEAD\0", "HEAD@{{-1}}", "HEAD~99999999999", "side.lock", "-"),
]
VALUES = [*OPTIONS, *PATHS, *TEXTS, *REVISIONS]

BASE: dict[str, dict[str, Any]] = {
    "git_commit": {"agent": "a", "scope": "s", "description": "d", "files": ["one.py"]},
    "git_add": {"files": ["one.py"]},
    "git_create_branch": {"branch_name": "made"},
    "git_checkout": {"branch_name": "side"},
}


def outside(folder: Path, root: Path) -> dict[str, tuple[int, bytes]]:
    """Return everything outside the root and tideate's state, with times, to show even a touched file."""
    own = [root, *folder.glob("*/.state")]
    return {
        str(path): (path.lstat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
        if not any(path.is_relative_to(place) for place in own)
    }


@pytest.fixture
def armed(repo: Repo, tmp_path: Path) -> Trap:
    """Set most traps at once."""
    trap = Trap.make(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret").write_text("SECRET\n")
    repo.git("branch", "side")
    (repo.root / "link").symlink_to(tmp_path / "out")
    for name in (
        "pre-commit",
        "reference-transaction",
        "post-index-change",
        "monitor",
        "external diff",
        "signing",
    ):
        TRAPS[name](repo, trap)
    return trap


def tools() -> list[str]:
    names = ("status", "diff", "diff_unstaged", "diff_staged", "log", "show", "branch", "create_branch")
    return [f"git_{name}" for name in (*names, "checkout", "add", "reset", "commit")]


@pytest.mark.parametrize("tool", tools())
async def test_no_value_of_a_parameter_leads_out_or_starts_a_program(
    repo: Repo, armed: Trap, tmp_path: Path, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo.root)
    before = outside(tmp_path, repo.root)
    words = {"out": tmp_path / "out", "trap": armed.program, "mark": armed.mark}
    async with repo.client() as call:
        [schema] = [one.input_schema for one in (await call.client.list_tools()).tools if one.name == tool]
        for name, property_ in schema["properties"].items():
            if property_.get("type") not in ("string", "array"):
                continue
            for number, value in enumerate(VALUES):
                repo.write("one.py", f"{name} {number}\n")
                given: Any = value.format(**words) if "{" in value else value
                given = [given] if property_["type"] == "array" else given
                answer = await call.client.call_tool(tool, {**BASE.get(tool, {}), name: given})
                assert "SECRET" not in str(answer), (name, value)
                assert "root:" not in str(answer), (name, value)
        assert (await call("git_status"))["commit"]
    assert not armed.sprung
    assert outside(tmp_path, repo.root) == before


async def test_adding_what_is_outside_leaves_index_and_objects_as_they_are(
    repo: Repo, tmp_path: Path
) -> None:
    (tmp_path / "x").write_text("outside\n")

    def kept() -> dict[str, bytes]:
        git = repo.root / ".git"
        return {str(path): path.read_bytes() for path in git.rglob("*") if path.is_file()}

    before = kept()
    async with repo.client() as call:
        for path in ("../x", "../../x", str(tmp_path / "x"), "sub/../../x"):
            for tool in ("git_add", "git_commit"):
                await call.refused(tool, **{**BASE[tool], "files": [path]})
            await call.refused("git_add", files=["one.py", path])
    assert kept() == before


@pytest.mark.parametrize("value", ["../project-evil/x", "link/secret"])
async def test_no_difference_of_a_file_outside_is_shown(repo: Repo, armed: Trap, value: str) -> None:
    evil = repo.root.with_name("project-evil")
    evil.mkdir()
    (evil / "x").write_text("SECRET\n")
    async with repo.client() as call:
        for tool in ("git_diff", "git_diff_unstaged", "git_diff_staged", "git_show"):
            assert "paths" in await call.refused(tool, paths=[value]) or "not a path" in await call.refused(
                tool, paths=[value]
            )
        assert "not a path" in await call.refused("git_log", path=value)


async def test_what_git_says_names_no_path_outside(repo: Repo) -> None:
    (repo.home / ".gitconfig").write_text("[include\n")
    async with repo.client() as call:
        words = await call.refused("git_status")
    assert str(repo.home) not in words
    assert os.sep + "home" not in words
