"""Counts, names and locations in the output of many tools, also run by make or scripts."""

from __future__ import annotations

import pytest

from tests.toolchain.recorded_reports import SMALL, report
from tideate_core.toolchain.failures import parse_failures
from tideate_core.toolchain.testing.printed_results import read_summaries

PLENARY = (
    "Starting...Scheduling: tests/a_spec.lua\nSuccess\t||\touter works\t\n"
    "Fail\t||\touter breaks here\t\n            tests/a_spec.lua:4: Expected objects to be equal.\n"
    "\nSuccess: \t1\t\nFailed : \t1\t\nErrors : \t0\t\n========================================\n"
)
MINI = (
    "Total number of cases: 3\nTotal number of groups: 1\n\na.lua: oxo\n\nFails (1) and Notes (0)\n\n"
    'FAIL in "tests/test_a.lua | breaks here":\n  Failed expectation for equality.\n  Left: 1\n  Right: 2\n'
    "  Traceback:\n    tests/test_a.lua:5\n"
)
"""By the documented form."""
MINITEST = (
    "  1) Failure:\nSmallTest#test_breaks [test/small_test.rb:5]:\nExpected: 1\n  Actual: 2\n\n"
    "3 runs, 3 assertions, 1 failures, 0 errors, 1 skips\n"
)
SUREFIRE = (
    "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE!\n"
    "[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1\n"
)


@pytest.mark.parametrize("through", ["", "make", "npm"])
@pytest.mark.parametrize(
    ("tool", "text", "counts", "failures"),
    [
        ("mocha", "mocha-12.txt", (3, 1, 0, 1), [("outer breaks here", "mo/m.test.js", 4)]),
        ("node", "node-20-tap.txt", (3, 1, 0, 1), [("breaks here", "no/m.test.js", 5)]),
        ("node", "node-20-spec.txt", (3, 1, 0, 1), [("breaks here", "no/m.test.js", 5)]),
        ("rspec", "rspec.txt", (3, 1, 0, 1), [("Outer breaks here", "t/a_spec.rb", 4)]),
        ("mix", "mix.txt", (3, 1, 0, 1), [("test breaks here (SmallTest)", "test/small_test.exs", 5)]),
        (
            "busted",
            "busted.txt",
            (3, 1, 1, 1),
            [("outer breaks here", "t/a_spec.lua", 4), ("outer raises", "t/a_spec.lua", 7)],
        ),
        ("plenary", PLENARY, (1, 1, 0, 0), [("outer breaks here", "tests/a_spec.lua", 4)]),
        ("mini.test", MINI, (2, 1, 0, 0), [("tests/test_a.lua | breaks here", "tests/test_a.lua", 5)]),
        ("minitest", MINITEST, (1, 1, 0, 1), [("SmallTest#test_breaks", "test/small_test.rb", 5)]),
        ("surefire", SUREFIRE, (2, 1, 1, 1), []),
    ],
)
def test_runners(
    tool: str,
    text: str,
    counts: tuple[int, ...],
    failures: list[tuple[str, str, int]],
    through: str,
) -> None:
    text = report(text).decode() if text.endswith(".txt") else text
    tally = read_summaries(text, through or tool).tally
    assert tally is not None
    assert (tally.passed, tally.failed, tally.errors, tally.skipped) == counts
    found = parse_failures(text, root=SMALL, tool=through or tool).found
    assert [(one.test, one.file, one.line) for one in found if one.test] == failures


THROWN = (
    "node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module './nosuch'\n"
    "    at require (node:internal/modules/helpers:182:18)\n"
    "    at Object.<anonymous> (/srv/small/test/a.js:2:1)\n\nNode.js v20.20.2\n"
)
MOCHA = THROWN.replace("Error: Cannot", " Exception during run: Error: Cannot").replace(
    "\nNode.js v20.20.2", ""
)
RUBY = (
    "<internal:/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb>:85:in `require': cannot load "
    "such file -- nosuch (LoadError)\n\tfrom <internal:/usr/lib/ruby/x.rb>:85:in `require'\n"
    "\tfrom /srv/small/test/test_a.rb:2:in `<top (required)>'\n"
)
RSPEC = (
    "An error occurred while loading ./spec/a_spec.rb.\nFailure/Error: require 'nosuch'\n\nLoadError:\n"
    "  cannot load such file -- nosuch\n# ./spec/a_spec.rb:1:in `<top (required)>'\n"
)
BLANKS = "  1) Failure:\nTestA#test_a b [/srv/small/test/test_a.rb:6]:\nExpected\n"


@pytest.mark.parametrize("through", ["", "make", "npm"])
@pytest.mark.parametrize(
    ("text", "place"),
    [
        (THROWN, ("test/a.js", 2)),
        (THROWN.replace("Error:", "# Error:").replace("    at", "#     at"), ("test/a.js", 2)),
        (MOCHA, ("test/a.js", 2)),
        (RUBY, ("test/test_a.rb", 2)),
        (RSPEC, ("spec/a_spec.rb", 1)),
        (BLANKS, ("test/test_a.rb", 6)),
        ("** (CompileError) test/a_test.exs:2: module Nosuch is not loaded\n", ("test/a_test.exs", 2)),
    ],
)
def test_what_keeps_tests_from_being_loaded_has_a_place(
    text: str, place: tuple[str, int], through: str
) -> None:
    [failure] = parse_failures(text, root=SMALL, tool=through).found
    assert (failure.file, failure.line) == place
    assert "usr" not in failure.message


def test_an_error_that_a_program_of_node_only_prints_is_no_failure() -> None:
    text = THROWN.replace("Node.js v20.20.2", "ok")
    assert parse_failures(text, root=SMALL, tool="node").found == ()


@pytest.mark.parametrize("through", ["", "make", "npm"])
@pytest.mark.parametrize(
    ("tool", "places"),
    [
        (
            "oxlint-1",
            [
                ("li/a.js", 1, "eslint(no-unused-vars)", "warning"),
                ("li/a.js", 2, "eslint(no-unused-vars)", "warning"),
                ("li/a.js", 1, "eslint(no-const-assign)", "warning"),
                ("li/a.js", 3, "eslint(no-cond-assign)", "warning"),
                ("li/a.js", 3, "eslint(no-constant-condition)", "warning"),
                ("li/a.js", 3, "eslint(no-debugger)", "warning"),
            ],
        ),
        (
            "biome-2",
            [
                ("li/a.js", 2, "lint/style/useConst", "warning"),
                ("li/a.js", 2, "lint/correctness/noUnusedVariables", "warning"),
                ("li/a.js", 3, "lint/suspicious/noAssignInExpressions", "error"),
                ("li/a.js", 3, "lint/suspicious/noDebugger", "error"),
                ("li/a.js", 3, "lint/correctness/noConstantCondition", "error"),
                ("li/a.js", 3, "lint/correctness/noConstAssign", "error"),
            ],
        ),
        ("luacheck-1", [("a.lua", 1, "", "error"), ("a.lua", 2, "", "error"), ("a.lua", 3, "", "error")]),
        (
            "ty-0",
            [
                ("a.py", 2, "invalid-explicit-return", "error"),
                ("a.py", 4, "invalid-argument-type", "error"),
                ("a.py", 5, "import-not-found", "error"),
            ],
        ),
    ],
)
def test_linters(tool: str, places: list[tuple[str, int, str, str]], through: str) -> None:
    text = report(f"{tool}.txt").decode()
    found = parse_failures(text, root=SMALL, tool=through or tool.partition("-")[0]).found
    assert [(one.file, one.line, one.code, one.severity) for one in found] == places
    assert all(one.message for one in found)
