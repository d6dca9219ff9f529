"""Paths relative to the project; quickfix entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tideate_core.toolchain import Failure, parse_failures

if TYPE_CHECKING:
    from pathlib import Path


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
