"""Expected summaries, derived from commands and project files."""

from __future__ import annotations

import json
import shlex
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
\t-[ -d b ] && pytest b
\t@test -d b && pytest b; true
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
    "own.test.mjs": "import test from 'node:test';\ntest('a', () => {});\n",
    "all.mjs": "import { run } from 'node:test';\nrun({ files: names.filter((n) => /x/.test(n)) });\n",
    "one/justfile": "test:\n    #!/bin/sh\n    if true; then\n      pytest\n    fi\n    mocha\n",
    "one/Makefile": ".ONESHELL:\ntest:\n\tfor x in a; do\n\tpytest\n\tdone\n\tmocha\n",
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
        ("node all.mjs", ""),
        ("make -C one test", "mocha"),
        ("sh -c 'cd one && just test'", "mocha"),
    ],
)
def test_a_command_has_to_print_what_its_scripts_run(tmp_path: Path, command: str, expected: str) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text if isinstance(text, str) else json.dumps(text))
    found = expected_summaries(tmp_path, shlex.split(command))
    assert sorted(name for name, count in found.items() for _ in range(count)) == expected.split()


@pytest.mark.parametrize(
    "line",
    [
        "go test -race ./...",
        "cargo test --workspace",
        "mix test --trace",
        "node --test --test-only",
        "pytest --if x -k 'not while'",
    ],
)
def test_options_that_read_like_words_of_the_shell_change_nothing(tmp_path: Path, line: str) -> None:
    (tmp_path / "Makefile").write_text(f"test:\n\t{line}\n")
    assert expected_summaries(tmp_path, ["make", "test"]) == {line.split()[0]: 1}


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("pytest", "pytest"),
        ("make x", ""),
        ("[ -d a ] && pytest a", "pytest"),
        ("[ -d a ] && pytest a; true", ""),
        ("which go && go test ./...\npython -m pytest -q", "pytest"),
        ("cd sub && mocha\npytest && jest\ntrue", "jest mocha pytest"),
        ("tsc && mocha", "mocha"),
        ("tsc && mocha\nif true; then\n  true\nfi", ""),
        ('[ "$CI" ] &&\n  pytest\nmocha', "mocha"),
        ("which pytest ||\n  mocha", ""),
        ("unit() (\n  pytest\n)\nmocha", "mocha"),
        ("unit() {\n  pytest\n}\nmocha", "mocha"),
        ("unit() { true; pytest; }\ntrue", ""),
        ("function unit { true; pytest; }\ntrue", ""),
        ("which go && (true; go test ./...)\ntrue", ""),
        ("if true\nthen\n  pytest\nfi", ""),
        ("sh -c 'tsc && mocha'\ntrue", ""),
    ],
)
@pytest.mark.parametrize("file", [True, False])
def test_of_a_shell_what_runs_if_it_ends_with_0_counts(
    tmp_path: Path, script: str, expected: str, file: bool
) -> None:
    (tmp_path / "run.sh").write_text(script)
    found = expected_summaries(tmp_path, ["sh", "run.sh"] if file else ["bash", "-ec", script])
    assert sorted(found) == expected.split()
