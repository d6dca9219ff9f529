"""Branch coverage of the packages that runs depend on: `make coverage`.

Measured in every process that the tests start, except those that end by a signal other than SIGTERM.
Arguments go to pytest in place of the directories and the number of processes. Exits 0 only if the tests
pass and each package has its share.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = ROOT / ".cache" / "coverage"
PACKAGES: Final = {"engine": "engine", "builtin": "engine", "workflows": "workflows", "store": "store"}
"""The measured packages, and the package that each is counted with."""
TESTS: Final = (
    *("tests/engine", "tests/builtin", "tests/workflows", "tests/store", "tests/portable"),
    *("tests/cli/test_handoff.py", "tests/cli/test_task.py", "tests/cli/test_tool_steps.py"),
    *("tests/cli/test_review.py", "tests/cli/test_terminal.py", "tests/cli/commands/test_review.py"),
    *(f"tests/cli/commands/test_{name}.py" for name in ("chat", "checkpoint", "compare", "continue")),
    *(
        f"tests/cli/commands/test_{name}.py"
        for name in ("control", "fork", "next_run", "resume", "rollback", "run")
    ),
)
LEAST: Final = 95.0
"""Minimum percentage of a package's branches that the tests must take."""


def shares(files: Mapping[str, Any]) -> dict[str, float]:
    """Return the percentage of taken branches of each package; 0 for an unmeasured one.

    :param files: those of a `coverage json` report.
    """
    counts = {package: [0, 0] for package in PACKAGES.values()}
    for name, measured in files.items():
        root, package = Path(name).parts[:2]
        if root == "tideate_core" and package in PACKAGES:
            counted = counts[PACKAGES[package]]
            counted[0] += measured["summary"]["covered_branches"]
            counted[1] += measured["summary"]["num_branches"]
    return {package: 100 * taken / (known or 1) for package, (taken, known) in counts.items()}


def _coverage(*arguments: str) -> bool:
    command = (sys.executable, "-m", "coverage", *arguments)
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def main(arguments: list[str]) -> int:
    """Run the tests, print what they miss, return 0 if all is well."""
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir(parents=True)
    passed = _coverage("run", "-m", "pytest", *(arguments or ["-n", "auto", *TESTS]))
    report = DATA / "report.json"
    if not (_coverage("combine", "--quiet") and _coverage("json", "--quiet", "-o", str(report))):
        raise SystemExit("make coverage: nothing was measured; what pytest said is above")
    _coverage("report", "--show-missing", "--skip-covered")
    found = shares(json.loads(report.read_text())["files"])
    for package, share in found.items():
        print(f"{package}: {share:.1f} % of the branches{'' if share >= LEAST else ', too few'}")
    return 0 if passed and min(found.values()) >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
