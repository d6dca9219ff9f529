"""Edits as models write them, on real files: correctly applied, correctly refused, wrongly applied.

The corpus and its truth are made from a seed (`benchmarks.edits_corpus`). ``--short`` takes fewer edits. The
exit code is 1 if tideate applied anything wrongly, or if something could not be measured.
"""

from __future__ import annotations

import re
import statistics
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rich.table import Table

from benchmarks.edits_corpus import Case, corpus
from benchmarks.edits_methods import METHODS, OURS, Refused
from benchmarks.edits_ways import WAYS_OF
from benchmarks.figures import Figure, console, targets_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.edits_methods import Method

COUNTS: Final = {False: 1_500, True: 500}
HOSTILE: Final = {False: 40_000, True: 10_000}
"""Lines of the inputs that are made to take long."""
OUTCOMES: Final = ("applied rightly", "refused rightly", "refused needlessly", "applied wrongly")
_SHOWN = re.compile(r"its lines (\d+) to (\d+):")
_NEAR = 15


@dataclass
class Score:
    """Results of one method on the corpus."""

    outcomes: Counter[str] = field(default_factory=Counter)
    by_way: dict[str, Counter[str]] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    refusals: list[tuple[Case, str]] = field(default_factory=list)
    wrong: list[Case] = field(default_factory=list)

    def count(self, case: Case, outcome: str) -> None:
        self.outcomes[outcome] += 1
        self.by_way.setdefault(case.way, Counter())[outcome] += 1
        if outcome == OUTCOMES[3]:
            self.wrong.append(case)


def judged(method: Method, cases: list[Case]) -> Score:
    """Return the results of all cases; an edit is correct only if it matches byte for byte."""
    score = Score()
    for case in cases:
        start = time.perf_counter()
        try:
            result = method(case)
        except Refused as error:
            score.refusals.append((case, str(error)))
            score.count(case, OUTCOMES[1] if case.expected == "refused" else OUTCOMES[2])
        else:
            if result is None:
                continue
            score.count(case, OUTCOMES[0] if result == case.truth else OUTCOMES[3])
        score.seconds.append(time.perf_counter() - start)
    return score


