"""Fuzz the `.workflow` language, guided by coverage: `python -m scripts.fuzz_language SECONDS`.

Needs atheris, which `make fuzz` installs. Fails, and shows the input that did it, on any exception that is
not ours, on a text whose meaning formatting or writing changes, and on one whose time per character grows
with its length.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Final

import atheris

with atheris.instrument_imports(include=["tideate_core.machines"]):
    from tideate_core.errors import InvalidWorkflowFile
    from tideate_core.machines.language import (
        BOUNDARY,
        Lexer,
        MachineDefinition,
        Parser,
        Workflow,
        explain_all,
        format_text,
        parse,
        write_definition,
    )

_LONGEST: Final = 1024
_TIMED: Final = 64
"""One in so many inputs is timed."""
_TIMED_LENGTH: Final = 16_384
_LARGER: Final = 8
_SLOW: Final = 3.0
"""How many times the time per character may grow in a text so many times larger."""
_SEEDED: Final = 0.1
_TRIES: Final = 5

_PIECES: Final = (
    *("a", "b", "to", "state_1", "*", " to ", "a to b", "* to a", "a to *", ":", ": ", "\n", "\n  ", "\n\t"),
    *("\r\n", "\r", " ", "\t", "#", "//", "\n\n", "\ufeff", "\u2028", "é", "日本", "\0", "\ud800", "-"),
)
_SEEDS: Final = (
    "* to a:\n  Begin.\n\n: yes\na to b: go # on\n\nb to *\n",
    ": x\n:\n: y\n# c\na to b:\n\tx\n        y\n\n  z\n",
    "a too b\nb to 1\nc to d # e\n  f\n",
)


class Disagreement(Exception):
    """The language contradicts itself, or takes too long."""


def check(text: str) -> None:
    """Look at everything that can be done with one text.

    :raises Disagreement: two ways to the same thing differ.
    """
    parsed = parse(text)
    explain_all(parsed.diagnostics, text, "fuzz")
    again = Parser(Lexer(text).tokens()).parse()
    _expect((again.definition, again.diagnostics) == (parsed.definition, parsed.diagnostics), "tokens", text)
    try:
        formatted = format_text(text)
    except InvalidWorkflowFile:
        _expect(bool(parsed.errors), "refused by the formatter only", text)
        return
    _expect(not parsed.errors, "formatted in spite of errors", text)
    meaning = _meaning(parsed.definition)
    _expect(_meaning(parse(formatted).definition) == meaning, "formatting changes the meaning", text)
    _expect(format_text(formatted) == formatted, "formatting twice differs", text)
    written = write_definition(parsed.definition)
    _expect(_meaning(parse(written).definition) == meaning, "writing changes the meaning", text)
    workflow = Workflow(parsed.definition)
    for action in workflow.valid_actions(BOUNDARY):
        _expect(workflow.machine().transition(action.action), "the machine refuses an action", text)


def check_time(text: str) -> None:
    """Compare the time for the text, repeated to some length, with that for more of it.

    :raises Disagreement: the time grows much faster than the text, again and again.
    """
    small = f"{text}\n" * (_TIMED_LENGTH // (len(text) + 1))
    large = small * _LARGER
    for _ in range(_TRIES):
        long = _seconds(large)
        if long < _SLOW * _LARGER * _seconds(small):
            return
    raise Disagreement(f"{len(large)} characters take {long:.3f} s: {text!r}")


def _seconds(text: str) -> float:
    started = time.process_time()
    parsed = parse(text)
    if not parsed.errors:
        format_text(text)
    return time.process_time() - started


def _meaning(definition: MachineDefinition) -> tuple[object, ...]:
    states = [(state.name, state.guidance) for state in definition.states.values()]
    return states, [transition[:4] for transition in definition.transitions]


def _expect(holds: bool, what: str, text: str) -> None:
    if not holds:
        raise Disagreement(f"{what}: {text!r}")


def _text(data: bytes) -> str:
    """Bytes as text, lone surrogates included."""
    return data.decode("utf-8", "surrogateescape")[:_LONGEST]


def _mutate(data: bytes, longest: int, seed: int) -> bytes:
    """Change the text by the pieces of the language as often as by bytes."""
    chance = random.Random(seed)
    if not data.strip() or chance.random() < _SEEDED:
        data = chance.choice(_SEEDS).encode()
    if chance.random() < 0.5:
        return atheris.Mutate(data, longest)  # type: ignore[no-any-return]
    text = _text(data)
    start = chance.randint(0, len(text))
    end = min(len(text), start + chance.choice((0, 0, 1, 4)))
    changed = text[:start] + chance.choice(_PIECES) + text[end:]
    return changed.encode("utf-8", "surrogatepass")[:longest]


def one_input(data: bytes) -> None:
    """Check one input of the fuzzer."""
    text = _text(data)
    check(text)
    if zlib.crc32(data) % _TIMED == 0:
        check_time(text)


def main(arguments: list[str]) -> None:
    """Fuzz for the given number of seconds; libFuzzer ends the process with its findings."""
    if len(arguments) != 2 or not arguments[1].isdecimal() or int(arguments[1]) < 1:
        raise SystemExit("usage: python -m scripts.fuzz_language SECONDS")
    kept = Path(tempfile.gettempdir()) / "tideate-fuzz-"
    limits = [f"-max_total_time={arguments[1]}", f"-max_len={_LONGEST}", "-timeout=10"]
    options = [*limits, f"-artifact_prefix={kept}", "-print_final_stats=1", "-verbosity=0"]
    for seed in _SEEDS:
        check(seed)
        check_time(seed)
    atheris.Setup([arguments[0], *options], one_input, custom_mutator=_mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
