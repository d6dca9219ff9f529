"""Bench with a git repository as its project, and scripted review answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.project import git
from tideate_core.workflows import Decision

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.harness.bench import Bench
    from tideate_core.engine import ConfirmationRequest

FIRST = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"


class Reviewed:
    """Project with reviewed changes, and access to the shown files."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.root = bench.root
        self.front = bench.front
        self.write = bench.write
        self.commit_all("first")

    def commit_all(self, message: str) -> None:
        if not (self.root / ".git").exists():
            git(self.root, "init", "-q")
        git(self.root, "add", "-A", "--", ".", ":!.tideate")
        git(self.root, "commit", "-q", "--allow-empty", "-m", message)

    def text(self, name: str) -> str:
        return (self.root / name).read_text()

    def status(self) -> list[str]:
        """Return `git status` lines against the last commit."""
        told = git(self.root, "status", "--porcelain", "--", ".", ":!.tideate")
        return told.splitlines()

    async def review(self, what: str = "", path: str = "", *, reject: Any = ()) -> Any:
        """Run a review that accepts everything except the rejected parts.

        :param reject: paths, or the hunks of a path; `all` for everything.
        """
        self.front.answer = answering(reject)
        return await self.bench.run("review_changes", inputs={"what": what, "path": path})

    @property
    def patch(self) -> Path:
        """Patch file outside the project."""
        return self.root.parent / "x.patch"

    async def review_patch(self, lines: str) -> Any:
        """Review a patch with these lines."""
        self.patch.write_text(lines)
        return await self.review(str(self.patch))

    def save_patch(self) -> str:
        """Save the difference from the last commit as the patch, and restore the commit."""
        git(self.root, "add", "-A", "--", ".", ":!.tideate")
        git(self.root, "diff", "--cached", "-M", "--binary", f"--output={self.patch}", "HEAD")
        git(self.root, "reset", "-q", "--hard")
        return str(self.patch)

    @property
    def shown(self) -> dict[str, dict[str, Any]]:
        """Files of the last question by path; mode changes have a trailing `:`."""
        payload = self.front.requests[-1].payload
        return {f"{file['path']}{':' if _is_mode(file) else ''}": file for file in payload["files"]}


def _is_mode(file: dict[str, Any]) -> bool:
    return str(file.get("note", "")).startswith("mode ")


def answering(reject: Any) -> Callable[[ConfirmationRequest], Decision]:
    """Return a review answer that rejects these paths or hunks, and accepts the rest."""
    wanted = reject if isinstance(reject, dict) else dict.fromkeys(reject)

    def answer(request: ConfirmationRequest) -> Decision:
        files = []
        for file in request.payload["files"]:
            whole = file["action"] != "modify" or file.get("whole")
            hunks = set(range(1 if whole else len(file["hunks"])))
            rejected = set()
            if "*" in wanted or file["path"] in wanted or file.get("move_to") in wanted:
                chosen = wanted.get(file["path"])
                rejected = hunks if chosen is None else hunks & set(chosen)
            files.append({"path": file["path"], "accepted": [*(hunks - rejected)], "rejected": [*rejected]})
        return Decision(True, {"files": files})

    return answer


@pytest.fixture
def project(bench: Bench) -> Reviewed:
    bench.write("a.py", FIRST)
    bench.write("sub/b.py", "b = 1\n")
    return Reviewed(bench)
