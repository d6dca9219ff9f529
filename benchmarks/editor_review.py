"""A review of many hunks in many files, beside a plain scratch buffer with the same text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.figures import Figure

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from tests.harness.editor import Editor

    Started = Callable[..., AbstractContextManager[Editor]]

LUA: Final = Path(__file__).with_suffix(".lua")
FILES: Final = 200
HUNKS: Final = 25
"""Hunks of each file."""
CLOCKS: Final = {"clock": "clock", "processor": "processor time"}


def _measured(started: Started, code: str, *arguments: object) -> dict[str, Any]:
    """Call a function of the Lua module in an editor that has shown a review before."""
    with started(ui=(160, 50)) as editor:
        editor.lua("package.loaded.bench_review = loadfile(...)()", str(LUA))
        editor.lua("require('bench_review').review(2, 3, false, 1)")
        return dict(editor.lua(f"return require('bench_review').{code}(...)", *arguments))


def review_figures(started: Started, decisions: int) -> list[Figure]:
    """Open a review, and decide.

    :param started: starts an editor.
    :param decisions: how many are made one by one.
    """
    figures = []
    kinds = {"files on disk": False, "open buffers": True}
    for kind, loaded in kinds.items():
        found = _measured(started, "review", FILES, HUNKS, loaded, decisions)
        name = f"{FILES * HUNKS:,} hunks in {FILES} {kind}"
        for clock, words in CLOCKS.items():
            figures += [
                Figure(f"{name}: open, {words}", [found["open"][clock]], "ms", 100),
                Figure(f"a decision, {words}", [one[clock] for one in found["decisions"]], "ms", 20),
                Figure(f"of a file, {words}", [found["file"][clock]], "ms", 20),
                Figure(f"reverted, {words}", [found["revert"][clock]], "ms", 20),
                Figure(f"all the rest reverted, {words}", [found["revert_all"][clock]], "ms"),
                Figure(f"of all the rest, and the end, {words}", [found["all"][clock]], "ms"),
            ]
        figures += [
            Figure("memory, opened", [found["opened_memory"]], "MB"),
            Figure(f"memory after {decisions} decisions", [found["memory"]], "MB"),
        ]
    plain = _measured(started, "scratch", FILES, HUNKS)
    for clock, words in CLOCKS.items():
        figures += [
            Figure(f"the same text in a scratch buffer: open, {words}", [plain["open"][clock]], "ms"),
            Figure(f"a line replaced, {words}", [one[clock] for one in plain["decisions"]], "ms"),
        ]
    return [*figures, Figure("memory", [plain["memory"]], "MB")]
