"""Test runs of installed runners: `make test-runners`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.process import make_environment, run_program
from tideate_core.toolchain import Check, Tool
from tideate_core.toolchain.detection import detect_tools
from tideate_core.toolchain.testing.execution import run_tests
from tideate_core.toolchain.testing.runners import SelectedTests, make_runner_command

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.toolchain.testing.results import TestResults

LIB = """pub fn add(a: i32, b: i32) -> i32 { a + b }
#[cfg(test)]
mod tests {
    #[test]
    fn wrong() { assert_eq!(super::add(1, 2), 4); }
    #[test]
    #[ignore]
    fn slow() {}
}
"""
GO = """package small

import "testing"

func TestFine(t *testing.T) {}

func TestBroken(t *testing.T) {
	t.Run("inner", func(t *testing.T) {
		t.Errorf("1 is not %d", 2)
	})
}

func TestSlow(t *testing.T) { t.Skip("not now") }
"""
LISTS = """cmake_minimum_required(VERSION 3.10)
project(small NONE)
enable_testing()
add_test(NAME fine COMMAND true)
add_test(NAME broken COMMAND sh -c "echo main.c:3:5: error: none; exit 1")
add_test(NAME gone COMMAND ./nowhere)
"""


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def run_some(root: Path, *files: str, pattern: str = "") -> TestResults:
    tool: Tool = detect_tools(root)[Check.TESTS][0]
    wanted = SelectedTests(files, pattern)
    ran = await run_tests(
        make_runner_command(tool, wanted),
        wanted,
        root=root,
        environment=make_environment(),
        timeout_ms=100_000,
    )
    return ran.results


async def test_cargo(tmp_path: Path) -> None:
    package = '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n[lib]\ndoctest = false\n'
    outer = "#[test]\nfn outer() { assert_eq!(small::add(2, 2), 4); }\n"
    write(tmp_path, Cargo_toml=package, src__lib_rs=LIB, tests__outer_rs=outer)
    everything = await run_some(tmp_path)
    some = await run_some(tmp_path, "tests/outer.rs", pattern="out")
    assert (everything.status, everything.passed, everything.failed, everything.skipped) == (
        "failed",
        1,
        1,
        1,
    )
    [failure] = everything.failures
    assert (failure.name, failure.file, failure.line) == ("tests::wrong", "src/lib.rs", 5)
    assert (some.status, some.passed) == ("passed", 1)


async def test_ctest(tmp_path: Path) -> None:
    write(tmp_path, CMakeLists_txt=LISTS)
    assert (await run_program(["cmake", "-S", ".", "-B", "build"], cwd=tmp_path)).ok
    everything = await run_some(tmp_path)
    some = await run_some(tmp_path, pattern="^fi")
    none = await run_some(tmp_path, pattern="zzz")
    assert (everything.status, everything.passed, everything.failed, everything.errors) == ("failed", 1, 1, 1)
    assert [(one.name, one.file, one.line) for one in everything.failures] == [
        ("broken", "main.c", 3),
        ("gone", "", None),
    ]
    assert (some.status, some.passed) == ("passed", 1)
    assert (none.status, none.passed) == ("no_tests", 0)


async def test_go(tmp_path: Path) -> None:
    write(tmp_path, go_mod="module small\n\ngo 1.19\n", small_go="package small\n")
    (tmp_path / "small_test.go").write_text(GO)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "inner_test.go").write_text(
        'package inner\n\nimport "testing"\n\nfunc TestInner(t *testing.T) {}\n'
    )
    everything = await run_some(tmp_path)
    some = await run_some(tmp_path, "inner/inner_test.go")
    named = await run_some(tmp_path, pattern="Fine")
    (tmp_path / "small_test.go").write_text("package small\n\nfunc broken(\n")
    broken = await run_some(tmp_path)
    assert (everything.status, everything.passed, everything.skipped) == ("failed", 2, 1)
    assert ("small_test.go", 9) in [(one.file, one.line) for one in everything.failures]
    assert "1 is not 2" in everything.failures[0].message
    assert (some.status, some.passed, some.failed) == ("passed", 1, 0)
    assert (named.status, named.passed) == ("passed", 1)
    assert (broken.status, broken.passed, broken.errors) == ("failed", 1, 1)
    assert ("small_test.go", 3) in [(one.file, one.line) for one in broken.failures]
