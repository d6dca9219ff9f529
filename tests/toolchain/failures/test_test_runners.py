"""Failed tests of go, by the files of their packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.toolchain.test_failures import parsed

if TYPE_CHECKING:
    from pathlib import Path


def test_the_files_of_go_tests_are_found_in_their_package(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module example.com/x\n\ngo 1.22\n")
    text = (
        "--- FAIL: TestA (0.00s)\n    a_test.go:5: got 1\n    --- FAIL: TestA/sub (0.00s)\n"
        "        a_test.go:9: got 2\nFAIL\nFAIL\texample.com/x/pkg/sub\t0.01s\nok  \texample.com/x\t0.1s\n"
    )
    assert parsed("go", text, tmp_path) == [
        ("pkg/sub/a_test.go", 5, None, "TestA: got 1", "", "error"),
        ("pkg/sub/a_test.go", 9, None, "TestA/sub: got 2", "", "error"),
    ]
