"""Sample outputs of tools with the failures to parse."""

# ruff: noqa: RUF001 as they print it

from __future__ import annotations

__all__ = ["SAMPLES", "Found"]

Found = tuple[str, int | None, int | None, str, str, str]
"""File, line, column, message, code, severity."""

SAMPLES: dict[str, tuple[str, list[Found]]] = {
    "mypy": (
        """\
src/a.py:3:12: error: Incompatible return value type (got "int")  [return-value]
src/a.py:4:1: note: Revealed type is "int"
src/a.py:5: error: Missing annotation  [no-untyped-def]
src/b.py:7:3:7:9: error: Unused  [unused-ignore]
Found 3 errors in 2 files
""",
        [
            ("src/a.py", 3, 12, 'Incompatible return value type (got "int")', "return-value", "error"),
            ("src/a.py", 5, None, "Missing annotation", "no-untyped-def", "error"),
            ("src/b.py", 7, 3, "Unused", "unused-ignore", "error"),
        ],
    ),
    "pyright": (
        """\
/project/a.py
  /project/a.py:2:12 - error: Type "int" is not assignable to return type "str"
    "int" is not assignable to "str" (reportReturnType)
  /project/a.py:4:1 - warning: Import "x" could not be resolved (reportMissingImports)
1 error, 1 warning, 0 informations
""",
        [
            (
                "a.py",
                2,
                12,
                'Type "int" is not assignable to return type "str" "int" is not assignable to "str"',
                "reportReturnType",
                "error",
            ),
            ("a.py", 4, 1, 'Import "x" could not be resolved', "reportMissingImports", "warning"),
        ],
    ),
    "tsc": (
        """\
src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.
app/(group)/b.tsx(10,1): error TS1005: ';' expected.
src/c.ts:7:9 - error TS2304: Cannot find name 'x'.
""",
        [
            ("src/a.ts", 3, 5, "Type 'string' is not assignable to type 'number'.", "TS2322", "error"),
            ("app/(group)/b.tsx", 10, 1, "';' expected.", "TS1005", "error"),
            ("src/c.ts", 7, 9, "Cannot find name 'x'.", "TS2304", "error"),
        ],
    ),
    "ruff": (
        """\
a.py:1:8: F401 [*] `os` imported but unused
b.py:1:12: invalid-syntax: Expected a parameter
I001 [*] Import block is un-sorted
 --> c.py:1:1
  |
1 | import os
  |
Found 3 errors.
""",
        [
            ("a.py", 1, 8, "`os` imported but unused", "F401", "error"),
            ("b.py", 1, 12, "Expected a parameter", "invalid-syntax", "error"),
            ("c.py", 1, 1, "Import block is un-sorted", "I001", "error"),
        ],
    ),
    "eslint": (
        """\

/project/src/a.js
  1:10  error    'x' is defined but never used  no-unused-vars
  2:1   warning  Unexpected console statement   no-console
  3:5   error    Parsing error: Unexpected token

/project/b.js:4:2: Missing semicolon. [Error/semi]

✖ 4 problems (3 errors, 1 warning)
""",
        [
            ("src/a.js", 1, 10, "'x' is defined but never used", "no-unused-vars", "error"),
            ("src/a.js", 2, 1, "Unexpected console statement", "no-console", "warning"),
            ("src/a.js", 3, 5, "Parsing error: Unexpected token", "", "error"),
            ("b.js", 4, 2, "Missing semicolon.", "semi", "error"),
        ],
    ),
    "jest": (
        """\
FAIL src/sum.test.js
  ● sum › adds

    expect(received).toBe(expected) // Object.is equality

    Expected: 4
    Received: 3

      at Object.toBe (node_modules/expect/index.js:1:2)
      at Object.<anonymous> (src/sum.test.js:5:13)

Tests: 1 failed
""",
        [
            (
                "src/sum.test.js",
                5,
                13,
                "sum › adds: expect(received).toBe(expected) // Object.is equality",
                "",
                "error",
            ),
        ],
    ),
    "vitest": (
        """\
 FAIL  src/a.test.ts > math > adds
AssertionError: expected 1 to be 2
 ❯ node_modules/vitest/x.js:1:1
 ❯ src/a.test.ts:5:13
      3|
""",
        [
            ("src/a.test.ts", 5, 13, "math > adds: AssertionError: expected 1 to be 2", "", "error"),
        ],
    ),
    "cargo": (
        """\
error[E0308]: mismatched types
 --> src/lib.rs:1:21
  |
1 | pub fn f()
note: here
 --> src/other.rs:1:1
warning: unused variable: `x`
 --> src/lib.rs:2:18
thread 'tests::it' (10576) panicked at src/lib.rs:5:15:
assertion `left == right` failed
thread 'old' panicked at 'boom', src/main.rs:7:9
error: could not compile `x`
""",
        [
            ("src/lib.rs", 1, 21, "mismatched types", "E0308", "error"),
            ("src/lib.rs", 2, 18, "unused variable: `x`", "", "warning"),
            ("src/lib.rs", 5, 15, "tests::it: assertion `left == right` failed", "panic", "error"),
            ("src/main.rs", 7, 9, "old: boom", "panic", "error"),
        ],
    ),
    "go": (
        """\
# example.com/x
vet: ./a.go:3:5: undefined: y
./b.go:7:2: declared and not used: z
""",
        [
            ("a.go", 3, 5, "undefined: y", "", "error"),
            ("b.go", 7, 2, "declared and not used: z", "", "error"),
        ],
    ),
    "gcc": (
        """\
a.c: In function ‘main’:
a.c:1:25: error: ‘x’ undeclared (first use)
a.c:1:25: note: reported once
a.c:2:10: fatal error: no.h: No such file
b.c:3:4: warning: unused variable ‘q’ [-Wunused-variable]
""",
        [
            ("a.c", 1, 25, "‘x’ undeclared (first use)", "", "error"),
            ("a.c", 2, 10, "no.h: No such file", "", "error"),
            ("b.c", 3, 4, "unused variable ‘q’", "-Wunused-variable", "warning"),
        ],
    ),
    "sphinx": (
        """\
/project/docs/index.rst:3: WARNING: Unknown directive type [docutils]
""",
        [
            ("docs/index.rst", 3, None, "Unknown directive type", "docutils", "warning"),
        ],
    ),
    "shellcheck": (
        """\
In the year 12:30:45 it began
http://host:80: no
run.sh:4: quote this
""",
        [
            ("run.sh", 4, None, "quote this", "", "error"),
        ],
    ),
    "python": (
        """\
Traceback (most recent call last):
  File "/project/src/a.py", line 3, in <module>
    f()
  File "/usr/lib/python3/json.py", line 9, in f
    raise
ValueError: no good
""",
        [
            ("src/a.py", 3, None, "no good", "ValueError", "error"),
        ],
    ),
}
