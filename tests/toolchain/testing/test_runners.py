"""Selected files and patterns as arguments, never as options."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.toolchain.test_selection import tool
from tideate_core.config import VerifyConfig
from tideate_core.toolchain import (
    Check,
    SelectedTests,
    Tool,
    UnsupportedSelection,
    select_tools,
    selectable_tests,
)
from tideate_core.toolchain.testing.runners import accepts_directories, make_runner_command, runner_name

if TYPE_CHECKING:
    from pathlib import Path


UNITTEST = Tool(Check.TESTS, "unittest", ("python3", "-m", "unittest", "discover", "-s", "tests"), "")


@pytest.mark.parametrize(
    ("runner", "wanted", "argv"),
    [
        (tool("pytest", "-q"), SelectedTests(("-x.py",), "a and b"), "pytest -q -vv|-k=a and b|./-x.py"),
        (tool("go", "test", "./..."), SelectedTests(), "go test -json|./..."),
        (
            tool("go", "test", "./..."),
            SelectedTests(("p/a_test.go", "p/b_test.go"), "^A$"),
            "go test -json|-run=^A$|./p",
        ),
        (
            tool("cargo", "test"),
            SelectedTests(("tests/a.rs",), "x::y"),
            "cargo test --no-fail-fast|--test=a|--|x::y",
        ),
        (tool("ctest"), SelectedTests(pattern="fine"), "ctest -R|fine"),
        (
            tool("jest", "--ci"),
            SelectedTests(("a.test.js",), "^a (b)$"),
            "jest --ci|--testNamePattern=^a (b)$|--runTestsByPath|./a.test.js",
        ),
        (
            tool("npm", "run", "test", recipe="vitest --config=x.ts"),
            SelectedTests(("a.test.ts",), "$(x)"),
            "vitest run --config=x.ts|--testNamePattern=$(x)|./a.test.ts",
        ),
        (UNITTEST, SelectedTests(("tests/sub/test_a.py",), "x*"), "python3 -m unittest -v|-k=x*|sub.test_a"),
    ],
)
def test_a_selection_becomes_arguments(runner: Tool, wanted: SelectedTests, argv: str) -> None:
    head, *rest = argv.split("|")
    assert make_runner_command(runner, wanted).argv == (*head.split(" "), *rest)


def test_unittest_imports_modules_of_its_folder_or_of_the_root() -> None:
    found = make_runner_command(UNITTEST, SelectedTests(("tests/test_a.py",)))
    assert found.argv == ("python3", "-m", "unittest", "-v", "test_a")
    assert found.environment == {"PYTHONPATH": "tests"}
    package = replace(UNITTEST, argv=(*UNITTEST.argv, "-t", "."))
    found = make_runner_command(package, SelectedTests(("tests/test_a.py",)))
    assert found.argv == ("python3", "-m", "unittest", "-v", "tests.test_a")


def test_a_script_of_package_json_is_run_once_with_its_options() -> None:
    script = Tool(Check.TESTS, "npm", ("npm", "run", "test"), "", "vitest watch --dir src")
    assert runner_name(script, configured=False) == "vitest"
    command = make_runner_command(script, SelectedTests())
    assert command.argv == ("vitest", "run", "--dir", "src")
    assert command.with_report("/r")[-1] == "--outputFile.json=/r"


@pytest.mark.parametrize(
    "script",
    ["vitest && rm x", "jest; x", "jest $(x)", "FOO=1 jest", "pre\njest", "sh -c jest", "jest 'a b'"],
)
def test_a_script_that_does_more_than_run_its_runner_is_run_as_it_stands(script: str) -> None:
    npm = tool("npm", "run", "test", recipe=script)
    command = make_runner_command(npm, SelectedTests())
    assert (command.runner, command.argv, command.report) == ("npm", npm.argv, "")
    with pytest.raises(UnsupportedSelection):
        make_runner_command(npm, SelectedTests(pattern="a"))


@pytest.mark.parametrize(
    ("runner", "wanted", "why"),
    [
        (tool("pytest"), SelectedTests(pattern="a;b"), "names joined by"),
        (tool("pytest"), SelectedTests(("a.py::b",)), "id of a test"),
        (tool("pytest"), SelectedTests(("a[1].py",)), "id of a test"),
        (UNITTEST, SelectedTests(("other/test_a.py",)), "not a module"),
        (UNITTEST, SelectedTests(("tests/test-a.py",)), "not a module"),
        (tool("cargo", "test"), SelectedTests(("tests/--help.rs",)), "only where it is one of tests/"),
        (tool("ctest"), SelectedTests(("a",)), "ctest knows no files"),
        (tool("cargo", "test"), SelectedTests(("src/a.rs",)), "only where it is one of tests/"),
        (tool("make", "test"), SelectedTests(("a",)), "its own way"),
    ],
)
def test_what_a_runner_cannot_select_is_refused(runner: Tool, wanted: SelectedTests, why: str) -> None:
    with pytest.raises(UnsupportedSelection, match=why):
        make_runner_command(runner, wanted)


@pytest.mark.parametrize("runner", ["cargo", "ctest", "go", "jest", "pytest", "unittest", "vitest"])
@pytest.mark.parametrize("pattern", ["-x", "--help", "a\nb", "a\0", "x" * 501, "--", "\u202e"])
def test_no_runner_is_given_what_is_no_pattern(runner: str, pattern: str) -> None:
    with pytest.raises(UnsupportedSelection):
        make_runner_command(tool(runner, "test"), SelectedTests(pattern=pattern))


def test_a_configured_command_is_run_as_it_stands() -> None:
    own = tool("pytest", "--mine")
    command = make_runner_command(own, SelectedTests(), configured=True)
    assert command.with_report("/r/a b") == list(own.argv)
    # the report is asked for beside it, and what the person configured holds
    both = command.environment_with_report("/r/a b", {"PYTEST_ADDOPTS": "-x", "A": "1"})
    assert both == {"PYTEST_ADDOPTS": "-x --junitxml='/r/a b' -o junit_family=xunit1", "A": "1"}


def configured(root: Path, command: str) -> Tool:
    found = select_tools(root, VerifyConfig(tests=command.split(" ")))[Check.TESTS][0]
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("command", "wanted", "argv"),
    [
        ("python -m pytest -q", SelectedTests(("t/a.py",), "a"), "python -m pytest -q -vv -k=a ./t/a.py"),
        ("uv run pytest -q t", SelectedTests(pattern="a"), "uv run pytest -q t -vv -k=a"),
        ("python -m unittest", SelectedTests(pattern="a"), "python -m unittest -v -k=a"),
        ("go test -race ./...", SelectedTests(pattern="A"), "go test -json -run=A -race ./..."),
        ("go test ./...", SelectedTests(("p/a_test.go",)), "go test -json ./p"),
        ("cargo test -p x", SelectedTests(pattern="a"), "cargo test -p x --no-fail-fast -- a"),
        ("npx vitest run", SelectedTests(("a.test.ts",)), "npx vitest run ./a.test.ts"),
        ("ctest --test-dir b", SelectedTests(pattern="a"), "ctest --test-dir b -R a"),
        ("./t.sh {pattern} {files}", SelectedTests(("a", "b")), "./t.sh  a b"),
        ("./t.sh -k {pattern} {files} end", SelectedTests(pattern="^x"), "./t.sh -k ^x end"),
        ("./t.sh -k {pattern} {files} end", SelectedTests(), "./t.sh -k  end"),
    ],
)
def test_a_configured_command_of_a_known_runner_or_with_places_is_limited(
    tmp_path: Path, command: str, wanted: SelectedTests, argv: str
) -> None:
    (tmp_path / "t").mkdir()
    assert make_runner_command(configured(tmp_path, command), wanted, configured=True).argv == tuple(
        argv.split(" ")
    )


@pytest.mark.parametrize(
    ("command", "files", "pattern"),
    [
        ("make test", False, False),
        ("tox -e py", False, False),
        ("go vet ./...", False, False),
        ("cargo nextest run", False, False),
        ("pytest -q -- t", False, False),
        ("pytest -q t", False, True),
        ("pytest -q t/a.py::test_b", False, True),
        ("pytest -k fast", True, False),
        ("go test -race ./...", False, True),
        ("ctest -R quick", False, False),
        ("./t.sh {files}", True, False),
        ("./t.sh {pattern}", False, True),
    ],
)
def test_what_a_configured_command_can_be_limited_to_is_known_before_it_runs(
    tmp_path: Path, command: str, files: bool, pattern: bool
) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t/a.py").touch()
    tool = configured(tmp_path, command)
    can = selectable_tests(tool, configured=True)
    assert (can.files, bool(can.pattern)) == (files, pattern)
    for wanted, fits in ((SelectedTests(("x.py",)), files), (SelectedTests(pattern="x"), pattern)):
        if not fits:
            with pytest.raises(UnsupportedSelection, match=r"can(not)? be limited|knows no files"):
                make_runner_command(tool, wanted, configured=True)


@pytest.mark.attack
@pytest.mark.parametrize(
    "wanted", [SelectedTests(("-x",)), SelectedTests(pattern="--help"), SelectedTests(pattern="a;b")]
)
def test_no_value_becomes_an_option_of_a_configured_command(tmp_path: Path, wanted: SelectedTests) -> None:
    with pytest.raises(UnsupportedSelection, match=r"begins? with `-`"):
        make_runner_command(configured(tmp_path, "./t.sh {pattern} {files}"), wanted, configured=True)


def test_the_places_for_tests_are_a_part_of_what_is_trusted(tmp_path: Path) -> None:
    with_places, without = configured(tmp_path, "./t.sh {files}"), configured(tmp_path, "./t.sh")
    assert with_places.argv == without.argv
    assert with_places.meaning != without.meaning


def test_directories_are_taken_by_some() -> None:
    assert [name for name in ("cargo", "go", "jest", "pytest", "vitest") if accepts_directories(name)] == [
        "go",
        "pytest",
        "vitest",
    ]
