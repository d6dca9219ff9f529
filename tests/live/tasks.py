"""Tasks from real projects: an upstream change to reproduce, and its upstream tests.

A task is a folder: `task.toml` (see `Task`), `request.txt` in a user's words, `expected.json` (see
`Expected`), and
one reduced recording per workflow, such as `multi_file.jsonl`.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from tomllib import loads
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CACHE", "LIVE", "Expected", "LiveTask", "Rename", "Task", "project_python"]

LIVE: Final = Path(__file__).parent
CACHE: Final = LIVE.parent.parent / ".cache" / "live"
REQUIREMENTS: Final = LIVE / "requirements.txt"
TEXT: Final = {".py", ".pyi", ".toml", ".cfg", ".ini", ".rst", ".md", ".txt", ".po", ".pot", ".sql", ""}
MADE: Final = ("*.egg-info", "*.pyc", "__pycache__")
DROPPED: Final = (
    *("docs", "doc", "examples", "bin", ".github", "*.egg-info", "PKG-INFO", "CHANGE*", "NEWS*", "AUTHORS*"),
    *("CONTRIBUTING*", "README*", "TODO*", "NOTICE*", "Makefile", "MANIFEST.in", "tox.ini", "setup.py"),
    *("setup.cfg", "pyproject.toml", "hatch_build.py", ".pre-commit-config.yaml", ".readthedocs*", ".flake8"),
    *(".git*", ".hg*", ".coveragerc", "show_off.py", "typing_examples.py", "__pycache__", "UPGRADING*"),
)
"""Top-level files of an sdist that reveal the change or the project's name."""
IGNORED: Final = "__pycache__/\n*.pyc\n.pytest_cache/\n.tideate/\n.aider*\n"
SECONDS: Final = 900
"""Time limit of a project's tests."""


