"""A small Python project as people have them, made anew for a test, and the change that a task makes to it.

`real=True`: ruff, mypy, pytest, build and a check of the documents, as they are detected and configured.
Otherwise all five checks are one script that takes no time.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from tests.harness.modes import new_mode
from tests.harness.tally_texts import (
    CHANGELOG,
    CHECK,
    CHECK_DOCS,
    CHECKLIST,
    COUNT,
    LINES,
    PACKAGE,
    PYPROJECT,
    TEST_LINES,
    TEST_WORDS,
    USAGE,
    WORDS,
)
from tests.snapshots.trees import looked_at

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.snapshots.trees import Node

__all__ = [
    "AFTER",
    "BEFORE",
    "DONE",
    "ENTRY",
    "ITEM",
    "LINES",
    "TASK",
    "TEST_LINES",
    "WORDS",
    "as_it_stands",
    "make_project",
    "node",
]

TASK: Final = "Add count_lines, which counts the lines of a text"
ENTRY: Final = "`count_lines`, which counts the lines of a text"
ITEM: Final = "count lines"

BEFORE: Final[Mapping[str, str]] = {
    ".gitignore": ".env\n.venv\n.*_cache/\n__pycache__/\ndist/\n",
    "CHANGELOG.md": CHANGELOG,
    "CHECKLIST.md": CHECKLIST,
    "README.md": "# tally\n\nCounts what is in a text. See [usage](docs/usage.md).\n",
    "docs/usage.md": USAGE,
    "pyproject.toml": PYPROJECT,
    "src/tally/__init__.py": PACKAGE,
    "src/tally/py.typed": "",
    "src/tally/words.py": WORDS,
    "tests/test_words.py": TEST_WORDS,
    "tools/count.sh": COUNT,
}
"""Of every project; the text of each file."""

AFTER: Final[Mapping[str, str]] = {
    "CHANGELOG.md": CHANGELOG.replace("between words\n", f"between words\n- {ENTRY}\n"),
    "CHECKLIST.md": CHECKLIST.replace("[ ] count lines", "[x] count lines"),
    "docs/usage.md": USAGE + '    >>> from tally import count_lines\n    >>> count_lines("one")\n    1\n',
    "src/tally/__init__.py": PACKAGE.replace(
        "from tally.words", "from tally.lines import count_lines\r\nfrom tally.words"
    ).replace('["count_words"]', '["count_lines", "count_words"]'),
    "src/tally/lines.py": LINES,
    "tests/test_lines.py": TEST_LINES,
    "tools/count.sh": COUNT.replace("words of", "words and lines of").replace("wc -w", "wc -wl"),
}
"""What a task that goes well changes, documents included."""

_MADE: Final = (".tideate", ".git", ".mypy_cache", ".pytest_cache", ".ruff_cache", "__pycache__", "dist")


def make_project(root: Path, *, real: bool = False, leave_out: str = "") -> None:
    """Make the project; `.tideate/config.toml`, which has to be trusted, says how it is verified.

    :param leave_out: a check that is not configured and cannot be detected.
    """
    for name, text in {**BEFORE, "scripts/check_docs.py" if real else "scripts/check.py": ""}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    script = root / "scripts" / ("check_docs.py" if real else "check.py")
    script.write_text(CHECK_DOCS if real else CHECK)
    for path in (script, root / "tools" / "count.sh"):
        path.chmod(0o755)
    (root / ".env").write_text("TOKEN=not for anybody\n")
    (root / ".env").chmod(0o600)
    (root / "data" / "incoming").mkdir(parents=True)
    (root / "data").chmod(0o750)
    (root / "data" / "sample.bin").write_bytes(bytes(range(256)))
    (root / "docs" / "README.md").symlink_to("../README.md")
    (root / "docs" / "later").symlink_to("not-there-yet")
    if real:
        # the environment of these tests has the tools
        (root / ".venv").symlink_to(sys.prefix)
    else:
        # else it would be found that there are tools to detect
        (root / "pyproject.toml").write_text('[project]\nname = "tally"\nversion = "0.2.0"\n')
    _configure(root, real=real, leave_out=leave_out)
    _commit(root)


def _configure(root: Path, *, real: bool, leave_out: str) -> None:
    checks = ("type_check", "lint", "tests", "build", "documentation")
    commands = {name: [sys.executable, "-I", "-S", "scripts/check.py", name] for name in checks}
    if real:
        commands = {"documentation": ["python3", "scripts/check_docs.py"]}
    lines = [f"{name} = {command}" for name, command in commands.items() if name != leave_out]
    (root / ".tideate").mkdir()
    (root / ".tideate" / "config.toml").write_text("\n".join(["[verify]", *lines, ""]))


def _commit(root: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}
    person = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), (*person, "commit", "-q", "-m", "start")):
        subprocess.run(["git", *arguments], cwd=root, env=environment, check=True, capture_output=True)


def as_it_stands(root: Path) -> dict[str, Node]:
    """Return the project's files without tool data: kinds, modes, bytes, targets of links."""
    found = looked_at(root, _MADE)
    return {os.fsdecode(name): node for name, node in found.items()}


def node(text: str, mode: int | None = None) -> Node:
    """Return a file as `as_it_stands` has it; by default with the mode of a new one."""
    return ("file", new_mode() if mode is None else mode, text.encode())


DONE: Final[Mapping[str, Node]] = {
    name: node(text, 0o755 if name.startswith("tools/") else None) for name, text in AFTER.items()
}
"""The change as `as_it_stands` has it."""
