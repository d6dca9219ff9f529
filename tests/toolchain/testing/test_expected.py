"""The summaries that a command has to print are known from what it runs in the project."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tideate_core.toolchain.testing.expected import expected_summaries

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python3 -m pytest -q", "pytest"),
        ("uv run pytest tests", "pytest"),
        (".venv/bin/python -m unittest discover", "unittest"),
        ("python manage.py test", "unittest"),
        ("node --test tests/", "node"),
        ("cargo test --workspace", "cargo"),
        ("pytest --co", ""),
        ("pytest -qq", "pytest"),
        ("pytest -qqqq", ""),
        ("env A=1 timeout 60 python3 -m unittest", "unittest"),
        ("tox", ""),
        ("mocha --reporter json", ""),
    ],
)
def test_a_runner_has_to_print_its_summary(tmp_path: Path, command: str, expected: str) -> None:
    assert expected_summaries(tmp_path, command.split(" ")) == ({expected: 1} if expected else {})


MAKEFILE = """all: build
\tpytest x
check test: build
\tpytest a
lint:
\tpytest y
PY ?= python3
RUN = $(PY) -m pytest
by-name:
\t$(RUN) -q
both: one two
one:
\tpytest a
two:
\t@mocha
twice:
\tpytest a
\t@PYTHONPATH=src python -m pytest b
unsure:
\tif test -d a; then pytest a; fi
\t[ -d b ] && pytest b
\twhich mocha && mocha || true
\twhich pytest || pip install pytest
whatever:
\tpytest a || true
ifdef X
either:
\tpytest a
else
either:
\tpytest b
endif
again:
\t@$(MAKE) -C sub test
self:
\t$(MAKE) self
script:
\tcd sub && ./run.sh
"""
FILES = {
    "Makefile": MAKEFILE,
    "justfile": "test: build\n    @cargo test\nbuild:\n    true\n",
    "Taskfile.yml": "tasks:\n  test:\n    pytest a\n",
    "package.json": {
        "scripts": {"test": "npm run unit", "unit": "mocha", "all": "tsc && mocha a && vitest run"}
    },
    "sub/Makefile": "test:\n\tpython3 -m unittest\n",
    "sub/other.mk": "test:\n\tpython3 -m pytest\n",
    "sub/package.json": {"scripts": {"test": "jest"}},
    "sub/run.sh": "#!/bin/sh\nset -e\nif [ $# = 9 ]; then\n  exit 1\nfi\nmocha\nexec jest\npytest\n",
    "other/Makefile": "test:\n\tmocha\n",
    "other/.mocharc.json": '{"reporter": "dot"}',
    "own.py": "import unittest\nif __name__ == '__main__':\n    unittest.main()\n",
    "mine.py": "import pytest, sys\nsys.exit(pytest.main(sys.argv[1:]))\n",
    "other.py": "import unittest\ndef main():\n    unittest.main()\n",
    "own.test.mjs": "import test from 'node:test';\n",
    "early.sh": "test -d x || exit 0\npytest\n",
    "case.sh": "case $1 in\n  a)\n    pytest\n    ;;\nesac\ncat <<E\njest\nE\n",
    "again.sh": "mocha\nsh again.sh\n",
}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("make test", "pytest"),
        ("make", "pytest"),
        ("make by-name", "pytest"),
        ("make -j2 both", "mocha pytest"),
        ("make twice", "pytest pytest"),
        ("make unsure", ""),
        ("make whatever", "pytest"),
        ("make either", ""),
        ("make -C sub test", "unittest"),
        ("make --directory=sub -f other.mk test", "pytest"),
        ("make -C other test", ""),
        ("make again", "unittest"),
        ("make self", ""),
        ("make script", "jest mocha"),
        ("just test", "cargo"),
        ("task test", ""),
        ("npm test", "mocha"),
        ("npm run all", "jest mocha"),
        ("npm --prefix sub test", "jest"),
        ("./sub/run.sh", "jest mocha"),
        ("bash sub/run.sh", "jest mocha"),
        ("sh early.sh", ""),
        ("sh case.sh", ""),
        ("sh again.sh", "mocha"),
        ("./nothing.sh", ""),
        ("python own.py", "unittest"),
        (".venv/bin/python -W error mine.py -q", "pytest"),
        ("python3 other.py", ""),
        ("node own.test.mjs", "node"),
    ],
)
def test_a_command_has_to_print_what_its_scripts_run(tmp_path: Path, command: str, expected: str) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text if isinstance(text, str) else json.dumps(text))
    found = expected_summaries(tmp_path, command.split(" "))
    assert sorted(name for name, count in found.items() for _ in range(count)) == expected.split()


@pytest.mark.parametrize(
    ("script", "expected"), [("pytest", {"pytest": 1}), ("[ -d a ] && pytest a", {}), ("make x", {})]
)
def test_the_text_of_a_shell_counts(tmp_path: Path, script: str, expected: dict[str, int]) -> None:
    assert expected_summaries(tmp_path, ["bash", "-ec", script]) == expected
