"""Files and patterns of a client become arguments of a runner, and never options."""

from __future__ import annotations

import pytest

from tideate_core.toolchain import Check, SelectedTests, Tool, UnsupportedSelection
from tideate_core.toolchain.testing.runners import accepts_directories, make_runner_command, runner_name


def tool(*argv: str, recipe: str = "") -> Tool:
    return Tool(Check.TESTS, argv[0], argv, "", recipe)


@pytest.mark.parametrize(
    ("runner", "wanted", "argv"),
    [
        (tool("pytest", "-q"), SelectedTests(("-x.py",), "a and b"), "pytest -q -v|-k=a and b|./-x.py"),
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
    ],
)
def test_a_selection_becomes_arguments(runner: Tool, wanted: SelectedTests, argv: str) -> None:
    head, *rest = argv.split("|")
    assert make_runner_command(runner, wanted).argv == (*head.split(" "), *rest)


def test_unittest_imports_modules_of_its_folder_or_of_the_root() -> None:
    flat = tool("python3", "-m", "unittest", "discover", "-s", "tests")
    found = make_runner_command(
        Tool(Check.TESTS, "unittest", flat.argv, ""), SelectedTests(("tests/test_a.py",))
    )
    assert found.argv == ("python3", "-m", "unittest", "-v", "test_a")
    assert found.environment == {"PYTHONPATH": "tests"}


def test_a_script_of_package_json_is_run_once_with_its_options() -> None:
    script = Tool(Check.TESTS, "npm", ("npm", "run", "test"), "", "vitest watch --dir src")
    assert runner_name(script, configured=False) == "vitest"
    command = make_runner_command(script, SelectedTests())
    assert command.argv == ("vitest", "run", "--dir", "src")
    assert command.with_report("/r")[-1] == "--outputFile.json=/r"
    other = Tool(Check.TESTS, "npm", ("npm", "run", "test"), "", "vitest && rm -r x")
    assert runner_name(other, configured=False) == "npm"


@pytest.mark.parametrize(
    ("runner", "wanted", "why"),
    [
        (tool("pytest"), SelectedTests(pattern="-x"), "does not begin with `-`"),
        (tool("pytest"), SelectedTests(pattern="a;b"), "names joined by"),
        (tool("pytest"), SelectedTests(("a.py::b",)), "id of a test"),
        (tool("ctest"), SelectedTests(("a",)), "ctest knows no files"),
        (tool("cargo", "test"), SelectedTests(("src/a.rs",)), "only where it is one of tests/"),
        (tool("make", "test"), SelectedTests(("a",)), "its own way"),
    ],
)
def test_what_a_runner_cannot_select_is_refused(runner: Tool, wanted: SelectedTests, why: str) -> None:
    with pytest.raises(UnsupportedSelection, match=why):
        make_runner_command(runner, wanted)


def test_a_configured_command_is_run_as_it_stands() -> None:
    own = tool("pytest", "--mine")
    assert make_runner_command(own, SelectedTests(), configured=True).argv == own.argv
    with pytest.raises(UnsupportedSelection, match="configured"):
        make_runner_command(own, SelectedTests(("a.py",)), configured=True)


def test_directories_are_taken_by_some() -> None:
    assert [name for name in ("cargo", "go", "jest", "pytest", "vitest") if accepts_directories(name)] == [
        "go",
        "pytest",
        "vitest",
    ]
