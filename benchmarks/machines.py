"""State machines and the `.workflow` language beside their peers, in one run, by turns.

``--short`` takes fewer and smaller samples. The exit code is 1 only if something could not be measured:
figures of a busy machine are no verdict.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
import tracemalloc
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.figures import Figure, console, ratios, targets_table
from benchmarks.machine_peers import (
    ROUND,
    bare_dict,
    lark_parser,
    ours,
    python_statemachine,
    transitions_library,
)
from tideate_core.machines import StateMachine
from tideate_core.machines.language import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Work = tuple["Callable[[], Any]", float]
"""What is timed, and how many units it does."""


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    turns: int
    rounds: int
    """Of the task, by the fast ones; the slow ones go a tenth and a hundredth of it."""
    lines: int
    """At least so many are parsed in one sample."""
    large: int
    """Transitions of the largest text."""


SIZES = {False: Size(5, 20_000, 50_000, 100_000), True: Size(3, 5_000, 20_000, 20_000)}


def by_turns(works: Mapping[str, Work], turns: int) -> dict[str, list[float]]:
    """Return units per second of processor time of each work; one after the other, over and over."""
    rates: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(turns):
        for name, (work, units) in works.items():
            gc.collect()
            begun = time.process_time()
            kept = work()
            rates[name].append(units / (time.process_time() - begun))
            del kept
    return rates


# -- the core -----------------------------------------------------------------------------------------


def machines(size: Size) -> list[Figure]:
    """Walk the task's table, with a history."""
    library, statemachine = transitions_library(), python_statemachine()
    walks: dict[str, tuple[Callable[[int], Any], int]] = {
        "StateMachine (history, timestamps, guards)": (ours, size.rounds),
        "dict of dicts with an append": (bare_dict, size.rounds),
        "transitions": (library, size.rounds // 10),
        "python-statemachine": (statemachine, size.rounds // 100),
    }
    for name, (walk, _) in walks.items():
        _check_walk(name, walk(3))
    works: dict[str, Work] = {
        name: (partial(walk, rounds), rounds * len(ROUND)) for name, (walk, rounds) in walks.items()
    }
    rates = by_turns(works, size.turns)
    mine, bare, *peers = rates.values()
    faster = max(peers, key=statistics.median)
    figures = [Figure(name, samples, "transitions/s") for name, samples in rates.items()]
    return [
        *figures,
        Figure("StateMachine / the faster library", ratios(mine, faster), "", 5, at_least=True),
        Figure("StateMachine / dict of dicts", ratios(mine, bare), "", 0.15, at_least=True),
        Figure("a transition in the history", [_memory(lambda: ours(2000)) / (2000 * len(ROUND))], "bytes"),
    ]


def _check_walk(name: str, kept: Any) -> None:
    history = kept.get_history() if isinstance(kept, StateMachine) else kept
    if len(history) != 3 * len(ROUND):
        raise RuntimeError(f"{name}: 3 rounds made {len(history)} transitions")


# -- the language -------------------------------------------------------------------------------------


def workflow_text(transitions: int) -> str:
    """Return a workflow as people write them: whens, blocks, guidance on the line, comments, blank lines."""
    parts = ["* to state_0:\n  Load the project and show it.\n"]
    for number in range(transitions - 2):
        way = f"state_{number // 2} to state_{number // 2 + 1 if number % 2 == 0 else number // 4}"
        kind = number % 4
        if kind == 0:
            block = (
                "  Show the plan.\n  - ask whether it is complete: wait for the answer\n  - write it down\n"
            )
            parts.append(f"\n: The user wants to go on with part {number}\n{way}:\n{block}")
        elif kind == 1:
            parts.append(f": Something is missing in part {number}\n{way}\n")
        elif kind == 2:
            parts.append(f"# part {number}\n{way}: Do the tasks one by one.\n")
        else:
            parts.append(f"{way}\n")
    return "".join([*parts, f"state_{(transitions - 2) // 2} to *\n"])


def language(size: Size) -> list[Figure]:
    """Parse small, middle and large texts with both parsers."""
    peer = lark_parser()
    figures: list[Figure] = []
    rates: dict[int, list[float]] = {}
    for count in (10, 1_000, size.large):
        text = workflow_text(count)
        _check(text, count, peer)
        lines = text.count("\n")
        times = max(1, size.lines // lines)
        works: dict[str, Work] = {
            "ours": (partial(_repeat, parse, text, times), lines * times),
            "lark": (partial(_repeat, peer, text, times), lines * times),
        }
        both = by_turns(works, size.turns if times > 1 else 3)
        rates[count] = both["ours"]
        figures += [
            Figure(
                f"Lexer and Parser, {count:,} transitions", both["ours"], "lines/s", 300_000, at_least=True
            ),
            Figure(f"lark (LALR, tree only), {count:,} transitions", both["lark"], "lines/s"),
            Figure("Lexer and Parser / lark", ratios(both["ours"], both["lark"])),
        ]
    name = f"linear: lines/s at {size.large:,} / at 1,000"
    linear = statistics.median(rates[size.large]) / statistics.median(rates[1_000])
    return [*figures, Figure(name, [linear], "", 0.7, at_least=True), _broken(size), *_parsed_memory(peer)]


def _repeat(parse: Callable[[str], Any], text: str, times: int) -> Any:
    for _ in range(times):
        kept = parse(text)
    return kept


def _check(text: str, count: int, peer: Callable[[str], Any]) -> None:
    parsed, tree = parse(text), peer(text)
    found = (len(parsed.definition.transitions), len(tree.children), len(parsed.diagnostics))
    if found != (count, count, 0):
        raise RuntimeError(
            f"{count} transitions were parsed as {found[0]} and {found[1]}, {found[2]} mistakes"
        )


def _broken(size: Size) -> Figure:
    """Parse a large text with a mistake in every fiftieth line."""
    lines = workflow_text(size.large).split("\n")
    lines[25::50] = ["state_1 too state_2"] * len(lines[25::50])
    text = "\n".join(lines)
    if not parse(text).errors:
        raise RuntimeError("no mistake was found")
    rates = by_turns({"": (lambda: parse(text), len(lines))}, 3)
    return Figure(f"every 50th line wrong, {size.large:,} transitions", rates[""], "lines/s")


def _parsed_memory(peer: Callable[[str], Any]) -> list[Figure]:
    text = workflow_text(10_000)
    return [
        Figure("a transition of a parsed text", [_memory(lambda: parse(text)) / 10_000], "bytes"),
        Figure("the same in lark's tree", [_memory(lambda: peer(text)) / 10_000], "bytes"),
    ]


def _memory(work: Callable[[], Any]) -> float:
    """Return the bytes that the result of a work holds."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    kept = work()
    gc.collect()
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    del kept
    return held


def main(arguments: list[str]) -> int:
    """Measure and print."""
    size, out = SIZES["--short" in arguments], console()
    with out.status("measuring"):
        figures = [*machines(size), None, *language(size)]
    out.print(targets_table(figures, "state machines beside their peers"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
