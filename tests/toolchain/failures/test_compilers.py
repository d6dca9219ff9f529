"""Findings of compilers and linters, printed and as JSON."""

from __future__ import annotations

import json

from tests.toolchain.test_failures import parsed


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
