"""Output of real tools, and hostile output in linear time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from tests.toolchain.test_failures import parsed
from tideate_core.process import make_environment, run_program
from tideate_core.toolchain import parse_failures
from tideate_core.toolchain.failures import _PARSERS

ROOT = Path("/project")
BIN = Path(sys.executable).parent
PLAIN = ("-q", "--color=no", "-rfE", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir=.")

CODE = """import os


def f(x: int) -> str:
    return x + 1
"""
TESTS = """import pytest
from untyped import f


def helper():
    print('x.py:3: printed')
    return f(None)


def test_x():
    assert f(1) == 3, 'wrong'


@pytest.mark.parametrize('n', [1])
def test_y(n):
    helper()


class TestC:
    def test_z(self):
        assert [1, 2] == [1, 3]


@pytest.fixture
def bad():
    try:
        raise KeyError('k')
    except KeyError:
        raise RuntimeError('fixture')


def test_f(bad):
    pass
"""


def project(root: Path) -> Path:
    (root / "tests").mkdir()
    (root / "code.py").write_text(CODE)
    (root / "untyped.py").write_text("def f(x):\n    return x + 1\n")
    (root / "tests/test_a.py").write_text(TESTS)
    return root


PYTEST = [
    ("tests/test_a.py", 29, None, "test_f: fixture", "RuntimeError", "error"),
    ("tests/test_a.py", 11, None, "test_x: wrong", "AssertionError", "error"),
    (
        "untyped.py",
        2,
        None,
        "test_y[1]: unsupported operand type(s) for +: 'NoneType' and 'int'",
        "TypeError",
        "error",
    ),
    ("tests/test_a.py", 21, None, "TestC.test_z: assert [1, 2] == [1, 3]", "AssertionError", "error"),
]


async def real(root: Path, *argv: str) -> str:
    environment = make_environment({"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"})
    result = await run_program(argv, cwd=root, environment=environment)
    assert result.exit_code not in (0, None)
    return result.stdout.text + result.stderr.text


@pytest.mark.slow
@pytest.mark.parametrize("style", ["short", "long", "native", "auto"])
async def test_real_pytest_is_read_with_the_innermost_place_of_the_project(
    tmp_path: Path, style: str
) -> None:
    root = project(tmp_path)
    text = await real(root, sys.executable, "-m", "pytest", *PLAIN, f"--tb={style}", "tests")
    found = parsed("pytest", text, root)
    if style == "native":  # tracebacks of Python itself, so the summary gives what they do not
        assert [entry[3].partition(":")[0] for entry in found] == [
            entry[3].partition(":")[0] for entry in PYTEST
        ]
    else:
        assert found == PYTEST


@pytest.mark.slow
async def test_real_mypy_is_read(tmp_path: Path) -> None:
    root = project(tmp_path)
    options = ("--config-file=", "--cache-dir=/dev/null", "--show-column-numbers", "--no-error-summary")
    text = await real(root, str(BIN / "mypy"), *options, "code.py")
    message = 'Incompatible return value type (got "int", expected "str")'
    assert parsed("mypy", text, root) == [("code.py", 5, 12, message, "return-value", "error")]


@pytest.mark.parametrize("form", ["concise", "full"])
async def test_real_ruff_is_read(tmp_path: Path, form: str) -> None:
    root = project(tmp_path)
    text = await real(
        root, str(BIN / "ruff"), "check", "--isolated", "--no-cache", f"--output-format={form}", "code.py"
    )
    assert ("code.py", 1, 8, "`os` imported but unused", "F401", "error") in parsed("ruff", text, root)


UNITS = [
    "a",
    " ",
    "_",
    ":",
    "a:",
    "a:1",
    "a:1:1",
    "(",
    "(1,",
    "[",
    "] [",
    " [a",
    "E   ",
    "____ a ",
    "at (",
    'File "a',
    "--> ",
    "  a",
    "a.py:1:1: error: ",
    " - error: ",
    "1:1  error  ",
    "\x1b[",
    "FAILED a::",
    "thread '",
    "' panicked at '",
    "\t",
    "--- FAIL: ",
    "at a:",
]
PIECES = [
    *UNITS,
    "a.py",
    "22",
    "[x]",
    ")",
    "(1,2): error TS1: ",
    "   ",
    '"',
    ", line 3",
    "::",
    "FAIL",
    "● ",
    "error[E1]: ",
    "\n",
    "=== ",
    '{"spans":',
    "[{",
    '"filePath"',
    "é",
    "�",
]


@pytest.mark.slow
@given(
    st.lists(st.sampled_from([*PIECES, "x" * 300, "_" * 300, " " * 300]), max_size=60).map("".join),
    st.sampled_from([*sorted(_PARSERS), ""]),
)
@settings(max_examples=400)
def test_any_text_is_read_and_what_is_found_is_in_form(text: str, tool: str) -> None:
    for failure in parse_failures(text, root=ROOT, tool=tool).found:
        assert failure.line is None or failure.line >= 0
        assert len(failure.message) <= 600
        assert "\n" not in failure.message + failure.file


@pytest.mark.slow
@pytest.mark.parametrize("tool", [*sorted(_PARSERS), ""])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.timeout(60)
def test_hostile_output_takes_no_longer_than_it_is_long(tool: str, unit: str) -> None:
    """A megabyte on one line, and the same in lines: with a quadratic expression this takes hours."""
    whole = unit * (1_000_000 // len(unit))
    parse_failures(whole, root=ROOT, tool=tool)
    lines = "\n".join([(unit * 2000)[:1999]] * 500)
    parse_failures(lines, root=ROOT, tool=tool)
