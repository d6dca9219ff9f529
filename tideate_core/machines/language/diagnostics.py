"""Diagnostics of a `.workflow` text: warnings about the whole machine; messages with a caret line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, Literal

from tideate_core.errors import did_you_mean
from tideate_core.machines.language.definition import BOUNDARY, Position
from tideate_core.machines.language.lexer import plain_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from tideate_core.machines.language.definition import MachineDefinition, State

Severity = Literal["error", "warning"]

_HINTED_STATES: Final = 200
_HINTED_LENGTH: Final = 80
_ALIKE: Final = 0.8
_START: Final = Position(1, 1)

_TAB: Final = "    "
_BEFORE: Final = 60
_SHOWN: Final = 100
_MOST: Final = 100
# control characters, surrogates, and characters that reorder a terminal's text
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake or warning: `length` characters from `position`; `code` is stable for tools."""

    position: Position
    length: int
    severity: Severity
    code: str
    message: str
    """The mistake and the expectation, without the location."""


def warnings_for(definition: MachineDefinition, *, mistakes: bool) -> list[Diagnostic]:
    """Return the warnings about a machine.

    :param mistakes: the text has errors, so that not all transitions are known: only duplicates are certain.
    """
    if mistakes:
        return list(_duplicates(definition))
    return [*_duplicates(definition), *_unreachable(definition), *_without_way_out(definition)]


def _duplicates(definition: MachineDefinition) -> Iterator[Diagnostic]:
    first: dict[tuple[str, str], int] = {}
    for transition in definition.transitions:
        pair = (transition.source, transition.target)
        line = first.setdefault(pair, transition.line)
        if line != transition.line:
            message = f"'{pair[0]} to {pair[1]}' is already in line {line}, which is used"
            length = transition.target_column - 1 + len(pair[1])
            yield Diagnostic(transition.source_at, length, "warning", "duplicate-transition", message)


def _unreachable(definition: MachineDefinition) -> Iterator[Diagnostic]:
    moves = [(move.source, move.target) for move in definition.transitions]
    if not any(source == BOUNDARY for source, _ in moves):
        message = "no transition starts at '*': nothing says where the workflow begins; add '* to STATE'"
        yield Diagnostic(_START, 1, "warning", "no-entry", message)
        return
    reached = _reachable([BOUNDARY], moves)
    lost = [state for name, state in definition.states.items() if name not in reached]
    for state in lost:
        hint = _hint(state.name, reached - {BOUNDARY}, len(lost))
        yield _about(state, "unreachable-state", f"no path leads from '*' to state {state.name!r}{hint}")


def _without_way_out(definition: MachineDefinition) -> Iterator[Diagnostic]:
    sources = {move.source for move in definition.transitions}
    dead_ends = [name for name in definition.states if name not in sources]
    back = [(move.target, move.source) for move in definition.transitions]
    ending = _reachable([BOUNDARY, *dead_ends], back)
    for name in dead_ends:
        hint = _hint(name, sources - {BOUNDARY, name}, len(dead_ends))
        message = f"state {name!r} has no way out; add '{name} to *' if the workflow ends there{hint}"
        yield _about(definition.states[name], "no-way-out", message)
    for name, state in definition.states.items():
        if name not in ending:
            yield _about(state, "no-way-out", f"no path leads from state {name!r} to the end, '*'")


def _reachable(starts: list[str], moves: Iterable[tuple[str, str]]) -> set[str]:
    """Return the states that moves lead to, and the starts."""
    onward: dict[str, list[str]] = {}
    for source, target in moves:
        onward.setdefault(source, []).append(target)
    reached = set(starts)
    while starts:
        for name in onward.get(starts.pop(), ()):
            if name not in reached:
                reached.add(name)
                starts.append(name)
    return reached


def _hint(name: str, known: Collection[str], count: int) -> str:
    """Return a suggestion for a misspelt name; empty in very large texts, where the search takes long."""
    if count * len(known) > _HINTED_STATES or len(name) > _HINTED_LENGTH:
        return ""
    short = [other for other in sorted(known) if len(other) <= _HINTED_LENGTH and other != name]
    return did_you_mean(name, get_close_matches(name, short, n=1, cutoff=_ALIKE))


def _about(state: State, code: str, message: str) -> Diagnostic:
    return Diagnostic(state.position, len(state.name), "warning", code, message)


def explanations(diagnostics: Iterable[Diagnostic], text: str, label: str) -> Iterator[str]:
    """Yield `label:LINE:COL: error: message [code]`, the line, and a caret line for each diagnostic.

    Long lines are truncated around the position. The text is split once.
    """
    lines = plain_text(text).split("\n") if text.strip() else []
    for diagnostic in diagnostics:
        yield _explain(diagnostic, lines, label)


def explain_all(diagnostics: Sequence[Diagnostic], text: str, label: str) -> list[str]:
    """Explain up to a hundred diagnostics of one text; the last item counts the rest."""
    shown = list(explanations(diagnostics[:_MOST], text, label))
    more = len(diagnostics) - len(shown)
    return [*shown, f"{label}: and {more} more"] if more else shown


def _explain(diagnostic: Diagnostic, lines: list[str], label: str) -> str:
    from rich.cells import cell_len

    line, column = diagnostic.position
    message = _UNSAFE.sub("\ufffd", diagnostic.message)
    code = f" [{diagnostic.code}]" if diagnostic.code else ""
    head = f"{label}:{line}:{column}: {diagnostic.severity}: {message}{code}"
    if not 1 <= line <= len(lines):
        return head
    source = lines[line - 1]
    start = max(0, column - 1 - _BEFORE)
    shown = source[start : start + _SHOWN]
    before = "…" if start else ""
    after = "…" if start + _SHOWN < len(source) else ""
    place = column - 1 - start
    lead = before + _visible(shown[:place])
    marked = shown[place : place + diagnostic.length]
    carets = "^" * max(1, cell_len(_visible(marked)))
    return f"{head}\n  {before}{_visible(shown)}{after}\n  {' ' * cell_len(lead)}{carets}"


def _visible(text: str) -> str:
    return _UNSAFE.sub("\ufffd", text.replace("\t", _TAB))
