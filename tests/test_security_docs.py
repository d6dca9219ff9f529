"""`docs/contribute/attacks.md`: every test exists, and the figures add up."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS = [
    [cell.strip() for cell in line.strip("|\n ").split("|")]
    for line in (ROOT / "docs/contribute/attacks.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| attack ")
]


def test_every_row_names_tests_that_exist() -> None:
    for row in ROWS:
        names = re.findall(r"`([^`]*\.py)?(?:::(test_\w+))?`", row[-1])
        assert names, row
        file = ""
        for path, test in names:
            file = path or file
            text = (ROOT / file).read_text(encoding="utf-8")
            assert not test or re.search(rf"^(async )?def {test}\(", text, re.MULTILINE), (file, test)


def test_figures_add_up_and_are_enough() -> None:
    figures = [[int(cell) for cell in row[1:4]] for row in ROWS]
    assert all(tries == held + fixed for tries, held, fixed in figures)
    assert sum(tries for tries, _, _ in figures) >= 300
