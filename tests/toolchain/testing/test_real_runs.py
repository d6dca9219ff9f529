"""Real runs of pytest, unittest and node: counts, names and locations."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from tideate_core.process import make_environment
from tideate_core.toolchain import Check, Tool
from tideate_core.toolchain.testing.execution import run_tests
from tideate_core.toolchain.testing.runners import SelectedTests, make_runner_command

if TYPE_CHECKING:
    from pathlib import Path

    from tideate_core.toolchain.testing.results import TestResults

pytestmark = pytest.mark.slow

PYTEST = Tool(
    Check.TESTS,
    "pytest",
    (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--tb=short", "-rfE", "--color=no"),
    "",
)
NODE = Tool(Check.TESTS, "node", ("node", "--test"), "")


async def run(root: Path, tool: Tool, *, seconds: float = 60, **files: str) -> TestResults:
    for name, text in files.items():
        (root / name.replace("_dot_", ".")).write_text(text)
    ran = await run_tests(
        make_runner_command(tool, SelectedTests()),
        SelectedTests(),
        root=root,
        environment={**make_environment(), "PYTHONDONTWRITEBYTECODE": "1"},
        timeout_ms=round(seconds * 1000),
    )
    return ran.results


def counts(results: TestResults) -> tuple[int | None, ...]:
    return results.passed, results.failed, results.errors, results.skipped


EXITS = "import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\n"
QUIET = f"@{sys.executable} -m pytest -p no:cacheprovider -q"


@pytest.mark.parametrize("argv", [("make", "test"), ("make", "-C", "."), ("sh", "-c", QUIET[1:])])
@pytest.mark.parametrize(
    ("options", "text"), [("-q", EXITS), ("-qq", EXITS), ("-qq", "def test_a(): pass\n")]
)
async def test_pytest_behind_another_program_passes_only_at_its_end(
    tmp_path: Path, argv: tuple[str, ...], options: str, text: str
) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\naddopts = {options}\n")
    (tmp_path / "Makefile").write_text(f"test:\n\t{QUIET}\n")
    results = await run(tmp_path, Tool(Check.TESTS, argv[0], argv, ""), test_a_dot_py=text)
    assert results.status == ("incomplete" if text == EXITS else "passed"), results.ending


async def test_pytest_that_a_test_tells_to_exit_does_not_pass(tmp_path: Path) -> None:
    text = "import pytest\ndef test_a(): pass\ndef test_b(): pytest.exit('bye', 0)\n"
    results = await run(tmp_path, PYTEST, test_a_dot_py=text)
    assert (results.status, "(bye)" in results.ending) == ("incomplete", True)


@pytest.mark.parametrize("bad", [False, True])
async def test_a_summary_in_the_middle_of_long_output_counts(tmp_path: Path, bad: bool) -> None:
    much = "@seq -f %0200g 9000"
    recipe = f"test:\n\t{much}\n\t-{QUIET}\n\t{much}\n"
    results = await run(
        tmp_path,
        Tool(Check.TESTS, "make", ("make", "test"), "", recipe),
        Makefile=recipe,
        test_a_dot_py=f"def test_a(): assert {not bad}\n",
    )
    assert (results.status, counts(results)[:2]) == (("failed", (0, 1)) if bad else ("passed", (1, 0)))


if shutil.which("node"):

    @pytest.mark.parametrize("options", ["", "--test-reporter=spec", "--test-reporter=tap"])
    @pytest.mark.parametrize(
        "text",
        [
            "test('a', () => process.exit(0));",
            "describe('a', () => { test('b', () => {});"
            " test('c', async () => { await new Promise((r) => setTimeout(r, 50)); process.exit(0); }); });",
        ],
    )
    async def test_node_whose_file_ends_before_its_tests_does_not_pass(
        tmp_path: Path, options: str, text: str
    ) -> None:
        tool = Tool(Check.TESTS, "node", ("node", "--test", *options.split()), "")
        text = "const { test, describe } = require('node:test');\n" + text
        results = await run(tmp_path, tool, a_dot_test_dot_js=text)
        assert results.status == "incomplete"

    async def test_a_reporter_of_the_project_is_left_alone(tmp_path: Path) -> None:
        text = "const { test } = require('node:test');\ntest('a', () => {});\n"
        recipe = "test:\n\tnode --test a.test.js\n\tnode --test-reporter=tap --test a.test.js\n"
        tool = Tool(Check.TESTS, "make", ("make", "test"), "")
        results = await run(tmp_path, tool, a_dot_test_dot_js=text, Makefile=recipe)
        assert (results.status, results.passed) == ("passed", 2)

    @pytest.mark.parametrize("leaves", [True, False])
    async def test_tests_may_start_node_s_own_below_any_temporary_folder(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, leaves: bool
    ) -> None:
        (odd := tmp_path / 'it\'s "a" 100% #b').mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(odd))
        text = (
            "const { test } = require('node:test');\ntest('a', () => {\n"
            "const env = { ...process.env }; delete env.NODE_TEST_CONTEXT;\n"
            "const words = ['--test-reporter=tap', '--test', 'inner.js'];\n"
            "require('node:child_process').execFileSync('node', words, { env }); });\n"
        )
        if leaves:
            text += (
                "test('b', async () => { await new Promise((r) => setTimeout(r, 9)); process.exit(0); });\n"
            )
        inner = "require('node:test').test('c', () => process.exit(0));\n"
        results = await run(tmp_path, NODE, a_dot_test_dot_js=text, inner_dot_js=inner)
        assert (results.status, results.passed) == ("incomplete" if leaves else "passed", 1), results
        assert ("ended before its test 'b'" in results.ending) == leaves
