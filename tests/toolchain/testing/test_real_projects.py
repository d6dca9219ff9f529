"""Small real projects: detection agrees with CI, results with the native runner.

Without `make test-runners`, only kinds whose runners are always installed are tested.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

from tests.toolchain.testing.real_projects import KINDS, Kind, texts
from tideate_core.process import make_environment, project_environment, run_program
from tideate_core.toolchain import Check
from tideate_core.toolchain.detection import detect_tools
from tideate_core.toolchain.testing.execution import run_tests
from tideate_core.toolchain.testing.runners import SelectedTests, make_runner_command

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tideate_core.toolchain import Tool
    from tideate_core.toolchain.testing.results import TestResults

RUNNERS = os.environ.get("TIDEATE_RUNNERS", "")
"""Where `make test-runners` keeps what it installs."""
READY = [
    kind for kind in KINDS if RUNNERS or not kind.needs or (kind.needs == "node" and shutil.which("node"))
]
NAMES = [kind.name for kind in READY]

pytestmark = [pytest.mark.bulk, pytest.mark.slow]

ADDED = [
    "-q",
    "--tb=short",
    "-rfE",
    "--color=no",
    "--color",
    "never",
    "--output-on-failure",
    "--no-tests=error",
]
"""Options that tideate adds."""


def plain(words: list[str]) -> str:
    """Return a command without the ways to name its program."""
    text = re.sub(r"^(?:npx |python3? -m (?=pytest))", "", " ".join(words))
    return text.replace("python3 ", "python ").replace("npm run ", "npm ")


def project(root: Path, kind: Kind, text: str) -> Mapping[str, str]:
    """Write a project with this text as its tests; returns the environment of its checks."""
    for name, content in {**texts(kind), kind.test: text}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    own = [f"{RUNNERS}/python/bin"] if RUNNERS else []
    path = os.pathsep.join([*own, str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = make_environment({"CI": "1", "PYTHONDONTWRITEBYTECODE": "1", "PATH": path})
    if RUNNERS and "package.json" in kind.files:
        (root / "node_modules").symlink_to(f"{RUNNERS}/node_modules")
    if kind.name == "ctest":
        subprocess.run(["cmake", "-S", ".", "-B", "build"], cwd=root, check=True, capture_output=True)
    return project_environment(root, environment)


def detected(root: Path, environment: Mapping[str, str]) -> Tool:
    (tool,) = detect_tools(root, environment)[Check.TESTS]
    return tool


async def run(root: Path, environment: Mapping[str, str], seconds: float) -> TestResults:
    command = make_runner_command(detected(root, environment), SelectedTests())
    ran = await run_tests(
        command, SelectedTests(), root=root, environment=environment, timeout_ms=round(seconds * 1000)
    )
    return ran.results


def reported(path: Path, form: str) -> tuple[tuple[int, ...], list[str]]:
    """Return the counts of a native report, and the names of the tests that failed."""
    ends = list(_junit(path) if form == "junit" else _json(path))
    words = ("passed", "failed", "error", "skipped")
    return tuple(sum(end == word for _, end in ends) for word in words), [
        name for name, end in ends if end in ("failed", "error")
    ]


def _junit(path: Path) -> list[tuple[str, str]]:
    kinds = {"failure": "failed", "error": "error", "skipped": "skipped"}
    return [
        (case.attrib["name"], next((kinds[one.tag] for one in case if one.tag in kinds), "passed"))
        for case in ElementTree.parse(path).iter("testcase")
    ]


def _json(path: Path) -> list[tuple[str, str]]:
    ends = {"pass": "passed", "fail": "failed", "skip": "skipped", "pending": "skipped"}
    content = path.read_text()
    if content.count("\n{"):  # the events of go
        events: list[Any] = [json.loads(line) for line in content.splitlines()]
        return [(e["Test"], ends[e["Action"]]) for e in events if "Test" in e and e["Action"] in ends]
    report: Any = json.loads(content)
    if "stats" in report:  # mocha
        lists = (("passes", "passed"), ("failures", "failed"), ("pending", "skipped"))
        return [(one["fullTitle"], end) for name, end in lists for one in report[name]]
    jest = [one for suite in report.get("testResults", []) for one in suite["assertionResults"]]
    return [
        (one.get("fullName") or one["full_description"], ends.get(one["status"], one["status"]))
        for one in [*jest, *report.get("examples", [])]
    ]


@pytest.mark.parametrize("kind", READY, ids=NAMES)
def test_what_is_detected_is_what_ci_runs(tmp_path: Path, kind: Kind) -> None:
    tool = detected(tmp_path, project(tmp_path, kind, kind.mixed))
    by_script = tool.argv[0] == "npm" and not kind.ci.startswith("npm")
    ours = tool.recipe.split() if by_script else [word for word in tool.argv if word not in ADDED]
    assert plain(ours) == plain(kind.ci.split())


@pytest.mark.parametrize("kind", READY, ids=NAMES)
async def test_counts_names_and_places_are_those_of_the_native_runner(tmp_path: Path, kind: Kind) -> None:
    environment = project(tmp_path, kind, kind.mixed)
    results = await run(tmp_path, environment, 200)
    assert results.status == "failed"
    assert (results.passed, results.failed, results.errors, results.skipped) == kind.counts
    assert kind.broken in [
        (one.name.split("::")[-1].removeprefix("small."), one.file, one.line) for one in results.failures
    ]
    report = tmp_path / "native-report"
    command = kind.native.replace("{report}", str(report))
    native = await run_program(["sh", "-c", command], cwd=tmp_path, environment=environment)
    assert not native.ok
    if kind.prints:
        assert kind.prints in native.printed
        return
    counts, names = reported(report, kind.form)
    assert counts == kind.counts
    for name in names:
        assert any(one.name.endswith(name) for one in results.failures), (name, results.failures)


@pytest.mark.parametrize("end", ["uncollected", "crashes", "hangs", "leaves"])
@pytest.mark.parametrize("kind", READY, ids=NAMES)
async def test_no_other_end_passes(tmp_path: Path, kind: Kind, end: str) -> None:
    environment = project(tmp_path, kind, getattr(kind, end))
    results = await run(tmp_path, environment, kind.seconds if end == "hangs" else 200)
    expected = {"hangs": ("timed_out",), "leaves": ("incomplete", "failed")}.get(end, ("failed",))
    assert results.status in expected
    said = [*(f"{one.name} {one.file}".lower() for one in results.failures), results.ending]
    test = {"crashes": "dies"}.get(end, end)
    assert end not in kind.told.split() or any(test in one or kind.test.lower() in one for one in said), said
