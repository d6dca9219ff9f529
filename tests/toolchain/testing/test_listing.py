"""Test files and tests found in a project, within limits."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tideate_core.toolchain.testing.listing import find_test_files, list_tests

if TYPE_CHECKING:
    from pathlib import Path


FILES = {
    "tests/test_a.py": "class TestA:\n  def test_one(self): ...\n  def help(self): 1\ndef test_two(): ...\n",
    "a_test.go": "func TestFine(t *testing.T) {}\nfunc helper() {}\n",
    "web/a.test.ts": "describe('x', () => {\n  it.only('works', () => {})\n  test(`as well`, f)\n})\n",
    "src/lib.rs": "#[tokio::test]\nasync fn waits() {}\nfn other() {}\n",
    "build/CTestTestfile.cmake": "add_test([=[fine one]=] x)\nadd_test(plain y)\n",
    "node_modules/b.test.ts": "it('is not ours', f)\n",
    ".venv/test_c.py": "def test_c(): ...\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "tests" / "test_link.py").symlink_to(tmp_path / "tests" / "test_a.py")
    (tmp_path / "tests" / "test_up").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "tests" / "test_pipe.py")
    return tmp_path


@pytest.mark.parametrize(
    ("runner", "files"),
    [
        ("pytest", ["tests/test_a.py"]),
        ("go", ["a_test.go"]),
        ("vitest", ["web/a.test.ts"]),
        ("cargo", ["src/lib.rs"]),
        ("ctest", ["build/CTestTestfile.cmake"]),
        ("make", ["a_test.go", "tests/test_a.py", "web/a.test.ts"]),
    ],
)
def test_each_runner_has_its_own_files_and_none_of_others(root: Path, runner: str, files: list[str]) -> None:
    assert find_test_files(root, runner) == files


def test_tests_are_named_as_their_runner_names_them(root: Path) -> None:
    files = ["tests/test_a.py", "a_test.go", "web/a.test.ts", "src/lib.rs", "build/CTestTestfile.cmake"]
    assert [(test.file, test.line, test.name) for test in list_tests(root, files)] == [
        ("tests/test_a.py", 2, "TestA::test_one"),
        ("tests/test_a.py", 4, "test_two"),
        ("a_test.go", 1, "TestFine"),
        ("web/a.test.ts", 2, "works"),
        ("web/a.test.ts", 3, "as well"),
        ("src/lib.rs", 2, "waits"),
        ("build/CTestTestfile.cmake", 1, "fine one"),
        ("build/CTestTestfile.cmake", 2, "plain"),
    ]


def test_what_is_no_file_has_no_tests(root: Path) -> None:
    assert list_tests(root, ["tests/test_gone.py", "tests/test_link.py", "tests/test_pipe.py"]) == []