def targets(score: Score, lines: int) -> Iterator[Figure]:
    """Compare tideate with its targets."""
    total, outcomes = sum(score.outcomes.values()), score.outcomes
    right, needless, wrong = outcomes[OUTCOMES[0]], outcomes[OUTCOMES[2]], outcomes[OUTCOMES[3]]
    yield Figure("applied wrongly", [float(wrong)], "", 0)
    yield Figure("wrong or refused needlessly, of all", [100 * (needless + wrong) / total], "%", 3)
    yield Figure("of the right ones refused, per cent", [100 * needless / (right + needless)], "%", 10)
    yield Figure("refusals that do not name the edit or the file", [float(unnamed(score))], "", 0)
    yield Figure("'not in the file' that shows other lines than the meant ones", [astray(score)], "%", 5)
    yield Figure("an edit, median", [1000 * statistics.median(score.seconds)], "ms", 0.3)
    yield Figure("the slowest of all", [1000 * max(score.seconds)], "ms", 500)
    yield Figure("edits", [float(total)], "")
    for name, make in HOSTILE_INPUTS.items():
        few, many = timed(make(lines // 4)), timed(make(lines))
        yield Figure(f"{name}, {lines:,} lines", [1000 * many], "ms")
        yield Figure("  four times the lines take so many times as long", [many / few], "", 8)


def unnamed(score: Score) -> int:
    """Return the number of refusals that name no edit, file or mistake."""
    return sum(
        not re.search(r"\b(?:block|hunk|line|lines|diff|patch|code)\b", why) for _, why in score.refusals
    )


def astray(score: Score) -> float:
    """Return how many of 100 'not in the file' show no lines that are near a place that is meant."""
    missing = [(case, _SHOWN.search(why)) for case, why in score.refusals if "are not in the file" in why]
    lost = sum(
        found is None or not any(int(found[1]) - _NEAR <= at <= int(found[2]) + _NEAR for at in case.places)
        for case, found in missing
    )
    return 100 * lost / max(1, len(missing))


# -- inputs that are made to take long ------------------------------------------------------------------


def timed(case: Case) -> float:
    """Return seconds."""
    start = time.perf_counter()
    with suppress(Refused):
        METHODS[OURS](case)
    return time.perf_counter() - start


def _hostile(text: list[str], answer: list[str]) -> Case:
    data = "\n".join([*text, ""]).encode()
    return Case("hostile", "search/replace", "hostile", "refused", "\n".join(answer), {"a.py": data}, {}, ())


def _equal_lines(count: int) -> Case:
    search = ["x = 1"] * (count // 2)
    return _hostile(["x = 1"] * count, ["<<<<<<< SEARCH", *search, "y", "=======", "z", ">>>>>>> REPLACE"])


def _alternating(count: int) -> Case:
    search = ["  a", "  b"] * (count // 4)
    return _hostile(
        ["a", "b"] * (count // 2), ["<<<<<<< SEARCH", *search, "  a ", "=======", "z", ">>>>>>> REPLACE"]
    )


def _one_long_line(count: int) -> Case:
    spaces = " " * (count * 10)
    return _hostile(
        [f"# {spaces}x"], ["```" + spaces + "`", "<<<<<<<" + spaces + "x", f"// {spaces}...{spaces}y"]
    )


def _many_hunks(count: int) -> Case:
    rows = [f"@@ -{at} +{at} @@" for at in range(count // 2)]
    return _hostile(
        ["x"] * count, ["```diff", "--- a/a.py", "+++ b/a.py", *rows, *["-x"] * (count // 2), "+y", "```"]
    )


HOSTILE_INPUTS: Final[dict[str, Callable[[int], Case]]] = {
    "equal lines": _equal_lines,
    "two lines by turns": _alternating,
    "one long line of blanks": _one_long_line,
    "a heap of headings": _many_hunks,
}


# -- the tables -----------------------------------------------------------------------------------------


def methods_table(scores: dict[str, Score]) -> Table:
    """Return a row for each method."""
    table = Table("", "edits", *OUTCOMES, "wrongly, of ours", "ms, median", title="Edits of models")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, score in scores.items():
        counts = [f"{score.outcomes[outcome]:,}" for outcome in OUTCOMES]
        wrong = score.outcomes[OUTCOMES[3]]
        share = "" if name == OURS else f"{100 * wrong / max(1, sum(score.outcomes.values())):.1f} % : 0 %"
        took = f"{1000 * statistics.median(score.seconds):.2f}"
        row = (f"{sum(score.outcomes.values()):,}", *counts, share, took)
        table.add_row(f"[bold]{name}[/]" if name == OURS else name, *row)
    return table


def ways_table(scores: dict[str, Score]) -> Table:
    """Return a row for each kind of damage: tideate's result, and the errors of the others."""
    others = [name for name in scores if name != OURS]
    table = Table("how it was spoiled", *OUTCOMES, *(f"{name}: wrongly" for name in others))
    for column in table.columns[1:]:
        column.justify = "right"
    for way in WAYS_OF:
        mine = scores[OURS].by_way.get(way, Counter())
        theirs = [scores[name].by_way.get(way) for name in others]
        cells = [str(mine[outcome] or "") for outcome in OUTCOMES]
        table.add_row(way, *cells, *("" if each is None else str(each[OUTCOMES[3]] or "") for each in theirs))
    return table


def main(arguments: list[str]) -> int:
    """Measure and print."""
    short, out = "--short" in arguments, console()
    with out.status("making the corpus") as status:
        cases = corpus(COUNTS[short])
        scores: dict[str, Score] = {}
        try:
            for name, method in METHODS.items():
                status.update(f"measuring: {name}")
                scores[name] = judged(method, cases)
        except ImportError as error:
            out.print(f"[bold red]not measured:[/] {error}", highlight=False)
            return 1
        status.update("measuring hostile inputs")
        figures = list(targets(scores[OURS], HOSTILE[short]))
    out.print(methods_table(scores))
    out.print(ways_table(scores))
    out.print(targets_table(figures))
    for case in scores[OURS].wrong:
        out.print(f"[bold red]applied wrongly:[/] case {case.name}, {case.form}, {case.way}", highlight=False)
    return 1 if scores[OURS].wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
