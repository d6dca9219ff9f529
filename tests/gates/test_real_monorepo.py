"""A real monorepo of Python, Node and Go: only the checks of affected parts run.

Except in `make test-runners`, it has only the parts with installed programs.
"""

from __future__ import annotations

import os
import shutil
import sys
from itertools import chain
from pathlib import Path

import pytest

from tideate_core.config import VerifyConfig
from tideate_core.gates import CheckResult, CheckStatus, VerificationPipeline
from tideate_core.toolchain import Check, ProjectTrust, select_tools, verification_environment

FILES = {
    "api/pyproject.toml": '[project]\nname = "api"\n[tool.pytest.ini_options]\npythonpath = "."\n',
    "api/api.py": "def two(): return 2\n",
    "api/tests/test_api.py": "import api\ndef test_two(): assert api.two() == 2\n",
    "web/package.json": '{"name": "web", "scripts": {"test": "node --test"}}',
    "web/two.js": "exports.two = () => 2;\n",
    "web/two.test.js": "const {test} = require('node:test'); const {two} = require('./two');\n"
    "test('two', () => { require('node:assert').strictEqual(two(), 2); });\n",
    "svc/go.mod": "module example.com/svc\n\ngo 1.19\n",
    "svc/two.go": "package svc\n\nfunc Two() int { return 2 }\n",
    "svc/two_test.go": 'package svc\n\nimport "testing"\n\n'
    "func TestTwo(t *testing.T) {\n\tif Two() != 2 {\n\t\tt.Error(Two())\n\t}\n}\n",
}
BREAKS = {
    "api": ("api/api.py", "def two(): return 3\n", ("api/tests/test_api.py", 2)),
    "web": ("web/two.js", "exports.two = () => 3;\n", ("web/two.test.js", 2)),
    "svc": ("svc/two.go", "package svc\n\nfunc Two() int { return 3 }\n", ("svc/two_test.go", 7)),
}
PROGRAMS = {"api": sys.executable, "web": "npm", "svc": "go"}
READY = [
    part for part, program in PROGRAMS.items() if os.environ.get("TIDEATE_RUNNERS") or shutil.which(program)
]


@pytest.fixture
def monorepo(root: Path) -> Path:
    for name, text in FILES.items():
        if name.partition("/")[0] not in READY:
            continue
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


async def results_of(root: Path, changed: list[str]) -> CheckResult:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    off = dict.fromkeys(("type_check", "lint", "build", "documentation"), "off")
    config = VerifyConfig.model_validate({**off, "environment": {"PATH": path}})
    trust = ProjectTrust(root)
    tools = select_tools(root, config, verification_environment(root, config))
    trust.trust(chain.from_iterable(tools.values()))
    report = await VerificationPipeline(root, config, trust=trust, changed=changed).run_all()
    return report.of(Check.TESTS)


@pytest.mark.slow
@pytest.mark.parametrize("part", READY)
async def test_only_the_tests_of_the_part_that_a_change_touches_run(monorepo: Path, part: str) -> None:
    name, text, place = BREAKS[part]
    passed = await results_of(monorepo, [name])
    (monorepo / name).write_text(text)
    failed = await results_of(monorepo, [name])
    for result, status in ((passed, CheckStatus.PASSED), (failed, CheckStatus.FAILED)):
        assert {one.folder: one.status for one in result.parts} == {
            **dict.fromkeys(READY, CheckStatus.SKIPPED),
            part: status,
        }
        assert result.reason.count("the change affects neither") == len(READY) - 1
        assert f"{part} `" in result.reason
    assert [(one.file, one.line) for one in failed.failures] == [place]
    beside = await results_of(monorepo, ["Makefile"])
    assert {one.folder: one.status == CheckStatus.FAILED for one in beside.parts} == {
        one: one == part for one in READY
    }
