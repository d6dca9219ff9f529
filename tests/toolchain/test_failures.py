"""Sample outputs parsed to one format; paths relative to the project; quickfix entries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.toolchain.samples import SAMPLES, Found
from tideate_core.toolchain import Failure, parse_failures

ROOT = Path("/project")


def parsed(tool: str, text: str, root: Path = ROOT) -> list[Found]:
    found = parse_failures(text, root=root, tool=tool).found
    assert all(failure.tool == tool for failure in found)
    return [(f.file, f.line, f.column, f.message, f.code, f.severity) for f in found]


@pytest.mark.parametrize("tool", SAMPLES)
def test_the_output_of_a_tool_is_read(tool: str) -> None:
    text, wanted = SAMPLES[tool]
    assert parsed(tool, text) == wanted


@pytest.mark.parametrize("tool", ["mypy", "pyright", "tsc", "ruff", "eslint", "vitest", "cargo", "gcc"])
def test_it_is_read_as_well_behind_make_or_npm(tool: str) -> None:
    text, wanted = SAMPLES[tool]
    assert set(parsed("make", f"cc -c x\n{text}make: *** [test] Error 1\n")) == set(wanted)


def test_there_are_only_so_many_and_the_rest_is_said() -> None:
    text = "\n".join(f"a.py:{line}:1: error: e" for line in range(1, 1000))
    found = parse_failures(text, root=ROOT, tool="mypy", most=50)
    assert (len(found.found), found.cut) == (50, True)
    all_of_them = parse_failures(text, root=ROOT, tool="mypy", most=999)
    assert (len(all_of_them.found), all_of_them.cut) == (999, False)


def test_the_same_failure_twice_is_one() -> None:
    line = "a.py:1:1: error: e\n"
    assert len(parse_failures(line * 5, root=ROOT, tool="mypy").found) == 1
    assert len(parse_failures("a.py:1:1: error: e\na.py:1:1: error: f\n", root=ROOT, tool="mypy").found) == 2


def test_what_two_tools_could_have_printed_is_one() -> None:
    assert len(parse_failures("b.js:4:2: error: Missing. [Error/semi]\n", root=ROOT).found) == 1


def test_eslint_and_cargo_are_read_as_json() -> None:
    entry = {"ruleId": "semi", "severity": 1, "message": "Missing.", "line": 2, "column": 3}
    eslint = json.dumps([{"filePath": "/project/a.js", "messages": [entry, {"message": "x"}, 7]}])
    assert parsed("eslint", eslint)[:2] == [
        ("a.js", 2, 3, "Missing.", "semi", "warning"),
        ("a.js", None, None, "x", "", "error"),
    ]
    span = {"file_name": "src/a.rs", "line_start": 1, "column_start": 2, "is_primary": True}
    message = {"level": "error", "message": "mismatched", "code": {"code": "E0308"}, "spans": [span]}
    cargo = json.dumps({"reason": "compiler-message", "message": message}) + '\n{"spans": \n{"spans": 3}\n'
    assert parsed("cargo", cargo) == [("src/a.rs", 1, 2, "mismatched", "E0308", "error")]


def test_paths_are_relative_inside_the_root_and_absolute_outside(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    root = tmp_path / "link"
    text = "\n".join(
        f"{name}:1:1: error: e{place}"
        for place, name in enumerate(
            ["./a.py", "b/../c.py", f"{root}/d.py", f"{tmp_path}/real/e.py", "/usr/x.py", "../up.py"]
        )
    )
    files = [failure.file for failure in parse_failures(text, root=root, tool="mypy").found]
    assert files == ["a.py", "c.py", "d.py", "e.py", "/usr/x.py", str(tmp_path / "up.py")]


def test_a_failure_is_an_entry_of_the_quickfix_list() -> None:
    failure = Failure("a.py", 3, None, "bad", "E1", "warning", "ruff")
    assert failure.as_json() == {
        "filename": "a.py",
        "lnum": 3,
        "col": 0,
        "text": "bad [E1]",
        "type": "W",
        "code": "E1",
        "tool": "ruff",
    }
    assert str(failure) == "a.py:3: bad [E1]"
