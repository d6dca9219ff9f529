"""The texts of the files of the project that `tests.harness.tally` makes."""

from __future__ import annotations

from typing import Final

PYPROJECT: Final = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "tally"
version = "0.2.0"
description = "Counts what is in a text"
requires-python = ">=3.11"

[tool.hatch.build.targets.wheel]
packages = ["src/tally"]

[tool.ruff]
line-length = 100

[tool.mypy]
strict = true
files = ["src", "tests"]
mypy_path = "src"

[tool.pytest.ini_options]
pythonpath = ["src"]
testpaths = ["tests"]
"""

CHANGELOG: Final = """\
# Changelog

## [Unreleased]

### Added

- `count_words` takes any space between words

## [0.2.0] - 2026-03-01

### Added

- `count_words`
"""

CHECKLIST: Final = """\
# Checklist

- [x] count words
- [ ] count lines
- [ ] count sentences
"""

USAGE: Final = """\
# Usage

See the [overview](README.md).

    >>> from tally import count_words
    >>> count_words("one two")
    2
"""

CHECK_DOCS: Final = """\
#!/usr/bin/env python3
\"\"\"Checks that links of documents lead to files, and that what the documents show is so.\"\"\"

import doctest
import re
import sys
from pathlib import Path

sys.path.insert(0, "src")
bad = 0
for page in [*Path(".").glob("*.md"), *Path("docs").glob("*.md")]:
    for number, line in enumerate(page.read_text().splitlines(), 1):
        for target in re.findall(r"\\]\\(([^)#:]+)\\)", line):
            if not (page.resolve().parent / target).exists():
                print(f"{page}:{number}: error: the link to {target} leads nowhere")
                bad += 1
bad += doctest.testfile("docs/usage.md", module_relative=False).failed if __name__ == "__main__" else 0
sys.exit(bool(bad))
"""

CHECK: Final = """\
#!/usr/bin/env python3
\"\"\"All checks of the project: `check.py NAME`. Prints what is wrong as FILE:LINE: error: WHAT.\"\"\"

import sys
import traceback

sys.path.insert(0, "src")
sys.dont_write_bytecode = True


def tests(path, text):
    names = {}
    exec(compile(text, path, "exec"), names)
    for name in [name for name in names if name.startswith("test_")]:
        try:
            names[name]()
        except Exception as error:
            line = traceback.extract_tb(error.__traceback__)[-1].lineno
            yield line, f"{name}: {type(error).__name__} {error}"


def lint(path, text):
    for number, line in enumerate(text.split("\\n"), 1):
        if line.endswith(" "):
            yield number, "blanks at the end of the line"


def build(path, text):
    compile(text, path, "exec")
    return ()


def documentation(path, text):
    if "](gone.md)" in text:
        yield text[: text.index("](gone.md)")].count("\\n") + 1, "the link leads nowhere"


def run(name):
    import glob

    pattern = {"tests": "tests/test_*.py", "documentation": "docs/*.md"}.get(name, "src/*/*.py")
    bad = 0
    for path in sorted(glob.glob(pattern)):
        with open(path) as file:
            for line, what in globals().get(name, build)(path, file.read()):
                print(f"{path}:{line}: error: {what}")
                bad = 1
    return bad


sys.exit(run(sys.argv[1]))
"""

WORDS: Final = '''\
"""Words of a text."""


def count_words(text: str) -> int:
    """Return how many words a text has."""
    return len(text.split())
'''

TEST_WORDS: Final = '''\
"""Words are counted."""

from tally.words import count_words


def test_words() -> None:
    assert count_words("one two") == 2
'''

PACKAGE: Final = '''\
"""Counts what is in a text."""\r
\r
from tally.words import count_words\r
\r
__all__ = ["count_words"]\r
'''
"""A file with the line ends of Windows."""

LINES: Final = '''\
"""Lines of a text."""


def count_lines(text: str) -> int:
    """Return how many lines a text has."""
    return len(text.splitlines())
'''

TEST_LINES: Final = '''\
"""Lines are counted."""

from tally import count_lines


def test_lines() -> None:
    assert count_lines("one\\ntwo\\n") == 2
'''

COUNT: Final = """\
#!/bin/sh
# counts the words of a file
wc -w "$1"
"""