class Rename(BaseModel):
    """Renaming of a project, so that a model does not recognize it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    names: dict[str, str] = {}
    """Word parts, in lower case, upper case and capitalized."""
    substrings: dict[str, str] = {}
    words: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        parts = dict(self.names)
        for old, new in self.names.items():
            parts |= {old.upper(): new.upper(), old.capitalize(): new.capitalize()}
        text = _replaced(text, self.words, r"\b(?:{})\b")
        return _replaced(text, parts | self.substrings, "{}")

    def path(self, path: str) -> str:
        """Return a path with renamed parts; the suffix is a part of its own."""
        return "/".join(".".join(map(self, part.split("."))) for part in path.split("/"))


def _replaced(text: str, names: dict[str, str], around: str) -> str:
    if not names:
        return text
    longest_first = sorted(names, key=len, reverse=True)
    pattern = around.format("|".join(map(re.escape, longest_first)))
    return re.sub(pattern, lambda found: names[found[0]], text)


class Task(BaseModel):
    """Content of `task.toml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: str
    """Name on PyPI."""
    before: str
    after: str
    """Versions before the change, and with the hidden tests."""
    tests: str
    """Folder of the tests."""
    sources: list[str]
    """Files of the change, which the solution takes from the later version."""
    hidden: str
    """Pattern of the change's test ids."""
    drop_tests: list[str] = []
    """Excluded test files or folders."""
    in_tests: dict[str, str] = {}
    """Replaced texts in the hidden tests."""
    pytest: dict[str, Any] = {}
    """Configuration of the project."""
    rename: Rename = Field(default_factory=Rename)


class Expected(BaseModel):
    """Content of `expected.json`: the hidden tests that must pass."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    change: list[str] = Field(min_length=1)
    """Test ids of the change."""
    older: int
    """Number of other tests that passed before the change."""


@dataclass(frozen=True, slots=True)
class LiveTask:
    """Folder of a task, with the cache of its sdists.

    :param python: interpreter of the project's tests.
    """

    folder: Path
    cache: Path = CACHE
    python: str = sys.executable

    @property
    def task(self) -> Task:
        return Task.model_validate(loads((self.folder / "task.toml").read_text()))

    @property
    def request(self) -> str:
        return (self.folder / "request.txt").read_text().strip()

    @property
    def expected(self) -> Expected:
        return Expected.model_validate_json((self.folder / "expected.json").read_text())

    def lay(self, tree: Path) -> None:
        """Lay out the project before the change, as a git repository with one commit."""
        task = self.task
        _copy(self._sdist(task.before), tree, task.rename)
        self._drop_tests(tree)
        self._configure(tree)
        self._configure(tree, self._left_out(tree))
        (tree / ".gitignore").write_text(IGNORED)
        git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        for command in (["init", "-q", "-b", "main"], ["add", "-A", "-f"], ["commit", "-q", "-m", "Start"]):
            subprocess.run([*git, *command], cwd=tree, check=True)

    def solve(self, tree: Path) -> None:
        """Apply the upstream change to a tree."""
        task = self.task
        with tempfile.TemporaryDirectory() as there:
            _copy(self._sdist(task.after), Path(there), task.rename)
            for name in map(task.rename.path, task.sources):
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(Path(there, name), tree / name)

    def failures(self, tree: Path) -> list[str]:
        """Run the hidden tests in a copy of a tree; return the failed ones."""
        task, tests = self.task, self.task.rename.path(self.task.tests)
        with tempfile.TemporaryDirectory() as there:
            copy, after = Path(there, "tree"), Path(there, "after")
            shutil.copytree(tree, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", *MADE))
            _copy(self._sdist(task.after), after, task.rename)
            self._drop_tests(after)
            shutil.rmtree(copy / tests)
            shutil.copytree(after / tests, copy / tests)
            for old, new in task.in_tests.items():
                for path in (copy / tests).rglob("*.py"):
                    path.write_text(path.read_text().replace(old, new))
            self._configure(copy)
            report = Path(there, "report.xml")
            done = self._pytest(copy, "--continue-on-collection-errors", f"--junitxml={report}", tests)
            assert report.exists(), done.stdout + done.stderr
            passed = _passed(report)
        expected = self.expected
        missing = [test for test in expected.change if test not in passed]
        older = len(passed.difference(expected.change))
        return missing if older >= expected.older else [*missing, f"{expected.older - older} older tests"]

    def _sdist(self, version: str) -> Path:
        """Return the unpacked sdist, downloaded by pip if missing."""
        package = self.task.package
        kept = self.cache / f"{package}-{version}"
        with _alone(self.cache, package), tempfile.TemporaryDirectory(dir=self.cache) as there:
            if kept.exists():
                return kept
            pip = [self.python, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:"]
            build = ["--no-build-isolation", "-d", there, f"{package}=={version}"]
            subprocess.run([*pip, *build], check=True)
            (archive,) = Path(there).iterdir()
            with tarfile.open(archive) as tar:
                tar.extractall(there, filter="data")
            archive.unlink()
            (unpacked,) = Path(there).iterdir()
            unpacked.rename(kept)
        return kept

    def _drop_tests(self, tree: Path) -> None:
        for name in self.task.drop_tests:
            path = tree / self.task.rename.path(self.task.tests) / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _configure(self, tree: Path, left_out: list[str] | None = None) -> None:
        task = self.task
        name = next(iter(task.rename.names.values()), task.package)
        settings = dict(task.pytest)
        if left_out:
            options = (f"--deselect={test}" if "::" in test else f"--ignore={test}" for test in left_out)
            settings["addopts"] = shlex.join(options)
        lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items())
        head = f'[project]\nname = "{name}"\nversion = "1.0"\n\n[tool.pytest.ini_options]\n'
        (tree / "pyproject.toml").write_text(head + lines)

    def _left_out(self, tree: Path) -> list[str]:
        """Return tests that fail without the change for unrelated reasons.

        The result is cached per content of `task.toml`.
        """
        told = (self.folder / "task.toml").read_bytes() + self.python.encode()
        kept = self.cache / f"left-out-{hashlib.sha256(told).hexdigest()[:16]}.json"
        with _alone(self.cache, self.task.package):
            if not kept.exists():
                kept.write_text(json.dumps(self._own_failures(tree)))
            found: list[str] = json.loads(kept.read_text())
            return found

    def _own_failures(self, tree: Path) -> list[str]:
        done = self._pytest(tree, "--tb=no", "-rfE")
        return sorted(set(re.findall(r"^(?:FAILED|ERROR) (\S+?)(?:\[.*| - .*|)$", done.stdout, re.MULTILINE)))

    def _pytest(self, tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))
        }
        env = kept | {"PYTHONDONTWRITEBYTECODE": "1", "TZ": "UTC", "COLUMNS": "1000"}
        command = [self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        return subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, timeout=SECONDS)


def _copy(source: Path, into: Path, rename: Rename) -> None:
    """Copy an sdist with renamed paths and texts, without traces of the change."""
    for path in sorted(source.rglob("*")):
        inner = path.relative_to(source)
        made = any(Path(part).match(pattern) for part in inner.parts for pattern in MADE)
        if path.is_dir() or made or any(Path(inner.parts[0]).match(pattern) for pattern in DROPPED):
            continue
        target = into / rename.path(inner.as_posix())
        target.parent.mkdir(parents=True, exist_ok=True)
        content = path.read_bytes()
        if path.suffix in TEXT:
            with contextlib.suppress(UnicodeDecodeError):  # a test's file in another encoding stays as it is
                content = rename(content.decode()).encode()
        target.write_bytes(content)


def _passed(report: Path) -> set[str]:
    passed: dict[str, bool] = {}
    for case in ET.parse(report).iter("testcase"):  # our own pytest wrote it
        name = f"{case.get('classname')}::{case.get('name')}"
        ok = not any(case.find(tag) is not None for tag in ("failure", "error", "skipped"))
        passed[name] = passed.get(name, True) and ok
    return {name for name, ok in passed.items() if ok}


@functools.cache
def project_python() -> str:
    """Return the interpreter with the projects' test dependencies, created by pip once."""
    wanted = REQUIREMENTS.read_text()
    place = CACHE / "venv"
    python, made = place / "bin" / "python", place / "requirements.txt"
    with _alone(CACHE, "venv"):
        if not made.exists() or made.read_text() != wanted:
            subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
            subprocess.run([python, "-m", "pip", "install", "-q", "-r", str(REQUIREMENTS)], check=True)
            made.write_text(wanted)
    return str(python)


@contextlib.contextmanager
def _alone(folder: Path, what: str) -> Iterator[None]:
    """Lock a folder that other test processes use."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
